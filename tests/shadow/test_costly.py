"""Some of what PostgreSQL can't interrupt is refused where it would take long, and is as before where it would not."""

from collections.abc import Iterator
from time import monotonic

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres

SPINNING = (
    "translate(repeat('0', 1000000), repeat('a', 100000), 'c')",
    "btrim(repeat('a', 1000000), repeat('b', 100000) || 'a')",
    "strpos(repeat('a', 1000000), 'b' || repeat('a', 5000))",
    "position('b' || repeat('a', 5000) IN repeat('a', 1000000))",
    "replace(repeat('a', 1000000), 'b' || repeat('a', 5000), 'c')",
    "split_part(repeat('a', 1000000), 'b' || repeat('a', 5000), 1)",
    "string_to_array(repeat('a', 1000000), 'b' || repeat('a', 5000))",
    "string_to_array(repeat('a', 1000000), 'b' || repeat('a', 5000), 'x')",
    "(SELECT count(*) FROM string_to_table(repeat('a', 1000000), 'b' || repeat('a', 5000)))",
    "btrim(repeat('a', 1000000)::bytea, repeat('b', 100000)::bytea)",
    "(SELECT array_agg(x) && array_agg(-x) FROM generate_series(1, 100000) AS x)",
    "(SELECT arrayoverlap(array_agg(x), array_agg(-x)) FROM generate_series(1, 100000) AS x)",
    "(SELECT array_agg(x) @> array_agg(x + 99999) FROM generate_series(1, 100000) AS x)",
    "(SELECT array_agg(x + 99999) <@ array_agg(x) FROM generate_series(1, 100000) AS x)",
)
SAME = (
    ("translate('abc', 'ab', 'x')", "xc"),
    ("replace('abc', 'b', 'x')", "axc"),
    ("position('b' IN 'abc')", 2),
    ("strpos('abc', NULL)", None),
    ("trim(BOTH 'x' FROM 'xax')", "a"),
    ("string_to_array('a,b', ',')", ["a", "b"]),
    ("string_to_array('a,b', NULL)", ["a", ",", "b"]),
    ("string_to_array('a,b', ',', 'b')", ["a", None]),
    ("(SELECT string_agg(x, '-') FROM string_to_table('a,b', ',') AS x)", "a-b"),
    ("ARRAY[1, 2] && ARRAY[2]", True),
    ("ARRAY['a'] @> ARRAY['b']", False),
    ("ARRAY['a'] <@ ARRAY['a', 'b']", True),
    ("ARRAY[ROW(1, 2)] && ARRAY[ROW(1, 2)]", True),
    ("ARRAY[ROW(1, 2)] @> ARRAY[ROW(1, 3)]", False),
    ("ARRAY[ROW(1, 'a'::text)] <@ ARRAY[ROW(2, 'b'::text), ROW(1, 'a'::text)]", True),
    ("ARRAY[1] && NULL::int[]", None),
)


@pytest.fixture
def client(shadow: Postgres) -> Iterator[psycopg.Connection]:
    """Give a client's session."""
    with psycopg.connect(shadow.dsn("taxi", "ana"), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("call", SPINNING)
def test_what_would_spin_is_refused(call: str, client: psycopg.Connection) -> None:
    """PostgreSQL's own would go on for seconds to days after every cancel."""
    with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="is given more than it can be stopped at"):
        client.execute(f"SELECT {call}".encode())


@pytest.mark.parametrize(("call", "value"), SAME)
def test_the_rest_is_postgresqls(call: str, value: object, client: psycopg.Connection) -> None:
    """NULL and all types as before, by name, by syntax and by operator."""
    assert client.execute(f"SELECT {call}".encode()).fetchone() == (value,)


def test_nobody_calls_what_stands_behind(client: psycopg.Connection) -> None:
    """PostgreSQL's own functions can't be reached by the names that they have now."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        client.execute("SELECT dpsql_translate('a', 'b', 'c')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        client.execute("SELECT '(1,2),(3,4)'::path <-> '(1,2),(3,4)'::path")


@pytest.mark.parametrize("view", ["pg_catalog.pg_policies", "information_schema.triggers"])
def test_views_of_postgresqls_show_as_before(view: str, client: psycopg.Connection) -> None:
    """Those that call one of the functions call ours."""
    client.execute(f"SELECT * FROM {view}".encode()).fetchall()


def test_many_calls_can_be_stopped(client: psycopg.Connection) -> None:
    """Between any two of them PostgreSQL looks whether it is to stop."""
    client.execute("SET statement_timeout = '200ms'")
    calls = " || ".join(["translate(repeat('0', 20000), repeat('a', 1000), 'c')"] * 200)
    since = monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute(f"SELECT length({calls})".encode())
    assert monotonic() - since < 5
