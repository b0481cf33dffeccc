"""No function, operator or cast that PostgreSQL has fails a statement over released values, whatever these are.

What there is comes from the catalogue, so that nothing can be forgotten; how it is written comes from the rewriter.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

import psycopg
import pytest
from psycopg.sql import SQL, Literal

from dpsql.rewrite.syntax.read.dialect import parse_query, render
from dpsql.rewrite.syntax.whole.constant_probes import without_failing
from dpsql.rewrite.syntax.whole.single_row import OPERATORS
from dpsql.shadow.server.postgres import Postgres

_NUMBERS = ["0", "1", "-1", "0.5", "1e15", "-1e300", "1e-20", "NaN", "Infinity", "-Infinity", None]
_TIMES = ["2019-03-01", "infinity", "-infinity", None]
VALUES: Mapping[str, Sequence[str | None]] = {
    "boolean": ["true", "false", None],
    "smallint": ["0", "1", "-1", "32767", "-32768", None],
    "integer": ["0", "1", "-1", "7", "2147483647", "-2147483648", None],
    "bigint": ["0", "1", "-1", "7", "9223372036854775807", "-9223372036854775808", None],
    "real": ["0", "1", "-1", "0.5", "3e38", "1e-38", "NaN", "Infinity", "-Infinity", None],
    "double precision": [*_NUMBERS, "1e308", "1e-308"],
    "numeric": [*_NUMBERS, "1e130000"],
    "text": ["", "abc", "(", "-1", "%z", "\\", "2020-13-45", "credit card", "{", "UTC", "hour", None],
    "date": [*_TIMES, "5874897-12-31", "4713-01-01 BC"],
    "timestamp without time zone": [*_TIMES, "294276-12-31 23:59:59", "4713-01-01 00:00:00 BC"],
    "timestamp with time zone": [*_TIMES, "294276-12-31 23:59:59+00", "4713-01-02 00:00:00+00 BC"],
    "interval": ["0", "1 day", "-1 month", "178000000 years", "-178000000 years", "00:00:00.000001", None],
    "time without time zone": ["00:00", "24:00", "12:34:56.7", None],
    "time with time zone": ["00:00+00", None],
    "bytea": ["", "abc", None],
    "json": ["1", "{}", "[1]", None],
    "jsonb": ["1", "{}", "[1]", '"x"', None],
    "money": ["0", "92233720368547758.07", "-1", None],
    "double precision[]": ["{}", "{1,NaN}", "{NULL}", "{{1},{2}}", None],
    "integer[]": ["{}", "{1}", "{{1}}", None],
    "text[]": ["{}", "{a,NULL}", "{{a}}", None],
}
"""What released values, and what is made of them, can be at worst, by PostgreSQL's names of types."""
POLYMORPHIC = {
    **dict.fromkeys(
        ["anyelement", "anycompatible", "anynonarray", "anycompatiblenonarray", '"any"'], "double precision"
    ),
    **dict.fromkeys(["anyarray", "anycompatiblearray"], "double precision[]"),
}
MOST = 80
"""Calls of one function with values chosen at random, where there are more."""
_NAMES = (
    "^(dpsql_|pg_|has_|binary_upgrade|brin|gin|gist|spg|hash|ts_|bt|txid|lo_|query_to|table_to|schema_to|database_to|cursor_to)",
    "^(row_security|acl|makeacl|current_setting|col_description|obj_description|shobj_description|format_type)",
    "(support|_accum|_combine|_serialize|_deserialize|typmodin|trans|_transfn|_finalfn|send|recv)$",
    "(_larger|_smaller|_inv|_subdiff)$",
    "^(d(exp|log1|log10|pow|sqrt|round|trunc)|numeric_(exp|ln|log|power|sqrt|div_trunc|fac|inc|abs|uminus))$",
    "^(int[248](inc|dec|abs|um|up).*|in_range|float[48]_.+|mul_d_interval|xml.*|jsonb?_(to_record|populate).*)$",
)
MACHINERY = f"""
f.proname ~ '{"|".join(_NAMES)}' OR EXISTS (SELECT FROM pg_operator AS o WHERE o.oprcode = f.oid)
OR EXISTS (SELECT FROM pg_cast AS c WHERE c.castfunc = f.oid)
OR EXISTS (SELECT FROM pg_aggregate AS a
            WHERE f.oid IN (a.aggtransfn, a.aggfinalfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn))
"""
"""What implements operators, casts, aggregates, indexes and administration; records, which answers have not."""
ITS_OWN = {"format", "json_build_object", "jsonb_build_object", "generate_series"}
"""What has any number of arguments of any type, and fails by how it is called; what has no end for some values."""
_FUNCTIONS = """
SELECT f.proname, f.proretset,
       (SELECT array_agg(format_type(t, NULL) ORDER BY n) FROM unnest(f.proargtypes) WITH ORDINALITY AS u (t, n))
  FROM pg_proc AS f
 WHERE f.pronamespace = 'pg_catalog'::regnamespace AND f.prokind = 'f' AND f.provolatile IN ('i', 's')
   AND f.pronargs BETWEEN 1 AND 6 AND NOT f.proname = ANY (%s)
   AND f.prorettype NOT IN ('internal'::regtype, 'cstring'::regtype, 'trigger'::regtype) AND NOT ({})
 ORDER BY f.proname, f.oid
"""
_OPERATORS = """
SELECT oprname, format_type(oprleft, NULL), format_type(oprright, NULL) FROM pg_operator
 WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b' ORDER BY oid
"""


@pytest.fixture(scope="module")
def client(shadow: Postgres) -> Iterator[psycopg.Connection]:
    """Give a client's session."""
    with psycopg.connect(shadow.dsn("taxi", "ana"), autocommit=True) as connection:
        connection.execute("SET statement_timeout = '20s'")
        yield connection


def _released(connection: psycopg.Connection, types: Sequence[str]) -> str:
    """Return a FROM item with columns a0, a1, … of these types: some of all rows that there can be."""
    chosen = random.Random("rows")  # noqa: S311 # the same in each run
    real = [POLYMORPHIC.get(type_, type_) for type_ in types]
    rows = {tuple(chosen.choice(VALUES[type_]) for type_ in real) for _ in range(MOST)}
    written = [
        SQL("({})").format(SQL(", ").join(SQL("{}::" + t).format(Literal(v)) for v, t in zip(row, real, strict=True)))
        for row in sorted(rows, key=str)
    ]
    columns = ", ".join(f"a{i}" for i, _ in enumerate(types))
    return SQL("(VALUES {}) AS _dp(" + columns + ")").format(SQL(", ").join(written)).as_string(connection)


def _failure(
    connection: psycopg.Connection, expression: str, types: Sequence[str], *, rows: bool = False
) -> str | None:
    """Return how PostgreSQL fails to compute something of released values in a statement as it is rewritten."""
    select = (
        f"SELECT count(*) FROM answer AS _dp, {expression} AS r"
        if rows
        else f"SELECT count({expression}) FROM answer AS _dp"
    )
    tree = parse_query(select)
    if tree is None:
        return None  # not understood: refused before it is paid for
    without_failing(tree)
    text = render(tree).replace("answer AS _dp", _released(connection, types).replace("%", "%%"))
    try:
        connection.execute(text.replace("%%", "%").encode())
    except (psycopg.errors.UndefinedFunction, psycopg.errors.SyntaxError):
        return None  # a call that PostgreSQL does not take: it says so when it is described
    except psycopg.Error as error:
        return f"{expression} of {', '.join(types)}: {error.sqlstate} {error.diag.message_primary}"
    return None


def _known(types: Sequence[str]) -> bool:
    return all(POLYMORPHIC.get(type_, type_) in VALUES for type_ in types)


def test_no_function_fails(client: psycopg.Connection) -> None:
    """Each that people call, of what answers have, is NULL where PostgreSQL's own would fail."""
    every_function = client.execute(SQL(_FUNCTIONS).format(SQL(MACHINERY)), (sorted(ITS_OWN),)).fetchall()
    functions = [row for row in every_function if _known(row[2])]
    assert len(functions) > 250
    failed = [
        _failure(client, f"{name}({', '.join(f'_dp.a{i}' for i, _ in enumerate(types))})", types, rows=rows)
        for name, rows, types in functions
    ]
    assert [failure for failure in failed if failure] == []


def test_no_operator_fails(client: psycopg.Connection) -> None:
    """Between any two values that answers have."""
    operators = [row for row in client.execute(_OPERATORS).fetchall() if _known(row[1:])]
    assert {*OPERATORS.values()} <= {name for name, _, _ in operators}
    failed = [_failure(client, f"_dp.a0 {name} _dp.a1", types) for name, *types in operators]
    assert [failure for failure in failed if failure] == []


@pytest.mark.parametrize("source", VALUES)
def test_no_cast_fails(client: psycopg.Connection, source: str) -> None:
    """From and to any type that answers have."""
    targets = [
        *VALUES,
        "varchar(2)",
        "char(2)",
        "numeric(3,1)",
        "timestamp(0)",
        "uuid",
        "inet",
        "oid",
        "bit(3)",
        "regclass",
    ]
    failed = []
    for target in targets:
        try:
            client.execute(f"SELECT NULL::{source}::{target}".encode())
        except psycopg.errors.CannotCoerce:
            continue
        failed.append(_failure(client, f"(_dp.a0)::{target}", [source]))
    assert [failure for failure in failed if failure] == []


@pytest.mark.parametrize(
    "expression",
    ["-a0", "substring(a1 FROM 1 FOR a0)", "overlay(a1 PLACING 'x' FROM a0)", "extract(fortnight FROM a2)",
     "a2 AT TIME ZONE a1", "a1 NOT LIKE a1", "a1 !~ a1", "a1 !~* a1", "a2 + interval '1 day' * a0", "substring(a1 FROM a1)",
     "pg_catalog.chr(a0)", "date_trunc('fortnight', a2)", "make_interval(years => a0)", "abs(-a0)"],
)  # fmt: skip
def test_nothing_with_a_grammar_of_its_own_fails(client: psycopg.Connection, expression: str) -> None:
    """What the parser does not see as a call."""
    assert _failure(client, expression, ["integer", "text", "timestamp without time zone"]) is None


@pytest.mark.parametrize("given", ["1, 3, a0", "1.5, 3, a0", "a2, a2 + interval '1 day', interval '1 day' * a0"])
def test_series_do_not_fail(client: psycopg.Connection, given: str) -> None:
    """A step of 0 makes none."""
    client.execute(b"SET statement_timeout = '2s'")
    tree = parse_query(f"SELECT count(*) FROM answer AS _dp, generate_series({given})")
    assert tree is not None
    without_failing(tree)
    values = "(VALUES (0, 0, timestamp '2019-03-01')) AS _dp(a0, a1, a2)"
    assert client.execute(render(tree).replace("answer AS _dp", values).encode()).fetchone() == (0,)
