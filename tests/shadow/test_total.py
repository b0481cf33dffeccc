"""The shadow's functions for released values: PostgreSQL's own, and NULL where those fail."""

import itertools
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier, Literal

from dpsql.rewrite.syntax.whole.single_row import PARTIAL
from dpsql.shadow.server.postgres import Postgres

NUMBERS = ["0", "1", "-1", "2", "0.5", "-7", "1e5", "-1e30", "1e300", "NaN", "Infinity", None]
WHOLE = ["0", "1", "-1", "2", "13", "-7", "100000", "2147483647", "-2147483648", None]
FAILED = (psycopg.DataError, psycopg.errors.FeatureNotSupported, psycopg.errors.ProgramLimitExceeded)
SLOW, LARGE = ("factorial",), ("100000", "2147483647")
_FUNCTIONS = """
SELECT proname::text, proargtypes::regtype[]::text[] FROM pg_proc
 WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY (%s) AND pronargs IN (1, 2) AND NOT proretset
   AND proargtypes::regtype[]::text[] <@ '{smallint,integer,bigint,numeric,"double precision"}' ORDER BY oid
"""


@pytest.fixture(scope="module")
def client(shadow: Postgres) -> Iterator[psycopg.Connection]:
    """Give a client's session."""
    with psycopg.connect(shadow.dsn("taxi", "ana"), autocommit=True) as connection:
        connection.execute("SET extra_float_digits = 1")
        yield connection


def _value(
    connection: psycopg.Connection, schema: str, name: str, types: list[str], given: tuple[str | None, ...]
) -> str:
    args = SQL(", ").join(SQL("{}::" + type_).format(Literal(value)) for type_, value in zip(types, given, strict=True))
    call = SQL("SELECT {}.{}({})::text").format(Identifier(schema), Identifier(name), args)
    try:
        return str(connection.execute(call).fetchone())
    except FAILED:
        return "(None,)"


def test_functions_are_postgresqls_and_null_where_those_fail(client: psycopg.Connection) -> None:
    """For every overload of one or two numbers, on numbers of every kind."""
    functions = client.execute(_FUNCTIONS, (sorted(PARTIAL),)).fetchall()
    assert {"sqrt", "ln", "log", "exp", "power", "acos", "factorial"} <= {name for name, _ in functions}
    failing = 0
    for name, types in functions:
        whole = not {"numeric", "double precision"} & set(types)
        numbers = [number for number in (WHOLE if whole else NUMBERS) if name not in SLOW or number not in LARGE]
        for given in itertools.product(numbers, repeat=len(types)):
            wanted = _value(client, "pg_catalog", name, types, given)
            failing += wanted == "(None,)" and None not in given
            assert _value(client, "pg_dpsql", name, types, given) == wanted, (name, types, given)
    assert failing > 50


@pytest.mark.parametrize(
    "type_", ["smallint", "integer", "bigint", "real", "numeric(5,2)", "numeric(3)", "numeric(2,-1)"]
)
@pytest.mark.parametrize("source", ["numeric", "double precision", "bigint", "text"])
def test_what_a_cast_misses_is_null(client: psycopg.Connection, type_: str, source: str) -> None:
    """And everything else is left as it is."""
    values = ["0", "-2.4", "999.994", "999.995", "32767.4", "32767.5", "3e9", "1e19", "1e39", "1e300", "NaN", "x", None]
    function = "fits_" + type_.partition("(")[0]
    sizes = [int(size) for size in type_.partition("(")[2].rstrip(")").split(",") if size]
    places = "".join(f", {size}" for size in [*sizes, 0][:2]) if sizes else ""
    for value in values:
        try:
            client.execute(SQL("SELECT {}::" + source + "::" + type_).format(Literal(value)))
            kept = True
        except FAILED:
            kept = False
        try:
            client.execute(SQL("SELECT {}::" + source).format(Literal(value)))
        except FAILED:
            continue  # no value of the source
        call = SQL(
            "SELECT pg_dpsql.{}(v"
            + places
            + ") IS NOT DISTINCT FROM CASE WHEN {} THEN v END FROM (SELECT {}::"
            + source
            + ") t(v)"
        )
        assert client.execute(call.format(Identifier(function), Literal(kept), Literal(value))).fetchone() == (True,), (
            value
        )


@pytest.mark.parametrize("type_", ["smallint", "integer", "bigint", "real", "double precision", "numeric"])
@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "%"])
def test_operators_are_postgresqls_and_null_where_those_fail(client: psycopg.Connection, sign: str, type_: str) -> None:
    """For numbers of every kind and size: of the very type and scale that PostgreSQL gives."""
    values = [
        "0",
        "-1",
        "7",
        "100",
        "32767",
        "-2147483648",
        "9223372036854775807",
        "-2.5",
        "1e-16",
        "1e16",
        "-1e308",
        "NaN",
    ]
    pairs = list(itertools.product([value for value in values if _is_one(client, type_, value)], repeat=2))
    call = "SELECT (x::{0} OPERATOR({1}.{2}) y::{0})::text, pg_typeof(x::{0} OPERATOR({1}.{2}) y::{0})::text FROM {3}"
    sign, wanted = sign.replace("%", "%%"), []
    for pair in pairs:
        try:
            cursor = client.execute(call.format(type_, "pg_catalog", sign, "(SELECT %s, %s) t (x, y)").encode(), pair)
            wanted.append(cursor.fetchone())
        except psycopg.errors.UndefinedFunction:
            return
        except FAILED:
            wanted.append((None, type_))
    every = call.format(
        type_, "pg_dpsql", sign, "unnest(%s::text[], %s::text[]) WITH ORDINALITY t (x, y, n) ORDER BY n"
    )
    ours = client.execute(every.encode(), [list(sides) for sides in zip(*pairs, strict=True)]).fetchall()
    assert dict(zip(pairs, ours, strict=True)) == dict(zip(pairs, wanted, strict=True))
    assert len(pairs) >= 25


def _is_one(connection: psycopg.Connection, type_: str, text: str) -> bool:
    """Return whether a type has a value."""
    try:
        connection.execute(SQL("SELECT {}::" + type_).format(Literal(text)))
    except FAILED:
        return False
    return True


@pytest.mark.parametrize("type_", ["integer", "bigint", "double precision", "numeric"])
def test_no_limit_is_negative(client: psycopg.Connection, type_: str) -> None:
    """A limit of -2 is one of nothing, and none is none."""
    select = f"SELECT count(*) FROM (SELECT FROM generate_series(1, 5) LIMIT pg_dpsql.not_negative(%s::{type_})) t"
    assert [client.execute(select.encode(), (n,)).fetchone() for n in ("-2", "3", None)] == [(0,), (3,), (5,)]
