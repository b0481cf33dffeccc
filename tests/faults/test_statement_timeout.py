"""`statement_timeout` holds for private statements as for others, however it is set."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.clients.site import Site, configure, plain_site, serving

LONG = "SELECT date_trunc('minute', pickup_ts), corr(fare, tip) FROM trips WHERE fare > {} GROUP BY 1"
"""With little ε, minutes of noise."""
ENDLESS = "SELECT pg_sleep(600)"
SOON = 60.0


@pytest.fixture(scope="module", params=["dpsql", "plain"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Give dpsql, and a plain PostgreSQL that says what is right."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-timeout-"))
    directory.chmod(0o711)
    if request.param == "dpsql":
        config = configure(directory)
        config.write_text(config.read_text().replace("per_query: {epsilon: 1000}", "per_query: {epsilon: 0.01}"))
        with serving(config) as served:
            yield served
    else:
        with plain_site(directory) as served:
            yield served
    shutil.rmtree(directory, ignore_errors=True)


def _connect(site: Site, options: str = "") -> psycopg.Connection:
    return psycopg.connect(site.dsn, autocommit=True, options=options)


def _times_out(site: Site, connection: psycopg.Connection, fare: int, *, simple: bool = False) -> None:
    """See that a statement of minutes ends in time, and how it is told."""
    cursor = psycopg.ClientCursor(connection) if simple else connection.cursor()
    statement = LONG.format(fare) if site.process is not None else ENDLESS
    begun = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled, match="canceling statement due to statement timeout"):
        cursor.execute(statement.encode())
    assert time.monotonic() - begun < SOON


@pytest.mark.parametrize("simple", [False, True], ids=["extended", "simple"])
def test_a_session_s_timeout_ends_a_statement(site: Site, simple: bool) -> None:
    """In both protocols; the session goes on, and without the setting so do its statements."""
    with _connect(site) as connection:
        connection.execute("SET statement_timeout = '700ms'")
        _times_out(site, connection, 1, simple=simple)
        connection.execute("SET statement_timeout = 0")
        assert connection.execute("SELECT count(*) > -1 FROM trips").fetchone() is not None


def test_a_timeout_of_the_start_options_ends_a_statement(site: Site) -> None:
    """As drivers give it with the connection."""
    with _connect(site, "-c statement_timeout=700") as connection:
        _times_out(site, connection, 2)


def test_a_transaction_s_timeout_ends_a_statement_and_with_it_the_transaction(site: Site) -> None:
    """SET LOCAL counts until the transaction is over."""
    with _connect(site) as connection:
        connection.execute("BEGIN")
        connection.execute("SET LOCAL statement_timeout = '0.7s'")
        _times_out(site, connection, 3)
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.execute("ROLLBACK")
        assert connection.execute("SHOW statement_timeout").fetchone() in (("5min",), ("0",))


def test_a_timeout_leaves_quick_statements_alone(site: Site) -> None:
    """Also those that come one after another for longer than it."""
    with _connect(site, "-c statement_timeout=4s") as connection:
        begun = time.monotonic()
        while time.monotonic() - begun < 4.5:
            time.sleep(0.1)
            assert connection.execute("SELECT count(*) > -1 FROM trips").fetchone() is not None
