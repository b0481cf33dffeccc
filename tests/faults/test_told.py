"""What is wrong is told by a code that PostgreSQL has for it, and costs nothing: never as a bug of dpsql."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving

IMPATIENT = "import dpsql.accounting.sqlite.ledger as file; file._PATIENCE = 0.5"
ASKED = "SELECT count(*) FROM trips WHERE fare > {}"


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Give a directory that the shadow's account can enter."""
    with tempfile.TemporaryDirectory(prefix="dpsql-faults-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture(scope="module")
def site(place: Path) -> Iterator[Site]:
    """Serve a few trips, with a ledger that nobody waits for."""
    with serving(configure(place), before=IMPATIENT) as served:
        yield served


@pytest.fixture
def session(site: Site) -> Iterator[psycopg.Connection]:
    """Give a session whose statements are simple queries."""
    with psycopg.connect(site.dsn, autocommit=True, cursor_factory=psycopg.ClientCursor) as opened:
        yield opened


def spent(session: psycopg.Connection) -> object:
    """Return what the role has spent."""
    return session.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone()


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("SELECT $1", "42P02"),
        ("SELECT zone FROM zones WHERE zone_id = $1", "42P02"),
        (ASKED.format("$1"), "42P02"),
        ("SELECT count(*) FILTER (WHERE fare > $2) FROM trips GROUP BY payment_type", "42P02"),
        ("MERGE INTO dpsql.budget USING zones ON true WHEN MATCHED THEN DELETE", "42501"),
        ("DELETE FROM dpsql.budget", "42501"),
        ("LOCK dpsql.charges", "42501"),
        ("SELECT sum(9223372036854775807) FROM trips", "55000"),
    ],
)
def test_errors_have_codes_of_postgresql(session: psycopg.Connection, statement: str, code: str) -> None:
    """A parameter that nobody bound, a table that nobody may change, a sum that has no type."""
    before = spent(session)
    with pytest.raises(psycopg.Error) as caught:
        session.execute(statement.encode())
    assert caught.value.sqlstate == code
    assert spent(session) == before


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM trips INTERSECT SELECT count(*) FROM trips",
        "SELECT count(*), avg(fare) FROM trips INTERSECT ALL SELECT count(*), avg(fare) FROM trips",
        "SELECT * FROM dpsql.budget TABLESAMPLE SYSTEM (100)",
        "SELECT sum(1000000000000000) / 1000000000000000 > 100 FROM trips",
    ],
)
def test_odd_questions_have_an_answer(session: psycopg.Connection, statement: str) -> None:
    """Two answers with unnamed columns, a sample of the account, a sum that no bigint holds."""
    assert len(session.execute(statement.encode()).fetchall()) == 1


def test_a_locked_ledger_is_told(place: Path, session: psycopg.Connection) -> None:
    """Who asks something new hears that it is locked; what was answered before is answered."""
    assert session.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
    with closing(sqlite3.connect(place / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(psycopg.Error) as caught:
            session.execute(ASKED.format(30).encode())
        assert (caught.value.sqlstate, bool(caught.value.diag.message_hint)) == ("55P03", True)
        assert session.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        other.execute("ROLLBACK")
    assert (
        session.execute(ASKED.format(30).encode()).fetchone() == session.execute(ASKED.format(30).encode()).fetchone()
    )


def test_a_ledger_that_is_away_is_told(place: Path, session: psycopg.Connection) -> None:
    """Nobody can pay meanwhile, and when it is back everybody can."""
    ledger = place / "ledger.db"
    shutil.move(ledger, ledger.with_name("away.db"))
    with pytest.raises(psycopg.Error) as caught:
        session.execute(ASKED.format(31).encode())
    assert (caught.value.sqlstate, bool(caught.value.diag.message_hint)) == ("58030", True)
    shutil.move(ledger.with_name("away.db"), ledger)
    assert session.execute(ASKED.format(31).encode()).fetchone()
