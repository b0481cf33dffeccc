"""The audit trail of a server as it is run: each statement and log-in, chained, durable, and without a value of the data."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.wire.protocol.scram import Verifier
from tests.clients.site import Site, configure, serving
from tests.faults import controls
from tests.support.processes import children

CANARIES = ("Canarystadt", "738.0625", "7380625", "987654321")
"""A text, a number and a unit's key of the data, which no statement contains."""
_TEXT = "SELECT payment_type, count(*), sum(fare) FROM trips WHERE fare > %s GROUP BY 1"
Lines = list[Mapping[str, object]]


@pytest.fixture
def config(directory: Path) -> Path:
    """A configuration with an owner and a role that has little; the data have canaries."""
    config = configure(directory)
    controls.write(
        config,
        "  # So much",
        "  small: {protects: passenger, budget: {epsilon: 1}, per_query: {epsilon: 1}}\n  # So much",
    )
    controls.write(config, "per_query: {epsilon: 1000}}", "per_query: {epsilon: 1000}, owner: true}")
    bob = f'  bob: {{role: small, password: "{Verifier.of("of bob")}"}}\n'
    config.write_text(config.read_text() + bob)
    with closing(duckdb.connect(directory / "taxi.duckdb")) as records:
        records.execute(
            "INSERT INTO trips SELECT 987654321, 1, 987654321, pickup_ts, 1, 'Canarystadt', 1, 1, 738.0625, 0, 738.0625"
            " FROM trips LIMIT 1"
        )
    return config


@pytest.fixture
def log(directory: Path) -> Path:
    """Where the server's log is."""
    return directory / "log"


@pytest.fixture
def site(config: Path, log: Path) -> Iterator[Site]:
    """Serve it."""
    with log.open("w") as said, serving(config, log=said) as served:
        yield served


def _place(config: Path) -> Path:
    return config.parent / "ledger.db.audit"


def _lines(config: Path) -> Lines:
    return [
        json.loads(line) for path in sorted(_place(config).glob("*.jsonl")) for line in path.read_text().splitlines()
    ]


def _of(config: Path, event: str = "statement", **wanted: object) -> Lines:
    return [
        line for line in _lines(config) if line["event"] == event and all(line.get(k) == v for k, v in wanted.items())
    ]


def _ask_everything(site: Site) -> None:
    """Ask in all ways that there are, and log in in vain."""
    with psycopg.connect(f"{site.dsn} application_name=report", autocommit=True) as session:
        session.execute(_TEXT, (12.5,)).fetchall()
        session.execute(_TEXT, (12.5,)).fetchall()
        session.execute("EXPLAIN SELECT count(*) FROM trips").fetchall()
        session.execute("SELECT zone FROM zones LIMIT 1").fetchall()
        session.execute("PREPARE q(float) AS SELECT count(*) FROM trips WHERE fare < $1")
        session.execute("EXECUTE q(1 + 3.5)").fetchall()
        for refused in (
            "SELECT * FROM trips",
            "SELECT nothing FROM trips",
            "SELECT nothing FROM zones",
            "CREATE ROLE x",
        ):
            with pytest.raises(psycopg.Error):
                session.execute(refused)
    with psycopg.connect(site.dsn, autocommit=True, cursor_factory=psycopg.ClientCursor) as session:
        session.execute("SELECT sum(tip) FROM trips; SELECT 1")
        with pytest.raises(psycopg.Error):
            session.execute("SELECT count(*) FROM trips; SELEKT 1")
        with pytest.raises(psycopg.Error):
            session.execute("SELECT 1 / 0")
    with psycopg.connect(f"{site.words.replace('user=ana', 'user=bob')} password='of bob'", autocommit=True) as session:
        session.execute("SELECT count(*) FROM trips WHERE tip > 1").fetchall()
        with pytest.raises(psycopg.Error):
            session.execute("SELECT count(*) FROM trips WHERE tip > 2").fetchall()
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"dpsql\.audit is for owners"):
            session.execute("SELECT count(*) FROM dpsql.audit")
    with pytest.raises(psycopg.Error):
        psycopg.connect(site.words.replace("user=ana", "user=mallory"))
    # Lines that nobody waits for are written before one that somebody does.
    psycopg.connect(site.dsn).close()


def _said(line: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(line.get(name) for name in ("statement", "parameters", "verdict", "code", "rule", "epsilon"))


def test_each_statement_and_log_in_has_its_line(config: Path, site: Site) -> None:
    """With its parameters, what became of it and what it cost; in the order in which they were answered."""
    _ask_everything(site)
    text = _TEXT.replace("%s", "$1")
    assert [_said(line) for line in _of(config, user="ana")] == [
        (text, ["12.5"], "answered", None, None, "1000"),
        (text, ["12.5"], "free", None, None, "0"),
        ("EXPLAIN SELECT count(*) FROM trips", None, "free", None, None, "0"),
        ("SELECT zone FROM zones LIMIT 1", None, "public", None, None, None),
        ("PREPARE q(float) AS SELECT count(*) FROM trips WHERE fare < $1", None, "public", None, None, None),
        ("SELECT count(*) FROM trips WHERE fare < $1", None, "answered", None, None, "1000"),
        ("SELECT * FROM trips", None, "refused", "42501", "rows-of-protected-table", "0"),
        ("SELECT nothing FROM trips", None, "refused", "42703", None, "0"),
        ("SELECT nothing FROM zones", None, "refused", "42703", None, None),
        ("CREATE ROLE x", None, "refused", "42501", "clients-only-read", None),
        ("SELECT sum(tip) FROM trips", None, "answered", None, None, "1000"),
        ("SELECT 1", None, "public", None, None, None),
        ("SELEKT 1", None, "refused", "42601", None, None),
        ("SELECT 1 / 0", None, "refused", "22012", None, None),
    ]
    trials = [(line["statement"], line["trial"]) for line in _of(config, user="ana") if "trial" in line]
    assert trials == [
        (text, "tried and proved"),
        ("EXPLAIN SELECT count(*) FROM trips", "tried and proved"),
        ("SELECT count(*) FROM trips WHERE fare < $1", "tried and proved"),
        ("SELECT sum(tip) FROM trips", "tried and proved"),
    ]
    (executed,) = _of(config, execute="EXECUTE q(1 + 3.5)")
    assert executed["verdict"] == "answered"
    assert {line.get("application") for line in _of(config, statement=text)} == {"report"}
    assert {line["address"] for line in _of(config)} == {"127.0.0.1"}
    assert [_said(line)[2:] for line in _of(config, user="bob")] == [
        ("answered", None, None, "1"),
        ("refused", "53400", "role-budget", "0"),
        ("refused", "42501", "audit-for-owners", "0"),
    ]
    log_ins = [(line["user"], line.get("role"), line["verdict"], line.get("code")) for line in _of(config, "log-in")]
    ana = ("ana", "analyst", "accepted", None)
    assert log_ins == [ana, ana, ("bob", "small", "accepted", None), ("mallory", None, "refused", "28P01"), ana]
    assert next(line["event"] for line in _lines(config)) == "start"


def test_no_value_of_the_data_is_in_any_file(config: Path, site: Site, log: Path) -> None:
    """Whatever is asked: a canary that no statement has is in no line of the audit trail, the log and the ledger."""
    _ask_everything(site)
    with psycopg.connect(site.dsn, autocommit=True) as session:
        for asked in (
            "max(fare)",
            "min(passenger_count)",
            "median(fare)",
            "avg(fare), stddev(fare)",
            "count(DISTINCT passenger_id)",
        ):
            session.execute(f"SELECT {asked} FROM trips").fetchall()
        for text in (
            "SELECT payment_type::int FROM trips",
            "SELECT sum(1 / (fare - 738)) FROM trips GROUP BY payment_type",
        ):
            try:
                session.execute(text).fetchall()
            except psycopg.Error:
                continue
        held = session.execute("SELECT to_jsonb(a)::text FROM dpsql.audit a").fetchall()
    written = "\n".join(
        [log.read_text(), *(path.read_text() for path in _place(config).iterdir()), *(row[0] for row in held)]
    )
    ledger = (config.parent / "ledger.db").read_bytes() + (config.parent / "ledger.db-wal").read_bytes()
    assert len(_of(config)) > 15
    assert [canary for canary in CANARIES if canary in written or canary.encode() in ledger] == []


def test_the_trail_is_verified_and_a_changed_byte_is_found(config: Path) -> None:
    """While it is written, after a stop, and after a kill in the midst of it."""
    command = ["audit", "--verify", "--config", str(config)]
    with serving(config) as site:
        _ask_everything(site)
        assert CliRunner().invoke(app, command).exit_code == 0
    with serving(config) as site:
        with psycopg.connect(site.dsn, autocommit=True) as session:
            session.execute("SELECT count(*) FROM trips WHERE fare > 7").fetchall()
        assert site.process is not None
        site.process.kill()
        site.process.wait(10)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "whole" in done.stdout
    assert "have no line" not in done.stdout
    (path,) = _place(config).glob("*.jsonl")
    whole = path.read_bytes()
    for place in (100, len(whole) // 2, len(whole) - 100):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        done = CliRunner().invoke(app, command)
        line = whole[:place].count(b"\n") + 1
        assert (done.exit_code, f"line {line} was changed" in done.stderr) == (1, True)


def test_owners_read_it_in_sql(site: Site) -> None:
    """What all have asked; not how long it took, which may tell of records."""
    _ask_everything(site)
    with psycopg.connect(site.dsn, autocommit=True) as session:
        rows = session.execute(
            "SELECT user_name, parameters, epsilon FROM dpsql.audit WHERE verdict = 'answered' ORDER BY line"
        ).fetchall()
        columns = session.execute("SELECT * FROM dpsql.audit LIMIT 0").description or []
    assert rows == [("ana", ["12.5"], 1000), ("ana", None, 1000), ("ana", None, 1000), ("bob", None, 1)]
    assert not {"milliseconds", "seconds", "duration"} & {column.name for column in columns}


def test_what_cannot_be_written_is_not_answered_and_paid_once(config: Path, site: Site) -> None:
    """The trail's directory is away: nothing is taken and nobody let in; when it is back the same is free."""
    asked = "SELECT count(*) FROM trips WHERE fare > 9"
    away = config.parent / "away"
    with psycopg.connect(site.dsn, autocommit=True) as session:
        session.execute("SELECT 1")
        _place(config).rename(away)
        with pytest.raises(psycopg.Error, match="audit trail can't be written") as told:
            session.execute(asked)
        assert told.value.sqlstate == "58030"
        for taken in ("SELECT 1", asked, "SELECT zone FROM zones"):
            with pytest.raises(psycopg.Error, match="audit trail can't be written"):
                session.execute(taken)
        with pytest.raises(psycopg.OperationalError, match="audit trail can't be written"):
            psycopg.connect(site.dsn)
        away.rename(_place(config))
        deadline = time.monotonic() + 10
        while True:
            try:
                session.execute(asked)
                break
            except psycopg.Error:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        (spent,) = session.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone() or (0,)
    assert spent == 1000
    assert CliRunner().invoke(app, ["audit", "--verify", "--config", str(config)]).exit_code == 0


def test_a_line_is_on_the_disk_before_its_answer(config: Path, site: Site) -> None:
    """Whoever has an answer finds its line at once, also after a kill."""
    with psycopg.connect(site.dsn, autocommit=True) as session:
        for number in range(20):
            session.execute(f"SELECT count(*) FROM trips WHERE fare > {number}").fetchall()
            assert len(_of(config, verdict="answered")) == number + 1
    assert _place(config).stat().st_mode & 0o77 == 0


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds children in /proc")
def test_no_answer_lacks_its_line_though_processes_are_killed(config: Path) -> None:
    """Two processes add to one trail for twelve sessions, and each is killed: whoever has an answer finds its line."""
    controls.write(config, "port: 0}", "port: 0, processes: 2}")
    heard: list[str] = []
    over = threading.Event()

    def ask(who: int, dsn: str) -> None:
        number = 0
        while not over.is_set():
            try:
                with psycopg.connect(dsn, autocommit=True) as session:
                    while not over.is_set():
                        number += 1
                        text = f"SELECT count(*) FROM trips WHERE fare > {who} AND tip < {number}"
                        session.execute(text).fetchall()
                        heard.append(text)
            except psycopg.Error:
                continue  # its process was killed: it connects to the other

    with serving(config) as site:
        assert site.process is not None
        threads = [threading.Thread(target=ask, args=(who, site.dsn)) for who in range(12)]
        for thread in threads:
            thread.start()
        for victim in children(site.process.pid):
            before = len(heard)
            while len(heard) < before + 60:
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)
        before = len(heard)
        while len(heard) < before + 60:
            time.sleep(0.01)
        over.set()
        for thread in threads:
            thread.join()
    said = {str(line["statement"]) for line in _of(config) if line["verdict"] in ("answered", "free")}
    assert [text for text in heard if text not in said] == []
    done = CliRunner().invoke(app, ["audit", "--verify", "--config", str(config)])
    assert done.exit_code == 0, done.output
