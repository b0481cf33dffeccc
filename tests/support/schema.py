"""The schema that the tests' tables are in: `public`, or another one, whose tables statements find by the search path.

In that other world `public` has tables of the same names and columns: decoys, with other rows, wider bounds and more rows a
unit, to which no role has a right. So whoever reads a table by its bare name measures another one, or is refused.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dpsql.policy.model import PUBLIC, Policy, Table, TableName
from dpsql.question import Settings

SCHEMA = os.environ.get("TABLES_IN", PUBLIC)
"""`make test-in-a-schema` says another."""
APART = SCHEMA != PUBLIC
V = TypeVar("V")
R = TypeVar("R")
_USUAL = Settings().search_path
_REFERENCE = re.compile(r"references: (?=[a-z])|(?<=^references:\n  )", re.MULTILINE)
_WHOLE = re.compile(r"(bounds: \[-?\d+), (\d+)\]")
_ROWS = re.compile(r"(max_rows: \d+)")


def of(name: str) -> str:
    """Return the text by which a policy keeps a table that statements call by its bare name."""
    return name if "." in name else TableName(SCHEMA, name).text


def by_names(values: Mapping[str, V]) -> dict[str, V]:
    """Return what is said of tables, by the texts by which a policy keeps them."""
    return {of(name): value for name, value in values.items()}


def bare(table: Table) -> str:
    """Return the name by which statements call a table."""
    return TableName.of(table.name).name


def are_meant(tables: Iterable[Table]) -> list[Table]:
    """Return tables without the decoys."""
    return [table for table in tables if TableName.of(table.name).schema == SCHEMA]


def in_session(settings: Settings) -> Settings:
    """Return the settings of a session that has set no other path."""
    return replace(settings, search_path=f"{SCHEMA}, public") if APART and settings.search_path == _USUAL else settings


def configured(text: str) -> str:
    """Return a configuration as one of tables in the schema: its roles have no right to decoys."""
    if not APART:
        return text
    text = re.sub(r"^schemas: .*", rf"\g<0>\nsearch_path: [{SCHEMA}, public]", text, count=1, flags=re.MULTILINE)
    text = re.sub(r"(?<=tables: \[)[^\]]+", lambda named: ", ".join(map(of, named[0].split(", "))), text)
    text = re.sub(r"((?:columns|where): \{)(\w+)(?=:)", lambda said: said[1] + of(said[2]), text)
    text = re.sub(r"^(  \w+: \{protects: (?!.*tables:).*)\}$", rf"\1, tables: [{SCHEMA}.*]}}", text, flags=re.MULTILINE)
    return re.sub(r"^    protects: .*", rf"\g<0>\n    tables: [{SCHEMA}.*]", text, flags=re.MULTILINE)


def put_apart(directory: Path) -> None:
    """Move the tables that a directory declares into the schema, and leave decoys in their place."""
    if not APART:
        return
    (directory / SCHEMA).mkdir()
    for file in directory.glob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        (directory / SCHEMA / file.name).write_text(said_apart(text), encoding="utf-8")
        file.write_text(_ROWS.sub(r"\g<1>7", _WHOLE.sub(r"\1, 1\2]", text)), encoding="utf-8")


def said_apart(declared: str) -> str:
    """Return a table's or a view's file as the schema's."""
    if not APART:
        return declared
    moved = re.sub(r"^table: (?=\w+$)", f"table: {SCHEMA}.", declared, flags=re.MULTILINE)
    return _REFERENCE.sub(rf"\g<0>{SCHEMA}.", moved).replace("public.", f"{SCHEMA}.")


def public_rows(policy: Policy, given: Mapping[str, Sequence[R]]) -> dict[str, Sequence[R]]:
    """Return public rows by the texts by which tables are kept: of decoys the first alone, so that most keys are missing."""
    decoys = {name: rows[:1] for name, rows in given.items() if of(name) != name and name in policy.tables}
    return {**by_names(given), **decoys}


def filled(policy: Policy, name: str, rows: Sequence[R]) -> Iterator[tuple[Table, Sequence[R]]]:
    """Yield a table with its rows, and its decoy with each row twice, where no key forbids it: claims don't hold of those."""
    table = policy.tables[of(name)]
    yield table, rows
    if table.name != name and not table.public:
        yield policy.tables[bare(table)], rows[:1] if table.key or table.joint_key else [*rows, *rows]
