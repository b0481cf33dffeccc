"""A query for one value that reads no answer is tried in the session before the answer beside it is paid for."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.clients.site import Site

COUNT = "FROM trips WHERE fare > 17.25"


@pytest.fixture(params=["simple", "extended"])
def session(here: Site, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """Give a session with a temporary table of two rows."""
    factory: type[psycopg.Cursor] = psycopg.ClientCursor if request.param == "simple" else psycopg.Cursor
    with psycopg.connect(here.dsn, autocommit=True, cursor_factory=factory) as opened:
        opened.prepare_threshold = 0
        opened.execute("CREATE TEMP TABLE kept (g text, n bigint)")
        opened.execute("INSERT INTO kept VALUES ('cash', 1), ('cheque', 2)")
        yield opened


def _charges(session: psycopg.Connection) -> int:
    (count,) = session.execute("SELECT count(*) FROM dpsql.charges").fetchone() or (-1,)
    return int(count)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (f"SELECT count(*), (SELECT n FROM kept) {COUNT}", "21000"),
        (f"SELECT CASE WHEN count(*) > 0 THEN (SELECT n FROM kept WHERE g > 'a') END {COUNT}", "21000"),
        (f"WITH k AS (SELECT n FROM kept) SELECT count(*), (SELECT n FROM k) {COUNT}", "21000"),
        (f"SELECT count(*), (SELECT oid FROM pg_catalog.pg_class) {COUNT}", "21000"),
        (f"SELECT count(*), (SELECT DISTINCT borough FROM zones) {COUNT}", "21000"),
        (f"INSERT INTO kept SELECT 'x', count(*) + (SELECT n FROM kept) {COUNT}", "21000"),
        (f"WITH a AS (SELECT count(*) AS m {COUNT}) INSERT INTO kept SELECT 'x', m + (SELECT n FROM kept) FROM a", "21000"),
        (f"WITH a AS (SELECT count(*) {COUNT}) INSERT INTO kept VALUES ('', (SELECT n FROM kept)), ('', (TABLE a))", "21000"),
        (f"WITH a AS (SELECT count(*) AS m {COUNT}) UPDATE kept SET n = m + (SELECT k.n FROM kept AS k) FROM a", "21000"),
        (f"WITH a AS (SELECT count(*) AS m {COUNT}) INSERT INTO kept SELECT 'x', m / 0 FROM a", "22012"),
        (f"UPDATE kept SET n = (SELECT count(*) {COUNT}) WHERE g > (SELECT k.g FROM kept AS k)", "21000"),
        (f"VALUES ((SELECT count(*) {COUNT}), (SELECT n FROM kept))", "21000"),
        (f"WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT 2 FROM r) SELECT count(*), (SELECT n FROM r) {COUNT}", "0A000"),
        (f"SELECT count(*), (SELECT 1 UNION SELECT 2) {COUNT}", "21000"),
        (f"SELECT count(*), (VALUES (1), (2)) {COUNT}", "21000"),
        (f"SELECT count(*), (SELECT pg_catalog.unnest(ARRAY[1, 2])) {COUNT}", "21000"),
        (f"SELECT count(*), (SELECT jsonb_path_query('[1, 2]', '$[*]')) {COUNT}", "21000"),
        (f"SELECT payment_type, (SELECT n FROM kept WHERE g = payment_type) {COUNT} GROUP BY 1", "0A000"),
        (f"SELECT payment_type, (SELECT n FROM kept AS k WHERE k.g = trips.payment_type) {COUNT} GROUP BY 1", "0A000"),
    ],
)  # fmt: skip
def test_several_rows_of_something_else_cost_nothing(session: psycopg.Connection, statement: str, code: str) -> None:
    """PostgreSQL says so before the answer is paid for; what hangs on the answer is refused unless it is sure."""
    before = _charges(session)
    with pytest.raises(psycopg.Error) as caught:
        session.execute(statement.encode())
    assert (caught.value.sqlstate, _charges(session)) == (code, before)


def test_one_row_of_something_else_is_a_value(session: psycopg.Connection) -> None:
    """With parameters, too, and where it is looked up for each group."""
    query = (
        "SELECT count(*) > 0, (SELECT n FROM kept WHERE g = %s), (SELECT borough FROM zones WHERE zone = %s) FROM trips"
    )
    assert session.execute(query, ("cheque", "none of them")).fetchone() == (True, 2, None)
    each = "SELECT payment_type, (SELECT max(n) FROM kept WHERE g = {}payment_type) FROM trips GROUP BY 1"
    assert ("cash", 1) in session.execute(each.format("trips.").encode()).fetchall()
    assert ("cash", 1) in session.execute(each.format("").encode()).fetchall()
