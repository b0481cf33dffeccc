"""Cancel requests: one that was acknowledged has done what it will do, and the next statement is none of its business."""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, plain_site, serving

TRIES = 60
SHORT = b"SELECT count(*) FROM generate_series(1, 40000)"  # about as long as a cancel takes


@pytest.fixture(scope="module", params=["dpsql", "plain"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Give dpsql, and a plain PostgreSQL that says what is right."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-cancel-"))
    directory.chmod(0o711)
    with serving(configure(directory)) if request.param == "dpsql" else plain_site(directory) as site:
        yield site
    shutil.rmtree(directory, ignore_errors=True)


def _hit(connection: psycopg.Connection, statement: bytes) -> bool:
    """Return whether a statement was cancelled."""
    try:
        connection.execute(statement)
    except psycopg.errors.QueryCanceled:
        return True
    return False


@pytest.mark.parametrize("statement", [SHORT, GROUPED.encode()], ids=["public", "private"])
def test_an_acknowledged_cancel_leaves_the_next_statement_alone(site: Site, statement: bytes) -> None:
    """However near the end of its own statement it comes; of sixty that are tried none is hit."""
    hits = 0
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        for _ in range(TRIES):
            cancelling = threading.Thread(target=connection.pgconn.get_cancel().cancel)
            cancelling.start()
            _hit(connection, statement)
            cancelling.join()
            hits += _hit(connection, SHORT)
    assert hits == 0


def test_a_cancel_of_nothing_is_forgotten(site: Site) -> None:
    """Whoever presses the button too late has cancelled nothing, the next private statement neither."""
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        for _ in range(TRIES):
            connection.pgconn.get_cancel().cancel()
            assert not _hit(connection, SHORT)
        connection.pgconn.get_cancel().cancel()
        expected = BY_PAYMENT if site.process is not None else []
        assert connection.execute(GROUPED.encode()).fetchall() == expected
