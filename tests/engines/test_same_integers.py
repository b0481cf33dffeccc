"""One question has one exact answer, whichever engine computes it and in whichever form."""

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from dpsql.engines.snapshot.open import open_snapshot
from dpsql.errors import InternalError
from dpsql.policy.config import PostgresServer
from dpsql.policy.model import Policy, Table
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Measurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import EngineRow, exact_buckets, exact_sums
from dpsql.rewrite.dialects.postgres import PostgresDialect
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.shadow.server.postgres import Postgres
from tests.engines.copies import copying, written
from tests.engines.reader import READER, reading
from tests.support import mutants
from tests.support.dialects import POSTGRES
from tests.support.exactness import Exact, Measured, measurements
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import ZONES, Maker, Row
from tests.support.shapes import ATTAINED, NARROWED, OTHERS

Ask = Callable[[Measurement], Exact]
MOST = 3
RIDERS = 40
EXTREMES = (
    "SELECT max(fare), min(tip) FROM rides",
    "SELECT min(seats), max(age) FROM rides WHERE paid = 'card'",
    "SELECT max(day), min(day) FROM rides",
    "SELECT max(fare - tip), min(abs(tip)) FROM rides",
)


@pytest.fixture(scope="module")
def bounded(policy: Policy) -> Policy:
    """Give the policy with a bound that most riders pass."""
    return with_rows(policy, "rides", "passenger", MOST)


@pytest.fixture(scope="module")
def planned(bounded: Policy, world: World) -> Callable[[str], Sequence[Measurement]]:
    """Give what a statement measures."""
    engine = Memory(bounded)
    return lambda sql: measurements(sql, bounded, world, engine)


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Sequence[Row]:
    """Make rides of a few riders, many with values that were not declared."""
    maker = Maker(7, dirt=0.1, edges=0.2)
    rows = [maker.row(policy.tables["rides"]) for _ in range(400)]
    return [row | {"rider": n * n % RIDERS if n % 50 else None} for n, row in enumerate(rows)]


@pytest.fixture(scope="module")
def in_duckdb(bounded: Policy, rides: Sequence[Row], world: World) -> Ask:
    """Give the exact answers of DuckDB."""
    engine = Memory(bounded)
    engine.fill("rides", rides)
    return lambda measurement: Measured.of(measurement, engine, world).exact()


@pytest.fixture(scope="module")
def in_postgres(server: Postgres, bounded: Policy, rides: Sequence[Row], world: World) -> Iterator[Ask]:
    """Give the exact answers of PostgreSQL."""
    emitter = Emitter(POSTGRES, world.public.declared)
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS same")
        connection.execute("SET search_path = same")
        _fill(connection, bounded.tables["rides"], rides)
        _fill(connection, bounded.tables["zones"], ZONES)

        yield lambda part: _read(part, connection.execute(part.sql(emitter).encode()).fetchall())


def _read(measurement: Measurement, rows: Sequence[EngineRow]) -> Exact:
    grouped = measurement.groups.grouped
    if isinstance(measurement, Sums):
        return dict(zip(grouped, exact_sums(measurement, rows).coordinates, strict=True))
    assert isinstance(measurement, Histogram)
    return dict(zip(grouped, exact_buckets(measurement, rows, None).histogram.tolist(), strict=True))


@pytest.fixture(scope="module")
def in_copy(server: Postgres, bounded: Policy, in_postgres: Ask, world: World, shared: Path) -> Iterator[Ask]:
    """Give the exact answers of a snapshot of PostgreSQL's tables."""
    _ = in_postgres  # it makes them
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        connection.execute(
            f"GRANT USAGE ON SCHEMA same TO {READER}; GRANT SELECT ON ALL TABLES IN SCHEMA same TO {READER}"
        )
    tables = (bounded.tables["rides"], bounded.tables["zones"])
    config = copying(shared, PostgresServer(reading(server).replace("records", "same")), *tables, roles=bounded.roles)
    written(config)
    engine = open_snapshot(config)
    emitter = Emitter(engine.dialect, world.public.declared, engine.named, engine.kept)
    yield lambda part: _read(part, engine.for_owner(part.sql(emitter), timeout=60))
    engine.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    """Give a directory."""
    with tempfile.TemporaryDirectory(prefix="dpsql-same-") as made:
        yield Path(made)


def _fill(connection: psycopg.Connection, table: Table, rows: Sequence[Row]) -> None:
    columns = (SQL("{} {}").format(Identifier(c.name), SQL(c.declared)) for c in table.columns.values())
    connection.execute(SQL("CREATE TABLE {} ({})").format(Identifier(table.name), SQL(", ").join(columns)))
    with connection.cursor().copy(SQL("COPY {} FROM STDIN").format(Identifier(table.name))) as copy:
        for row in rows:
            copy.write_row([row[name] for name in table.columns])


@pytest.mark.parametrize("sql", [*ATTAINED, *NARROWED, *OTHERS])
def test_engines_and_forms_agree(
    sql: str,
    planned: Callable[[str], Sequence[Measurement]],
    in_duckdb: Ask,
    in_postgres: Ask,
    in_copy: Ask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DuckDB, PostgreSQL, also if it weighs each row, and a snapshot of PostgreSQL's tables give the same integers.

    Which rows a selection keeps is each engine's own: it is by the text of numbers, which they write differently.
    """
    for part in planned(sql):
        if part.bound.form is Form.TRUNCATE:
            continue
        expected = in_duckdb(part)
        assert any(any(values) for values in expected.values())
        assert in_copy(part) == expected
        assert in_postgres(part) == expected
        with monkeypatch.context() as patch:
            patch.setattr(PostgresDialect, "maybe_heavy", lambda *_, **__: None)
            assert in_postgres(part) == expected


@pytest.mark.parametrize("most", [1, 3, 9])
@pytest.mark.parametrize("sql", EXTREMES)
def test_extremes_of_the_outermost_rows_are_those_of_all(
    sql: str,
    most: int,
    planned: Callable[[str], Sequence[Measurement]],
    in_duckdb: Ask,
    in_postgres: Ask,
    in_copy: Ask,
) -> None:
    """As many units lie beyond each bucket, up to the number that is told apart, whichever rows an engine reads first."""
    for part in planned(sql):
        assert isinstance(part, Histogram)
        (source,) = part.relation.sources
        rides = replace(source, table=replace(source.table, expected_rows=100 * most**2))
        outermost = replace(part, relation=replace(part.relation, sources=(rides,)), told_apart=most)
        expected = _beyond(in_duckdb(part), part, most)
        assert max(expected) == most
        assert [_beyond(ask(outermost), part, most) for ask in (in_duckdb, in_postgres, in_copy)] == [expected] * 3


def _beyond(exact: Exact, part: Histogram, most: int) -> list[int]:
    (histogram,) = exact.values()
    counted = itertools.accumulate(histogram if part.points[0] == 0 else histogram[::-1])
    return [min(number, most) for number in counted]


@pytest.mark.parametrize(
    "aggregates",
    ["sum(fare * tip), count(*)", "sum(fare * abs(tip))", "sum(sqrt(fare))", "sum(abs(tip))", "sum(fare * fare)"],
)
def test_sums_of_units_in_floats_are_caught(
    aggregates: str, bounded: Policy, world: World, in_duckdb: Ask, in_postgres: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of values that are not rounded each are no whole numbers."""
    usual = with_epsilon(bounded, Fraction(1, 10))  # with more, values are so fine that each is made whole for 64 bits
    (part,) = measurements(f"SELECT paid, {aggregates} FROM rides GROUP BY 1", usual, world, Memory(usual))
    expected = in_duckdb(part)
    assert in_postgres(part) == expected
    mutants.unit_sums_in_floats(monkeypatch)
    with pytest.raises(InternalError):
        in_postgres(part)


@pytest.mark.parametrize("kept", [20, 1])
def test_a_row_without_a_declared_value_counts_nowhere(
    bounded: Policy, world: World, in_duckdb: Ask, in_postgres: Ask, kept: int
) -> None:
    """Where values have to be there a key tells PostgreSQL by itself whether one is, and such rows weigh nothing."""
    policy = with_rows(bounded, "rides", "passenger", kept)
    rides = policy.tables["rides"]
    paid = replace(rides.columns["paid"], nullable=False)
    policy = replace(policy, tables={**policy.tables, "rides": replace(rides, columns={**rides.columns, "paid": paid})})
    for asked in ("count(*)", "sum(fare), count(*)", "median(fare)", "count(DISTINCT rider)", "min(tip)"):
        sql = f"SELECT paid, {asked} FROM rides WHERE paid <> 'card' OR seats > 1 GROUP BY paid"
        for part in measurements(sql, policy, world, Memory(policy)):
            assert "k0 IS NOT NULL" in part.sql(Emitter(POSTGRES, world.public.declared))
            expected = in_duckdb(part)
            assert any(any(values) for values in expected.values())
            assert in_postgres(part) == expected


def test_rows_are_read_without_weights_but_those_of_heavy_units(bounded: Policy, world: World) -> None:
    """PostgreSQL finds the heavy units in halves, reads their rows, and all rows: there is no join of all with weights."""
    emitter = Emitter(POSTGRES, world.public.declared)
    (part,) = measurements("SELECT day, paid, count(*) FROM rides GROUP BY 1, 2", bounded, world, Memory(bounded))
    sql = part.sql(emitter)
    assert sql.startswith("WITH r AS NOT MATERIALIZED")
    assert (sql.count('"rides"'), sql.count("FROM r ")) == (3, 2)
    assert "JOIN h ON u = hu" not in sql.replace("FROM p JOIN h ON u = hu", "")


def test_a_bound_without_measure_does_not_overflow(
    policy: Policy, world: World, in_duckdb: Ask, in_postgres: Ask
) -> None:
    """Weights and products stay within 64 bits whatever `max_rows` is, and whole numbers on both engines."""
    for most in (2 * 10**4, 10**7, 10**12, 10**15):
        huge = with_rows(policy, "rides", "passenger", most)
        for sql in (
            "SELECT paid, variance(fare), sum(seats) FROM rides GROUP BY 1",
            "SELECT variance(age) FILTER (WHERE late), sum(fare) FILTER (WHERE NOT late) FROM rides",
            "SELECT count(*) FROM rides",
        ):
            (part,) = measurements(sql, huge, world, Memory(huge))
            assert in_postgres(part) == in_duckdb(part)
