"""What the parser reads and writes again means what was sent: a real PostgreSQL runs both, in every corner of its grammar."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.errors import DpsqlError
from dpsql.rewrite.syntax.read.bridges import bridged
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.gaps import not_understood
from dpsql.rewrite.syntax.read.parse import parse, parsed
from dpsql.shadow.server.postgres import Postgres
from tests.support.fix_shadow import shadow, shadow_directory  # noqa: F401

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


@pytest.fixture(scope="module")
def tables(shadow: Postgres) -> Iterator[psycopg.Connection]:  # noqa: F811
    """Give a session with two small tables."""
    with psycopg.connect(shadow.dsn("postgres"), autocommit=True) as session:
        session.execute(_TABLES)
        yield session


def _seen(session: psycopg.Connection, text: str) -> Seen:
    cursor = session.execute(text.encode(), prepare=True)
    return [(column.name, column.type_code) for column in cursor.description or []], cursor.fetchall()


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_is_written_again_means_the_same(tables: psycopg.Connection, text: str) -> None:
    """Rows, names and types."""
    found = parse(text, parsed)
    assert found is not None
    assert _seen(tables, found.text([render(query.tree) for query in found.queries])) == _seen(tables, text)


NOT_READ = [
    ("select interval(3) '1.23456 seconds'", "INTERVAL"),
    ("select interval '1 day' second", "INTERVAL"),
    ("select interval '1.5' second(1)", "INTERVAL"),
    ("select interval '10:20' hour to second(0)", "INTERVAL"),
    ("select interval '@ 1 minute ago'", "INTERVAL"),
    ("select interval '1 day ago'", "INTERVAL"),
    ("select interval '.5 day'", "INTERVAL"),
    ("select bit '101'", "a literal of a type with a length"),
    ("select char 'abc'", "a literal of a type with a length"),
    ("select '101'::bit varying", "BIT VARYING"),
    ("select '{1,2}'::int array", "ARRAY behind a type"),
    ("select '{1,2}'::int[3]", "an array type with a size"),
    ("select '{1,2}'::numeric(3, 1)[3]", "an array type with a size"),
    ("select anti.a from t anti join u on anti.a = u.a", "the name of a kind of join"),
    ("select b is nfc normalized from t", "IS NORMALIZED"),
    ("select |/ 4 + 5", "a root as an operator"),
    ("select ||/ 27", "a root as an operator"),
    ("select json_object('a': a) from t", "JSON_OBJECT"),
    ("select json_arrayagg(a null on null) from t", "JSON_ARRAY"),
    ("select concat_ws(',', variadic array['a','b'])", "VARIADIC"),
    ("select a from t order by a using >", "ORDER BY … USING"),
    ("select box '((0,0),(1,1))' ?# box '((0,0),(1,1))'", "this statement"),
]


@pytest.mark.parametrize(("text", "name"), NOT_READ)
def test_what_is_not_read_has_a_name(tables: psycopg.Connection, text: str, name: str) -> None:
    """PostgreSQL runs it, and whoever asks it of a protected table is told what is not understood."""
    assert _seen(tables, text)
    assert parse(text, parsed) is None
    assert name in not_understood(text).message


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("1_000+0x1F,0b101,0o17", "1000 +31  ,5    ,15  "),
        ("'a'\n 'b''c', 'd'", "'ab''c'    , 'd'"),
        ("a for read only", "a              "),
        ('U&"\\0061""x" x', '"a""x"       x'),
        ("u&\"d!0061\" UESCAPE '!', 1", '"da"                  , 1'),
        ("using (a, (b)) as j where", "using (a, (b))      where"),
        ("substring(a similar (b) escape c)", "substring(a ,       (b) ,      c)"),
        ("substring(a from b)", "substring(a from b)"),
        ("'1_000 for read only' -- 0x1F", "'1_000 for read only' -- 0x1F"),
    ],
)
def test_text_is_put_into_words_that_both_read(text: str, other: str) -> None:
    """As long as it was."""
    assert bridged(text) == other


@pytest.mark.parametrize("text", ["0xFFFFFFFFFFFFFFFF", "j.a FROM t JOIN u USING (a) AS j"])
def test_what_has_no_other_words_is_refused(text: str) -> None:
    """A number that would be longer, an alias that is referred to."""
    with pytest.raises(DpsqlError):
        bridged(text)
