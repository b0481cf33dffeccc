"""dpsql's own copy of the records: whole or not at all, ours alone, and never another policy's."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.engines import base
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.open import open_engine
from dpsql.engines.snapshot.directory import SnapshotBusy
from dpsql.engines.snapshot.open import current_snapshot, days_of_copy, ensure_snapshot, open_snapshot
from dpsql.engines.snapshot.writing import write_missing_snapshot, write_snapshot
from dpsql.errors import ConfigError, EngineNotReady, QueryCanceled
from dpsql.gateway.readiness import Readiness
from dpsql.policy.config import Config, DuckDbTables, PostgresServer
from dpsql.policy.model import SqlType
from dpsql.question import Cancellation
from dpsql.shadow.server.postgres import Postgres
from tests.engines.copies import column, copying, table, written

ROWS = "SELECT i AS a, 'secret' || i AS b FROM range(1000) AS r (i)"
T = table("t", column("a", SqlType.BIGINT), column("b", SqlType.TEXT), unit="a")
CHILD = """
import sys
from pathlib import Path
from tests.engines.copies import copying
from tests.engines.test_snapshot import T
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.question import Cancellation

def tell(line):
    print(line, flush=True)
    sys.stdin.read()

write_snapshot(copying(Path(sys.argv[1]), None, T), tell, Cancellation())
"""


def _quiet(_: str) -> None:
    """Tell nobody."""


def _records(directory: Path, sql: str = f"CREATE TABLE t AS {ROWS}") -> Config:
    with duckdb.connect(directory / "records.duckdb") as connection:
        connection.execute(sql)
    return copying(directory, None, T)


def _files(config: Config) -> set[str]:
    assert config.snapshot is not None
    return {file.suffix for file in config.snapshot.directory.iterdir()}


def _count(engine: DuckDb) -> int:
    ((number,),) = engine.for_owner(f"SELECT count(*) FROM {engine.named('t')}", timeout=60)
    return int(number or 0)


def _fails(config: Config, tell: Callable[[str], None], match: str) -> None:
    """See that a copy fails, and that the one before is there, with nothing beside it."""
    before = written(config)
    with pytest.raises(ConfigError, match=match) as caught:
        write_snapshot(config, tell, Cancellation())
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.__cause__ is None
    manifest = current_snapshot(config)
    assert manifest is not None
    assert before.stem == manifest.name
    assert _files(config) == {".duckdb", ".json", ""}


def test_all_of_it_is_ours_alone(tmp_path: Path) -> None:
    """Whatever the process's mask is, and while it is written too."""
    seen: set[int] = set()
    config = _records(tmp_path)
    assert config.snapshot is not None
    place = config.snapshot.directory

    def tell(_: str) -> None:
        seen.update(file.stat().st_mode & 0o777 for file in place.iterdir())

    before = os.umask(0)
    try:
        write_snapshot(config, tell, Cancellation())
    finally:
        os.umask(before)
    assert place.stat().st_mode & 0o777 == 0o700
    assert seen == {file.stat().st_mode & 0o777 for file in place.iterdir()} == {0o600}


def test_what_was_copied_answers(tmp_path: Path) -> None:
    """Without the records, and with what their engine keeps unique, but for floats."""
    config = _records(tmp_path, "CREATE TABLE t (a BIGINT PRIMARY KEY, b VARCHAR, c BOOLEAN)")
    written(config)
    (tmp_path / "records.duckdb").unlink()
    engine = open_engine(config)
    assert engine.columns("t") == {"a": "BIGINT", "b": "VARCHAR"}
    assert engine.unique_keys("t") == {frozenset({"a"})}
    assert engine.unique_keys("u") == frozenset()
    assert engine.edition is not None
    engine.close()


def test_it_is_known_on_which_days_it_was_made(tmp_path: Path) -> None:
    """From its beginning to the moment at which the last of it was written."""
    config, before = _records(tmp_path), datetime.now(UTC)
    written(config)
    engine = open_engine(config)
    edition = engine.edition
    assert edition is not None
    assert before <= edition.taken <= edition.finished <= datetime.now(UTC) + timedelta(seconds=1)
    assert edition.read == ReadDays(edition.taken.date(), edition.finished.date()) == days_of_copy(config)
    engine.close()


@pytest.mark.parametrize(("oldest", "served"), [(None, True), (timedelta(days=1), True), (timedelta(0), False)])
def test_nothing_is_measured_on_a_copy_that_is_too_old(
    oldest: timedelta | None, served: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a load balancer told that it would be; the server starts all the same, and the log says what ended it."""
    config, said = _records(tmp_path), list[str]()
    monkeypatch.setattr(base._RATE_LIMITED, "warning", lambda text, *of: said.append(text % of))
    assert config.snapshot is not None
    config = replace(config, snapshot=replace(config.snapshot, oldest=oldest))
    written(config)
    engine = open_engine(config)
    assert engine.edition is not None
    with nullcontext() if served else pytest.raises(EngineNotReady):
        engine.edition.require_serving()
    wanted = f"nothing is measured on the {engine.edition}, which is older than engine.oldest: 0 days"
    assert said == ([] if served else [wanted])
    with SqliteLedger(tmp_path / "ledger.db", lambda: datetime.now(UTC)) as ledger:
        seen = ledger.require_writable_file
        state = Readiness(lambda: (engine, config.policy), seen, time.monotonic).state()
    assert (state.answers, state.text) == (served, "ready" if served else EngineNotReady.text)
    engine.close()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_copied(tmp_path: Path, ending: str) -> None:
    """As DuckDB reads them, CSV with the declared types."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({ROWS}) TO '{tmp_path}/t.{ending}'")
    engine = open_snapshot(copying(tmp_path, DuckDbTables({"t": tmp_path / f"t.{ending}"}), T))
    assert (engine.columns("t"), _count(engine)) == ({"a": "BIGINT", "b": "VARCHAR"}, 1000)
    engine.close()


def test_what_is_unique_to_the_letter_is_so_in_the_copy(tmp_path: Path) -> None:
    """Texts that a collation takes for one are two to whoever looks them up, and to statements."""
    rows = "INSERT INTO t VALUES (1, 'a'), (2, 'A'), (3, 'a '), (NULL, NULL), (NULL, NULL)"
    engine = open_engine(
        _records(tmp_path, f"CREATE TABLE t (a BIGINT UNIQUE, b VARCHAR COLLATE NOCASE UNIQUE); {rows}")
    )
    assert engine.unique_keys("t") == {frozenset({"a"}), frozenset({"b"})}
    engine.close()


def test_what_was_enforced_is_so_in_the_copy(tmp_path: Path) -> None:
    """At its date: the copy itself has no constraints, and the records may lose theirs."""
    config = _records(tmp_path, "CREATE TABLE t (a BIGINT NOT NULL, b VARCHAR)")
    written(config)
    (tmp_path / "records.duckdb").unlink()
    engine = open_engine(config)
    assert engine.enforced_columns(config.policy.tables["t"]) == {"a"}
    engine.close()


def test_a_copy_is_used_again(tmp_path: Path) -> None:
    """Whatever has been written to the records meanwhile: that shows with the next epoch."""
    config = _records(tmp_path)
    first = ensure_snapshot(config, _quiet, Cancellation())
    _records(tmp_path, "INSERT INTO t VALUES (-1, '')")
    assert ensure_snapshot(config, _quiet, Cancellation()) == first


def test_a_copy_of_something_else_is_not_used(tmp_path: Path) -> None:
    """Another policy, other records or another data set make a new one."""
    config = _records(tmp_path)
    first = ensure_snapshot(config, _quiet, Cancellation())
    manifest = tmp_path / "snapshot/manifest.json"
    text = manifest.read_text()
    for old in ("first", "records.duckdb", "taxi"):
        assert text.count(old) == 1
        manifest.write_text(text.replace(old, "other"))
        assert current_snapshot(config) is None
    assert ensure_snapshot(config, _quiet, Cancellation()) != first
    assert _files(config) == {".duckdb", ".json", ""}


def _longer(file: Path) -> None:
    with file.open("ab") as out:
        out.write(b"more")


def _elsewhere(file: Path) -> None:
    file.symlink_to(file.rename(file.with_suffix(".elsewhere")))


def test_a_file_that_somebody_has_changed_is_not_used(tmp_path: Path) -> None:
    """Or that others may read, or that is gone: it is made anew."""
    config = _records(tmp_path)
    place = written(config).parent
    shutil.copytree(place, tmp_path / "whole")
    changes: list[Callable[[Path], object]] = [
        _longer,
        _elsewhere,
        Path.unlink,
        os.utime,
        lambda file: file.chmod(0o640),
        lambda file: file.write_bytes(b""),
    ]
    for change in changes:
        shutil.rmtree(place)
        shutil.copytree(tmp_path / "whole", place)
        assert current_snapshot(config) is not None
        (file,) = place.glob("*.duckdb")
        change(file)
        assert current_snapshot(config) is None
    engine = open_snapshot(config)
    assert _count(engine) == 1000
    engine.close()


def test_a_manifest_that_is_none_names_nothing(tmp_path: Path) -> None:
    """Nor does one whose name leads elsewhere."""
    config = _records(tmp_path)
    written(config)
    manifest = tmp_path / "snapshot/manifest.json"
    whole = manifest.read_text()
    elsewhere = whole.replace('"name": "', '"name": "../')
    for text in ("", "{}", "[1]", '{"name": "x", "unique": [], "origin": {}}', "\udcff", elsewhere):
        manifest.write_text(text, errors="surrogateescape")
        assert current_snapshot(config) is None


def test_a_directory_of_another_account_is_refused(tmp_path: Path) -> None:
    """Nor is a link followed; one that others may enter is shut."""
    config = _records(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "snapshot").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="belongs to another account, or is none"):
        written(config)
    (tmp_path / "snapshot").unlink()
    (tmp_path / "snapshot").mkdir(mode=0o755)
    written(config)
    assert (tmp_path / "snapshot").stat().st_mode & 0o777 == 0o700


def test_who_reads_a_copy_reads_it_to_the_end(tmp_path: Path) -> None:
    """A newer one takes its place in the directory; it is not measured any more once somebody writes to it."""
    config = _records(tmp_path)
    file, old = written(config), open_snapshot(config)
    assert current_snapshot(config) == ensure_snapshot(config, _quiet, Cancellation())
    _records(tmp_path, "INSERT INTO t VALUES (-1, '')")
    written(config)
    new = open_snapshot(config)
    assert not file.exists()
    assert (_count(old), _count(new), old.is_current()) == (1000, 1001, True)
    assert old.edition != new.edition
    old.close()
    os.utime(tmp_path / "snapshot" / f"{new.edition.name if new.edition else ''}.duckdb")
    with pytest.raises(EngineNotReady):
        _count(new)
    new.close()


def test_a_writer_that_is_killed_leaves_what_was(tmp_path: Path) -> None:
    """The copy before is served, and who opens it next removes what lies beside it; while it lives there is no other."""
    config = _records(tmp_path)
    before = written(config)
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"snapshot: table t, 1 of 1\n"
        with pytest.raises(SnapshotBusy, match="another dpsql is writing a snapshot"):
            written(config)
        assert len(list((tmp_path / "snapshot").glob("*.duckdb"))) == 2
        child.send_signal(signal.SIGKILL)
        child.wait(60)
    finally:
        child.kill()
        child.communicate()
    manifest = current_snapshot(config)
    assert manifest is not None
    assert manifest.name == before.stem
    open_snapshot(config).close()
    assert _files(config) == {".duckdb", ".json", ""}
    assert len(list((tmp_path / "snapshot").glob("*.duckdb"))) == 1


def test_who_needs_a_copy_waits_for_who_writes_it(tmp_path: Path) -> None:
    """Of two that start at once one writes, and both use that one."""
    config, begun, waits = _records(tmp_path), threading.Event(), threading.Event()
    manifests = []

    def tell(_: str) -> None:
        begun.set()
        assert waits.wait(60)

    first = threading.Thread(target=lambda: manifests.append(ensure_snapshot(config, tell, Cancellation())))
    first.start()
    assert begun.wait(60)
    manifests.append(ensure_snapshot(config, lambda _: waits.set(), Cancellation()))
    first.join()
    assert manifests[0] == manifests[1]


def test_a_copy_finished_since_it_was_looked_for_is_used(tmp_path: Path) -> None:
    """Who looked before the writer was done, and asks for the lock afterwards, does not write a second one."""
    config = _records(tmp_path)
    first = write_missing_snapshot(config, lambda _: None, Cancellation())
    assert write_missing_snapshot(config, lambda _: None, Cancellation()) == first


def test_a_full_disk_leaves_what_was(tmp_path: Path) -> None:
    """What is told is the kind of error alone."""
    config = _records(tmp_path, "CREATE TABLE t AS SELECT i AS a, md5(i::VARCHAR) AS b FROM range(100000) AS r (i)")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    written(config)

    def tell(_: str) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))

    try:
        _fails(config, tell, "^the snapshot could not be written: ")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_no_value_is_told(tmp_path: Path) -> None:
    """Not even where the records' own view fails on one."""
    config = _records(tmp_path, f"CREATE TABLE u AS {ROWS}; CREATE VIEW t AS SELECT a, b FROM u")

    def tell(_: str) -> None:
        """Do nothing."""

    written(config)
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE OR REPLACE VIEW t AS SELECT CAST(b AS BIGINT) AS a, b FROM u")
    with pytest.raises(ConfigError, match=r"^the snapshot could not be written: ConversionException$") as caught:
        write_snapshot(config, tell, Cancellation())
    assert caught.value.__suppress_context__
    assert current_snapshot(config) is not None


def test_files_that_change_meanwhile_are_not_a_copy(tmp_path: Path) -> None:
    """One table could be of before, and another of after."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({ROWS}) TO '{tmp_path}/t.parquet'")
    config = copying(tmp_path, DuckDbTables({"t": tmp_path / "t.parquet"}), T)
    _fails(config, lambda _: os.utime(tmp_path / "t.parquet"), "a file of the records changed")


def test_a_server_that_goes_away_leaves_what_was(
    server: Postgres, owner: psycopg.Connection, reader_dsn: str, tmp_path: Path
) -> None:
    """The rows that came are removed with the copy."""
    owner.execute(f"CREATE TABLE t AS {ROWS.replace('range(1000) AS r (i)', 'generate_series(1::bigint, 1000) AS i')}")
    config = copying(tmp_path, PostgresServer(reader_dsn), T)

    def tell(_: str) -> None:
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'dpsql'"
            )

    _fails(config, tell, "the PostgreSQL server went away while a snapshot was written")


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_it_can_be_stopped(owner: psycopg.Connection, reader_dsn: str, tmp_path: Path, kind: str) -> None:
    """By whoever stops the server that writes it."""
    long = f"CREATE VIEW t AS SELECT a, b FROM ({ROWS.replace('1000', '10000000000')}) AS q"
    if kind == "duckdb":
        config = _records(tmp_path, long)
    else:
        owner.execute(
            long.replace("range(10000000000) AS r (i)", "generate_series(1::bigint, 10000000000) AS i").encode()
        )
        config = copying(tmp_path, PostgresServer(reader_dsn), T)
    stopped = Cancellation()
    timer = threading.Timer(0.5, stopped.cancel)
    with pytest.raises(QueryCanceled):
        write_snapshot(config, lambda _: None if timer.ident else timer.start(), stopped)
    assert _files(config) == {""}
