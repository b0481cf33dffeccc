"""From the facts about one scope to what is measured for it: depends on the query, the policy and public rows only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from dpsql.errors import MissingBounds, Unsupported
from dpsql.policy.model import Role, SqlType, Value
from dpsql.privacy.bounding import Bound, Form
from dpsql.privacy.buckets import Buckets
from dpsql.privacy.checks import MOST_FEATURES, check_extremes, check_features, check_scope
from dpsql.privacy.feature import Feature, Scaled, Shape
from dpsql.privacy.statistics import Known, Reading, design
from dpsql.privacy.sums import Distinct, Sums
from dpsql.rewrite import aggregate as asked
from dpsql.rewrite.aggregate import Aggregate
from dpsql.rewrite.declared import Declared
from dpsql.rewrite.expr import TRUE, Apply, Const, Expr, Ref, both, refs
from dpsql.rewrite.facts import Facts, facts
from dpsql.rewrite.facts import bounded as interval_of
from dpsql.rewrite.grouping import Set
from dpsql.rewrite.groups import NO_KEYS, Groups, PublicRows, discovered, groups
from dpsql.rewrite.keys import domain
from dpsql.rewrite.narrow import narrowed
from dpsql.rewrite.relation import Join, Relation

Measurement = Sums | Buckets
_COUNT = Feature(Shape.ONE)


@dataclass(frozen=True, slots=True)
class World:
    """What is public: who asks, what is declared, the rows of public tables, and which units the engine keeps unique."""

    role: Role
    declared: Declared
    rows: PublicRows
    unique: Callable[[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Statistic:
    """An output read off noisy sums."""

    part: int | None
    """Which measurement has them; None: nothing is measured, everything is publicly zero."""
    reading: Reading
    margin: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    """An output that is a chosen bucket, or an array of them: the places of its points."""

    part: int | None
    places: tuple[int, ...]
    array: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """An output that is the first coordinate of a measurement: a distinct count."""

    part: int | None


@dataclass(frozen=True, slots=True)
class Ungrouped:
    """An output that says which of some keys a row is not grouped by, as bits."""

    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Voted:
    """An output that is one of some values, by the noisy counts of each."""

    part: int | None
    name: Literal["bool_and", "bool_or", "mode"]
    values: tuple[Value, ...]
    readings: tuple[Reading, ...]


Output = Statistic | Chosen | Counted | Ungrouped | Voted


@dataclass(frozen=True, slots=True)
class Plan:
    """What one scope needs: its groups, its measurements, and how each aggregate is read off them."""

    groups: Groups
    parts: tuple[Measurement, ...]
    """Empty if nothing has to be measured. Where groups are not declared the first part finds them."""
    outputs: tuple[Output, ...]
    sets: tuple[Set, ...] | None = None
    """The grouping sets, where there are any but all keys: their rows are sums of the groups'."""


def measure(
    relation: Relation,
    keys: Sequence[Expr],
    sets: tuple[Set, ...] | None,
    aggregates: Sequence[Aggregate],
    world: World,
) -> Plan:
    """Return what has to be measured to answer the aggregates for every group.

    Raises:
        MissingBounds: a sum or a key of something that the policy does not bound.
        Unsupported: an aggregate, or so much of it, can't be answered.
        AccessDenied: the keys would show single units.
    """
    exprs = [e for a in aggregates for e in inputs(a)]
    bound = bounded(relation, world)
    check_scope(relation, keys, exprs, bound)
    # Rows for which the condition of a LEFT JOIN does not hold stay.
    condition = both(relation.where, *(s.on for s in relation.sources if s.join is not Join.LEFT))
    env = narrowed(refs(*keys, *exprs), condition, world.declared)
    if env is None:
        return _impossible(relation, keys, aggregates, bound, world)
    known = _known(env, world.declared)
    for expr in (*keys, *exprs):  # conditions were checked by the declarations alone
        known(expr)  # refuses what could overflow: an error that depends on data would be a release
    # All measurements of one scope read the same rows, whichever columns each of them needs.
    relation = replace(relation, needed=refs(*keys, *exprs))
    every, delta = _groups(keys, relation, env, world)
    plan = _Builder(relation, every, bound, delta, world, known).plan(aggregates, keys)
    return plan if sets is None else _with_sets(plan, sets)


def _with_sets(plan: Plan, sets: tuple[Set, ...]) -> Plan:
    """Return the plan whose rows are those of every grouping set: sums of the finest groups, at no further cost."""
    summable = all(isinstance(part, Sums) and part.distinct is Distinct.ROWS and not part.delta for part in plan.parts)
    if not summable or any(isinstance(o, Statistic) and o.margin for o in plan.outputs):
        raise Unsupported(
            "GROUPING SETS, ROLLUP and CUBE take COUNT, SUM, AVG, variances and covariances over declared keys",
            hint="Ask for the other aggregates with a plain GROUP BY.",
        )
    return replace(plan, sets=sets)


def priced(plan: Plan, epsilon: Fraction) -> Plan:
    """Return the plan whose every part pays `epsilon`.

    Raises:
        Unsupported: that is too little for a part to say anything.
    """
    parts = tuple(replace(part, epsilon=epsilon) for part in plan.parts)
    for part in parts:
        if isinstance(part, Buckets):
            check_extremes(part, part.relation.protected.expected_rows)
    return replace(plan, parts=parts)


def inputs(aggregate: Aggregate) -> tuple[Expr, ...]:
    """Return the row-level expressions that an aggregate reads."""
    match aggregate:
        case asked.Moment():
            return (aggregate.where, *aggregate.args)
        case asked.Margin():
            return inputs(aggregate.of)
        case asked.Quantile() | asked.Extreme() | asked.Distinct() | asked.Vote():
            return (aggregate.where, aggregate.arg)
        case asked.GroupingCall():
            return aggregate.keys


def bounded(relation: Relation, world: World) -> Bound:
    """Return how much of the relation is one unit's, for the unit kind that the role protects."""
    unit = relation.unit(world.role.protects)
    table = relation.protected
    joins_unique = all(s.table.key in world.unique(s.table.name) for s in relation.sources[1:])
    if unit.name in world.unique(table.name) and joins_unique:
        return Bound(unit, 1, Form.WHOLE)
    return Bound(unit, table.units[world.role.protects].max_rows, Form.MASS)


def _groups(
    keys: Sequence[Expr], relation: Relation, env: Mapping[Ref, Facts], world: World
) -> tuple[Groups, Fraction]:
    """Return the groups, and the δ that finding them costs: 0 where the policy declares them."""
    if not keys:
        return NO_KEYS, Fraction(0)
    limit, delta = world.role.max_groups, world.role.per_query.delta
    try:
        return groups(keys, relation, env, world.rows, limit), Fraction(0)
    except MissingBounds:
        if not delta:
            raise
    return discovered(keys, env, limit), delta


def _known(env: Mapping[Ref, Facts], declared: Declared) -> Known:
    def known(expr: Expr) -> Facts:
        missing = {ref: declared.one(ref) for ref in refs(expr) if ref not in env}
        return facts(expr, {**missing, **env})

    return known


def _impossible(
    relation: Relation, keys: Sequence[Expr], aggregates: Sequence[Aggregate], bound: Bound, world: World
) -> Plan:
    """Return the plan for a condition that no row can satisfy: one row of zeros without keys, no row with them."""
    builder = _Builder(relation, NO_KEYS, bound, Fraction(0), world, _known({}, world.declared))
    outputs = tuple(
        o if isinstance(o, Ungrouped) else replace(o, part=None) for o in builder.plan(aggregates, keys).outputs
    )
    return Plan(replace(NO_KEYS, grouped=(), shown=()) if keys else NO_KEYS, (), outputs)


class _Builder:
    """Collects the measurements of one scope; aggregates that can share one do."""

    def __init__(
        self, relation: Relation, every: Groups, bound: Bound, delta: Fraction, world: World, known: Known
    ) -> None:
        self._relation, self._groups, self._bound, self._delta = relation, every, bound, delta
        self._world, self._known = world, known
        self._parts: list[Measurement] = []

    def plan(self, aggregates: Sequence[Aggregate], keys: Sequence[Expr]) -> Plan:
        """Return the whole plan."""
        summed = [(i, a) for i, a in enumerate(aggregates) if isinstance(a, (asked.Moment, asked.Margin, asked.Vote))]
        outputs = dict(zip((i for i, _ in summed), self._statistics([a for _, a in summed]), strict=True))
        if self._delta and not self._parts:
            finding = self._counting(TRUE)
            self._parts.append(finding if aggregates else replace(finding, distinct=Distinct.UNITS))
        for index, aggregate in enumerate(aggregates):
            if index not in outputs:
                outputs[index] = self._other(aggregate, aggregates, keys)
        empty = not self._groups.grouped and not self._delta
        parts = () if empty else tuple(self._parts)
        return Plan(self._groups, parts, tuple(outputs[i] for i in range(len(aggregates))))

    def _statistics(self, aggregates: Sequence[asked.Moment | asked.Margin | asked.Vote]) -> list[Output]:
        """Measure everything that is read off sums together."""
        if not aggregates:
            return []
        needed = [self._moments(aggregate) for aggregate in aggregates]
        chosen = design([moment for moments in needed for moment in moments], self._known)
        # The threshold is compared with the count of rows, which therefore comes first.
        features = tuple(dict.fromkeys((_COUNT, *chosen.features))) if self._delta else chosen.features
        check_features(features)
        self._parts.append(replace(self._counting(chosen.where), features=features))
        readings = iter(chosen.readings)
        return [self._read(a, [next(readings) for _ in moments]) for a, moments in zip(aggregates, needed, strict=True)]

    def _moments(self, aggregate: asked.Moment | asked.Margin | asked.Vote) -> list[asked.Moment]:
        """Return the statistics that an aggregate is read off."""
        match aggregate:
            case asked.Moment():
                return [aggregate]
            case asked.Margin(of=moment):
                return [moment]
            case asked.Vote(arg=arg, where=where):
                return [asked.Moment("count", (), both(where, _is(arg, value))) for value in self._choices(arg)]

    def _read(self, aggregate: asked.Moment | asked.Margin | asked.Vote, readings: Sequence[Reading]) -> Output:
        match aggregate:
            case asked.Vote(name=name, arg=arg):
                return Voted(0, name, self._choices(arg), tuple(readings))
            case _:
                return Statistic(0, readings[0], isinstance(aggregate, asked.Margin))

    def _choices(self, arg: Expr) -> tuple[Value, ...]:
        """Return the values that a vote can be for.

        Raises:
            MissingBounds: they are not declared.
        """
        env = {ref: self._known(ref) for ref in refs(arg)}
        return tuple(value for value in domain(arg, env, MOST_FEATURES) if value is not None)

    def _counting(self, where: Expr) -> Sums:
        """Return the measurement of the number of rows, which is also the frame of every other sum."""
        role = self._world.role
        bound = (
            replace(self._bound, form=Form.SELECTION) if self._delta and self._bound.form is Form.MASS else self._bound
        )
        return Sums(self._relation, where, self._groups, (_COUNT,), bound, Fraction(0), role.mechanism, self._delta)

    def _other(self, aggregate: Aggregate, every: Sequence[Aggregate], keys: Sequence[Expr]) -> Output:
        match aggregate:
            case asked.Quantile():
                part = self._add(self._buckets(aggregate.arg, aggregate.where, aggregate.points, extremes=False))
                return Chosen(part, tuple(range(len(aggregate.points))), aggregate.array)
            case asked.Extreme():
                return self._extreme(aggregate, every)
            case asked.Distinct():
                return Counted(self._add(self._distinct(aggregate)))
            case asked.GroupingCall():
                return Ungrouped(tuple(keys.index(key) for key in aggregate.keys))
            case asked.Moment() | asked.Margin() | asked.Vote():
                raise AssertionError(aggregate)

    def _extreme(self, aggregate: asked.Extreme, every: Sequence[Aggregate]) -> Output:
        """Measure MIN and MAX of one expression together if both are asked."""
        twins = {
            a.name
            for a in every
            if isinstance(a, asked.Extreme) and (a.arg, a.where) == (aggregate.arg, aggregate.where)
        }
        points = tuple(Fraction(p) for p, name in ((0, "min"), (1, "max")) if name in twins)
        buckets = self._buckets(aggregate.arg, aggregate.where, points, extremes=True)
        place = 1 if len(points) == 2 and aggregate.name == "max" else 0
        return Chosen(self._add(buckets), (place,), array=False)

    def _buckets(self, arg: Expr, where: Expr, points: tuple[Fraction, ...], *, extremes: bool) -> Buckets:
        known = self._known(arg)
        present = TRUE if not known.nullable else _not_null(arg)
        x = Scaled(arg, interval_of(arg, known))
        return Buckets(
            self._relation, both(where, present), self._groups, x, points, extremes, self._bound, Fraction(0)
        )

    def _distinct(self, aggregate: asked.Distinct) -> Sums:
        """Return the measurement of COUNT(DISTINCT x); of units, each counts once a group."""
        counting = replace(self._counting(both(aggregate.where, _not_null(aggregate.arg))), delta=Fraction(0))
        if aggregate.arg == self._bound.unit:
            return replace(counting, bound=self._unit_bound(), distinct=Distinct.UNITS)
        form = Form.WHOLE if self._bound.form is Form.WHOLE else Form.SELECTION
        bound = replace(self._bound, form=form)
        return replace(counting, bound=bound, distinct=Distinct.VALUES, value=aggregate.arg)

    def _unit_bound(self) -> Bound:
        """Return in how many groups a unit can be: in one if there is one, else at most `max_rows`."""
        alone = not self._groups.keys or self._bound.form is Form.WHOLE
        if alone:
            return replace(self._bound, rows=1, form=Form.WHOLE)
        known = len(self._groups.grouped) if not self._delta else self._bound.rows
        return replace(self._bound, rows=max(min(self._bound.rows, known), 1), form=Form.MASS)

    def _add(self, part: Measurement) -> int:
        if part not in self._parts:
            self._parts.append(part)
        return self._parts.index(part)


def _is(arg: Expr, value: Value) -> Expr:
    """Return the condition that an expression has a value."""
    if arg.type is SqlType.BOOLEAN:
        return Apply("is_true" if value else "is_false", (arg,), SqlType.BOOLEAN)
    return Apply("eq", (arg, Const(value, arg.type)), SqlType.BOOLEAN)


def _not_null(arg: Expr) -> Expr:
    if isinstance(arg, Const):
        return TRUE
    return Apply("not", (Apply("is_null", (arg,), SqlType.BOOLEAN),), SqlType.BOOLEAN)
