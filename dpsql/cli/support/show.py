"""Answers and tables: as people read them on a terminal, in plain columns in a pipe, as JSON or CSV for programs."""

import csv
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from enum import Enum, auto
from itertools import count
from time import monotonic

import psycopg
import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

Cursor = psycopg.Cursor[tuple[object, ...]]
_MOST_ROWS = 1_000
"""Characters that a table has of what somebody wrote: one statement must not hide the others."""
_WIDE = 1_000_000
"""The width of what is no terminal: nothing is cut, and no cell has two lines."""


class Form(Enum):
    """How tables are written."""

    TABLE = auto()
    JSON = auto()
    CSV = auto()

    @classmethod
    def of(cls, as_json: bool, as_csv: bool) -> "Form":
        """Return the form that options ask for."""
        if as_json and as_csv:
            raise typer.BadParameter("--json and --csv are two forms; give one of them")
        return cls.JSON if as_json else cls.CSV if as_csv else cls.TABLE


def show_answer(cursor: Cursor, form: Form = Form.TABLE) -> None:
    """Print every result of a cursor: its rows, or the server's command tag."""
    while True:
        if cursor.description is None:
            # A tag is no row: what programs read stays JSON or CSV to its end.
            typer.echo(cursor.statusmessage or "", err=form is not Form.TABLE)
        else:
            names, rows = [column.name for column in cursor.description], cursor.fetchall()
            match form:
                case Form.TABLE:
                    print_blocks(table_of(names, rows))
                case Form.JSON:
                    for row in rows:
                        typer.echo(json.dumps(dict(zip(_different(names), map(_plain, row), strict=True))))
                case Form.CSV:
                    _write_csv(names, rows)
        if not cursor.nextset():
            return


def print_blocks(*blocks: RenderableType, form: Form = Form.TABLE) -> None:
    """Write tables and sentences to the standard output; of the former alone there is JSON and CSV, of their texts."""
    console = Console(highlight=False)
    if form is not Form.TABLE:
        for table in (block for block in blocks if isinstance(block, Table)):
            _write(table, form)
        return
    if console.is_terminal:
        for block in blocks:
            console.print(block, soft_wrap=isinstance(block, str))
        return
    # In a pipe: a row is a line, without a frame, for grep and awk.
    wide = Console(highlight=False, width=_WIDE)
    with wide.capture() as captured:
        for block in blocks:
            if isinstance(block, Table):
                block.box, block.pad_edge, block.caption = None, False, None
            wide.print(block, soft_wrap=True)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def table_of(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Lay rows out under their names; numbers are aligned to the right."""
    table = Table(
        header_style="bold", caption=f"({len(rows)} {'row' if len(rows) == 1 else 'rows'})", caption_justify="left"
    )
    for at, name in enumerate(names):
        numeric = all(isinstance(row[at], int | float | Decimal | None) for row in rows)
        # Text, not str: names and values are not markup.
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("NULL", style="dim") if value is None else Text(str(value)) for value in row))
    return table


def terminal_text(text: str) -> str:
    """Return what a table has of somebody's text; no control character of it may reach the terminal."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: _MOST_ROWS + 1])
    return shown if len(shown) <= _MOST_ROWS else f"{shown[:_MOST_ROWS]}…"


def _write(table: Table, form: Form) -> None:
    names = [" ".join(str(column.header).split()) for column in table.columns]
    rows = zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True)
    if form is Form.CSV:
        _write_csv(names, list(rows))
        return
    title = {} if table.title is None else {"table": str(table.title)}
    for row in rows:
        typer.echo(json.dumps({**title, **dict(zip(_different(names), row, strict=True))}, ensure_ascii=False))


def _write_csv(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)


def _different(names: Sequence[str]) -> Iterator[str]:
    """Yield names of which no two are the same: of an object's keys one would be lost."""
    taken, yielded = set(names), set[str]()
    for place, name in enumerate(names, start=1):
        key = name or str(place)
        if key in yielded or (not name and key in taken):
            key = next(other for number in count(2) if (other := f"{key}_{number}") not in taken | yielded)
        yielded.add(key)
        yield key


def _plain(value: object) -> object:
    """Return what JSON has of a value: numbers, truth, texts, lists and null."""
    match value:
        case Decimal():
            return (int(value) if value == value.to_integral_value() else float(value)) if value.is_finite() else None
        case float():
            # NaN and the infinities are not, and JSON has none of them.
            return value if value - value == 0 else None
        case None | bool() | int() | str():
            return value
        case list():
            return [_plain(each) for each in value]
        case _:
            return str(value)


# Signs of life of work that takes long: on the standard error, from the second second on, never what was read.

_FIRST_SIGN, _NEXT_SIGNS = 2.0, 10.0
"""Seconds until the first line, and between two lines."""


@contextmanager
def progress(doing: str, first: float = _FIRST_SIGN) -> Iterator[None]:
    """Tell what is being done, and again and again for how long, until the block ends."""
    over, began = threading.Event(), monotonic()

    def tell() -> None:
        if over.wait(first):
            return
        typer.echo(f"{doing} …", err=True)
        while not over.wait(_NEXT_SIGNS):
            typer.echo(f"{doing} …, for {monotonic() - began:,.0f} seconds", err=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        # Or a sign could come after the answer.
        teller.join()
