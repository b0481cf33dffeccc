"""From the facts about one scope to its measurements: depends on the query, the policy and public rows only."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import TypeGuard

from dpsql.errors import MissingBounds, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import EmptyGroups, MechanismName, Role, SqlType, Table, UniqueKey, Value
from dpsql.privacy.features.design import Prediction, design, of_one_value, range_of_quotient
from dpsql.privacy.features.feature import MOST_FEATURES, ONE, Readout, ScaledExpr
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.measurement.compared_once import compared_once
from dpsql.privacy.measurement.contribution import ContributionBound, Form, least_points
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import (
    ComputedMarginOutput,
    DistinctCountOutput,
    DistinctMarginOutput,
    GroupingOutput,
    KeySearch,
    KnownOutput,
    Measurement,
    MeasurementPlan,
    Output,
    PointMarginOutput,
    Possible,
    QuantileOutput,
    ReadTotal,
    StatisticOutput,
    VoteOutput,
    refuse_unit_values,
    require_few_features,
    require_scope,
    unit_computed,
)
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.rewrite.analysis.bounds import complement_of, facts
from dpsql.rewrite.analysis.bounds import require_interval as interval_of
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts, PublicRows
from dpsql.rewrite.analysis.exclusion import Known
from dpsql.rewrite.analysis.groups import NO_KEYS, Groups, groups, is_by_period, selected_groups
from dpsql.rewrite.analysis.keys import Key, domain, number_of_tuples, number_of_values
from dpsql.rewrite.analysis.owners import owners, refuse_undeclared_numbers, unit_numbers
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.functions.function import lists_too_many
from dpsql.rewrite.functions.logical import negated_condition, only_branch
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Env, Expr, Facts, Ref, both, conjuncts, refs
from dpsql.rewrite.ir.relation import Relation, tables_below
from dpsql.rewrite.syntax.named.grouping import Set
from dpsql.rewrite.translate.rows import aggregates as asked
from dpsql.rewrite.translate.rows.aggregates import (
    Aggregate,
    as_counted,
    computes,
    inputs,
    is_possible,
    profiled_without_bounds,
)
from dpsql.rewrite.translate.rows.computed_statistics import Total, parts_of, refused_margin, refused_shrunk, with_ends

# How much weights are expected to take off an answer, by the statement and the policy alone: designs differ in it.

_SHARE = Fraction(1, 200)
"""The share of all rows that `max_rows` takes off, as owners choose it: a larger share would be seen, and for a smaller one
noise would be larger than it need be. Of the demo's trips it is 7 in 100, of a million trips with fewer heavy units 1."""


def expected_loss(rows: int | None, groups: Groups, bound: ContributionBound, epsilon: Fraction) -> Fraction:
    """Return how many of a group's rows weights take off, in C/ε, which is what noise is measured in.

    `epsilon` is the most that a statement of the role pays. It is 0 where nothing is weighed, and where nobody says how many
    rows a group has: then designs are compared by their noise alone.
    """
    if bound.form is not Form.REWEIGHT or not rows or not groups.grouped:
        return Fraction(0)
    share, paid = _SHARE.denominator, epsilon  # which is 1 of so many
    return Fraction(rows * paid.numerator, share * len(groups.grouped) * paid.denominator * bound.rows)


# Collect the measurements of one scope: aggregates that can share one do.

_MEDIAN = Fraction(1, 2)
_MANY = 10_000
"""Values of an expression that are counted."""
_MOST_TOTALS = 4
"""Totals in one margin: which groups are in which of them is looked at for each."""


class Builder:
    """Collects the measurements of one scope; aggregates that can share one do."""

    def __init__(
        self,
        relation: Relation,
        every: Groups,
        bound: ContributionBound,
        delta: Fraction,
        role: Role,
        facts_of: Known,
        *,
        finder: KeySearch | None = None,
        alike: bool = False,
    ) -> None:
        """Take the facts; `delta` is for a count that selects the keys, where no `finder` has selected them before.

        `alike` says that sums are divided by counts.
        """
        self._relation, self._groups, self._bound, self._delta = relation, every, bound, delta
        self._role, self._known, self._alike = role, facts_of, alike
        self._parts: list[Measurement] = [] if finder is None else [finder]
        self._margins: set[tuple[object, ...]] = set()
        """The quantiles whose margins are asked."""
        self._of_distinct_values: list[asked.OfDistinct] = []
        self._keys: Sequence[Expr] = ()

    def plan(self, aggregates: Sequence[Aggregate], keys: Sequence[Expr]) -> MeasurementPlan:
        """Return the whole plan."""
        self._margins = {
            _place(a.of) for a in aggregates if isinstance(a, asked.Margin) and isinstance(a.of, asked.Quantile)
        }
        # Counts, sums, means and spreads are read off one measurement, however many there are: one charge, one scale of
        # noise. Each quantile and each distinct count is one more, and the statement's ε is divided by their number.
        summed = [(i, a) for i, a in enumerate(aggregates) if _is_summed(a)]
        self._of_distinct_values = [of for a in aggregates if isinstance(of := _measured_of(a), asked.OfDistinct)]
        self._keys = keys
        outputs = dict(zip((i for i, _ in summed), self._statistics([a for _, a in summed]), strict=True))
        # Keys that the policy does not declare are shown by how many rows or units have them, so that these are counted
        # whatever is asked. SELECT DISTINCT asks for no number: then units are counted, and only the keys are released.
        if self._delta and not self._parts:
            finding = self._counting(TRUE)
            self._parts.append(finding if aggregates else replace(finding, distinct=CountOf.UNITS))
        for index, aggregate in enumerate(aggregates):
            if index not in outputs:
                outputs[index] = self._other(aggregate, keys)
        found_out = self._delta or any(isinstance(part, KeySearch) for part in self._parts)
        # Conditions on keys may leave no group that there could be. Then there is nothing to measure, and nothing to
        # pay for.
        empty = not self._groups.grouped and not found_out
        parts = () if empty else tuple(self._parts)
        return MeasurementPlan(self._groups, parts, tuple(outputs[i] for i in range(len(aggregates))))

    def _statistics(
        self, aggregates: Sequence[asked.Moment | asked.Margin | asked.Shrunk | asked.Vote]
    ) -> list[Output]:
        """Measure everything that is read off sums together."""
        if not aggregates:
            return []
        needed = [self._moments(aggregate) for aggregate in aggregates]
        every = [moment for moments in needed for moment in moments]
        chosen = design(every, self._known, self._prediction(), thresholded=bool(self._delta))
        require_few_features(chosen.features)
        sums = replace(
            self._counting(chosen.where),
            features=chosen.features,
            block_conditions=chosen.block_conditions,
            of_ratios=self._bound.up_to is not None and not any(_adds_up(moment) for moment in every),
        )
        part = self._add(sums)
        readouts = iter(chosen.readouts)
        return [
            self._read(part, a, [next(readouts) for _ in moments])
            for a, moments in zip(aggregates, needed, strict=True)
        ]

    def _prediction(self) -> Prediction:
        role, rows = self._role, self._relation.expected_rows
        alike = self._alike and not self._bound.weighs_alike
        loss = expected_loss(rows, self._groups, self._bound, role.per_query.epsilon)
        # A standing question's design is that of all its days, whichever are asked for: else it would be another question,
        # and another charge. Accounts weigh its rows alike in all designs, so that these differ by their noise alone.
        by_period = is_by_period(self._relation, self._keys)
        return Prediction(role.mechanism, Fraction(0) if by_period else loss, alike)

    def _moments(self, aggregate: asked.Moment | asked.Margin | asked.Shrunk | asked.Vote) -> list[asked.Moment]:
        """Return the statistics that an aggregate is read off."""
        match aggregate:
            case asked.Moment():
                return [aggregate]
            case asked.Margin(of=asked.Moment() as moment):
                return [moment]
            case asked.Shrunk(of=moment) | asked.Margin(of=asked.Shrunk(of=moment)):
                return [moment]
            case asked.Margin(of=asked.ComputedStatistic(of=moments)):
                return list(moments)
            case asked.Margin(of=asked.Vote() as vote):
                return self._moments(vote)
            case asked.Margin():
                raise AssertionError(aggregate)
            case asked.Vote(arg=arg, where=where):
                return [asked.Moment("count", (), both(where, is_value(arg, value))) for value in self._choices(arg)]

    def _read(
        self, part: int, aggregate: asked.Moment | asked.Margin | asked.Shrunk | asked.Vote, readouts: Sequence[Readout]
    ) -> Output:
        match aggregate:
            case asked.Vote(name=name, arg=arg) | asked.Margin(of=asked.Vote(name=name, arg=arg)):
                return VoteOutput(part, name, self._choices(arg), tuple(readouts), isinstance(aggregate, asked.Margin))
            case asked.Margin(of=asked.ComputedStatistic() as computed):
                return self._computed(part, computed, readouts)
            case _:
                margin = aggregate if isinstance(aggregate, asked.Margin) else None
                shrunk = isinstance(aggregate if margin is None else margin.of, asked.Shrunk)
                return StatisticOutput(part, readouts[0], margin is not None, margin is not None and margin.cut, shrunk)

    def _computed(
        self, part: int, computed: asked.ComputedStatistic, readouts: Sequence[Readout]
    ) -> ComputedMarginOutput:
        """Return how the margin of what is computed is read off.

        Raises:
            Unsupported: a total is over what are no groups.
        """
        totals = dict.fromkeys(total for total in parts_of(computed.formula) if isinstance(total, Total))
        if not all(_adds_up(computed.of[total.place]) for total in totals):
            raise _margin_of_totals(
                "Of averages there is no total; sum(count(*)) OVER () and sum(sum(x)) OVER () are ones."
            )
        if not all(key in self._keys for total in totals for key in total.keys):
            raise _margin_of_totals("Partition by the keys that the rows are grouped by.")

        if len(totals) > _MOST_TOTALS:
            raise _margin_of_totals(f"Of different totals it knows {_MOST_TOTALS} at most.")

        def ends_of(part: int, whole: int) -> Interval | None:
            return range_of_quotient(computed.of[part], computed.of[whole], self._known)

        read = tuple(ReadTotal(total, tuple(map(self._keys.index, total.keys))) for total in totals)
        return ComputedMarginOutput(part, with_ends(computed.formula, ends_of), tuple(readouts), read)

    def _choices(self, arg: Expr) -> tuple[Value, ...]:
        """Return the values that a vote can be for.

        Raises:
            MissingBounds: they are not declared.
            Unsupported: there are none.
        """
        env: Env = {ref: self._known(ref) for ref in refs(arg)}
        values = tuple(value for value in domain(arg, env, MOST_FEATURES) if value is not None)
        if not values:
            raise Unsupported(
                "an aggregate's argument is NULL in every row",
                because="argument-always-null",
                hint="Write NULL in its place.",
            )
        return values

    def _counting(self, where: Expr) -> Sums:
        """Return the measurement of the number of rows, which is also the frame of every other sum."""
        role = self._role
        bound = (
            # Where keys are found, a unit may be in C groups at most. Weights do not see to that: one with 1,000 rows
            # in as many groups would move all of their counts, each a little. The first C rows lie in C groups at most.
            replace(self._bound, form=Form.TRUNCATE)
            if self._delta and self._bound.form is Form.REWEIGHT
            else self._bound
        )
        points = least_points(self._relation.expected_rows, bound.rows, role.per_query.epsilon)
        return Sums(
            self._relation, where, self._groups, (ONE,), bound, Fraction(0), role.mechanism, points, self._delta
        )

    def _other(self, aggregate: Aggregate, keys: Sequence[Expr]) -> Output:
        match aggregate:
            case asked.Margin(of=asked.Distinct() | asked.DistinctTuples() as distinct):
                return DistinctMarginOutput(self._add(self._distinct(distinct)))
            case asked.Margin(of=asked.Quantile() | asked.Extreme() as of):
                point = self._point(of)
                return PointMarginOutput(point.part, point.possible)
            case asked.Quantile() | asked.Extreme():
                return self._point(aggregate)
            case asked.OfDistinct() | asked.Margin(of=asked.OfDistinct()):
                return self._of_distinct(aggregate)
            case asked.Distinct() | asked.DistinctTuples():
                return DistinctCountOutput(self._add(self._distinct(aggregate)), self._number(aggregate))
            case asked.GroupingCall():
                return GroupingOutput(tuple(keys.index(key) for key in aggregate.keys))
            case asked.Vote() | asked.Margin(of=asked.Vote()):
                (output,) = self._statistics([aggregate])  # whose many values would make the noise of others larger
                return output
            case asked.Moment() | asked.Margin() | asked.Shrunk():
                raise AssertionError(aggregate)

    def _point(self, aggregate: asked.Quantile | asked.Extreme) -> QuantileOutput:
        """Measure points of an expression, and how far off one is if that is asked anywhere."""
        match aggregate:
            case asked.Extreme(name=name, arg=arg, where=where):
                return replace(self._extreme(arg, where, Fraction(int(name == "max"))), ordered=aggregate.ordered)
            # percentile_cont(0) and (1) are the smallest and the largest value: they have the mechanism of MIN and MAX.
            case asked.Quantile(arg=arg, where=where, points=(point,), array=False) if point in {0, 1}:
                return replace(self._extreme(arg, where, point), ordered=aggregate.ordered)
            case asked.Quantile(arg=arg, where=where, points=points, array=array):
                # Of an empty array there are no points. Whether there are rows is told all the same, as by a median.
                buckets = self._buckets(arg, where, points or (_MEDIAN,), extremes=False)
                part = self._add(replace(buckets, margin=_place(aggregate) in self._margins))
                possible = self._possible(arg) if aggregate.discrete else None
                return QuantileOutput(part, tuple(range(len(points))), array, aggregate.ordered, possible)

    def _extreme(self, arg: Expr, where: Expr, point: Fraction) -> QuantileOutput:
        """Measure MIN or MAX, for which a unit is its own least or largest value in each group: one row, not C of them."""
        buckets = replace(self._buckets(arg, where, (point,), extremes=True), bound=self._unit_bound())
        return QuantileOutput(self._add(buckets), (0,), array=False, possible=self._possible(arg))

    def _possible(self, arg: Expr) -> Possible | None:
        return Possible.of(arg, {ref: self._known(ref) for ref in refs(arg)})

    def _buckets(self, arg: Expr, where: Expr, points: tuple[Fraction, ...], *, extremes: bool) -> Histogram:
        arg_facts = self._known(arg)
        present = TRUE if not arg_facts.nullable else _not_null(arg)
        x = ScaledExpr(arg, interval_of(arg, arg_facts))
        return Histogram(
            self._relation, both(where, present), self._groups, x, points, extremes, self._bound, Fraction(0)
        )

    def _distinct(self, aggregate: asked.Distinct | asked.DistinctTuples) -> Sums:
        """Return the measurement of COUNT(DISTINCT x); of units, each counts once a group.

        Of declared values in declared groups a unit has no more pairs than there are, fewer perhaps than C: then that is C.
        """
        single = isinstance(aggregate, asked.Distinct)
        present = _not_null(aggregate.arg) if isinstance(aggregate, asked.Distinct) else TRUE
        # Keys are found once, by the first part of the plan; all others have no δ, and are read for the keys that it
        # shows.
        counting = replace(self._counting(both(aggregate.where, present)), delta=Fraction(0))
        if single and aggregate.args == (self._bound.unit,):
            return replace(counting, bound=self._unit_bound(), distinct=CountOf.UNITS)
        counting = replace(counting, distinct=CountOf.VALUES if single else CountOf.TUPLES, values=aggregate.args)
        if self._bound.form is Form.UNIQUE:
            return counting
        values, bound = self._number(aggregate), replace(self._bound, form=Form.TRUNCATE)
        if values is not None and (self._groups.grouped or not self._groups.keys):
            bound = bound.at_most(max(values * max(len(self._groups.grouped), 1), 1))
        return replace(counting, bound=bound)

    def _number(self, aggregate: asked.Distinct | asked.DistinctTuples) -> int | None:
        """Return how many values or tuples of them there can be; None where they are not declared, or many."""
        of = number_of_values if isinstance(aggregate, asked.Distinct) else number_of_tuples
        return of(aggregate.args, self._known, _MANY)

    def _of_distinct(self, aggregate: asked.OfDistinct | asked.Margin) -> StatisticOutput:
        """Return a statistic of distinct values; all that are asked of the same values are one measurement."""
        of = _measured_of(aggregate)
        assert isinstance(of, asked.OfDistinct)
        alike = [other for other in self._of_distinct_values if (other.arg, other.where) == (of.arg, of.where)]
        moments = [asked.Moment(name, (of.arg,)) for name in dict.fromkeys(other.name for other in alike)]

        # `_distinct` leaves out rows without a value, so that here the argument is never NULL, and needs no count of
        # its own.
        def facts_of(expr: Expr) -> Facts:
            return replace(self._known(expr), nullable=False) if expr == of.arg else self._known(expr)

        chosen = of_one_value(moments, facts_of, Prediction(self._role.mechanism))
        counting = self._distinct(asked.Distinct(of.arg, of.where))
        part = self._add(replace(counting, distinct=CountOf.EACH_VALUE, values=(of.arg,), features=chosen.features))
        readout = chosen.readouts[[moment.name for moment in moments].index(of.name)]
        return StatisticOutput(part, readout, isinstance(aggregate, asked.Margin))

    def _unit_bound(self) -> ContributionBound:
        """Return in how many groups a unit can be: in one if there is one, else in as many as it may, as it may have rows."""
        single = self._bound.form is Form.UNIQUE
        if single or not self._groups.keys:
            # `single` is a promise of the engine's constraint. Only with it may `_of_units` do without DISTINCT.
            return replace(self._bound, rows=1, form=Form.UNIQUE, single=single, up_to=None)
        bound = self._bound if self._bound.most_groups is None else self._bound.at_most(self._bound.most_groups)
        listed = len(self._groups.grouped) or bound.rows  # none are listed where they are selected
        return replace(bound.at_most(max(listed, 1)), form=Form.REWEIGHT)

    def _add(self, part: Measurement) -> int:
        if part not in self._parts:
            self._parts.append(part)
        return self._parts.index(part)


def _margin_of_totals(hint: str) -> Unsupported:
    return refused_margin(
        "dpsql.margin() of a window takes the total of a count or a sum over a partition of groups", hint
    )


def _place(of: asked.Quantile) -> tuple[object, ...]:
    """Return what two quantiles have in common that are one measurement."""
    return (of.arg, of.where, of.points)


def _measured_of(aggregate: Aggregate) -> Aggregate | asked.ComputedStatistic:
    """Return what an aggregate is about: of a margin, what it is the margin of."""
    return asked.told_of(aggregate)


def _adds_up(moment: asked.Moment) -> bool:
    """Return whether a statistic is a number or a sum of rows, and not a ratio of such."""
    kind = statistic(moment.name)
    return kind.counts or kind.adds_up


def _is_summed(aggregate: Aggregate) -> TypeGuard[asked.Moment | asked.Margin | asked.Shrunk | asked.Vote]:
    """Return whether an aggregate is read off the sums that all share."""
    of = _measured_of(aggregate)
    return isinstance(of, (asked.Moment, asked.ComputedStatistic)) or (
        isinstance(of, asked.Vote) and of.name != "count"
    )


def is_value(arg: Expr, value: Value) -> Expr:
    """Return the condition that an expression has a value: of one that is chosen by a condition, that it holds, or not."""
    branch = only_branch(arg)
    if branch is not None and isinstance(branch[1], Const) and isinstance(branch[2], Const):
        condition, chosen, other = branch
        if isinstance(chosen, Const) and isinstance(other, Const) and chosen.value != other.value:
            # CASE takes ELSE where the condition is NULL, too. So the other value is had where the condition is not
            # true, which is more than where it is false.
            holds = Apply("is_true", (condition,), SqlType.BOOLEAN)
            if value == chosen.value:
                return condition
            if value == other.value:
                return Apply("not", (holds,), SqlType.BOOLEAN)
    if arg.type is SqlType.BOOLEAN:
        return Apply("is_true" if value else "is_false", (arg,), SqlType.BOOLEAN)
    return Apply("eq", (arg, Const(value, arg.type)), SqlType.BOOLEAN)


def _not_null(arg: Expr) -> Expr:
    if isinstance(arg, Const):
        return TRUE if arg.value is not None else FALSE
    return Apply("not", (Apply("is_null", (arg,), SqlType.BOOLEAN),), SqlType.BOOLEAN)


_Build = Callable[[Fraction, Role, Known], Builder]
_ROWS = asked.Moment("count", ())
"""COUNT(*)."""
_ONES_AND_ZEROS = ({0}, {1}, {0, 1})
"""The values of which an extreme says whether there is any."""


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """The public facts: the asker, the declarations, the rows of public tables, the units that the engine keeps unique."""

    role: Role
    declared: DeclaredFacts
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
    # With `min_units`, `measure` would come back here, for ever.
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
    require_scope(relation, keys, exprs, bound, context.rows)
    refuse_unit_values(relation, [e for a in aggregates if computes(a) for e in inputs(a)[1:]], exprs)
    env = refine_by_predicate(refs(*keys, *exprs), relation.condition, context.declared)
    refuse_undeclared_numbers(relation, (*keys, *written), context.declared)
    if env is None:
        # A condition that no row can satisfy, such as a = 1 AND a = 2: the answer is public, and costs nothing. What
        # the policy does not let anybody ask is refused before, so that no contradiction is a way around it.
        return _impossible(relation, keys, sets, aggregates, bound, context)
    facts_of = _known(env, context.declared)
    for expr in (*keys, *exprs):  # conditions were checked by the declarations alone
        facts_of(expr)  # refuses what could overflow: an error that depends on data would be a release
    # All measurements of one scope read the same rows, whichever columns each of them needs; also columns of which the policy
    # tells the rest, such as those of CASE WHEN seats = -2 THEN fare END: a row that lacks one breaks what is declared.
    relation = replace(relation, needed=refs(*keys, *exprs, *written))
    every, delta = _groups(keys, relation, env, context)
    fixed = replace(bound, up_to=None) if delta else bound  # the rules by which keys are found are made for one C
    build = partial(Builder, relation, every, fixed, alike=context.alike)
    # Some aggregates need no measurement: their FILTER lets no row pass, or the policy knows the answer. They are taken
    # out, the others are planned, and the outputs put together again in the order of the SELECT list.
    possible = [a for a in aggregates if is_possible(a, relation, context.declared)]
    voted = {a: a if delta else _as_vote(a, env) for a in possible}
    known = {a: known for a in possible if (known := _known_output(voted[a], relation, env, context.declared))}
    measured = [a for a in possible if a not in known]
    plan = _planned(build, delta, keys, [voted[a] for a in measured], facts_of, context)
    if len(measured) < len(aggregates):
        never = [a for a in aggregates if a not in possible]
        read: dict[Aggregate, Output] = dict(zip(measured, plan.outputs, strict=True))
        read |= {**known, **dict(zip(never, _of_no_rows(never, keys, build, facts_of, role), strict=True))}
        nowhere = _nowhere(map(asked.filter_of, never), relation, context)
        plan = replace(plan, outputs=tuple(read[a] for a in aggregates), nowhere=nowhere)
    if delta and role.mechanism is MechanismName.CUBE and bound.form is Form.REWEIGHT:
        # A second plan for the same answers: keys are found first, by how many units have them, and all else is
        # measured of those. `choose_plans` takes, at the ε that is paid, the one whose keys need fewer units to be
        # shown.
        search = KeySearch(relation, every, replace(fixed, rows=bound.groups, form=Form.TRUNCATE), delta)
        build = partial(Builder, relation, every, bound, finder=search, alike=context.alike)
        other = build(Fraction(0), role, facts_of).plan(aggregates, keys)
        plan = replace(plan, by_units=_counted(other, aggregates, _ROWS, len(aggregates), hides=False))
    plan = _with_capped_numbers(plan, keys, aggregates)
    return plan if sets is None else _with_sets(plan, sets)


def _with_capped_numbers(
    plan: MeasurementPlan, keys: Sequence[Expr], aggregates: Sequence[Aggregate]
) -> MeasurementPlan:
    """Return the plan with what a unit's own numbers are capped at where they decide, and without margins of that.

    They are capped for want of a better C, and are in what is computed, or say which rows there are, or of which group. A
    NOTICE says so. How much is cut off nobody knows, so that any margin would be too small.
    """

    def capped(*exprs: Expr) -> tuple[tuple[str, int], ...]:
        return tuple(
            dict.fromkeys(number for relation in relations for number in unit_numbers(relation, (*keys, *exprs)))
        )

    relations = list({id(part.relation): part.relation for part in plan.parts}.values())
    if not (every := capped(*(e for aggregate in aggregates for e in inputs(aggregate)))):
        return plan
    outputs = tuple(
        QuantileOutput(None, (), array=False)
        if isinstance(aggregate, asked.Margin) and capped(*inputs(aggregate))
        else output
        for output, aggregate in zip(plan.outputs, aggregates, strict=True)
    )
    by_units = None if plan.by_units is None else _with_capped_numbers(plan.by_units, keys, aggregates)
    return replace(plan, outputs=outputs, capped=every, by_units=by_units)


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


def _known_output(aggregate: Aggregate, relation: Relation, env: Env, declared: DeclaredFacts) -> KnownOutput | None:
    """Return what the policy knows of whether there is any: no row can be one, or no other; None where it does not."""
    match aggregate:
        case asked.Vote(name="max" | "bool_or" as name, arg=arg, where=where):
            wanted, other = (1, 0) if name == "max" else (True, False)
        case asked.Vote(name="min" | "bool_and" as name, arg=arg, where=where):
            wanted, other = (0, 1) if name == "min" else (False, True)
        case _:
            return None
    rows, listed = both(relation.condition, where), _few(arg, env)
    values = [
        v for v in listed if refine_by_predicate(refs(arg, where), both(rows, _has(arg, v)), declared) is not None
    ]
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
    inner = negated_condition(arg)
    if inner is not None:
        return complement_of(inner) if value else inner
    return arg if value else complement_of(arg)


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
        # Empty groups are hidden by their noisy count. Where nobody asks for it, it is measured beside, and its output
        # left out.
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
    # ROLLUP measures the finest groups alone: a total is the sum of noisy numbers, post-processing. Medians and
    # distinct counts of groups do not add up to those of all, and groups that a threshold has hidden would be missing.
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
    exprs = [key.expr for key in plan.groups.keys]
    if len({*exprs}) < len(exprs) and any(isinstance(output, GroupingOutput) for output in plan.outputs):
        raise Unsupported(
            "GROUPING() is not supported where two keys are one column",
            because="grouping-of-one-column",
            hint="Leave one of them out of GROUP BY.",
        )
    return replace(plan, sets=sets)


def contribution_bound(relation: Relation, context: PlanningContext) -> tuple[Relation, ContributionBound]:
    """Return how much of the relation is one unit's, for the unit kind that the role protects, and how that is told."""
    owned = owners(relation, context.role.protects, context.tables, context.unique)
    if owned.single:
        return owned.relation, ContributionBound(owned.unit, 1, Form.UNIQUE)
    return owned.relation, ContributionBound(
        owned.unit, owned.rows, Form.REWEIGHT, owned.groups, owned.once, up_to=owned.up_to
    )


def _groups(keys: Sequence[Expr], relation: Relation, env: Env, context: PlanningContext) -> tuple[Groups, Fraction]:
    """Return the groups, and the δ that partition selection costs: 0 where the policy declares them."""
    if not keys:
        return NO_KEYS, Fraction(0)
    limit, delta = context.role.max_groups, context.role.per_query.delta
    try:
        # Declared groups first: nothing has to be found out for them, and δ is 0. Only where keys are not declared, or
        # have too many values to be listed, are they found; for a role without δ the refusal stands.
        return groups(keys, relation, env, context.rows, limit), Fraction(0)
    except (MissingBounds, Unsupported) as refusal:
        if not delta or (isinstance(refusal, Unsupported) and not lists_too_many(refusal)):
            raise
    return selected_groups(keys, env, limit), delta


def _known(env: Env, declared: DeclaredFacts) -> Known:
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
    bound: ContributionBound,
    context: PlanningContext,
) -> MeasurementPlan:
    """Return the plan for a condition that no row can satisfy: one row of zeros for `()`, no row for any key."""
    build, facts_of = partial(Builder, relation, NO_KEYS, bound), _known({}, context.declared)
    outputs = _of_no_rows(aggregates, keys, build, facts_of, context.role)
    nowhere = _nowhere([relation.condition], relation, context)
    if sets is None:
        groups = replace(NO_KEYS, grouped=(), shown=()) if keys else NO_KEYS
        return MeasurementPlan(groups, (), outputs, nowhere=nowhere)
    totals = tuple(grouping_set for grouping_set in sets if not grouping_set)
    groups = Groups(tuple(Key(key, key, {}) for key in keys), (), ())
    return MeasurementPlan(groups, (), outputs, totals, nowhere=nowhere)


def _nowhere(conditions: Iterable[Expr], relation: Relation, context: PlanningContext) -> tuple[Ref | str | None, ...]:
    """Return the private columns whose declared bounds or values alone let no row satisfy a part of the conditions.

    Where there are none, it is the rows that the role sees which contradict them, if it does not see all.
    """
    role, sources = context.role, relation.sources

    def shown(ref: Ref) -> Ref | None:
        column = ref.column
        told = sources[ref.source].made is None and (column.bounds is not None or column.values is not None)
        return ref if told and role.may_use(ref.table) and role.may_name(ref.table, ref.name) else None

    parts = [part for condition in conditions for part in conjuncts(condition)]
    alone = [
        refs(part) for part in parts if refs(part) and refine_by_predicate(refs(part), part, context.declared) is None
    ]
    if parts and not alone and FALSE not in parts:  # tools write that, and know
        return tuple(role.granted_rows(table.name for table in tables_below(relation)))
    return tuple(dict.fromkeys(shown(ref) for of in alone for ref in of if not ref.public))
