"""A constant that is cast is read at once, by what was made of the same type before: as the parser would read it."""

from collections.abc import Iterator

import pytest
from sqlglot import exp
from sqlglot.parsers.postgres import PostgresParser

from dpsql.rewrite.syntax.read import dialect
from dpsql.rewrite.syntax.read.dialect import Client, parse_query
from tests.support.golden import load
from tests.support.samples import ALL, spread
from tests.support.shop_statements import ANSWERED

_TYPES = """
double precision|text|bigint|int|integer|smallint|numeric|numeric(10,2)|numeric(10)|real|boolean|date|interval|interval(3)
interval day|interval day to second(3)|timestamp|timestamp without time zone|timestamp(3) without time zone
timestamp with time zone|timestamptz|time|time with time zone|timetz(2)|character varying|character varying(20)|character(3)
bpchar|"char"|name|bit(3)|bit varying(4)|uuid|json|jsonb|integer[]|integer[3]|text[][]|public.mood|mood|"Mood"|money|oid
regclass|pg_catalog.int4|int4range|xml|bytea|inet|national character varying(3)|double|precision|enum|struct|map|tuple
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
_CONSTANTS = ("1", "(1)", "(1.5)", "'x'", "('x')", "-1", "(-1)", "((1))", "(1 + 1)", "$1", "NULL", "('a' 'b')", "E'x'")
_PLACES = (
    "SELECT {}, 2", "SELECT ({}) FROM t", "SELECT * FROM t WHERE (a.b >= {}) AND a = ANY (ARRAY[{}, {}])", "SELECT {}",
    "SELECT f({}, {})", "SELECT ({} + {})", "SELECT (2 ^ {})", "SELECT (- {})", "SELECT (a = {})[1]", "SELECT ARRAY[{}][1]",
    "SELECT ({})[1], ({}).x",
    "SELECT ARRAY[ARRAY[{}, {}], ARRAY[{}]][1:2]", "SELECT ARRAY[a, {}, b || {}, NULL], ARRAY[{} + 1]",
    "SELECT {} AS n", 'SELECT {} COLLATE "C", 1', "SELECT ({} AT TIME ZONE 'UTC')",
    "SELECT {}::text, 1", "SELECT CASE WHEN (a < {}) THEN {} END", "SELECT * FROM t WHERE a IN ({}, {}) ORDER BY {}, 1",
    "SELECT a[{}], a[1:{}]", "SELECT (DATE {})", "SELECT ({} IS NULL)", "SELECT ({} BETWEEN {} AND {})", "SELECT x.{}, 1",
    "SELECT ({} OVERLAPS {})", "VALUES ({}, {}), ({}, 1)", "SELECT * FROM f({}) AS t(a)", "SELECT (a LIKE {} ESCAPE {})",
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no type that was read."""
    monkeypatch.setattr(dialect, "_TYPES", {})


def _written(node: object) -> object:
    """Return a tree with all that the parser notes in it, but what is nothing."""
    if isinstance(node, exp.Expr):
        parts = {name: _written(value) for name, value in node.args.items() if value or value is False}
        return type(node).__name__, parts, node.comments or [], dict(node._meta or {})
    return [_written(each) for each in node] if isinstance(node, list) else repr(node)


def _read_slowly(sql: str) -> object:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Client.Parser, "_parse_cast_constant", lambda _: None)
        for quicker in ("_parse_types", "_parse_bracket_key_value"):
            patched.setattr(Client.Parser, quicker, getattr(PostgresParser, quicker))
        return _written(parse_query(sql))


def _same(sql: str) -> bool:
    slowly = _read_slowly(sql)  # by which the type is known
    return _written(parse_query(sql)) == slowly == _written(parse_query(sql))


@pytest.mark.parametrize("type_", _TYPES)
def test_a_constant_of_any_type_is_read_as_the_parser_reads_it(type_: str) -> None:
    """Wherever it stands, whatever stands behind it, and however it is written."""
    every = (place.replace("{}", f"{constant}::{type_}") for constant in _CONSTANTS for place in _PLACES)
    tried = [sql for sql in every if ALL or spread(sql, 4) == 0]
    assert not [sql for sql in tried if not _same(sql)]
    assert tried


def _statements() -> Iterator[str]:
    yield from (statement.sql for statement in load())
    yield from ANSWERED


def test_statements_are_read_as_the_parser_reads_them() -> None:
    """All golden ones and the shop's, with what was learnt from those before."""
    assert not [sql for sql in _statements() if not _same(sql)]


def test_what_is_known_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no type that has parts of its own."""
    for sql in (
        "SELECT (1)::double precision, 'x'::text, 1::numeric(3,1), 'x'::mood, '{}'::int[], 1",
        "SELECT 1::real AS n",
    ):
        parse_query(sql)
    assert sorted(" ".join(text for _, text in words) for words in dialect._TYPES) == ["DOUBLE PRECISION", "text"]
    many = f"SELECT * FROM t WHERE a = ANY (ARRAY[{', '.join(f'({n})::double precision' for n in range(200))}, 1])"
    read, types = list[object](), Client.Parser._parse_types

    def counted(self: Client.Parser, **how: bool) -> exp.Expr | None:
        read.append(how)
        return types(self, **how)

    monkeypatch.setattr(Client.Parser, "_parse_types", counted)
    assert parse_query(many) is not None
    assert len(read) < 20


def test_arrays_in_arrays_are_read_once() -> None:
    """The parser takes each for a type at first, with all that is in it: ten in each other took a thousand times as long."""
    assert parse_query("SELECT " + "ARRAY[" * 20 + "1, 2" + "]" * 20) is not None
