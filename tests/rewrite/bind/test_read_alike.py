"""What is read of PostgreSQL's words means what was sent: PostgreSQL runs both, in every corner of its grammar."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.question import Settings, TemporaryTable
from dpsql.rewrite.bind.bound_reader import BoundReader
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import not_understood, parse
from tests.support.fix_world import World

_TABLES = """
CREATE TEMP TABLE t (
  a int, b text, c float8, d timestamp, e date, n numeric(10,2), j jsonb, arr int[], k bool);
INSERT INTO t VALUES
  (1, 'x', 1.5, '2020-01-02 03:04:05', '2020-01-02', 1.25, '{"a":{"b":[1,2]}, "$.a":7}', '{1,2,3}', true),
  (2, 'y''z', -2.5, '2021-06-07 08:09:10', '2021-06-07', -3.75, '{"a":1}', '{4}', false),
  (3, null, null, null, null, null, null, null, null),
  (4, 'x', 3, '2020-01-02 03:04:05', '2020-03-04', 12, '[1,2]', '{}', true);
CREATE TEMP TABLE u (a int, z text);
INSERT INTO u VALUES (1, 'one'), (2, 'two'), (5, 'five');
"""
STATEMENTS = [
    part.strip()
    for part in re.split(r";[ ]*\n", (Path(__file__).parent / "read_alike.sql").read_text())
    if part.strip()
]
Seen = tuple[list[tuple[str, int]], list[tuple[object, ...]]]


_T = "a int, b text, c float8, d timestamp, e date, n numeric(10,2), j jsonb, arr int[], k bool"
_KEPT = Settings(
    temporary=tuple(
        TemporaryTable(name, tuple((column.split()[0], column.split()[1]) for column in columns.split(", ")))
        for name, columns in (("t", _T), ("u", "a int, z text"))
    )
)


@pytest.fixture(scope="module")
def tables(world: World) -> Iterator[psycopg.Connection]:
    """Give a session with two small tables."""
    with world.connect("dpsql_owner") as session:
        session.execute(_TABLES)
        yield session


def _seen(session: psycopg.Connection, text: str) -> Seen:
    cursor = session.execute(text.encode(), prepare=True)
    return [(column.name, column.type_code) for column in cursor.description or []], cursor.fetchall()


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_is_written_again_means_the_same(tables: psycopg.Connection, world: World, text: str) -> None:
    """Rows, names and types."""
    statement = parse(text, BoundReader(world.oracle(_KEPT)))
    assert statement is not None
    assert _seen(tables, statement.text([render(query.tree) for query in statement.queries])) == _seen(tables, text)


NOT_READ = [
    ("select interval '1.5' second(1)", "this statement"),
    ("select bit '101'", "this statement"),
    ("select '101'::bit varying", "this statement"),
    ("select b is nfc normalized from t", "IS NORMALIZED"),
    ("select json_object('a': a) from t", "JSON_OBJECT"),
    ("select json_arrayagg(a null on null) from t", "JSON_ARRAY"),
    ("select concat_ws(',', variadic array['a','b'])", "VARIADIC"),
    ("select substring(b similar 'x' escape '#') from t", "SIMILAR in substring"),
    ("select substring(b from 'x#\"y#\"' for '#') from t", "this statement"),
    ("select box '((0,0),(1,1))' ?# box '((0,0),(1,1))'", "this statement"),
]


@pytest.mark.parametrize(("text", "name"), NOT_READ)
def test_what_is_not_read_has_a_name(tables: psycopg.Connection, world: World, text: str, name: str) -> None:
    """PostgreSQL runs it, and whoever asks it of a protected table is told what is not understood."""
    assert _seen(tables, text)
    assert parse(text, BoundReader(world.oracle(_KEPT))) is None
    assert name in not_understood(text).message
