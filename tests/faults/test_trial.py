"""A server that is wrong refuses: what fails its trial costs nothing, and is not asked of records; the account stays open."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.clients.site import serving

HALF = """
from dpsql.privacy.measurement.sums import Sums
Sums.sensitivity = property(lambda sums: sums.bound.mass * sums.row_norm // 2)
"""
SLOW = """
import time
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
run = DuckDbTrialEngine.run
def slow(self, sql, *words, **named):
    time.sleep("fare" in sql and 0.3)
    return run(self, sql, *words, **named)
DuckDbTrialEngine.run = slow
"""
COUNT = "SELECT count(*) FROM trips"


def _told(session: psycopg.Connection, sql: str) -> str:
    return "\n".join(row[0] for row in session.execute(f"EXPLAIN {sql}".encode()).fetchall())


def _refused(session: psycopg.Connection, sql: str) -> str:
    """Ask what fails its trial, which costs nothing; return the number that it is told by."""
    spent = "SELECT epsilon_spent FROM dpsql.budget"
    before = session.execute(spent).fetchone()
    with pytest.raises(psycopg.Error) as caught:
        session.execute(sql.encode())
    assert caught.value.sqlstate == "58000"
    assert session.execute(spent).fetchone() == before
    number = re.search(r"\(trial (\w{8})\)", str(caught.value))
    assert number is not None
    return number[1]


def test_what_fails_its_trial_costs_nothing(config: Path, directory: Path) -> None:
    """Half of what a unit can do is claimed: the client has a number, the log the statement and made-up rows."""
    with (directory / "log").open("w+") as log:
        with serving(config, before=HALF, log=log) as site, psycopg.connect(site.dsn, autocommit=True) as session:
            number = _refused(session, "SELECT sum(fare), count(*) FROM trips")
        log.seek(0)
        said = log.read()
    assert f"trial {number}: a unit moves the measured numbers by" in said
    assert "synthetic rows: {'trips': [(" in said


def test_what_has_passed_is_not_tried_again(config: Path) -> None:
    """Nor by a server that is started later, be it wrong; another form is."""
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as session:
        assert re.search(r"Trial: passed on \d+ synthetic databases, in [\d,]+ ms", _told(session, COUNT))
        assert re.search(r"Trial: passed on \d+ synthetic databases, before", _told(session, COUNT))
    with serving(config, before=HALF) as site, psycopg.connect(site.dsn, autocommit=True) as session:
        assert "synthetic databases, before" in _told(session, COUNT)
        assert session.execute(COUNT).fetchall()
        _refused(session, "SELECT sum(fare), count(*) FROM trips")


def test_nothing_is_tried_where_trials_are_off(config: Path) -> None:
    """As the configuration says."""
    config.write_text(f"{config.read_text()}\ntrial: off\n")
    with serving(config, before=HALF) as site, psycopg.connect(site.dsn, autocommit=True) as session:
        assert "Trial" not in _told(session, COUNT)
        assert session.execute(COUNT).fetchall()


def test_nobody_waits_for_a_trial_but_who_asked(config: Path) -> None:
    """The same user's other sessions go on, and what waits for a turn can be cancelled."""
    with (
        serving(config, before=SLOW) as site,
        psycopg.connect(site.dsn, autocommit=True) as first,
        psycopg.connect(site.dsn, autocommit=True) as second,
        psycopg.connect(site.dsn, autocommit=True) as third,
        ThreadPoolExecutor(2) as threads,
    ):
        first.execute(COUNT)
        trying = threads.submit(_told, first, f"{COUNT} WHERE fare > 3")
        waiting = threads.submit(_told, second, f"{COUNT} WHERE tip > 3")
        third.execute(COUNT)
        third.execute(f"EXPLAIN {COUNT}")
        assert not trying.done()
        second.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            waiting.result()
        assert "synthetic databases, in" in trying.result()
