"""Answers on a terminal: a table of what a cursor holds."""

from collections.abc import Sequence
from decimal import Decimal

import psycopg
from rich.console import Console
from rich.table import Table
from rich.text import Text

Cursor = psycopg.Cursor[tuple[object, ...]]
_MOST = 1_000
"""Characters that a table has of what somebody wrote: one statement must not hide the others."""


def show_answer(console: Console, cursor: Cursor) -> None:
    """Print every result of a cursor: rows as a table, anything else as the server's command tag."""
    while True:
        if cursor.description is None:
            console.print(Text(cursor.statusmessage or ""))
        else:
            names = [column.name for column in cursor.description]
            console.print(table_of(names, cursor.fetchall()))
        if not cursor.nextset():
            return


def table_of(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Lay rows out under their names; numbers are aligned to the right."""
    table = Table(
        header_style="bold", caption=f"({len(rows)} {'row' if len(rows) == 1 else 'rows'})", caption_justify="left"
    )
    for at, name in enumerate(names):
        numeric = all(isinstance(row[at], int | float | Decimal | None) for row in rows)
        # Text, not str: names and values are not markup.
        table.add_column(Text(name), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text("NULL", style="dim") if value is None else Text(str(value)) for value in row))
    return table


def shown_of(text: str) -> str:
    """Return what a table has of somebody's text; no control character of it may reach the terminal."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: _MOST + 1])
    return shown if len(shown) <= _MOST else f"{shown[:_MOST]}…"
