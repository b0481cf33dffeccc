"""Collect the measurements of one scope: aggregates that can share one do."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeGuard

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Role, SqlType, Value
from dpsql.privacy.features.blocks import MOST_FEATURES
from dpsql.privacy.features.design import Prediction, design, of_one_value
from dpsql.privacy.features.feature import ONE, Scaled
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.quotient import range_of_quotient
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.contribution import Bound, Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.key_search import KeySearch
from dpsql.privacy.measurement.limits import check_features
from dpsql.privacy.measurement.loss import expected_loss
from dpsql.privacy.measurement.plan import (
    ComputedMarginOutput,
    DistinctCountOutput,
    DistinctMarginOutput,
    GroupingOutput,
    Measurement,
    MeasurementPlan,
    Output,
    PointMarginOutput,
    QuantileOutput,
    ReadTotal,
    StatisticOutput,
    VoteOutput,
)
from dpsql.privacy.measurement.possible import Possible
from dpsql.privacy.measurement.rounding import least_points
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.rewrite.analysis.bounds import bounded as interval_of
from dpsql.rewrite.analysis.exclusion import Known
from dpsql.rewrite.analysis.groups import Groups, is_by_period
from dpsql.rewrite.analysis.keys import domain, number_of_tuples, number_of_values
from dpsql.rewrite.functions.logical import only_branch
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Env, Expr, Facts, both, refs
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.translate.rows import aggregates as asked
from dpsql.rewrite.translate.rows.aggregates import Aggregate
from dpsql.rewrite.translate.rows.computed import Total, parts_of, refused_margin, with_ends

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
        bound: Bound,
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
        summed = [(i, a) for i, a in enumerate(aggregates) if _is_summed(a)]
        self._of_distinct_values = [of for a in aggregates if isinstance(of := _measured(a), asked.OfDistinct)]
        self._keys = keys
        outputs = dict(zip((i for i, _ in summed), self._statistics([a for _, a in summed]), strict=True))
        if self._delta and not self._parts:
            finding = self._counting(TRUE)
            self._parts.append(finding if aggregates else replace(finding, distinct=CountOf.UNITS))
        for index, aggregate in enumerate(aggregates):
            if index not in outputs:
                outputs[index] = self._other(aggregate, keys)
        found_out = self._delta or any(isinstance(part, KeySearch) for part in self._parts)
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
        check_features(chosen.features)
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
            case asked.Margin(of=asked.Computed(of=moments)):
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
            case asked.Margin(of=asked.Computed() as computed):
                return self._computed(part, computed, readouts)
            case _:
                margin = aggregate if isinstance(aggregate, asked.Margin) else None
                shrunk = isinstance(aggregate if margin is None else margin.of, asked.Shrunk)
                return StatisticOutput(part, readouts[0], margin is not None, margin is not None and margin.cut, shrunk)

    def _computed(self, part: int, computed: asked.Computed, readouts: Sequence[Readout]) -> ComputedMarginOutput:
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
        x = Scaled(arg, interval_of(arg, arg_facts))
        return Histogram(
            self._relation, both(where, present), self._groups, x, points, extremes, self._bound, Fraction(0)
        )

    def _distinct(self, aggregate: asked.Distinct | asked.DistinctTuples) -> Sums:
        """Return the measurement of COUNT(DISTINCT x); of units, each counts once a group.

        Of declared values in declared groups a unit has no more pairs than there are, fewer perhaps than C: then that is C.
        """
        single = isinstance(aggregate, asked.Distinct)
        present = _not_null(aggregate.arg) if isinstance(aggregate, asked.Distinct) else TRUE
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
        of = _measured(aggregate)
        assert isinstance(of, asked.OfDistinct)
        alike = [other for other in self._of_distinct_values if (other.arg, other.where) == (of.arg, of.where)]
        moments = [asked.Moment(name, (of.arg,)) for name in dict.fromkeys(other.name for other in alike)]

        def facts_of(expr: Expr) -> Facts:
            return replace(self._known(expr), nullable=False) if expr == of.arg else self._known(expr)

        chosen = of_one_value(moments, facts_of, Prediction(self._role.mechanism))
        counting = self._distinct(asked.Distinct(of.arg, of.where))
        part = self._add(replace(counting, distinct=CountOf.EACH_VALUE, values=(of.arg,), features=chosen.features))
        readout = chosen.readouts[[moment.name for moment in moments].index(of.name)]
        return StatisticOutput(part, readout, isinstance(aggregate, asked.Margin))

    def _unit_bound(self) -> Bound:
        """Return in how many groups a unit can be: in one if there is one, else in as many as it may, as it may have rows."""
        single = self._bound.form is Form.UNIQUE
        if single or not self._groups.keys:
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


def _measured(aggregate: Aggregate) -> Aggregate | asked.Computed:
    """Return what an aggregate is about: of a margin, what it is the margin of."""
    return asked.told_of(aggregate)


def _adds_up(moment: asked.Moment) -> bool:
    """Return whether a statistic is a number or a sum of rows, and not a ratio of such."""
    kind = statistic(moment.name)
    return kind.counts or kind.adds_up


def _is_summed(aggregate: Aggregate) -> TypeGuard[asked.Moment | asked.Margin | asked.Shrunk | asked.Vote]:
    """Return whether an aggregate is read off the sums that all share."""
    of = _measured(aggregate)
    return isinstance(of, (asked.Moment, asked.Computed)) or (isinstance(of, asked.Vote) and of.name != "count")


def is_value(arg: Expr, value: Value) -> Expr:
    """Return the condition that an expression has a value: of one that is chosen by a condition, that it holds, or not."""
    branch = only_branch(arg)
    if branch is not None and isinstance(branch[1], Const) and isinstance(branch[2], Const):
        condition, chosen, other = branch
        if isinstance(chosen, Const) and isinstance(other, Const) and chosen.value != other.value:
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
