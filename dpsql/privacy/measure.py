"""From the facts about one scope to what is measured for it: depends on the query, the policy and public rows only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.errors import AccessDenied, Unsupported
from dpsql.policy.model import Role
from dpsql.privacy.bounding import Bound
from dpsql.privacy.statistics import Reading, design
from dpsql.privacy.sums import Sums
from dpsql.rewrite.aggregate import Aggregate, Margin, Moment
from dpsql.rewrite.declared import Declared
from dpsql.rewrite.expr import Expr, Ref, both, refs, walk
from dpsql.rewrite.facts import Facts, facts
from dpsql.rewrite.groups import NO_KEYS, Groups, PublicRows, groups
from dpsql.rewrite.narrow import narrowed
from dpsql.rewrite.relation import Relation

_MOST_NODES = 25_000
"""The size of all expressions of one scope; beyond it a statement could keep planning or the engine busy."""
_MOST_FEATURES = 40


@dataclass(frozen=True, slots=True)
class World:
    """What is public: who asks, what is declared, the rows of public tables, and which units the engine keeps unique."""

    role: Role
    declared: Declared
    rows: PublicRows
    unique: Callable[[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one scope needs: its groups, the measurement, and how each aggregate is read off it."""

    groups: Groups
    sums: Sums | None
    """None if nothing has to be measured: no aggregates over public keys, or a condition that no row satisfies."""
    outputs: tuple["Output", ...]

    def with_epsilon(self, epsilon: Fraction) -> "Plan":
        """Return the plan with the ε that its measurement pays."""
        return self if self.sums is None else replace(self, sums=replace(self.sums, epsilon=epsilon))


@dataclass(frozen=True, slots=True)
class Output:
    """One aggregate: the statistic that it is read from, or the margin of one."""

    reading: Reading
    margin: bool


def measure(relation: Relation, keys: Sequence[Expr], aggregates: Sequence[Aggregate], world: World) -> Plan:
    """Return what has to be measured to answer the aggregates for every group.

    Raises:
        MissingBounds: a sum or a key of something that the policy does not bound.
        Unsupported: an aggregate, or so much of it, can't be answered.
        AccessDenied: the keys would show single units.
    """
    moments = tuple(_moment(aggregate) for aggregate in aggregates)
    bound = bounded(relation, world)
    _check(relation, keys, moments, bound)
    columns = refs(*keys, *(e for m in moments for e in (m.where, *m.args)))
    condition = both(relation.where, *(s.on for s in relation.sources))
    env = narrowed(columns, condition, world.declared)
    if env is None:
        env = {ref: world.declared.one(ref) for ref in (*columns, *refs(condition))}
        return _impossible(keys, moments, env, aggregates)
    every = groups(keys, relation, env, world.rows, world.role.max_groups) if keys else NO_KEYS
    chosen = design(moments, _known(env, world.declared)) if moments else None
    outputs = _outputs(aggregates, chosen.readings if chosen else ())
    if chosen is None or not every.grouped:
        return Plan(every, None, outputs)
    if len(chosen.features) > _MOST_FEATURES:
        raise Unsupported(f"the statement measures {len(chosen.features)} statistics, the limit is {_MOST_FEATURES}")
    sums = Sums(relation, chosen.where, every, chosen.features, bound, Fraction(0), world.role.mechanism)
    return Plan(every, sums, outputs)


def bounded(relation: Relation, world: World) -> Bound:
    """Return how much of the relation is one unit's, for the unit kind that the role protects."""
    unit = relation.unit(world.role.protects)
    table = relation.protected
    joins_unique = all(s.table.key in world.unique(s.table.name) for s in relation.sources[1:])
    unique = unit.name in world.unique(table.name) and joins_unique
    return Bound(unit, 1 if unique else table.units[world.role.protects].max_rows, unique)


def _moment(aggregate: Aggregate) -> Moment:
    match aggregate:
        case Moment():
            return aggregate
        case Margin(of=moment):
            return moment
        case _:
            raise Unsupported("this aggregate is not supported yet")


def _outputs(aggregates: Sequence[Aggregate], readings: Sequence[Reading]) -> tuple[Output, ...]:
    pairs = zip(aggregates, readings, strict=True)
    return tuple(Output(reading, isinstance(aggregate, Margin)) for aggregate, reading in pairs)


def _known(env: Mapping[Ref, Facts], declared: Declared) -> Callable[[Expr], Facts]:
    def known(expr: Expr) -> Facts:
        missing = {ref: declared.one(ref) for ref in refs(expr) if ref not in env}
        return facts(expr, {**missing, **env})

    return known


def _impossible(
    keys: Sequence[Expr], moments: Sequence[Moment], env: Mapping[Ref, Facts], aggregates: Sequence[Aggregate]
) -> Plan:
    """Return the plan for a condition that no row can satisfy: one row of zeros without keys, no row with them."""
    readings = design(moments, lambda expr: facts(expr, env)).readings if moments else ()
    outputs = _outputs(aggregates, readings)
    return Plan(Groups((), (), ()) if keys else NO_KEYS, None, outputs)


def _check(relation: Relation, keys: Sequence[Expr], moments: Sequence[Moment], bound: Bound) -> None:
    units = {unit.column for unit in relation.protected.units.values()}
    for key in keys:
        for ref in refs(key):
            if ref.source == 0 and ref.name in units:
                raise AccessDenied(
                    f'grouping by the privacy unit "{ref.name}" would show single individuals',
                    hint="Group by something that many individuals share.",
                )
    if bound.unit.type.is_float:
        raise Unsupported(f'the privacy unit "{bound.unit.name}" is a floating-point column')
    parts = (*keys, relation.where, *(e for m in moments for e in (m.where, *m.args)))
    size = sum(1 for part in parts for _ in walk(part))
    if size > _MOST_NODES:
        raise Unsupported(f"the expressions over private rows have {size:,} parts, the limit is {_MOST_NODES:,}")
