"""A ledger on a server: what is in it after a restart, what is refused, whose it is, and what a loss is noticed by."""

import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dpsql.accounting.ledger import DataSet, OpeningWay
from dpsql.accounting.postgres import ledger as postgres_ledger
from dpsql.accounting.postgres.ledger import PostgresLedger, rehearse
from dpsql.accounting.sql.opening import mark_path
from dpsql.errors import ConfigError, LedgerBusy, LedgerFailed
from dpsql.policy.model import Period
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent

TAXI, BIKES = DataSet("taxi", "duckdb /data/taxi.duckdb"), DataSet("bikes", "duckdb /data/bikes.duckdb")
_AS_OWNER = "SET session_replication_role = replica"
"""Lets the superuser do what triggers refuse, as whoever restores an older copy does."""


def _sql(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, options="-csearch_path=dpsql_ledger", autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_a_ledger_opened_again_remembers(dsn: str, tmp_path: Path, clock: Clock) -> None:
    """Charges, releases, entitlements and the epoch are there; the mark is readable by its owner only."""
    with PostgresLedger(dsn, tmp_path / "new" / "ledger", clock) as first:
        identity, number = first.identity, first.epoch(Period.NEVER)
        ask(first, account_of(), item_of("a", "1/3"))
    assert stat.S_IMODE(mark_path(tmp_path / "new" / "ledger").stat().st_mode) == 0o600
    with PostgresLedger(dsn, tmp_path / "elsewhere" / "ledger", clock) as second:
        assert spent(second, account_of()) == (Fraction(1, 3), Fraction(1, 3))
        assert ask(second, account_of(), item_of("a", "1/3")) == {"a": b"release of a"}
        assert (second.identity, second.epoch(Period.NEVER)) == (identity, number)


@pytest.mark.parametrize("table", ["statements", "charges", "epochs", "events", "owners"])
@pytest.mark.parametrize("change", ["UPDATE {} SET {} = {}", "DELETE FROM {}", "TRUNCATE {} CASCADE"])
def test_lines_can_only_be_added(dsn: str, tmp_path: Path, clock: Clock, table: str, change: str) -> None:
    """By nobody who does not take the triggers away."""
    with PostgresLedger(dsn, tmp_path / "l", clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
        ledger.advance("once more")
        ledger.unlock("analyst")
    column = "number" if table == "epochs" else "id"
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        _sql(dsn, change.format(table, column, column))


def test_another_data_set_is_refused_until_it_adopts(dsn: str, tmp_path: Path, clock: Clock) -> None:
    """With what was spent; whoever has it open pays nothing more into it."""
    with PostgresLedger(dsn, tmp_path / "l", clock, TAXI) as taxi:
        ask(taxi, account_of(), item_of("a"))
        with pytest.raises(ConfigError, match='is that of the data set "taxi", not of "bikes"'):
            PostgresLedger(dsn, tmp_path / "m", clock, BIKES)
        with PostgresLedger(dsn, tmp_path / "m", clock, BIKES, OpeningWay.ADOPTED) as bikes:
            assert (bikes.adopted, spent(bikes, account_of())[0]) == (TAXI, Fraction("0.4"))
            assert ask(bikes, account_of(), item_of("a")) == {"a": None}
        with pytest.raises(LedgerFailed):
            ask(taxi, account_of(), item_of("b", "0.1"))


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ("DELETE FROM charges WHERE id = 2", "is an older copy: 1 charges are missing"),
        ("DROP SCHEMA dpsql_ledger CASCADE", "is gone"),
        ("UPDATE owners SET ledger = 'x'", "is not the one that was here"),
    ],
)
def test_a_loss_is_noticed(dsn: str, tmp_path: Path, clock: Clock, loss: str, told: str) -> None:
    """By who has it open before anything is paid, and at the next start; whoever says so on purpose goes on."""
    with PostgresLedger(dsn, tmp_path / "l", clock) as ledger:
        ask(ledger, account_of(), item_of("a"), item_of("b", "0.1"))
        _sql(dsn, _AS_OWNER, loss)
        with pytest.raises(LedgerFailed):
            ask(ledger, account_of(), item_of("c", "0.1"))
    with pytest.raises(ConfigError, match=told) as caught:
        PostgresLedger(dsn, tmp_path / "l", clock)
    assert "dpsql serve --new-ledger" in (caught.value.hint or "")
    PostgresLedger(dsn, tmp_path / "l", clock, way=OpeningWay.ANEW).close()
    PostgresLedger(dsn, tmp_path / "l", clock).close()


_OF_STANDING = ("lineages", "standing", "standing_claims", "standing_attempts")


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_an_older_version_is_taken_over(dsn: str, tmp_path: Path, clock: Clock, version: int) -> None:
    """With all that was charged, and what failed; a rehearsal leaves it as it is."""
    account = account_of()
    with PostgresLedger(dsn, tmp_path / "l", clock) as ledger:
        ask(ledger, account, item_of("a"))
    _sql(
        dsn,
        "ALTER TABLE charges DROP COLUMN rho",
        *(f"DROP TABLE {table}" for table in _OF_STANDING if version < 6),
        *(["ALTER TABLE charges DROP COLUMN first_read, DROP COLUMN last_read"] if version < 5 else []),
        *(["ALTER TABLE events DROP COLUMN form"] if version < 5 else []),
        *(["DROP TABLE readings"] if version == 3 else []),
        f"UPDATE version SET number = {version}",
    )
    rehearse(dsn, tmp_path / "l", DataSet(), clock)
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT number FROM dpsql_ledger.version").fetchone() == (version,)
    with PostgresLedger(dsn, tmp_path / "l", clock) as ledger:
        assert ask(ledger, account, item_of("a")) == {"a": b"release of a"}
        assert ledger.keep_readings(account, {"x": ("a",)}) == {"x": ("a",)}
        ask(ledger, account, item_of("b"))
        assert spent(ledger, account) == (Fraction("0.8"), Fraction("0.8"))
        assert ledger.standing_questions(account) == ()
    PostgresLedger(dsn, tmp_path / "l", clock).close()


def test_a_newer_version_is_refused(dsn: str, tmp_path: Path, clock: Clock) -> None:
    """Rather than guessed at."""
    PostgresLedger(dsn, tmp_path / "l", clock).close()
    _sql(dsn, "UPDATE version SET number = 9")
    with pytest.raises(ConfigError, match="has schema version 9, this dpsql reads version 7"):
        PostgresLedger(dsn, tmp_path / "l", clock)


def test_who_may_not_make_it_is_told_what_is_needed(dsn: str, tmp_path: Path, clock: Clock) -> None:
    """Without the password that the address has; so is who can't connect."""
    _sql(dsn, "DROP ROLE IF EXISTS poor", "CREATE ROLE poor LOGIN")
    for wrong in ({"user": "poor", "password": "hunter2"}, {"dbname": "nowhere", "password": "hunter2"}):
        with pytest.raises(ConfigError, match="can't be opened") as caught:
            PostgresLedger(make_conninfo(dsn, **wrong), tmp_path / "l", clock)
        assert "hunter2" not in str(caught.value)
        assert "needs CREATE on the database" in (caught.value.hint or "")


def test_a_server_that_does_not_sync_is_refused(
    dsn: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charges would be lost with the power; a session that does not wait for its commits waits here."""
    slow = make_conninfo(dsn, options="-csynchronous_commit=off")
    with PostgresLedger(slow, tmp_path / "l", clock) as ledger, ledger._store.read() as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    monkeypatch.setattr(postgres_ledger, "_SYNCS", "SELECT 'off'")
    with pytest.raises(ConfigError, match="fsync = off"):
        PostgresLedger(dsn, tmp_path / "l", clock)


def test_a_rehearsal_leaves_no_trace(dsn: str, tmp_path: Path, clock: Clock) -> None:
    """It says what opening would."""
    rehearse(dsn, tmp_path / "l", TAXI, clock)
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT to_regnamespace('dpsql_ledger')").fetchone() == (None,)
    PostgresLedger(dsn, tmp_path / "l", clock, TAXI).close()
    rehearse(dsn, tmp_path / "l", TAXI, clock)
    with pytest.raises(ConfigError, match='not of "bikes"'):
        rehearse(dsn, tmp_path / "l", BIKES, clock)


def test_who_keeps_it_locked_is_waited_for_and_not_for_ever(
    dsn: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored is told meanwhile."""
    monkeypatch.setattr(postgres_ledger, "_PATIENCE", 0.5)
    with PostgresLedger(dsn, tmp_path / "l", clock) as ledger:
        ask(ledger, account_of(), item_of("a"))
        with closing(psycopg.connect(dsn)) as other:
            other.execute("LOCK TABLE dpsql_ledger.charges IN EXCLUSIVE MODE")
            assert ledger.stored_releases(account_of(), [item_of("a")]) == {"a": b"release of a"}
            with pytest.raises(LedgerBusy):
                ask(ledger, account_of(), item_of("b"))
        ask(ledger, account_of(), item_of("b"))
    assert ledger._store.glance(lambda _: 1) is None
