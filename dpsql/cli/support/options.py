"""The options that several commands share."""

import csv
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dpsql.epsilon.numbers import read_number, read_share

ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", help="The configuration.", envvar="DPSQL_CONFIG", show_default=True)
]
DEFAULT_CONFIG = Path("config.yaml")
RoleName = Annotated[str, typer.Option("--role", "-r", help="The role that asks and pays.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON: an object a line, unless there is but one.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="CSV, with the names in the first line.")]
Sql = Annotated[str, typer.Argument(help="One SQL statement; - reads it from standard input.")]


def statement(sql: str) -> str:
    """Return the statement that an argument stands for."""
    text = typer.get_text_stream("stdin").read() if sql == "-" else sql
    if not text.strip(" \t\r\n;"):
        where = "on standard input" if sql == "-" else "in the argument"
        raise typer.BadParameter(f"there is no statement {where}; dpsql.columns has what may be asked about")
    return text


# Numbers as people type them: fractions, lists, a column of a CSV file.

MOST = 10**15
"""The largest whole number of an option: as many people, rows or days there are nowhere."""
_LONGEST_NUMBER = 40


def read_fraction(text: str | Fraction) -> Fraction:
    """Read `0.333` or `1/3` exactly; for use as a parser of an option, which is given the option's default too.

    A text with so large an exponent that calculating with it takes long is no number.
    """
    if isinstance(text, Fraction):
        return text
    if (number := read_number(text)) is not None:
        return number
    raise typer.BadParameter(
        f'"{_cut(text)}" is not a number like 0.333 or 1/3, of at most 30 digits and from 1e-99 to 1e99'
    )


def read_probability(text: str | Fraction) -> Fraction:
    """Read `0.33`, `33 %` or `1/3`; for use as a parser of an option."""
    share = text if isinstance(text, Fraction) else read_share(text)
    if share is None:
        raise typer.BadParameter(
            f'"{_cut(text)}" is not a number like 0.333 or 1/3, of at most 30 digits, nor one like 33 %'
        )
    return share


def read_whole(text: str | int) -> int:
    """Read `10000`, `10,000`, `10 000` or `1e4`; for use as a parser of an option."""
    number = Fraction(text) if isinstance(text, int) else read_number(text)
    if number is None or number.denominator != 1 or number > MOST:
        raise typer.BadParameter(f'"{_cut(text)}" is no whole number like 10000, 10,000 or 1e4, up to {MOST:,}')
    return int(number)


def read_epsilon(text: str | Fraction) -> Fraction:
    """Read an ε, which is above 0; see `read_fraction`."""
    epsilon = read_fraction(text)
    if epsilon <= 0:
        raise typer.BadParameter(f"an ε of {float(epsilon):g}: it must be above 0")
    return epsilon


def _cut(text: object) -> str:
    shown = str(text)
    return shown if len(shown) <= _LONGEST_NUMBER else f"{shown[:_LONGEST_NUMBER]}…"


def read_list(text: str) -> list[float]:
    """Read numbers with commas between them."""
    return [_number(part, f"value {place}") for place, part in enumerate(text.split(","), start=1)]


def read_column(file: Path, column: str) -> list[float]:
    """Read one column of a CSV file whose first line has the names."""
    try:
        # Spreadsheets write a mark of the byte order, which would be a part of the first column's name.
        with file.open(newline="", encoding="utf-8-sig") as lines:
            return list(_cells(csv.reader(lines), file, column))
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise typer.BadParameter(f"{file}: {error}") from None


def _cells(rows: "Iterator[list[str]]", file: Path, column: str) -> Iterator[float]:
    header = next(rows, [])
    if column not in header:
        raise typer.BadParameter(f'{file} has no column "{column}"; it has {", ".join(header) or "nothing"}')
    place = header.index(column)
    for line, row in enumerate(rows, start=2):
        if row:
            yield _number(row[place] if place < len(row) else "", f"{file}, row {line}")


def _number(text: str, where: str) -> float:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        raise typer.BadParameter(f'{where}: "{text.strip()}" is not a number') from None
    if not number.is_finite():
        raise typer.BadParameter(f'{where}: "{text.strip()}" is not a finite number')
    return float(number)
