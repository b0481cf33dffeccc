"""What a statement measures, without noise: from its text through the real pipeline to exact integers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from dpsql.engines.base import Engine
from dpsql.gateway.plans.planning import Planner
from dpsql.policy.model import Policy
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import (
    DistinctCountOutput,
    KeySearch,
    Measurement,
    MeasurementPlan,
    Searched,
    StatisticOutput,
)
from dpsql.privacy.measurement.plan import Measured as AnyMeasurement
from dpsql.privacy.measurement.planner import PlanningContext as Facts
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.block import Norm
from dpsql.privacy.mechanisms.gaussian_selection import full_weight
from dpsql.privacy.release.exact import EngineRow, KeyRow, exact_buckets, exact_cells, exact_sums, exact_units
from dpsql.privacy.release.release import estimates
from dpsql.rewrite.bind.bound_reader import BoundReader
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.syntax.whole.analyze import analyze
from tests.support.fix_world import World
from tests.support.records import Cell, Row
from tests.support.served import Filled

Exact = Mapping[KeyRow, Sequence[int]]


def measurements(
    sql: str, policy: Policy, world: World, engine: Engine, role: str = "owner"
) -> tuple[Measurement, ...]:
    """Return what the statement measures for a role.

    Raises:
        DpsqlError: the statement is refused.
    """
    return tuple(part for plan in plans(sql, policy, world, engine, role) for part in plan.parts)


def plans(sql: str, policy: Policy, world: World, engine: Engine, role: str = "owner") -> tuple[MeasurementPlan, ...]:
    """Return what the statement measures, and how it is read, scope by scope.

    Raises:
        DpsqlError: the statement is refused.
    """
    oracle = world.oracle()
    if any(view.tree is None for view in policy.views.values()):
        policy = replace(policy, views=world.policy.views)  # as the shadow has them
    asked = analyze(sql, policy, BoundReader(oracle))
    assert asked is not None
    if asked.refusal is not None:
        raise asked.refusal.error()
    assert asked.statement is not None
    facts = Facts(policy.roles[role], world.public.declared, world.public.rows, engine.unique_keys, policy.tables)
    planner = Planner(policy, facts, oracle)
    plan = planner.measure(planner.track(planner.resolve(asked, ()), ()))
    return tuple(scope.plan for stage in plan.stages() for scope in stage.scopes)


def key_searches(sql: str, policy: Policy, world: World, engine: Engine, role: str) -> tuple[KeySearch, ...]:
    """Return the searches for keys by units of a statement, scope by scope.

    Raises:
        DpsqlError: the statement is refused.
    """
    others = [plan.by_units for plan in plans(sql, policy, world, engine, role)]
    return tuple(part for plan in others if plan for part in plan.parts if isinstance(part, KeySearch))


def unnoised(sql: str, policy: Policy, world: World, engine: Filled) -> Mapping[KeyRow, Sequence[float | None]]:
    """Return the statistics that are read off the exact sums for every group of a statement with one scope."""
    (plan,) = plans(sql, policy, world, engine)
    exact = [Measured.of(part, engine, world).exact() for part in plan.parts]

    def answers(key: KeyRow) -> Iterator[float | None]:
        for output in plan.outputs:
            assert isinstance(output, StatisticOutput | DistinctCountOutput)
            if output.part is None:  # no row can be in it
                yield 0.0 if isinstance(output, DistinctCountOutput) or _adds_up(output) else None
                continue
            part, numbers = plan.parts[output.part], exact[output.part][key]
            assert isinstance(part, Sums)
            yield (
                statistic(output.readout.moment.name).estimate(output.readout, estimates(part)(numbers))
                if isinstance(output, StatisticOutput)
                else numbers[0] / part.steps_per_row
            )

    groups = zip(plan.groups.shown, plan.groups.grouped, strict=True)
    return {shown: list(answers(key)) for shown, key in groups} if plan.parts else {}


def _adds_up(output: StatisticOutput) -> bool:
    return output.readout.moment.name in {"count", "sum"}


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement and the engine it is run on."""

    measurement: AnyMeasurement
    engine: Filled
    sql: str

    @classmethod
    def of(cls, measurement: AnyMeasurement, engine: Filled, world: World) -> "Measured":
        """Build with the engine's statement."""
        emitter = Emitter(engine.dialect, world.public.declared, engine.named, engine.kept)
        return cls(measurement, engine, measurement.sql(emitter))

    @property
    def claim(self) -> int:
        """Return how far one unit may move it; of Gaussian noise, and where keys are found by units, the square in ℓ2."""
        match self.measurement:
            case Sums(bound=ContributionBound(form=Form.EUCLIDEAN)):
                return self.measurement.square
            case Sums() | RowsPerUnit() | BeyondBounds():
                return self.measurement.sensitivity
            case KeySearch():
                return full_weight(self.measurement.bound.rows) ** 2
            case Histogram():
                return self.measurement.bound.mass

    def rows(self) -> Sequence[EngineRow]:
        """Return what the engine answers."""
        return self.engine.measured(self.sql)

    def exact(self) -> Exact:
        """Return the exact numbers of every group that has any."""
        if isinstance(self.measurement, Searched):
            return {(): exact_cells(self.measurement, self.rows()).cells}
        if isinstance(self.measurement, Histogram):
            histogram = exact_buckets(self.measurement, self.rows(), None).histogram.tolist()
            return dict(zip(each_once(self.measurement.groups.grouped), histogram, strict=True))
        exact = (
            exact_units(self.measurement, self.rows())
            if isinstance(self.measurement, KeySearch)
            else exact_sums(self.measurement, self.rows())
        )
        keys = self.measurement.groups.grouped if exact.keys is None else exact.keys
        return dict(zip(each_once(keys), exact.coordinates, strict=True))

    def moves(self, table: str, rows: Sequence[Row], unit: str, names: Sequence[str] = ()) -> Iterator[int]:
        """Yield how far each unit's rows move the measurement, or just some units'; the table is left without the last."""
        return (move for (move,) in moves_of_each([self], table, rows, unit, names))

    def distance(self, a: Exact, b: Exact) -> int:
        """Return how far apart two results are in the norm of the measurement's noise: the sum over the groups."""
        return sum(self._norm([abs(x - y) for x, y in _pairs(a.get(key), b.get(key))]) for key in a.keys() | b.keys())

    def _norm(self, moved: Sequence[int]) -> int:
        """Return the norm of what one group's numbers moved by.

        Of sums, over the blocks, the largest or, for cells, the total; of a histogram the total; of a key the square.
        """
        if isinstance(self.measurement, Histogram | Searched):
            return sum(moved)
        if isinstance(self.measurement, KeySearch) or self.measurement.bound.form is Form.EUCLIDEAN:
            return sum(x**2 for x in moved)
        blocks = [(block.norm, [moved[i] for i in block.places]) for block in self.measurement.blocks if moved]
        return sum(max(of_block) if norm is Norm.LARGEST else sum(of_block) for norm, of_block in blocks)


def owner(cell: Cell) -> str | None:
    """Return whose row it is, None if nobody's: 1 and 1.00 are one individual, as to any engine."""
    if cell is None:
        return None
    return str(Fraction(cell)) if isinstance(cell, Decimal) and cell.is_finite() else str(cell)


def owners_of(rows: Sequence[Row], unit: str) -> list[str]:
    """Return the individuals who have rows."""
    return sorted({name for row in rows if (name := owner(row[unit])) is not None})


def moves_of_each(
    measured: Sequence[Measured], table: str, rows: Sequence[Row], unit: str, names: Sequence[str] = ()
) -> Iterator[list[int]]:
    """Yield how far each unit's rows move each of several measurements of one engine, which is filled once for all."""
    engine = measured[0].engine
    engine.fill(table, rows)
    whole = [part.exact() for part in measured]
    for name in names or owners_of(rows, unit):
        engine.fill(table, [row for row in rows if owner(row[unit]) != name])
        yield [part.distance(before, part.exact()) for part, before in zip(measured, whole, strict=True)]


def turned_round(measured: Measured, table: str, rows: Sequence[Row], unit: str) -> bool:
    """Return whether taking some unit's rows away changes the order in which the groups that are left come."""
    measured.engine.fill(table, rows)
    whole = list(measured.exact())
    for name in owners_of(rows, unit):
        measured.engine.fill(table, [row for row in rows if owner(row[unit]) != name])
        left = list(measured.exact())
        if [key for key in left if key in whole] != [key for key in whole if key in left]:
            return True
    return False


def each_once(keys: Iterable[KeyRow]) -> Iterator[KeyRow]:
    """Yield the keys, those that occur again told apart: what is released twice counts twice."""
    seen: Counter[KeyRow] = Counter()
    for key in keys:
        seen[key] += 1
        yield key if seen[key] == 1 else (*key, f"again {seen[key]}")


def _pairs(numbers: Sequence[int] | None, other: Sequence[int] | None) -> Iterable[tuple[int, int]]:
    """Return the numbers of a group side by side; a group that is missing has zeros."""
    size = len(numbers or other or ())
    return zip(numbers or [0] * size, other or [0] * size, strict=True)
