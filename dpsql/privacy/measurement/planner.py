"""From the facts about one scope to its measurements: depends on the query, the policy and public rows only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

from dpsql.errors import MissingBounds, Unsupported
from dpsql.policy.model import EmptyGroups, MechanismName, Role, Table, UniqueKey, Value
from dpsql.privacy.features.blocks import MOST_FEATURES
from dpsql.privacy.measurement.builder import Builder, is_value
from dpsql.privacy.measurement.compared_once import compared_once
from dpsql.privacy.measurement.contribution import Bound, Form
from dpsql.privacy.measurement.key_search import KeySearch
from dpsql.privacy.measurement.limits import check_not_of_units, check_scope, unit_computed
from dpsql.privacy.measurement.plan import (
    ComputedMarginOutput,
    GroupingOutput,
    KnownOutput,
    Measurement,
    MeasurementPlan,
    Output,
    QuantileOutput,
    StatisticOutput,
)
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.rewrite.analysis.bounds import denied, facts
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.exclusion import Known
from dpsql.rewrite.analysis.groups import NO_KEYS, Groups, groups, selected_groups
from dpsql.rewrite.analysis.joined import PublicRows
from dpsql.rewrite.analysis.keys import Key, domain
from dpsql.rewrite.analysis.narrowing import narrowed
from dpsql.rewrite.analysis.owners import check_numbers, check_numbers_in, owners, unit_numbers
from dpsql.rewrite.functions.function import lists_too_many
from dpsql.rewrite.functions.logical import negated
from dpsql.rewrite.ir.expr import Env, Expr, Facts, both, refs
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.named.grouping import Set
from dpsql.rewrite.translate.rows import aggregates as asked
from dpsql.rewrite.translate.rows.aggregates import Aggregate
from dpsql.rewrite.translate.rows.computed import refused_shrunk
from dpsql.rewrite.translate.rows.profiled import as_counted, computes, inputs, is_possible, profiled_without_bounds

_Build = Callable[[Fraction, Role, Known], Builder]
_ROWS = asked.Moment("count", ())
"""COUNT(*)."""
_ONES_AND_ZEROS = ({0}, {1}, {0, 1})
"""The values of which an extreme says whether there is any."""


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """The public facts: the asker, the declarations, the rows of public tables, the units that the engine keeps unique."""

    role: Role
    declared: Declared
    rows: PublicRows
    unique: Callable[[str], frozenset[UniqueKey]]
    tables: Mapping[str, Table]
    empty: EmptyGroups = EmptyGroups.AUTO
    """The treatment of groups that may be empty."""
    ranked: int | None = None
    """How many groups of a ranking are shown; of more, those that may be empty are left out if rows are counted anyhow."""
    alike: bool = False
    """Whether sums are divided by counts, for which rows have to weigh the same in both."""


def measure(
    relation: Relation,
    keys: Sequence[Expr],
    sets: tuple[Set, ...] | None,
    aggregates: Sequence[Aggregate],
    context: PlanningContext,
) -> MeasurementPlan:
    """Return what has to be measured to answer the aggregates for every group.

    A profiler's aggregates of a column that says whose a row is, or has no bounds, are NULL beside other aggregates.

    Raises:
        MissingBounds: a sum or a key of something that the policy does not bound.
        Unsupported: an aggregate, or so much of it, can't be answered.
        AccessDenied: the keys would show single units.
    """
    if not keys and any(map(_draws_together, aggregates)):
        raise refused_shrunk("and there is no GROUP BY", "Write avg(x): of all rows there is one mean.")
    if context.role.min_units is not None:
        return _of_enough(relation, keys, sets, aggregates, context, context.role.min_units)
    of_units, planned = [unit_computed(a, relation) for a in aggregates], partial(_with_nulls, relation, keys, sets)
    try:
        return planned(aggregates, context, [(unit, None) for unit in of_units])
    except MissingBounds:
        unbounded = profiled_without_bounds(aggregates)
        if not any(unbounded):
            raise
        return planned(aggregates, context, list(zip(of_units, unbounded, strict=True)))


def _draws_together(aggregate: Aggregate) -> bool:
    """Return whether an aggregate of one group is read off the sums of all."""
    return isinstance(aggregate.of if isinstance(aggregate, asked.Margin) else aggregate, asked.Shrunk)


def _with_nulls(
    relation: Relation,
    keys: Sequence[Expr],
    sets: tuple[Set, ...] | None,
    aggregates: Sequence[Aggregate],
    context: PlanningContext,
    nulls: Sequence[tuple[str | None, str | None]],
) -> MeasurementPlan:
    """Return the plan with NULL for what is of a column that is named in `nulls`, unless there is nothing else."""
    others = [aggregate for aggregate, names in zip(aggregates, nulls, strict=True) if not any(names)]
    if others and len(others) < len(aggregates):
        return _measured(context, relation, keys, others, sets).with_nulls(nulls)
    plan = _measured(context, relation, keys, aggregates, sets)
    return plan if sets is not None else compared_once(plan, relation, keys, aggregates, partial(_measured, context))


def _of_enough(
    relation: Relation,
    keys: Sequence[Expr],
    sets: tuple[Set, ...] | None,
    aggregates: Sequence[Aggregate],
    context: PlanningContext,
    least: int,
) -> MeasurementPlan:
    """Return the plan that also counts each group's units: those of which too few can be told are not shown.

    That is read off released numbers, as all that is shown: units, or rows where each unit has one.
    """
    if sets is not None:
        raise Unsupported(
            f"GROUPING SETS, ROLLUP and CUBE are not answered where groups need {least:,} units (min_units)",
            because="grouping-sets-of-few",
            hint="Ask for each grouping with a GROUP BY of its own.",
        )
    relation, bound = contribution_bound(relation, context)
    counted = _ROWS if bound.form is Form.UNIQUE else asked.Distinct(bound.unit)
    free = replace(context, role=replace(context.role, min_units=None))
    return measure(relation, keys, sets, (*aggregates, counted), free).told_by_last(least)


def _measured(
    context: PlanningContext,
    relation: Relation,
    keys: Sequence[Expr],
    aggregates: Sequence[Aggregate],
    sets: tuple[Set, ...] | None = None,
) -> MeasurementPlan:
    written = [e for a in aggregates for e in inputs(a)]
    aggregates = [as_counted(aggregate, relation, context.declared) for aggregate in aggregates]
    exprs, role = [e for a in aggregates for e in inputs(a)], context.role
    relation, bound = contribution_bound(relation, context)
    check_scope(relation, keys, exprs, bound, context.rows)
    check_not_of_units(relation, [e for a in aggregates if computes(a) for e in inputs(a)[1:]], exprs)
    env = narrowed(refs(*keys, *exprs), relation.condition, context.declared)
    if env is None:
        check_numbers(relation, relation.condition, context.declared)
        return _impossible(relation, keys, sets, aggregates, bound, context)
    check_numbers_in(relation, written, context.declared)
    facts_of = _known(env, context.declared)
    for expr in (*keys, *exprs):  # conditions were checked by the declarations alone
        facts_of(expr)  # refuses what could overflow: an error that depends on data would be a release
    # All measurements of one scope read the same rows, whichever columns each of them needs.
    relation = replace(relation, needed=refs(*keys, *exprs))
    every, delta = _groups(keys, relation, env, context)
    fixed = replace(bound, up_to=None) if delta else bound  # the rules by which keys are found are made for one C
    build = partial(Builder, relation, every, fixed, alike=context.alike)
    possible = [a for a in aggregates if is_possible(a, relation, context.declared)]
    voted = {a: a if delta else _as_vote(a, env) for a in possible}
    known = {a: known for a in possible if (known := _known_output(voted[a], relation, env, context.declared))}
    measured = [a for a in possible if a not in known]
    plan = _planned(build, delta, keys, [voted[a] for a in measured], facts_of, context)
    if len(measured) < len(aggregates):
        never = [a for a in aggregates if a not in possible]
        read: dict[Aggregate, Output] = dict(zip(measured, plan.outputs, strict=True))
        read |= {**known, **dict(zip(never, _of_no_rows(never, keys, build, facts_of, role), strict=True))}
        plan = replace(plan, outputs=tuple(read[a] for a in aggregates))
    if delta and role.mechanism is MechanismName.CUBE and bound.form is Form.REWEIGHT:
        search = KeySearch(relation, every, replace(fixed, rows=bound.groups, form=Form.TRUNCATE), delta)
        build = partial(Builder, relation, every, bound, finder=search, alike=context.alike)
        other = build(Fraction(0), role, facts_of).plan(aggregates, keys)
        plan = replace(plan, by_units=_counted(other, aggregates, _ROWS, len(aggregates), hides=False))
    plan = _without_margins_of_cut_numbers(plan, aggregates)
    return plan if sets is None else _with_sets(plan, sets)


def _without_margins_of_cut_numbers(plan: MeasurementPlan, aggregates: Sequence[Aggregate]) -> MeasurementPlan:
    """Return the plan with NULL for margins of numbers of a unit's own rows that count up to 20, for want of a better C.

    A NOTICE says that these are cut off there. By how much nobody knows, so that any margin would be too small.
    """
    if not plan.parts:
        return plan
    relation = plan.parts[0].relation
    outputs = [
        QuantileOutput(None, (), array=False)
        if isinstance(aggregate, asked.Margin) and any(unit_numbers(relation, inputs(aggregate)))
        else output
        for output, aggregate in zip(plan.outputs, aggregates, strict=True)
    ]
    return replace(plan, outputs=tuple(outputs))


def _as_vote(aggregate: Aggregate, env: Env) -> Aggregate:
    """Return what is decided by the counts of few values as that: an extreme of ones and zeros, a number of values."""
    of = aggregate.of if isinstance(aggregate, asked.Margin) else aggregate
    match of:
        case asked.Extreme(name=name, arg=arg, where=where, ordered=None) if set(_few(arg, env)) in _ONES_AND_ZEROS:
            return aggregate if of is not aggregate else asked.Vote(name, arg, where)
        case asked.Distinct(arg=arg, where=where) if _few(arg, env):
            vote = asked.Vote("count", arg, where)
            return vote if of is aggregate else asked.Margin(vote)
        case _:
            return aggregate


def _known_output(aggregate: Aggregate, relation: Relation, env: Env, declared: Declared) -> KnownOutput | None:
    """Return what the policy knows of whether there is any: no row can be one, or no other; None where it does not."""
    match aggregate:
        case asked.Vote(name="max" | "bool_or" as name, arg=arg, where=where):
            wanted, other = (1, 0) if name == "max" else (True, False)
        case asked.Vote(name="min" | "bool_and" as name, arg=arg, where=where):
            wanted, other = (0, 1) if name == "min" else (False, True)
        case _:
            return None
    rows, listed = both(relation.condition, where), _few(arg, env)
    values = [v for v in listed if narrowed(refs(arg, where), both(rows, _has(arg, v)), declared) is not None]
    if not listed or wanted in values:
        return None
    return KnownOutput(other if other in values else None)


def _few(arg: Expr, env: Env) -> tuple[Value, ...]:
    """Return the values, but NULL, that an expression can have; nothing where they are many."""
    try:
        return tuple(value for value in domain(arg, env, MOST_FEATURES) if value is not None)
    except (MissingBounds, Unsupported):
        return ()


def _has(arg: Expr, value: Value) -> Expr:
    """Return the condition that an expression has a value, where it only matters that it is true."""
    if not isinstance(value, bool):
        return is_value(arg, value)
    inner = negated(arg)
    if inner is not None:
        return denied(inner) if value else inner
    return arg if value else denied(arg)


def _of_no_rows(
    aggregates: Sequence[Aggregate], keys: Sequence[Expr], build: _Build, facts_of: Known, role: Role
) -> tuple[Output, ...]:
    """Return how aggregates of no rows are read: of nothing."""
    outputs = build(Fraction(0), role, facts_of).plan(aggregates, keys).outputs
    unmeasured = (GroupingOutput, KnownOutput)
    return tuple(output if isinstance(output, unmeasured) else replace(output, part=None) for output in outputs)


def _planned(
    builder: _Build,
    delta: Fraction,
    keys: Sequence[Expr],
    aggregates: Sequence[Aggregate],
    facts_of: Known,
    context: PlanningContext,
) -> MeasurementPlan:
    """Return the plan that knows where a group's number of rows is read off, and whether empty ones are left out."""
    declared = bool(keys) and not delta  # groups that are selected have shown that they are not empty
    hides = declared and context.empty is EmptyGroups.HIDE

    def planned(asked_for: Sequence[Aggregate]) -> MeasurementPlan:
        return builder(delta, context.role, facts_of).plan(asked_for, keys)

    if hides or _ROWS in aggregates:
        wanted = aggregates if _ROWS in aggregates else (*aggregates, _ROWS)
        plan = planned(wanted)
        plan = _counted(plan, wanted, _ROWS, len(aggregates), hides=hides or (declared and _ranks(plan, context)))
        return replace(plan, counted_along=len(wanted) > len(aggregates))
    plan = planned(aggregates)
    return _counted_along(plan, aggregates, planned, hides=_ranks(plan, context)) if declared else plan


def _ranks(plan: MeasurementPlan, context: PlanningContext) -> bool:
    """Return whether not all groups of a ranking are shown: those of nobody would win."""
    return context.ranked is not None and context.ranked < len(plan.groups.grouped)


def _counted_along(
    plan: MeasurementPlan,
    aggregates: Sequence[Aggregate],
    planned: Callable[[Sequence[Aggregate]], MeasurementPlan],
    *,
    hides: bool,
) -> MeasurementPlan:
    """Return the plan that knows how many rows a group has, if that is measured anyhow: AVG(x) counts those with an x."""
    of = [asked.told_of(a) for a in aggregates]
    counts = {asked.Moment("count", a.args[:1], a.where) if isinstance(a, asked.Moment) else None for a in of}
    for count in (_ROWS, *(counts if len(counts) == 1 else ())):
        if count is not None and any(isinstance(a, asked.Moment) for a in of):
            wanted = (*aggregates, count)
            counted_plan = planned(wanted)
            # The same is measured; that its C is chosen for ratios is no matter of what is read off it.
            if list(map(_for_any, counted_plan.parts)) == list(map(_for_any, plan.parts)):
                counted_plan = replace(counted_plan, parts=plan.parts)
                return _counted(counted_plan, wanted, count, len(aggregates), hides=hides)
    return plan


def _for_any(part: Measurement) -> Measurement:
    return replace(part, of_ratios=False) if isinstance(part, Sums) else part


def _counted(
    plan: MeasurementPlan, wanted: Sequence[Aggregate], rows: Aggregate, asked_for: int, *, hides: bool
) -> MeasurementPlan:
    """Return the plan that knows where each group's number of rows is read off, without the output that is not asked for."""
    count = plan.outputs[wanted.index(rows)] if rows in wanted else None
    if not isinstance(count, StatisticOutput):
        return plan
    return replace(plan, outputs=plan.outputs[:asked_for], count=count, hides_empty=hides)


def _with_sets(plan: MeasurementPlan, sets: tuple[Set, ...]) -> MeasurementPlan:
    """Return the plan whose rows are those of every grouping set: sums of the finest groups, at no further cost."""
    summable = all(isinstance(part, Sums) and part.distinct is CountOf.ROWS and not part.delta for part in plan.parts)
    margins = (
        isinstance(o, ComputedMarginOutput) or (isinstance(o, StatisticOutput) and (o.margin or o.shrunk))
        for o in plan.outputs
    )
    if not summable or any(margins):
        raise Unsupported(
            "GROUPING SETS, ROLLUP and CUBE take COUNT, SUM, AVG, variances and covariances over declared keys",
            because="grouping-sets-add-up",
            hint="Ask for each level with a GROUP BY of its own.",
        )
    return replace(plan, sets=sets)


def contribution_bound(relation: Relation, context: PlanningContext) -> tuple[Relation, Bound]:
    """Return how much of the relation is one unit's, for the unit kind that the role protects, and how that is told."""
    owned = owners(relation, context.role.protects, context.tables, context.unique)
    if owned.single:
        return owned.relation, Bound(owned.unit, 1, Form.UNIQUE)
    return owned.relation, Bound(owned.unit, owned.rows, Form.REWEIGHT, owned.groups, owned.once, up_to=owned.up_to)


def _groups(keys: Sequence[Expr], relation: Relation, env: Env, context: PlanningContext) -> tuple[Groups, Fraction]:
    """Return the groups, and the δ that partition selection costs: 0 where the policy declares them."""
    if not keys:
        return NO_KEYS, Fraction(0)
    limit, delta = context.role.max_groups, context.role.per_query.delta
    try:
        return groups(keys, relation, env, context.rows, limit), Fraction(0)
    except (MissingBounds, Unsupported) as refusal:
        if not delta or (isinstance(refusal, Unsupported) and not lists_too_many(refusal)):
            raise
    return selected_groups(keys, env, limit), delta


def _known(env: Env, declared: Declared) -> Known:
    @cache
    def facts_of(expr: Expr) -> Facts:
        missing: Env = {ref: declared.facts_of(ref) for ref in refs(expr) if ref not in env}
        return facts(expr, {**missing, **env} if missing else env)

    return facts_of


def _impossible(
    relation: Relation,
    keys: Sequence[Expr],
    sets: tuple[Set, ...] | None,
    aggregates: Sequence[Aggregate],
    bound: Bound,
    context: PlanningContext,
) -> MeasurementPlan:
    """Return the plan for a condition that no row can satisfy: one row of zeros for `()`, no row for any key."""
    build, facts_of = partial(Builder, relation, NO_KEYS, bound), _known({}, context.declared)
    outputs = _of_no_rows(aggregates, keys, build, facts_of, context.role)
    if sets is None:
        return MeasurementPlan(replace(NO_KEYS, grouped=(), shown=()) if keys else NO_KEYS, (), outputs)
    totals = tuple(grouping_set for grouping_set in sets if not grouping_set)
    return MeasurementPlan(Groups(tuple(Key(key, key, {}) for key in keys), (), ()), (), outputs, totals)
