"""Which measurements are standing questions, and what of one is measured when.

A standing question is a measurement over the rows of one growing table, each read by itself, whose features add up:
groups by its periods and perhaps by other keys, with conditions that say of the time only which whole periods of one term
are asked for. Its cells are those of the periods: what differs in the periods that it asks for alone is one question. All
else is an ordinary one, as in a table that does not grow.

Claim: with any measurements of one question, of periods that never overlap, each made by `for_periods` with the accounts
that the one before has left, taking away a unit moves the cells of all of them together by at most C·W·S in the norm
Σ_cells ‖block‖, whatever rows came, changed or went meanwhile. Proof: a row adds w·φ to the blocks of one cell, ‖φ‖ ≤ S,
in each measurement that counts it; the unit's weights in all of them add up to at most C·W, by the account
(`dpsql.privacy.measurement.contribution`). Other units' weights are made of their own rows and accounts alone. So noise
with P(z) ∝ exp(−‖z‖ / t), t = ⌈C·W·S / ε⌉, on every cell makes all releases of the question together ε-private, also
where what is asked next, and other people's rows, depend on what was released: for each history of releases the quotients
of densities multiply to at most exp(Σ ‖Δ‖ / t) ≤ exp(ε).
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cached_property

from dpsql.errors import InternalError
from dpsql.policy.growth import Grows, Term
from dpsql.policy.model import SqlType, Table
from dpsql.privacy.features.feature import ONE
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import ChosenBound, RowsPerUnit
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.release.noisy_ladder import NoisyLadder
from dpsql.rewrite.analysis.groups import NO_KEYS, Groups
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.functions.temporal import compared_times, truncated_time
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr, Ref, both, conjuncts, refs
from dpsql.rewrite.ir.relation import Join

_DAY = 86_400_000_000
"""Microseconds: timestamps are so many since 1970-01-01, and dates days."""
_EPOCH = date(1970, 1, 1)
_LAST = 10
"""Of so many parts of a term all that C cuts is taken to be in the last one."""


@dataclass(frozen=True, slots=True)
class Ordinary:
    """Why a measurement over a growing table is no standing question: in the words of its notice."""

    why: str


@dataclass(frozen=True)
class StandingPart:
    """A measurement that is a standing question."""

    part: PricedMeasurement
    """As it would be asked as an ordinary question."""
    asked: Sums
    """Without the conditions on the time; its groups are those of the periods that are asked for."""
    table: Table
    grows: Grows
    term: Term
    by: Ref
    place: int
    """Which of the keys is the period."""
    choosing: Fraction | None = None
    """What the choice of C pays, where it is chosen; None where it is a number."""
    chosen: ChosenBound | None = None
    """What was chosen, once it was."""

    @property
    def waits(self) -> bool:
        """Return whether its C is not chosen yet."""
        return self.choosing is not None and self.chosen is None

    def settled(self, chosen: ChosenBound) -> "StandingPart":
        """Return the question with the C that was chosen for it."""
        return replace(self, asked=self.asked.settled(chosen.rows), chosen=chosen)

    @property
    def last_term(self) -> Term:
        """Return the term before its own, over which its C is chosen."""
        return self.grows.term_of(self.term.first - timedelta(days=1))

    def begins(self) -> date | None:
        """Return from which day on there is a whole term behind, over which C is chosen, by the bounds of the time.

        None if there is none within the bounds.
        """
        bounds = self.by.column.bounds
        if bounds is None:
            return None
        # Rounded down, so that a moment before 1970 is of its own day, too.
        first = _EPOCH + timedelta(days=int(bounds.low) if self.by.type is SqlType.DATE else int(bounds.low) // _DAY)
        term = self.grows.term_of(first)
        # Bounds that begin within a term have only a part of it; the one after it is the first whole one.
        if _value(term.first, self.by.type) < bounds.low:
            term = self.grows.term_of(term.end)
        return self.grows.closes(max(self.grows.periods(term.first, term.end))).date()

    def ladder(self) -> RowsPerUnit:
        """Return the measurement by which C is chosen: how many rows units have that it would have counted in the last term.

        It is as any other statement's. What it has released stays, so that a term has one C.
        """
        if self.choosing is None:
            raise InternalError
        last = self.last_term
        within = both(self._compared("ge", last.first), self._compared("lt", last.end))
        # C bounds a unit's rows in the whole question, so that they are counted without groups. No account weighs them:
        # this is measured once.
        relation = replace(self.asked.relation, where=both(self.asked.relation.where, within))
        bound = replace(self.asked.bound, form=Form.REWEIGHT)
        rows = replace(self.asked, relation=relation, bound=bound, groups=NO_KEYS, features=(ONE,), block_conditions=())
        return RowsPerUnit(rows, self.choosing)

    def choice(self, released: Sequence[int]) -> ChosenBound:
        """Return the C that follows from the ladder's release: post-processing.

        The rows that it cuts are the last ones that are measured. So it is chosen as for groups of which there are a tenth as
        many as there are cells: the last periods lose ten times as much as periods would on average.
        """
        periods = sum(1 for _ in self.grows.periods(self.term.first, self.term.end))
        # Each period has the same groups (`_of_whole_periods`), and so the first one's number stands for all.
        (places, *_) = self.cells.values()
        groups = max(periods // _LAST, 1) * len(places)
        return NoisyLadder.of(self.ladder(), released).chosen(self.asked, groups)

    @cached_property
    def cells(self) -> dict[date, list[int]]:
        """Return the places of each period's groups, by its first day, in order."""
        places: dict[date, list[int]] = {}
        for place, shown in enumerate(self.asked.groups.shown):
            places.setdefault(_first_day(self.asked.groups.keys[self.place].expr, shown[self.place]), []).append(place)
        return places

    @property
    def periods(self) -> tuple[date, ...]:
        """Return the periods that are asked for, in order."""
        return tuple(sorted(self.cells))

    def groups(self, periods: Iterable[date]) -> Groups:
        """Return the groups of some of them, in the order in which they were asked for."""
        wanted = {place for period in periods for place in self.cells[period]}
        groups = self.asked.groups
        grouped, shown = (
            tuple(cells for place, cells in enumerate(every) if place in wanted)
            for every in (groups.grouped, groups.shown)
        )
        return Groups(groups.keys, grouped, shown)

    def rest(self, place: int) -> tuple[Cell, ...]:
        """Return a group without its period."""
        cells = self.asked.groups.grouped[place]
        return (*cells[: self.place], *cells[self.place + 1 :])

    def for_periods(self, periods: Sequence[date]) -> Sums:
        """Return the measurement of some periods, whose rows are those with a time in one of them."""
        return replace(
            self.asked,
            relation=replace(self.asked.relation, where=both(self.asked.relation.where, self._within(periods))),
            groups=self.groups(periods),
        )

    def _within(self, periods: Sequence[date]) -> Expr:
        """Return the condition that a row's time is in one of some periods; the time is not clamped for it."""
        runs: list[tuple[date, date]] = []
        for start in sorted(periods):
            end = self.grows.end_of(start)
            # Neighbours are one range: the days of a year become one comparison, and not 365.
            if runs and runs[-1][1] == start:
                runs[-1] = (runs[-1][0], end)
            else:
                runs.append((start, end))
        if not runs:
            raise InternalError
        sides = [both(self._compared("ge", first), self._compared("lt", end)) for first, end in runs]
        return sides[0] if len(sides) == 1 else Apply("or", tuple(sides), SqlType.BOOLEAN)

    def _compared(self, how: str, day: date) -> Expr:
        # Without its bounds: a time beyond them is not clamped into the first period, or the last.
        time = Ref(self.by.source, self.by.table, self.by.name, replace(self.by.column, bounds=None))
        return compared_with(time, how, day)

    def in_term(self, term: Term, first: date, end: date) -> "StandingPart | None":
        """Return the same question about a term, of whose periods those from one up to another are asked for.

        None where it is not known what its groups are there.
        """
        key, groups = self.asked.groups.keys[self.place], self.asked.groups
        kinds = (key.grouped.type, key.expr.type)
        for day, places in self.cells.items():
            plain = [(groups.grouped[place][self.place], groups.shown[place][self.place]) for place in places]
            # Of another term only such groups can be written down whose key is the period's first day itself.
            if any(cells != tuple(_value(day, kind) for kind in kinds) for cells in plain):
                return None
        (places, *_) = self.cells.values()
        bounds = self.by.column.bounds
        periods = [
            day
            for day in self.grows.periods(max(first, term.first), min(end, term.end))
            if bounds is None
            or (bounds.low < _value(self.grows.end_of(day), self.by.type) and _value(day, self.by.type) <= bounds.high)
        ]
        if not periods:
            return None
        grouped, shown = (
            tuple(self._with_period(of[place], _value(day, kind)) for day in periods for place in places)
            for of, kind in zip((groups.grouped, groups.shown), kinds, strict=True)
        )
        return replace(self, term=term, asked=replace(self.asked, groups=Groups(groups.keys, grouped, shown)))

    def _with_period(self, cells: tuple[Cell, ...], period: Cell) -> tuple[Cell, ...]:
        return (*cells[: self.place], period, *cells[self.place + 1 :])

    def identity(self, *whose: str) -> str:
        """Return what names the question: all that a cell's release depends on but the period, and what `whose` says."""
        asked, groups = self.asked, self.asked.groups
        others = [key for place, key in enumerate(groups.keys) if place != self.place]
        (first, *_) = self.cells.values()
        parts: tuple[object, ...] = (
            *whose,
            self.table.name,
            (self.grows.by, self.grows.every.value, self.term.first, self.term.end),
            # Sorted, since the order of conditions makes no other question. The column of the time is left out: which
            # periods are asked for is no part of the identity, nor are its bounds, which may be declared anew.
            sorted(map(repr, (*conjuncts(asked.relation.where), *conjuncts(asked.where)))),
            sorted(repr(column) for column in asked.relation.needed if column != self.by),
            [(repr(key.expr), repr(key.grouped), sorted(map(repr, (key.shown or {}).items()))) for key in others],
            [repr(self.rest(place)) for place in first],
            [repr(feature) for feature in asked.features],
            [repr(condition) for condition in asked.block_conditions],
            (repr(asked.bound), asked.bound.mass, asked.lattice, asked.row_norm, asked.scale),
            (asked.mechanism.value, str(asked.epsilon)),
            *(
                ()
                if self.choosing is None
                else (("chosen over", self.last_term.first, str(self.choosing), asked.of_ratios),)
            ),
        )
        return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()


def recognize_question(
    plan: MeasurementPlan, part: PricedMeasurement, kind: str, now: datetime
) -> StandingPart | Ordinary | None:
    """Return a measurement as a standing question, or why it is none; None where no growing table is read."""
    measured = part.measurement
    if not isinstance(measured, Sums):
        tables = [source.table for source in measured.relation.sources] if hasattr(measured, "relation") else []
        grows = any(table.grows is not None for table in tables)
        return Ordinary("quantiles, extremes and selected keys are measured anew") if grows else None
    if all(source.table.grows is None for source in measured.relation.sources):
        return None
    return _of_sums(plan, part, measured, kind, now)


def _of_sums(
    plan: MeasurementPlan, part: PricedMeasurement, measured: Sums, kind: str, now: datetime
) -> StandingPart | Ordinary:
    found = rows_weighed(plan, part, measured, kind)
    if isinstance(found, Ordinary):
        return found
    if found is None:
        raise InternalError
    if plan.added_up is not None:
        return Ordinary("its groups are put together of others")
    return _by_time(part, measured, *found, now)


def rows_weighed(
    plan: MeasurementPlan, part: PricedMeasurement, measured: Sums, kind: str
) -> tuple[Table, ContributionBound] | Ordinary | None:
    """Return the growing table whose rows a measurement adds up, one by one, and how accounts weigh them.

    None where no growing table is read.
    """
    if all(source.table.grows is None for source in measured.relation.sources):
        return None
    (source, *others), table = measured.relation.sources, measured.relation.sources[0].table
    if others or source.join is not Join.FROM or source.made is not None or source.on != TRUE or table.grows is None:
        return Ordinary("it reads more than the rows of one growing table")
    owner, bound = table.units.get(kind), measured.bound
    if owner is None or owner.through is not None or (bound.unit.source, bound.unit.name) != (0, owner.column):
        return Ordinary("its rows are not the table's, one by one")
    if measured.distinct is not CountOf.ROWS or measured.delta or measured.end is not None or part.awaits:
        return Ordinary("distinct counts and selected keys are measured anew")
    if owner.up_to != bound.up_to or owner.max_rows != bound.rows:
        return Ordinary("its rows are bounded otherwise than the table's")
    if bound.form is not Form.REWEIGHT:
        return Ordinary("rows are not weighed in it")
    if plan.sets is not None or plan.units is not None or plan.finder is not None:
        return Ordinary("its groups are put together of others")
    return table, ContributionBound(bound.unit, owner.max_rows, Form.ACCOUNT, up_to=owner.up_to)


def _by_time(
    part: PricedMeasurement, measured: Sums, table: Table, bound: ContributionBound, now: datetime
) -> StandingPart | Ordinary:
    """Return a measurement of one growing table's rows as a standing question, if it is one by how it reads the time."""
    grows = table.grows
    assert grows is not None
    by = Ref(0, table.name, grows.by, table.columns[grows.by])
    keys = [place for place, key in enumerate(measured.groups.keys) if _reads(key.expr, by) or _reads(key.grouped, by)]
    read = [e for f in measured.features for e in (f.where, *(s.expr for s in (f.x, f.y) if s is not None))]
    if any(_reads(expr, by) for expr in (*read, *measured.block_conditions, measured.where)):
        return Ordinary(f"what it computes reads {grows.by}")
    if len(keys) != 1 or truncated_time(measured.groups.keys[keys[0]].expr, by) != grows.every.value:
        return Ordinary(
            f"it is not grouped by the {grows.every} of {grows.by}: date_trunc('{grows.every}', {grows.by})"
        )
    if any(key.shown is None for key in measured.groups.keys):
        return Ordinary("its groups are not declared")
    span = asked_span(measured.relation.where, by, grows)
    if isinstance(span, Ordinary):
        return span
    if span.unclear:
        return Ordinary(f"a condition reads {grows.by} otherwise than by >= and <")
    others, first, end = span.others, span.first, span.end
    term, today = grows.term_of(first), now.date()
    if today < term.first:
        return Ordinary(f"the {term.length} {term} has not begun")
    # Without an end a question is about its term as far as it has come. Once the term is over, the rows of the next one
    # would be meant as well.
    if (end is None or end > term.end) and today >= term.end:
        return Ordinary(f"it reads more than one {term.length}: a standing question is about one")
    relation = replace(measured.relation, where=both(*others))
    asked = replace(measured, relation=relation, bound=bound)
    until = term.end if end is None else min(end, term.end)
    choosing = None if part.bound_by is None else part.bound_by.cost.epsilon
    return _of_whole_periods(StandingPart(part, asked, table, grows, term, by, keys[0], choosing), first, until)


def _of_whole_periods(standing: StandingPart, first: date, until: date) -> StandingPart | Ordinary:
    """Return the question with the groups of the periods from a day up to another, if these are the same for each."""
    periods = [period for period in standing.cells if first <= period < until]
    if not periods:
        # Releases are stored by period, group after group: these have to be the same ones everywhere, and none twice.
        return Ordinary(f"no {standing.grows.every} that it asks for is within the bounds of {standing.grows.by}")
    narrowed = replace(standing, asked=replace(standing.asked, groups=standing.groups(periods)))
    rests = [[narrowed.rest(place) for place in places] for places in narrowed.cells.values()]
    if any(rest != rests[0] for rest in rests) or len(set(rests[0])) < len(rests[0]):
        return Ordinary("its other groups are not the same for all periods")
    if any(not standing.grows.is_boundary(period) for period in periods):
        return Ordinary("its groups are no whole periods")
    return narrowed


def _reads(expr: Expr, by: Ref) -> bool:
    return by in refs(expr)


@dataclass(frozen=True, slots=True)
class AskedSpan:
    """What conditions say of a time: from which day on, and up to which, and what else there is."""

    others: tuple[Expr, ...]
    """The conditions that do not read it."""
    unclear: tuple[Expr, ...]
    """Those that read it otherwise than by comparing it with a constant."""
    first: date
    end: date | None


def asked_span(where: Expr, by: Ref, grows: Grows) -> AskedSpan | Ordinary:
    """Return which whole periods conditions on a time ask for, or why they ask for none."""
    others, unclear = list[Expr](), list[Expr]()
    low: int | None = None
    high: int | None = None
    for condition in conjuncts(where):
        if not _reads(condition, by):
            others.append(condition)
            continue
        within = compared_times(condition, by)
        if within is None:
            unclear.append(condition)
            continue
        first, end = within
        low = first if low is None else low if first is None else max(low, first)
        high = end if high is None else high if end is None else min(high, end)
    if low is None:
        if unclear:
            return Ordinary(f"a condition reads {grows.by} otherwise than by >= and <")
        start = f"{grows.by} >= date_trunc('{grows.term}', current_date)"
        return Ordinary(f"it has no condition that says from when on, such as {start}")
    days = [_day(value, by.type) for value in (low, high) if value is not None]
    if any(day is None or not grows.is_boundary(day) for day in days):
        return Ordinary(f"its conditions on {grows.by} do not begin and end with a {grows.every}")
    first_day, end_day = days[0], (days[1] if len(days) > 1 else None)
    if first_day is None or (end_day is not None and end_day <= first_day):
        return Ordinary(f"no {grows.every} satisfies its conditions")
    return AskedSpan(tuple(others), tuple(unclear), first_day, end_day)


def compared_with(time: Ref, how: str, day: date) -> Expr:
    """Return the comparison of a time with the beginning of a day."""
    return Apply(how, (time, Const(_value(day, time.type), time.type)), SqlType.BOOLEAN)


def _value(day: date, type_: SqlType) -> int:
    days = (day - _EPOCH).days
    return days if type_ is SqlType.DATE else days * _DAY


def _day(value: int, type_: SqlType) -> date | None:
    """Return the day that begins with a value; None where none does."""
    days, left = (value, 0) if type_ is SqlType.DATE else divmod(value, _DAY)
    return None if left else _EPOCH + timedelta(days=days)


def _first_day(key: Expr, cell: Cell) -> date:
    day = _day(cell, key.type) if isinstance(cell, int) else None
    if day is None:
        raise InternalError
    return day
