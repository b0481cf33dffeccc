"""Heavy units' rows beside the files that they are of: of all kinds of files, which must stay as they are; seen by nobody."""

import os
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from time import sleep

import duckdb
import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.duckdb import heavy_rows
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.heavy_rows import Extent, RowsOfUnits, heavy_rows_of, row_keepers
from dpsql.engines.open import open_engine, read_kept
from dpsql.errors import EngineFailed, EngineNotReady
from dpsql.policy.config import DuckDbFile, DuckDbTables
from dpsql.policy.model import SqlType, UnitBound
from dpsql.question import Cancellation
from tests.engines.asking import run
from tests.engines.copies import column, copying, table
from tests.support.beside import rows_kept

_T = table("t", column("who", SqlType.TEXT), column("x", SqlType.INTEGER), unit="who")
_ROWS = (
    "SELECT 'u' || (n % 40) AS who, CAST(n AS INTEGER) AS x, n AS undeclared "
    "FROM range(200) AS r (n) WHERE n % 40 < 10 OR n < 40"
)
"""Ten units with five rows, and thirty with one: two count."""
_LISTED = 'SELECT CAST(x AS BIGINT), CAST("dpsql 3" AS BIGINT) FROM kept.main."t by who" ORDER BY 1'
_NUMBERS = 'SELECT CAST(n AS BIGINT), CAST(units AS BIGINT) FROM kept.main."t by who: numbers" ORDER BY 1'
_HEAVY = [(n, 5) for n in range(200) if n % 40 < 10]
_KINDS = ("duckdb", "parquet", "csv")


def _opened(folder: Path, kind: str, rows: str = _ROWS, *, ahead: bool = True) -> DuckDb:
    """Write the records into files of a kind, and open them to be asked."""
    file = folder / f"t.{kind}"
    _write(file, rows)
    source = DuckDbFile(file) if kind == "duckdb" else DuckDbTables({"t": file})
    engine = open_engine(replace(copying(folder, source, _T), snapshot=None), ahead=ahead)
    assert isinstance(engine, DuckDb)
    return engine


def _write(file: Path, rows: str) -> None:
    with duckdb.connect(file if file.suffix == ".duckdb" else ":memory:") as connection:
        connection.execute(f"CREATE TABLE t AS {rows}")
        if file.suffix != ".duckdb":
            connection.execute(f"COPY t TO '{file}'")


def _is_read(engine: DuckDb) -> bool:
    """Return whether the rows are in a table of their own."""
    return bool(engine._connection.execute("FROM duckdb_tables() WHERE database_name = 'kept'").fetchall())


def test_what_is_not_read_yet_is_found_each_time(tmp_path: Path, charge: Charge) -> None:
    """Statements that are ready have the same rows after it was read, and so have the next."""
    with closing(_opened(tmp_path, "duckdb", ahead=False)) as engine:
        assert not _is_read(engine)
        assert run(engine, _NUMBERS, charge) == [(1, 30), (5, 10)]
        sql = 'SELECT CAST(x AS BIGINT), CAST("dpsql 3" AS BIGINT) FROM kept.main."t by who" ORDER BY x'
        with engine.ready([sql], timeout=10, cancellation=Cancellation()) as prepared:
            read_kept(engine)
            assert _is_read(engine)
            assert prepared.run(sql, charge) == _HEAVY
        assert run(engine, sql, charge) == _HEAVY
        assert run(engine, _NUMBERS, charge) == [(1, 30), (5, 10)]


def test_what_is_closed_is_not_read(tmp_path: Path) -> None:
    """Neither from the beginning nor to the end: whoever stops a server does not wait for it."""
    engine = _opened(tmp_path, "duckdb", ahead=False)
    with engine._use:
        engine.close()
        read_kept(engine)
        assert not _is_read(engine)
    folder = tmp_path / "large"
    folder.mkdir()
    many = "SELECT 'u' || n % 900000 AS who, CAST(n % 7 AS INTEGER) AS x FROM range(3000000) AS r (n)"
    engine = _opened(folder, "duckdb", many, ahead=False)
    with engine._use:
        reading = Thread(target=read_kept, args=[engine])
        reading.start()
        while engine._reading is None:
            sleep(0)
        engine.close()
        reading.join()
        assert not engine._connection.execute("FROM duckdb_views() WHERE sql LIKE '%: rows%'").fetchall()


@pytest.mark.parametrize("kind", _KINDS)
def test_heavy_rows_are_kept_as_they_are(tmp_path: Path, kind: str, charge: Charge) -> None:
    """All of those units' rows, with how many there are, and how many units have how many; not what is not declared."""
    with closing(_opened(tmp_path, kind)) as engine:
        assert run(engine, _LISTED, charge) == _HEAVY
        assert run(engine, _NUMBERS, charge) == [(1, 30), (5, 10)]
        columns = engine._connection.execute('DESCRIBE kept.main."t by who"').fetchall()
        assert [name for name, *_ in columns] == ["who", "x", "dpsql 1", "dpsql 2", "dpsql 3"]
        assert engine.columns("t").keys() >= {"who", "x"}
        assert engine.columns("t by who") == {}


@pytest.mark.parametrize("most", [None, 0, 10 * 48, 10 * 48 + 50 * 56, 10 * 48 + 80 * 56])
def test_the_other_rows_stand_apart(tmp_path: Path, most: int | None) -> None:
    """All rows of units with one row, and no others, whatever is kept: nothing, the units, their rows, or those rows, too."""
    chosen = {"person": UnitBound("who", 1_000, up_to=1_000)}
    policy = copying(tmp_path, None, replace(_T, units=chosen)).policy
    kept = heavy_rows_of(policy)
    with duckdb.connect() as connection:
        rows = f"{_ROWS} UNION ALL SELECT NULL, 7, 7"
        connection.execute(f"ATTACH ':memory:' AS kept; CREATE TABLE t AS {rows}")
        (keeper,) = row_keepers(policy, lambda name: name, kept)
        keeper.show(connection)
        if most is not None:
            keeper.keep(connection, most)
        others = keeper.kept.others
        found = connection.execute(f"SELECT x FROM {others} ORDER BY 1").fetchall()
        assert found == [(n,) for n in range(40) if n % 40 >= 10]
        (tables,) = connection.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE '%others'"
        ).fetchall()
        assert tables == (most == 10 * 48 + 80 * 56,)


def test_nobodys_rows_are_not_kept(tmp_path: Path, charge: Charge) -> None:
    """However many they are."""
    rows = "SELECT CASE WHEN n < 3 THEN 'one' END AS who, CAST(n AS INTEGER) AS x FROM range(20) AS r (n)"
    with closing(_opened(tmp_path, "duckdb", rows)) as engine:
        assert run(engine, _LISTED, charge) == [(n, 3) for n in range(3)]
        assert run(engine, _NUMBERS, charge) == [(3, 1)]


def _append(file: Path) -> None:
    with file.open("ab") as out:
        out.write(b"u1,7,7\n")


def _replace(file: Path) -> None:
    other = file.with_name(f"other{file.suffix}")
    _write(other, "SELECT 'u1' AS who, CAST(n AS INTEGER) AS x, n AS undeclared FROM range(200) AS r (n)")
    other.replace(file)


def _write_through_a_link(file: Path) -> None:
    link = file.with_name("link")
    link.hardlink_to(file)
    with link.open("r+b") as out:
        out.seek(-1, os.SEEK_END)
        last = out.read(1)
        out.seek(-1, os.SEEK_END)
        out.write(last)


def _restore_its_time(file: Path) -> None:
    before = file.stat()
    with file.open("r+b") as out:
        out.seek(-2, os.SEEK_END)
        out.write(b"!")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def _exchange_and_back(file: Path) -> None:
    aside = file.with_name("aside")
    file.rename(aside)
    aside.rename(file)


_CHANGES: Mapping[str, Callable[[Path], None]] = {
    "appended": _append,
    "replaced": _replace,
    "written through a link": _write_through_a_link,
    "restored with its time": _restore_its_time,
    "exchanged and back": _exchange_and_back,
}


@pytest.mark.parametrize("change", _CHANGES)
@pytest.mark.parametrize("kind", ["duckdb", "parquet"])
def test_rows_that_are_kept_are_of_the_files_as_they_are(
    tmp_path: Path, kind: str, change: str, charge: Charge
) -> None:
    """Otherwise a unit that has grown would count in full: nothing is asked any more, nor answered, until a reload."""
    with closing(_opened(tmp_path, kind)) as engine:
        with engine.ready([_LISTED], timeout=30, cancellation=Cancellation()) as prepared:
            assert prepared.run(_LISTED, charge) == _HEAVY
            _CHANGES[change](tmp_path / f"t.{kind}")
            with pytest.raises(EngineFailed):
                prepared.run(_LISTED, charge)
        with pytest.raises(EngineNotReady):
            run(engine, _LISTED, charge)


def test_what_a_link_points_to_is_watched(tmp_path: Path, charge: Charge) -> None:
    """Many serve `current.parquet`, and turn it to another file."""
    engine = _opened(tmp_path, "parquet")
    engine.close()
    (tmp_path / "t.parquet").rename(tmp_path / "one.parquet")
    _write(tmp_path / "other.parquet", f"{_ROWS} ORDER BY x DESC")
    (tmp_path / "t.parquet").symlink_to(tmp_path / "one.parquet")
    config = replace(copying(tmp_path, DuckDbTables({"t": tmp_path / "t.parquet"}), _T), snapshot=None)
    with closing(open_engine(config)) as linked:
        assert run(linked, _LISTED, charge) == _HEAVY
        (tmp_path / "t.parquet").unlink()
        (tmp_path / "t.parquet").symlink_to(tmp_path / "other.parquet")
        with pytest.raises(EngineNotReady):
            run(linked, _LISTED, charge)


@pytest.mark.parametrize("kind", _KINDS)
def test_what_happened_while_rows_were_read_counts(
    tmp_path: Path, kind: str, charge: Charge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state that is watched is that from before."""
    keep = RowsOfUnits.keep

    def changed(self: RowsOfUnits, connection: duckdb.DuckDBPyConnection, most: int) -> int:
        os.utime(tmp_path / f"t.{kind}")
        return keep(self, connection, most)

    monkeypatch.setattr(RowsOfUnits, "keep", changed)
    with closing(_opened(tmp_path, kind)) as engine, pytest.raises(EngineNotReady):
        run(engine, _LISTED, charge)


@pytest.mark.parametrize("way", ["too many", "failing", "failing late"])
def test_what_can_not_be_kept_is_found_each_time(
    tmp_path: Path, way: str, charge: Charge, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By the same name, with the same rows; nobody is told, for it may be the rows that decide it."""
    match way:
        case "too many":
            monkeypatch.setattr(heavy_rows, "_PART", 2**60)
        case "failing":
            monkeypatch.setattr(RowsOfUnits, "keep", _out_of_memory)
        case _:
            monkeypatch.setattr(RowsOfUnits, "extent", _out_of_memory)
    with closing(_opened(tmp_path, "duckdb")) as engine:
        assert run(engine, _LISTED, charge) == _HEAVY
        assert run(engine, _NUMBERS, charge) == [(1, 30), (5, 10)]
        assert rows_kept(engine._connection, "t", "who") is None
    assert caplog.text == ""


def _out_of_memory(*_: object) -> int:
    raise duckdb.OutOfMemoryException("of 17 rows of u1")


def test_what_is_kept_is_seen_by_its_rows_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not by the statement's text, which the policy decides, nor by what is logged: of no heavy units and of many."""
    few = "SELECT 'u' || n AS who, CAST(n AS INTEGER) AS x FROM range(40) AS r (n)"
    states = []
    for name, rows in (("few", few), ("many", _ROWS)):
        (tmp_path / name).mkdir()
        with closing(_opened(tmp_path / name, "duckdb", rows)) as engine:
            states.append((engine.kept("t"), engine.is_current()))
    assert states[0] == states[1]
    assert caplog.text == ""


def test_a_database_that_is_opened_again_has_them_again(tmp_path: Path, charge: Charge) -> None:
    """And what runs meanwhile, on a careful one, finds them by the same name."""
    with closing(_opened(tmp_path, "duckdb")) as engine:
        with engine.ready([_LISTED], timeout=30, cancellation=Cancellation()) as prepared:
            with suppress(duckdb.Error):
                engine._connection.close()
            assert prepared.run(_LISTED, charge) == _HEAVY
        assert run(engine, _LISTED, charge) == _HEAVY
        assert rows_kept(engine._connection, "t", "who") == 80


def test_rows_are_kept_by_each_column_that_names_units(tmp_path: Path, charge: Charge) -> None:
    """From as many rows on as count for any kind that it names; not of public tables, nor through references."""
    units = {"person": UnitBound("who", 2), "other": UnitBound("who", 4), "number": UnitBound("x", 1)}
    both = replace(_T, units=units)
    public = replace(table("p", column("a", SqlType.INTEGER), public=True))
    _write(tmp_path / "records.duckdb", _ROWS)
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE TABLE p AS SELECT 1 AS a")
    with closing(open_engine(replace(copying(tmp_path, None, both, public), snapshot=None))) as engine:
        assert {name: rows.rows for name, rows in engine.kept("t").heavy_rows.items()} == {"who": 2, "x": 1}
        assert engine.kept("p").heavy_rows == {}
        assert run(engine, _LISTED, charge) == _HEAVY
        assert run(engine, 'SELECT CAST(x AS BIGINT) FROM kept.main."t by x"', charge) == []


@pytest.mark.parametrize(
    ("counts", "most", "extent"),
    [
        ([(5, 10), (1, 30)], 10**6, Extent(0, 0, 40 * 48 + 80 * 56, of_all=True)),
        ([(5, 10), (1, 60)], 10**6, Extent(2, 2, 10 * 48 + 50 * 56)),
        ([(9, 1), (5, 10), (1, 600)], 11 * 48 + 20 * 56, Extent(2, 5, 11 * 48 + 9 * 56)),
        ([(9, 1), (5, 10), (1, 600)], 11 * 48, Extent(2, 9, 11 * 48)),
        ([(9, 1), (5, 10), (1, 600)], 11 * 48 - 1, None),
        ([], 0, Extent(0, 0, 0, of_all=True)),
        ([(1, 600)], 0, Extent(2, 2, 0)),
    ],
    ids=[
        "most are heavy",
        "few are",
        "those with most",
        "none but the units",
        "not even these",
        "no rows",
        "none heavy",
    ],
)
def test_what_is_kept_has_room(counts: list[tuple[int, int]], most: int, extent: Extent | None) -> None:
    """All rows where most are heavy, else the heavy ones; of too many those of the units with most."""
    policy = copying(Path(), None, _T).policy
    (keeper,) = row_keepers(policy, lambda name: name, heavy_rows_of(policy))
    assert keeper.extent(counts, most) == extent
