"""A test that can't fail is a defect: mistakes in the heart, put in on purpose, are caught by the exhaustive check.

Mistakes that only statistics can show (the noise itself) are in tests/audit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from dpsql.errors import DpsqlError
from dpsql.policy.interval import Interval
from dpsql.policy.model import Policy, SqlType
from dpsql.privacy import bounding, exact, select, sums
from dpsql.privacy.bounding import Bound
from dpsql.privacy.sums import Sums
from dpsql.rewrite.emit import Emitter
from dpsql.rewrite.expr import Expr, Ref
from dpsql.rewrite.function import Dialect
from dpsql.rewrite.source import from_where
from tests.exactness import Measured, measurements
from tests.fix_policy import with_rows
from tests.fix_world import World
from tests.memory import Memory
from tests.records import Maker, Row

C = 2
Break = Callable[[pytest.MonkeyPatch], None]


def _half(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sums, "sensitivity", property(lambda s: s.bound.mass * s.size // 2))


def _forgotten_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bound, "mass", property(lambda b: b.weight))
    # The weights themselves stay right.
    patch.setattr(Bound, "weights", _weights(f"{C} * 65536 // greatest(count(*), {C})"))


def _forgotten_size(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sums, "sensitivity", property(lambda s: s.bound.mass))


def _forgotten_square(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sums, "sensitivity", property(lambda s: s.bound.mass * s.lattice))


def _no_cap(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bound, "weights", _weights("65536"))


def _cap_off_by_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bound, "weights", _weights(f"{C} * 65536 // greatest(count(*) - 1, {C})"))


def _weights(text: str) -> Callable[..., str]:
    def weights(_: Bound, unit: str, from_where: str, __: Dialect) -> str:
        return f"h AS MATERIALIZED (SELECT {unit} AS hu, CAST({text} AS BIGINT) AS w {from_where} GROUP BY 1)"

    return weights


def _cap_before_where(patch: pytest.MonkeyPatch) -> None:
    """Count the rows of the table, not of the measured relation: a join that doubles rows goes unnoticed."""
    patch.setattr(
        Bound,
        "weights",
        lambda b, _, __, ___: (
            f"h AS MATERIALIZED (SELECT rider AS hu, CAST({b.mass} // greatest(count(DISTINCT rider), {b.rows}) AS BIGINT)"
            " AS w FROM rides GROUP BY 1)"
        ),
    )


def _no_selection(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(select, "selected", lambda rows, _, __: rows)


def _selection_off_by_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(select, "selected", lambda rows, columns, most: bounding.selected(rows, columns, most + 1))


def _weights_where_selection_is_due(patch: pytest.MonkeyPatch) -> None:
    """Keep all rows of a heavy unit, lightly: it is then in any number of groups."""

    def grouped(reading: select.Reading, rows: str, _: Sequence[str], __: Sequence[str], *___: str) -> str:
        return f"SELECT {reading.outputs(['1'])} FROM ({rows}) AS r{reading.group_by}"

    patch.setattr(select.Reading, "grouped", grouped)


def _no_clamp(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Emitter, "lattice", _unclamped)


def _unclamped(emitter: Emitter, expr: Expr, interval: Interval, size: int) -> str:
    x = emitter.cast(emitter.raw(expr) if isinstance(expr, Ref) else emitter.sql(expr), SqlType.DOUBLE)
    low, width = emitter.double(interval.low), emitter.double(interval.width)
    return f"CAST(round((least(greatest({x}, -1e9), 1e9) - {low}) / {width} * {2 * size}) AS BIGINT) - {size}"


def _clamped_sum(patch: pytest.MonkeyPatch) -> None:
    """Clamp a group's sum instead of its rows."""
    right = Sums.reader

    def reader(self: Sums) -> Callable[[Sequence[int]], tuple[int, ...]]:
        read, most = right(self), 100 * self.sensitivity
        return lambda values: tuple(min(max(x, -most), most) for x in read(values))

    _no_clamp(patch)
    patch.setattr(Sums, "reader", reader)


def _clamped_to_the_wrong_bounds(patch: pytest.MonkeyPatch) -> None:
    """Clamp columns as declared, but not what is computed of them to its own interval."""
    right = Emitter.lattice

    def lattice(self: Emitter, expr: Expr, interval: Interval, size: int) -> str:
        return (right if isinstance(expr, Ref) else _unclamped)(self, expr, interval, size)

    patch.setattr(Emitter, "lattice", lattice)
    patch.setattr(Emitter, "_clamped", lambda self, ref: self.raw(ref))


def _one_hides_another(patch: pytest.MonkeyPatch) -> None:
    """Take fractions for whole numbers: two groups of the engine are then one of ours, of which the later is seen."""
    patch.setattr(select, "_code", lambda name, _, __: f"CAST({name} AS BIGINT)")
    patch.setattr(exact, "add", lambda _, later: later)


def _merged_units(patch: pytest.MonkeyPatch) -> None:
    """Compare units after a cast that makes several of them one."""
    patch.setattr(Emitter, "stored", lambda _, ref: f's{ref.source}."{ref.name}" // 2')


def _sums_in_floats(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(select, "_text", lambda text, _: f"CAST(CAST({text} AS DOUBLE) AS VARCHAR)")


def _squares_of_the_unclamped(patch: pytest.MonkeyPatch) -> None:
    right = sums._summed

    def summed(column: sums.Column, values: sums._Values, *, weighted: bool) -> str:
        return right(column, values, weighted=weighted).replace("w * f0 * f0", "w * f0 * f0 * 2")

    patch.setattr(sums, "_summed", summed)


COUNTS = "SELECT count(*) FROM rides"
BY_SHARED = "SELECT shared, count(*) FROM rides GROUP BY shared"
SUMS = "SELECT sum(fare), count(*) FROM rides"
SQUARES = "SELECT variance(fare) FROM rides"
JOINED = "SELECT z.borough, count(*) FROM rides LEFT JOIN zones z ON z.zone_id = to_zone GROUP BY 1"
COMPUTED = "SELECT sum(fare + tip) FROM rides"
FRACTIONS = "SELECT CASE WHEN shared THEN 1 ELSE 1.2 END, count(*) FROM rides GROUP BY 1"
VALUES = "SELECT count(DISTINCT number) FROM rides"
FOUND = "SELECT number, count(*) FROM rides GROUP BY number"

MUTANTS: Sequence[tuple[Break, str]] = (
    (_half, COUNTS),
    (_half, SUMS),
    (_forgotten_rows, COUNTS),
    (_forgotten_size, SUMS),
    (_forgotten_square, SQUARES),
    (_squares_of_the_unclamped, SQUARES),
    (_no_cap, COUNTS),
    (_cap_off_by_one, COUNTS),
    (_cap_before_where, JOINED),
    (_no_clamp, SUMS),
    (_clamped_sum, SUMS),
    (_clamped_to_the_wrong_bounds, COMPUTED),
    (_one_hides_another, FRACTIONS),
    (_merged_units, BY_SHARED),
    (_sums_in_floats, SUMS),
    (_no_selection, VALUES),
    (_selection_off_by_one, VALUES),
    (_no_selection, FOUND),
    (_selection_off_by_one, FOUND),
    (_weights_where_selection_is_due, FOUND),
)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a mutant is tried: units with as many rows as they may have, one more, and many more; edges of all types."""

    policy: Policy
    world: World

    def caught(self, sql: str) -> bool:
        """Say whether some unit moves a measurement too far, is in too many groups, or the integers are not whole."""
        engine = Memory(self.policy)
        role = "explorer" if "number, " in sql else "owner"
        try:
            (measurement,) = measurements(sql, self.policy, self.world, engine, role)
            measured = Measured.of(measurement, engine, self.world)
            return any(self._too_far(measured, self._rows(seed)) for seed in range(4))
        except DpsqlError:
            return True

    def _too_far(self, measured: Measured, rows: Sequence[Row]) -> bool:
        if max(measured.moves("rides", rows, "rider")) > measured.claim:
            return True
        measured.engine.fill("rides", [row for row in rows if row["rider"] == 3])
        found_out = not measured.measurement.groups.grouped
        return found_out and len(measured.exact()) > C

    def _rows(self, seed: int) -> Sequence[Row]:
        maker, table = Maker(seed, dirt=0.2, edges=0.5), self.policy.tables["rides"]
        units = [1] * C + [2] * (C + 1) + [3] * (5 * C) + [4, 5, 6] * C
        large = 1 + seed % 3
        return [
            maker.row(table)
            | {"rider": unit, "shared": (unit == 3) == (seed > 1), "number": n}
            | {"fare": (151.0, 1e9)[n % 2] if unit == large else 0.0}
            for n, unit in enumerate(units)
        ]


@pytest.fixture
def bench(policy: Policy, world: World) -> Bench:
    """A bench with a bound of `C` rows."""
    return Bench(with_rows(policy, "rides", "passenger", C), world)


@pytest.mark.parametrize("sql", sorted({sql for _, sql in MUTANTS}))
def test_what_is_right_passes(bench: Bench, sql: str) -> None:
    """Without a mistake nothing is caught."""
    assert not bench.caught(sql)


@pytest.mark.parametrize(("mutant", "sql"), MUTANTS, ids=lambda case: getattr(case, "__name__", "sql"))
def test_what_is_wrong_is_caught(bench: Bench, monkeypatch: pytest.MonkeyPatch, mutant: Break, sql: str) -> None:
    """Each mistake is caught on its statement."""
    mutant(monkeypatch)
    assert bench.caught(sql)


def _no_condition(patch: pytest.MonkeyPatch) -> None:
    right = from_where
    patch.setattr(select, "from_where", lambda *args: right(*args).replace('s0."rider" IS NOT NULL', "TRUE"))


def _left_join(patch: pytest.MonkeyPatch) -> None:
    right = select.Reading.grouped

    def grouped(reading: select.Reading, *args: Any) -> str:
        return right(reading, *args).replace(" JOIN h ", " LEFT JOIN h ").replace("sum(w)", "sum(coalesce(w, 65536))")

    patch.setattr(select.Reading, "grouped", grouped)


@pytest.mark.parametrize(
    ("mutants", "counted"), [((), 0), ((_no_condition,), 0), ((_left_join,), 0), ((_no_condition, _left_join), 3)]
)
def test_rows_of_nobody_do_not_count(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, mutants: Sequence[Break], counted: int
) -> None:
    """Rows without a unit are kept out twice, by a condition and by an inner join; either mistake alone is harmless."""
    for mutant in mutants:
        mutant(monkeypatch)
    engine = Memory(bench.policy)
    (measurement,) = measurements(COUNTS, bench.policy, bench.world, engine)
    engine.fill("rides", [Maker(1).row(bench.policy.tables["rides"]) | {"rider": None}] * 3)
    assert isinstance(measurement, Sums)
    assert Measured.of(measurement, engine, bench.world).exact() == {(): (counted * measurement.unit,)}
