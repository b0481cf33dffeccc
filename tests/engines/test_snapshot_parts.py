"""Copies in parts: closed periods are copied once and kept, and the copy is what a whole one would be."""

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from dpsql.engines.base import SnapshotVersion
from dpsql.engines.open import open_engine
from dpsql.engines.snapshot.directory import Manifest, SnapshotDirectory
from dpsql.engines.snapshot.open import SnapshotEngine, current_snapshot, open_snapshot
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.errors import ConfigError
from dpsql.policy.config import Config, DuckDbTables, EngineConfig, PostgresServer
from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Reference, SqlType, Table, UnitBound
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import quote_name
from tests.engines.copies import column, copying
from tests.support.samples import ALL

GROWS = Grows("came", Every.DAY, 1, TermLength.MONTH, 5)
FIRST = date(2026, 1, 10)
CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from dpsql.engines.snapshot import writing
from dpsql.engines.snapshot.directory import SnapshotDirectory
from dpsql.question import Cancellation
from tests.engines.test_snapshot_parts import growing

def killed(*_, **__):
    print("now", flush=True)
    sys.stdin.read()

if sys.argv[2] == "parts":
    writing._make_view = killed
else:
    SnapshotDirectory.switch = killed
writing.write_snapshot(growing(Path(sys.argv[1])), print, Cancellation(), lambda: datetime(2026, 1, 20, tzinfo=UTC))
"""
Row = tuple[str | None, datetime | None, float | None]


def day(number: int) -> datetime:
    """Return a moment of a day, by its number from FIRST on."""
    return datetime.combine(FIRST, datetime.min.time()) + timedelta(days=number, hours=10)


def at(number: int) -> Callable[[], datetime]:
    """Return the clock on the morning of a day."""
    return lambda: datetime.combine(FIRST, datetime.min.time(), UTC) + timedelta(days=number, hours=6)


def table_of(grows: Grows = GROWS, kind: SqlType = SqlType.TIMESTAMP) -> Table:
    """Return a table that grows from FIRST on, whose units it names itself."""
    days = Fraction((FIRST - date(1970, 1, 1)).days)
    scale = 1 if kind is SqlType.DATE else 86_400_000_000
    columns = (
        column("who", SqlType.TEXT),
        Column("came", kind, kind.value, Interval(days * scale, (days + 400) * scale), nullable=True),
        Column("x", SqlType.DOUBLE, "double precision", Interval(Fraction(0), Fraction(8)), nullable=True),
    )
    return Table("t", {c.name: c for c in columns}, {"person": UnitBound("who", 2)}, grows=grows, file="t.yaml")


def growing(directory: Path, engine: EngineConfig | None = None, *others: Table, table: Table | None = None) -> Config:
    """Return a configuration of that table."""
    return copying(directory, engine, table or table_of(), *others)


def records(directory: Path, rows: Sequence[Row], kind: str = "TIMESTAMP") -> Config:
    """Let the records have just these rows."""
    with duckdb.connect(directory / "records.duckdb") as connection:
        connection.execute(f"CREATE OR REPLACE TABLE t (who VARCHAR, came {kind}, x DOUBLE)")
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return growing(directory)


def copied(config: Config, number: int, *, whole: bool = False) -> Manifest:
    """Copy them on the morning of a day."""
    return write_snapshot(config, lambda _: None, Cancellation(), at(number), whole=whole)


def told(config: Config) -> Counter[tuple[Any, ...]]:
    """Return all that statements may read of the copy."""
    with closing(open_snapshot(config)) as engine:
        kept = engine.kept("t")
        columns = ", ".join(map(quote_name, (*config.policy.tables["t"].columns, *kept.texts.values())))
        rows = engine.for_owner(f"SELECT {columns} FROM {engine.named('t')}", timeout=60)
        return Counter(tuple(map(str, row)) for row in rows)


def _spans(manifest: Manifest) -> list[tuple[int, int]]:
    """Return which days each part has, by their numbers."""
    return [((part.first - FIRST).days, (part.end - FIRST).days) for part in manifest.parts["t"].each]


FEW: list[Row] = [("p", day(0), 1.0), ("q", day(0), 2.0), ("p", day(1), 3.0), ("r", day(2), 4.0), ("q", None, 5.0)]


def test_closed_days_are_copied_once_and_kept(tmp_path: Path) -> None:
    """Whatever becomes of their rows; what is open, and in no period, is what it is."""
    config = records(tmp_path, FEW)
    first = copied(config, 3)
    assert _spans(first) == [(0, 2)]
    assert config.snapshot is not None
    (before,) = [part.name for part in first.parts["t"].each]
    file = config.snapshot.directory / f"{before}.duckdb"
    state = (file.stat().st_ino, file.stat().st_mtime_ns)
    records(tmp_path, [("z", day(0), 7.0), ("s", day(2), 6.0), ("s", day(3), 6.0), ("s", None, 1.0)])
    second = copied(config, 4)
    assert _spans(second) == [(0, 2), (2, 3)]
    assert second.parts["t"].each[0] == first.parts["t"].each[0]
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == state
    whose = Counter((row[0], row[2]) for row in told(config).elements())
    assert whose == Counter([("p", "1.0"), ("q", "2.0"), ("p", "3.0"), ("s", "6.0"), ("s", "6.0"), ("s", "1.0")])


def test_nothing_is_believed_of_the_records(tmp_path: Path) -> None:
    """No constraint of theirs holds between parts of different days; no mark or number spans them."""
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE TABLE t (who VARCHAR PRIMARY KEY, came TIMESTAMP NOT NULL, x DOUBLE NOT NULL)")
        connection.execute("INSERT INTO t VALUES ('a', ?, 1)", [day(0)])
    config = growing(tmp_path)
    copied(config, 3)
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("UPDATE t SET came = ?", [day(3)])
    copied(config, 5)
    with closing(open_engine(config)) as engine:
        assert not engine.unique_keys("t")
        assert not engine.enforced_columns(config.policy.tables["t"])
        assert not engine.kept("t").heavy
        assert not engine.kept("t").units
    assert [row[0] for row in told(config).elements()] == ["a", "a"]  # which has moved, and stands in two


def _random_rows(draw: random.Random, number: int, last: int) -> list[Row]:
    strange: list[datetime | None] = [None, datetime(1990, 1, 1), datetime(9999, 1, 1)]  # noqa: DTZ001
    rows: list[Row] = []
    for _ in range(number):
        moment = day(draw.randint(0, last)) if draw.random() < 0.9 else draw.choice(strange)
        if moment is not None and draw.random() < 0.2:
            moment = moment.replace(hour=0)
        rows.append((draw.choice(["p", "q", None]), moment, draw.choice([None, 0.5, 3.0, 9.0, -1.0])))
    return rows


@pytest.mark.parametrize("seed", range(20 if ALL else 1))
@pytest.mark.parametrize("kind", [SqlType.TIMESTAMP, SqlType.DATE])
@pytest.mark.parametrize("source", ["file", "parquet", "postgres"])
def test_it_equals_a_whole_copy(
    seed: int, kind: SqlType, source: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Where no row of a closed day comes, changes or goes: over months, with days on which no copy was made."""
    draw, rows = random.Random(seed), list[Row]()  # noqa: S311 # the same in every run
    place = _Source(source, kind, tmp_path, request)
    config = growing(tmp_path, place.engine, table=table_of(kind=kind))
    today, closed = 1, FIRST
    for _ in range(5):
        come = _random_rows(draw, 20, today + 2)
        rows += [row for row in come if row[1] is None or not FIRST <= row[1].date() < closed]
        place.fill(rows)
        manifest = copied(config, today)
        in_parts = told(config)
        assert "t" in manifest.parts
        copied(replace(config, snapshot=_elsewhere(config)), today, whole=True)
        assert in_parts == told(replace(config, snapshot=_elsewhere(config)))
        assert sum(in_parts.values()) == len(rows)
        spans = _spans(manifest)
        assert [first for first, _ in spans] == [0, *(end for _, end in spans[:-1])] or not spans
        assert not spans or spans[-1][1] == max(0, today - 1)
        closed = FIRST + timedelta(days=max(0, today - 1))
        today += draw.choice([1, 1, 2, 12])


def _elsewhere(config: Config) -> Any:
    assert config.snapshot is not None
    return replace(config.snapshot, directory=config.snapshot.directory.with_name("whole"))


class _Source:
    """Records of each kind, which a test fills anew."""

    def __init__(self, source: str, kind: SqlType, directory: Path, request: pytest.FixtureRequest) -> None:
        self.source, self.kind, self.directory = source, kind.value, directory
        self.engine: EngineConfig | None = None
        if source == "parquet":
            self.engine = DuckDbTables({"t": directory / "t.parquet"})
        elif source == "postgres":
            self.owner: psycopg.Connection = request.getfixturevalue("owner")
            self.engine = PostgresServer(request.getfixturevalue("reader_dsn"))

    def fill(self, rows: Sequence[Row]) -> None:
        if self.source == "postgres":
            self.owner.execute("DROP TABLE IF EXISTS t")
            self.owner.execute(f"CREATE TABLE t (who text, came {self.kind}, x double precision)".encode())
            self.owner.execute("GRANT SELECT ON t TO PUBLIC")
            with self.owner.cursor() as cursor:
                cursor.executemany("INSERT INTO t VALUES (%s, %s, %s)", rows)
            return
        records(self.directory, rows, self.kind)
        if self.source == "parquet":
            with duckdb.connect(self.directory / "records.duckdb") as connection:
                connection.execute(f"COPY t TO '{self.directory}/t.parquet'")


def test_days_of_a_month_that_is_over_become_one_part(tmp_path: Path) -> None:
    """Of the rows that were copied; so there are not more and more parts."""
    config = records(tmp_path, [("p", day(number), 1.0) for number in range(60)])
    copied(config, 12)
    for number in range(13, 50):
        manifest = copied(config, number)
    assert _spans(manifest) == [(0, 22), *((number, number + 1) for number in range(22, 48))]
    assert config.snapshot is not None
    assert len(list(config.snapshot.directory.glob("*.duckdb"))) == len(_spans(manifest)) + 1
    copied(config, 60)
    assert sum(told(config).values()) == 60


@pytest.mark.parametrize(
    "change",
    ["whole", "demanded", "policy", "grows", "bounds", "type", "file", "gone", "clock"],
)
def test_all_is_copied_again_where_parts_do_not_fit(tmp_path: Path, change: str) -> None:
    """By the operator's word, another declaration, or another type; or since somebody has changed a file."""
    config = records(tmp_path, FEW)
    before = copied(config, 4)
    assert _spans(before) == [(0, 3)]
    assert config.snapshot is not None
    file, rows, kind = (
        config.snapshot.directory / f"{before.parts['t'].each[0].name}.duckdb",
        [("z", day(0), 7.0)],
        "TIMESTAMP",
    )
    number = 5
    match change:
        case "demanded":
            SnapshotDirectory(config.snapshot.directory).request_whole_copy()
        case "policy":
            config = replace(config, policy=replace(config.policy, fingerprint="other"))
        case "grows":
            config = replace(config, policy=growing(tmp_path, table=table_of(replace(GROWS, after=2))).policy)
        case "bounds":
            moved = table_of()
            by = moved.columns["came"]
            assert by.bounds is not None
            bounds = Interval(by.bounds.low - 86_400_000_000, by.bounds.high)
            columns = {**moved.columns, "came": replace(by, bounds=bounds)}
            config = replace(config, policy=growing(tmp_path, table=replace(moved, columns=columns)).policy)
        case "type":
            with duckdb.connect(tmp_path / "records.duckdb") as connection:
                connection.execute("CREATE OR REPLACE TABLE t (who VARCHAR, came TIMESTAMP, x FLOAT)")
        case "file":
            os.utime(file)
        case "gone":
            file.unlink()
        case "clock":
            number = 2  # it was ahead
        case _:
            assert change == "whole"
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("DELETE FROM t")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    after = copied(config, number, whole=change == "whole")
    assert sum(told(config).values()) == 1, kind
    assert after.parts["t"].each[0].name != before.parts["t"].each[0].name
    later = copied(config, 6)
    assert later.parts["t"].each[0] == after.parts["t"].each[0] or change == "clock"


def test_a_time_that_is_kept_as_another_type_is_copied_whole(tmp_path: Path) -> None:
    """The records may compare it otherwise than the copy does."""
    config = records(tmp_path, FEW, "TIMESTAMP_NS")
    assert copied(config, 4).parts == {}
    records(tmp_path, FEW[:1], "TIMESTAMP_NS")
    copied(config, 5)
    assert sum(told(config).values()) == 1


def test_units_that_stand_elsewhere_are_copied_in_one_state(tmp_path: Path) -> None:
    """A key that was given anew would name another owner than the part has."""
    mine = table_of()
    owner = Table("u", {"id": column("id", SqlType.TEXT)}, {"person": UnitBound("id", 1)}, file="u.yaml")
    through = replace(mine, units={"person": UnitBound("who", 2, through=Reference("u", "id", public=False))})
    others = Table(
        "v",
        {"who": column("who", SqlType.TEXT)},
        {"person": UnitBound("who", 2, through=Reference("t", "who", public=False))},
        file="v.yaml",
    )
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE TABLE u (id VARCHAR PRIMARY KEY)")
        connection.execute(
            "CREATE TABLE t (who VARCHAR UNIQUE, came TIMESTAMP, x DOUBLE); CREATE TABLE v (who VARCHAR)"
        )
    for tables in ((through, owner), (mine, others)):
        manifest = copied(copying(tmp_path, None, *tables), 4)
        assert manifest.parts == {}
        assert manifest.unique["t"] == (("who",),)


@pytest.mark.parametrize("when", ["parts", "manifest"])
def test_a_kill_in_the_middle_leaves_what_was(tmp_path: Path, when: str) -> None:
    """Files that no manifest names are removed, and the parts that it names are not."""
    config = records(tmp_path, FEW)
    before = copied(config, 4)
    was = told(config)
    records(tmp_path, [*FEW, ("s", day(6), 1.0)])
    run = [sys.executable, "-c", CHILD, str(tmp_path), when]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        assert child.stdout is not None
        while child.stdout.readline().strip() != "now":
            assert child.poll() is None
        child.kill()
    assert config.snapshot is not None
    place = config.snapshot.directory
    assert len(list(place.iterdir())) > 4
    assert current_snapshot(config) == before
    assert told(config) == was
    assert {file.stem for file in place.glob("*.duckdb*")} == set(before.files)
    after = copied(config, 10)
    assert _spans(after) == [(0, 3), (3, 9)]
    assert sum(told(config).values()) == 6


def test_what_is_read_is_read_to_the_end(tmp_path: Path) -> None:
    """Parts that were replaced are there for whoever reads them, as the copy's own file is."""
    config = records(tmp_path, FEW)
    copied(config, 4)
    with closing(open_snapshot(config)) as engine:
        copied(config, 5, whole=True)
        assert len(engine.for_owner(f"SELECT who FROM {engine.named('t')}", timeout=60)) == 5
        assert engine.is_current()


def test_a_part_that_changes_ends_what_is_served(tmp_path: Path) -> None:
    """As a change of the copy's own file does."""
    config = records(tmp_path, FEW)
    copied(config, 4)
    with closing(open_snapshot(config)) as engine:
        assert isinstance(engine, SnapshotEngine)
        (part,) = engine.beside.values()
        os.utime(part)
        assert not engine.is_current()


def test_no_value_makes_it_fail_or_is_told(tmp_path: Path) -> None:
    """What goes wrong is told by its kind."""
    config = records(tmp_path, FEW)
    before = copied(config, 4)
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("ALTER TABLE t RENAME TO u")
        connection.execute("CREATE VIEW t AS SELECT who, came, CAST(who AS DOUBLE) AS x FROM u")
    with pytest.raises(ConfigError, match=r"^the snapshot could not be written: ConversionException$"):
        copied(config, 5)
    assert current_snapshot(config) == before


def test_what_is_charged_begins_with_the_oldest_part(tmp_path: Path) -> None:
    """Of what reads the table: those who were in it then are told of."""
    config = records(tmp_path, FEW)
    copied(config, 4)
    copied(config, 9)
    with closing(open_snapshot(config)) as engine:
        edition = engine.edition
    assert isinstance(edition, SnapshotVersion)
    taken, oldest = at(9)().date(), at(4)().date()
    assert edition.read_of([]).first == edition.read_of(["u"]).first == edition.read.first == taken
    assert edition.read_of(["t"]).first == oldest
    assert edition.read_of(["t", "u"]).last == taken
