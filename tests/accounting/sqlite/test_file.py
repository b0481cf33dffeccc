"""The ledger's file: what is in it after a restart, what it refuses, and whose it is."""

import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting.ledger import DataSet, OpeningWay
from dpsql.accounting.sqlite import schema
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.accounting.sqlite.upkeep import owner_of
from dpsql.errors import ConfigError, LedgerFailed
from dpsql.policy.model import Period
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent

TAXI, BIKES = DataSet("taxi", "duckdb /data/taxi.duckdb"), DataSet("bikes", "duckdb /data/bikes.duckdb")


def test_reopened_ledger_remembers(tmp_path: Path, clock: Clock) -> None:
    """Charges, releases, entitlements and the epoch are in the file."""
    path = tmp_path / "new directory" / "ledger.db"
    with SqliteLedger(path, clock) as first:
        ask(first, account_of(), item_of("a", "1/3"))
    with SqliteLedger(path, clock) as second:
        assert spent(second, account_of()) == (Fraction(1, 3), Fraction(1, 3))
        assert ask(second, account_of(), item_of("a", "1/3")) == {"a": b"release of a"}


def test_two_open_ledgers_agree(tmp_path: Path, clock: Clock) -> None:
    """What one process charges the other sees at once."""
    with SqliteLedger(tmp_path / "l.db", clock) as first, SqliteLedger(tmp_path / "l.db", clock) as two:
        for i in range(4):
            ask((first, two)[i % 2], account_of(total="2"), item_of(str(i)))
            assert spent(first, account_of()) == spent(two, account_of()) == (Fraction(2 * (i + 1), 5),) * 2


@pytest.mark.parametrize("table", ["charges", "statements"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET id = id + 1"])
def test_lines_can_only_be_added(ledger: SqliteLedger, tmp_path: Path, table: str, change: str) -> None:
    """The file itself refuses to change or to lose a line."""
    ask(ledger, account_of(), item_of("a"))
    connection = sqlite3.connect(tmp_path / "ledger.db")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(change.format(table))
    connection.close()


def test_file_is_private(ledger: SqliteLedger, tmp_path: Path) -> None:
    """Others on the machine can't read what was asked and answered."""
    ledger.epoch(Period.NEVER)
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600


def test_other_files_are_refused(tmp_path: Path, clock: Clock) -> None:
    """Neither garbage nor the file of a later version is opened as a ledger, and a directory is none."""
    (tmp_path / "text").write_text("not a database, though longer than a header of one hundred bytes" * 9)
    connection = sqlite3.connect(tmp_path / "later")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for name, reason in (("text", "not a database"), ("later", "version 99"), ("", "opened")):
        with pytest.raises(ConfigError, match=reason):
            SqliteLedger(tmp_path / name, clock)


def test_a_ledger_belongs_to_one_data_set(tmp_path: Path, clock: Clock) -> None:
    """Another one is refused, by name or by where its records are, with the way to move on purpose; nothing is changed."""
    path = tmp_path / "ledger.db"
    with SqliteLedger(path, clock, TAXI) as ledger:
        ask(ledger, account_of(), item_of("a"))
        identity = ledger.identity
    before = path.read_bytes()
    elsewhere = replace(TAXI, source="duckdb /other/taxi.duckdb")
    for other, told in (
        (BIKES, 'is that of the data set "taxi", not of "bikes"'),
        (elsewhere, "is that of duckdb /data/taxi.duckdb, not of duckdb /other/taxi.duckdb"),
        (DataSet(), 'is that of the data set "taxi", not of ""'),
    ):
        with pytest.raises(ConfigError, match=told) as caught:
            SqliteLedger(path, clock, other)
        assert "dpsql adopt" in (caught.value.hint or "")
    assert path.read_bytes() == before
    with SqliteLedger(path, clock, TAXI) as ledger:
        assert ledger.identity == identity
        assert ask(ledger, account_of(), item_of("a")) == {"a": b"release of a"}


def test_two_new_ledgers_have_two_identities(tmp_path: Path, clock: Clock) -> None:
    """Even those of one data set."""
    with SqliteLedger(tmp_path / "1.db", clock, TAXI) as first, SqliteLedger(tmp_path / "2.db", clock, TAXI) as two:
        assert first.identity != two.identity


def test_an_adopted_ledger_keeps_what_was_charged(tmp_path: Path, clock: Clock) -> None:
    """What was released of the other records is forgotten, and who it was is written down."""
    path = tmp_path / "ledger.db"
    with SqliteLedger(path, clock, TAXI) as ledger:
        ask(ledger, account_of(), item_of("a"))
        identity, epoch = ledger.identity, ledger.epoch(Period.NEVER)
    with SqliteLedger(path, clock, BIKES, OpeningWay.ADOPTED) as ledger:
        assert ledger.adopted == TAXI
        assert (ledger.identity == identity, ledger.epoch(Period.NEVER)) == (False, epoch + 1)
        assert ask(ledger, account_of(), item_of("a")) == {"a": None}
        assert spent(ledger, account_of())[0] == Fraction("0.8")
    with SqliteLedger(path, clock, BIKES) as ledger:
        assert ledger.adopted is None
    with pytest.raises(ConfigError, match='"bikes", not of "taxi"'):
        SqliteLedger(path, clock, TAXI)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT dataset, reason FROM owners").fetchall() == [
        ("taxi", "made"),
        ("bikes", "adopted"),
    ]
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("UPDATE owners SET dataset = 'taxi'")
    connection.close()


def test_a_ledger_that_another_has_adopted_pays_no_more(tmp_path: Path, clock: Clock) -> None:
    """The server that has it open would charge another data set's budget, and answer from its releases."""
    with SqliteLedger(tmp_path / "ledger.db", clock, TAXI) as ledger:
        ask(ledger, account_of(), item_of("a"))
        SqliteLedger(tmp_path / "ledger.db", clock, BIKES, OpeningWay.ADOPTED).close()
        with pytest.raises(LedgerFailed):
            ask(ledger, account_of(), item_of("a"))


def as_of_version_one(path: Path) -> None:
    """Make a ledger that belongs to no data set, with a charge and a release, as the first version did."""
    connection = sqlite3.connect(path)
    connection.executescript(schema._TABLES)
    connection.executescript("""
        PRAGMA user_version = 1;
        INSERT INTO statements VALUES (1, '2024-05-15T12:00:00+00:00', 'ana', 'analyst', 'passenger', 'SELECT 1');
        INSERT INTO charges VALUES (1, 1, 'a', 'count', '2/5', '0', 1);
        INSERT INTO releases VALUES ('passenger', 'a', x'00');
        INSERT INTO entitlements VALUES ('passenger', 'a', 'analyst');
        INSERT INTO epochs VALUES (1, '2024-05-15T12:00:00+00:00', 'refresh');
    """)
    connection.close()


def test_a_ledger_of_the_first_version_is_taken_over_once(tmp_path: Path, clock: Clock) -> None:
    """By the first data set that is served with it: what was charged counts, what was released may be another's."""
    path = tmp_path / "ledger.db"
    as_of_version_one(path)
    assert owner_of(path) is None
    with SqliteLedger(path, clock, TAXI) as ledger:
        assert spent(ledger, account_of()) == (Fraction("0.4"), Fraction("0.4"))
        assert ask(ledger, account_of(), item_of("a")) == {"a": None}
        assert not ledger.is_closed("analyst")
    taken = owner_of(path)
    assert taken is not None
    assert (taken.dataset, taken.inherited) == (TAXI, True)
    with pytest.raises(ConfigError, match='"taxi", not of "bikes"'):
        SqliteLedger(path, clock, BIKES)


def older(path: Path, version: int) -> None:
    """Make a ledger one of version 3 to 6, as an earlier dpsql wrote it."""
    fifth = """
        ALTER TABLE charges DROP COLUMN first_read; ALTER TABLE charges DROP COLUMN last_read;
        ALTER TABLE events DROP COLUMN form;
    """
    sixth = "DROP TABLE lineages; DROP TABLE standing; DROP TABLE standing_claims; DROP TABLE standing_attempts;"
    connection = sqlite3.connect(path)
    connection.executescript(f"""
        ALTER TABLE charges DROP COLUMN rho;
        {sixth if version < 6 else ""}
        {fifth if version < 5 else ""}
        {"DROP TABLE readings;" if version == 3 else ""}
        PRAGMA user_version = {version};
    """)
    connection.close()


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_a_ledger_of_an_older_version_is_taken_over(tmp_path: Path, clock: Clock, version: int) -> None:
    """With all that was charged and stored, which answers may be read off from now on."""
    path = tmp_path / "ledger.db"
    with SqliteLedger(path, clock, TAXI) as ledger:
        ask(ledger, account_of(), item_of("a"))
    older(path, version)
    with SqliteLedger(path, clock, TAXI) as ledger:
        assert ask(ledger, account_of(), item_of("a")) == {"a": b"release of a"}
        assert ledger.keep_readings(account_of(), {"x": ("a",)}) == {"x": ("a",)}
        ask(ledger, account_of(), item_of("b"))
        assert spent(ledger, account_of()) == (Fraction("0.8"), Fraction("0.8"))


def test_of_many_who_make_a_ledger_at_once_all_have_the_same(tmp_path: Path, clock: Clock) -> None:
    """And of two data sets one gets it."""
    together = threading.Barrier(8)

    def open_one(number: int) -> str:
        together.wait()
        try:
            with SqliteLedger(tmp_path / "ledger.db", clock, (TAXI, BIKES)[number % 2]) as ledger:
                return ledger.identity
        except ConfigError as error:
            return error.message.split(" is that of ")[1]

    with ThreadPoolExecutor(8) as pool:
        told = set(pool.map(open_one, range(8)))
    assert len(told) == 2
    assert len([line for line in told if line.startswith("the data set")]) == 1


def test_who_makes_a_ledger_waits_for_another_who_does(tmp_path: Path, clock: Clock) -> None:
    """While another one is about to write, SQLite doesn't wait to switch a new file to a log, as it does for all else."""
    file = tmp_path / "ledger.db"
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        later = threading.Timer(0.1, other.execute, ["ROLLBACK"])
        later.start()
        with SqliteLedger(file, clock, TAXI) as ledger:
            later.join()
            assert spent(ledger, account_of()) == (Fraction(0), Fraction(0))


def test_the_epoch_is_told_while_another_process_begins_the_next(tmp_path: Path, ledger: SqliteLedger) -> None:
    """Nobody waits for it, and it is seen once it has begun."""
    number = ledger.epoch(Period.NEVER)
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("INSERT INTO epochs (began, reason) VALUES ('2100-01-01T00:00:00+00:00', 'refresh')")
        assert ledger.epoch(Period.NEVER) == number
        other.execute("COMMIT")
        assert ledger.epoch(Period.NEVER) == number + 1


@pytest.mark.usefixtures("without_log")
def test_without_a_log_the_epoch_is_waited_for(tmp_path: Path, clock: Clock) -> None:
    """Whoever writes might begin the next one."""
    with SqliteLedger(tmp_path / "ledger.db", clock) as ledger:
        number = ledger.epoch(Period.NEVER)
        with (
            closing(sqlite3.connect(f"file:{tmp_path}/ledger.db", isolation_level=None, uri=True)) as other,
            ThreadPoolExecutor(1) as pool,
        ):
            other.execute("BEGIN EXCLUSIVE")
            asked = pool.submit(ledger.epoch, Period.NEVER)
            assert ledger._file.epoch() is None
            assert not asked.done()
            other.execute("INSERT INTO epochs (began, reason) VALUES ('2100-01-01T00:00:00+00:00', 'refresh')")
            other.execute("COMMIT")
            assert asked.result(20) == number + 1


def test_a_place_in_other_words_is_the_same_data_set(tmp_path: Path, clock: Clock) -> None:
    """It keeps what was spent and stored, by its first words; also when it is served by these again."""
    path, old, new = tmp_path / "ledger.db", "postgres host=localhost", "postgres host=127.0.0.1"
    with SqliteLedger(path, clock, DataSet("taxi", old)) as ledger:
        ask(ledger, account_of(), item_of("a"))
        identity = ledger.identity
    for named in (DataSet("taxi", new, frozenset({old})), DataSet("taxi", old, frozenset({new}))):
        with SqliteLedger(path, clock, named) as ledger:
            assert ask(ledger, account_of(), item_of("a")) == {"a": b"release of a"}
            assert (ledger.identity, ledger.adopted) == (identity, None)
    for other in (DataSet("taxi", new), DataSet("bikes", new, frozenset({old}))):
        with pytest.raises(ConfigError, match="is that of"):
            SqliteLedger(path, clock, other)
