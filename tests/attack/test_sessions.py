"""What one session does changes nothing for the others, and what the owner changes counts for every session."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.site import configure, serving

BY_DAY = "SELECT pickup_ts::date, payment_type, count(*) FROM trips GROUP BY 1, 2 ORDER BY 1, 2"


@pytest.fixture
def config() -> Iterator[Path]:
    """Give a configuration in a directory that the shadow's account can enter."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-attack-"))
    directory.chmod(0o711)
    yield configure(directory)
    shutil.rmtree(directory, ignore_errors=True)


def test_temporary_types_hide_nothing(config: Path) -> None:
    """A temporary table is a type too; none gets the name of PostgreSQL's own, which planning reads."""
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as hostile:
        for name in ("text", "date"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="another's name"):
                hostile.execute(f'CREATE TEMP TABLE "{name}" (a integer)'.encode())
        assert hostile.execute(BY_DAY.encode()).fetchall()


def test_a_smaller_budget_counts_for_open_sessions(config: Path) -> None:
    """After a reload nobody goes on with what they were allowed before."""
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as asked:
        asked.execute(GROUPED.encode())
        old = "analyst: {protects: passenger, budget: {epsilon: 10000000}"
        assert old in config.read_text()
        config.write_text(config.read_text().replace(old, old.replace("10000000", "1000")))
        assert site.process is not None
        assert site.process.stdout is not None
        site.process.send_signal(signal.SIGHUP)
        assert site.process.stdout.readline() == "reloaded\n"
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
            asked.execute("SELECT count(*) FROM trips WHERE fare > 3")
        assert asked.execute("SELECT epsilon_total FROM dpsql.budget").fetchone() == (1000,)
