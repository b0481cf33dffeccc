"""What DuckDB spills are records: only our account may see them, and they do not stay."""

import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile
from dpsql.engines.duckdb.opening import memory_of, to_copy
from dpsql.errors import ConfigError, EngineFailed
from dpsql.policy.config import Resources
from dpsql.policy.model import SqlType
from tests.engines.asking import asked
from tests.support.forked import Forked

SORTED = "SELECT CAST(max(r) AS VARCHAR) FROM (SELECT row_number() OVER (ORDER BY b, a) AS r FROM {t}) AS q"
TYPES: Mapping[str, SqlType] = {"a": SqlType.BIGINT, "b": SqlType.TEXT}
CHILD = """
import signal
from pathlib import Path
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.policy.config import Resources
engine = DuckDb(Path({database!r}), Resources("60MB", 2, Path({place!r})))
print(len(list(Path({place!r}).iterdir())), flush=True)
signal.pause()
"""


@pytest.fixture(params=["file", "parquet"])
def source(tmp_path: Path, request: pytest.FixtureRequest) -> Path | Mapping[str, TableFile]:
    """Give records that do not fit into a little memory."""
    rows = "SELECT i AS a, md5(i::VARCHAR) || repeat('x', 60) AS b FROM range(700000) AS r (i)"
    (tmp_path / "data").mkdir()
    if request.param == "file":
        with duckdb.connect(tmp_path / "data/records.duckdb") as connection:
            connection.execute(f"CREATE TABLE t AS {rows}")
        return tmp_path / "data/records.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({rows}) TO '{tmp_path}/data/t.parquet'")
    return {"t": TableFile(tmp_path / "data/t.parquet", TYPES)}


def test_spilled_records_are_private_and_go(
    source: Path | Mapping[str, TableFile], tmp_path: Path, charge: Charge
) -> None:
    """While a statement runs they are in a directory of ours, and nothing is beside the data; in the end it has gone."""
    place, beside = tmp_path / "state/spill", list((tmp_path / "data").iterdir())
    engine = DuckDb(source, Resources("64MB", 1, place))
    (own,) = place.iterdir()
    assert (place.stat().st_mode & 0o777, own.stat().st_mode & 0o777) == (0o700, 0o700)
    assert own.stat().st_uid == place.stat().st_uid
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            seen.update(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.tmp"))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        assert asked(engine, SORTED, charge, timeout=600) == [("700000",)]
    finally:
        over.set()
        looking.join()
    assert seen
    assert {Path(name).parts[:2] for name in seen} == {("state", "spill")}
    assert list((tmp_path / "data").iterdir()) == beside
    engine.close()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """By the next one that opens; what belongs to a living process stays."""
    database, place = tmp_path / "records.duckdb", tmp_path / "spill"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    killed, living = _child(database, place, "1\n"), _child(database, place, "2\n")
    before = set(place.iterdir())
    _kill(killed)
    assert set(place.iterdir()) == before
    engine = DuckDb(database, Resources(spill=place))
    assert len(set(place.iterdir()) & before) == 1
    assert len(list(place.iterdir())) == 2
    _kill(living)
    engine.close()


def _child(database: Path, place: Path, says: str) -> Forked:
    """Open the engine in a process of its own, which says how many directories there are."""
    child = Forked([], before=CHILD.format(database=str(database), place=str(place)))
    assert child.stdout is not None
    assert child.stdout.readline() == says
    return child


def _kill(child: Forked) -> None:
    assert child.stdout is not None
    with child.stdout:
        child.kill()
        child.wait(30)


def test_too_little_memory_is_told_by_a_fixed_text(
    tmp_path: Path, charge: Charge, caplog: pytest.LogCaptureFixture
) -> None:
    """What can't be spilled fails, and tells the client nothing about records."""
    database = tmp_path / "records.duckdb"
    with duckdb.connect(database) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT md5(i::VARCHAR) || repeat('x', 80) AS b FROM range(300000) AS r (i)"
        )
    engine = DuckDb(database, Resources("20MB", 1, tmp_path / "spill"))
    with pytest.raises(EngineFailed) as caught:
        asked(engine, "SELECT CAST(length(string_agg(b, '')) AS VARCHAR) FROM {t}", charge)
    assert "emory" not in f"{caught.value}{caught.value.hint}"
    assert "Out of Memory" in caplog.text
    engine.close()


def test_a_place_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    """By its name, and by the setting that moves it."""
    (tmp_path / "file").touch()
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE TABLE t (a INT)")
    with pytest.raises(ConfigError, match=r"spilled records have no place at .*file/spill") as caught:
        DuckDb(tmp_path / "records.duckdb", Resources(spill=tmp_path / "file/spill"))
    assert "engine.spill" in str(caught.value.hint)


@pytest.mark.parametrize(("memory", "copying"), [("16GB", 4_000_000_000), ("2GB", 2**30), ("600MB", 600_000_000)])
def test_a_copy_is_made_in_a_part_of_the_memory(tmp_path: Path, memory: str, copying: int) -> None:
    """A quarter, and a gibibyte where there is one: statements are answered meanwhile."""
    with closing(to_copy({}, tmp_path, Resources(memory))) as connection:
        assert memory_of(connection) == pytest.approx(copying, rel=0.05)
