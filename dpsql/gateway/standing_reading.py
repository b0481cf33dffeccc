"""Statements that are read off standing questions, free: months of their days, the term so far, one of their keys.

The questions are those that the role has paid for, of the same price or more: the oldest that says it, so that an answer
stays what it is as long as the copy does. They are planned again, and believed if the key agrees. A statement that begins in
an earlier term has to have been paid for in each term that it asks about.
"""

import hashlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import StandingClaim
from dpsql.engines.base import SnapshotVersion
from dpsql.errors import InternalError
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.measuring import account
from dpsql.gateway.pricing import Drawn, PricedPlan, with_scopes
from dpsql.gateway.request import Request
from dpsql.gateway.reuse.reading_off import Lenses, PlannedAgain, Told
from dpsql.gateway.session_settings import session_epsilon, session_reuse
from dpsql.gateway.standing import Claims, StandingStatements, sharing, waits
from dpsql.policy.model import Reuse
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.plan import (
    ComputedMarginOutput,
    DistinctCountOutput,
    DistinctMarginOutput,
    Output,
    StatisticOutput,
    VoteOutput,
)
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope
from dpsql.privacy.measurement.rows_per_unit import ChosenBound
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.release import Draws, Release
from dpsql.privacy.reuse.derived_draws import DerivedDraws
from dpsql.privacy.reuse.lens import Lens, needed_sums
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.ir.expr import refs
from dpsql.standing.measuring import (
    AskedQuestion,
    WantedSums,
    due_periods,
    lost_periods,
    measured_cells,
    told_sums,
    wanted_sums,
)
from dpsql.standing.questions import StandingPart, recognize_question

_MOST = 200
"""Questions of a role that are looked at, the oldest."""
_SECONDS = 2.0
"""Of the processor, in which they are planned again for one statement."""
_ALL_CLOSED = datetime.max.replace(tzinfo=UTC)
_LONGEST = 200
"""Characters that are told of a statement."""


@dataclass(frozen=True, slots=True)
class _PlannedQuestion:
    """A question that the role has paid for, planned again as of now: in some term."""

    statement: str
    part: StandingPart
    epsilon: Fraction
    """Of the whole statement."""


@dataclass(frozen=True, slots=True)
class _Paid:
    """What a role has paid for of some tables."""

    keys: frozenset[str]
    questions: Sequence[_PlannedQuestion]
    """The oldest first."""


@dataclass(frozen=True, slots=True)
class ReadPart:
    """A measurement that is read off the same question in each term that it asks about."""

    wanted: WantedSums
    needed: tuple[Feature, ...]
    sources: tuple[AskedQuestion, ...]
    statement: str

    def told(self, claims: Claims, closed: datetime | None = None) -> Told:
        """Return what was measured of them, or at a time will have been, as one release."""
        periods = [_measured(asked, claims) for asked in self.sources]
        if closed is not None:
            left = [due_periods(asked, claims.get(asked.key, ()), closed) for asked in self.sources]
            # As if all had been measured that is closed by then: lenses follow from which periods there are, and not
            # from their numbers.
            periods = [sorted({*known, *more}) for known, more in zip(periods, left, strict=True)]
        sums = told_sums(self.wanted, [asked.part for asked in self.sources], periods)
        named = repr([(asked.key, days) for asked, days in zip(self.sources, periods, strict=True)])
        identity = hashlib.sha256(named.encode()).hexdigest()
        return Told(identity, self.statement, PricedMeasurement(sums, "", identity), sums.epsilon)

    def release(self, claims: Claims) -> Release:
        """Return the numbers of what was measured, in that order."""
        numbers: list[Sequence[int]] = []
        for asked in self.sources:
            cells = measured_cells(claims.get(asked.key, ()))
            by_place = {
                place: values
                for day in _measured(asked, claims)
                for place, values in zip(asked.part.cells[day], cells[day], strict=True)
            }
            numbers += [by_place[place] for place in sorted(by_place)]
        # Each term has a choice of its own, of the same C. What it may have cut off adds up.
        chosen = [asked.part.chosen for asked in self.sources if asked.part.chosen is not None]
        cut, doubt = sum(each.cut for each in chosen), sum(each.doubt for each in chosen)
        of_all = ChosenBound(chosen[0].rows, cut, doubt, any(each.few for each in chosen)) if chosen else None
        return Release(numbers, chosen=of_all)


def _measured(asked: AskedQuestion, claims: Mapping[str, Sequence[StandingClaim]]) -> list[date]:
    cells = measured_cells(claims.get(asked.key, ()))
    return [day for day in asked.part.periods if day in cells]


@dataclass(frozen=True, slots=True)
class StandingReading:
    """A statement all of whose measurements are read off standing questions."""

    priced: PricedPlan
    parts: Mapping[str, ReadPart]
    """By the measurements' identities."""
    edition: SnapshotVersion
    lenses: Lenses

    @property
    def questions(self) -> tuple[AskedQuestion, ...]:
        """Return the questions that it is read off, each once."""
        return tuple({asked.key: asked for part in self.parts.values() for asked in part.sources}.values())

    @property
    def keys(self) -> list[str]:
        """Return what these are charged by."""
        return [asked.key for asked in self.questions]

    def left(self, claims: Claims) -> bool:
        """Return whether something of them has closed, and is not measured yet."""
        return any(due_periods(asked, claims.get(asked.key, ()), self.edition.taken) for asked in self.questions)

    def is_readable(self, claims: Claims) -> bool:
        """Return whether it is, once all is measured that has closed."""
        return all(self._kept(scope, claims, self.edition.taken)[1] is not None for scope in self.priced.scopes)

    def narrowed(self, claims: Claims) -> tuple[PricedPlan, Drawn]:
        """Return the plan with the groups of which something was measured, and what is read of these."""
        drawn: dict[str, Draws] = {}
        return with_scopes(self.priced, [self._scope(scope, claims, drawn) for scope in self.priced.scopes]), drawn

    def _seen(self, scope: PricedScope, claims: Claims, closed: datetime | None = None) -> list[Lens]:
        """Return how the parts of a scope are read off what was measured."""
        of_statement, lenses = self.lenses.of_statement(until_found=True), list[Lens]()
        for part in scope.parts:
            read = self.parts[part.identity]
            lens = of_statement(part.identity, read.wanted.measured, read.needed, read.told(claims, closed))
            if lens is None:
                raise InternalError
            lenses.append(lens)
        return lenses

    def _kept(
        self, scope: PricedScope, claims: Claims, closed: datetime | None = None
    ) -> tuple[list[Lens], list[int] | None]:
        """Return how a scope is read, and the groups that are measured; None where it needs all, and some are missing.

        Without GROUP BY there is one group, always: what is not measured of it is of no rows (`_of_some`).
        What is nothing of a group once all periods are measured is so for any records, as the cash of those who paid by
        card. A group of which all is nothing is there if others of its time are.
        """
        lenses = self._seen(scope, claims, closed)
        number = len(lenses[0].lines[0]) if lenses and lenses[0].lines else 0
        empty = [{group for group in range(number) if not any(lines[group] for lines in lens.lines)} for lens in lenses]
        kept = list(range(number))
        if any(empty) and scope.plan.groups.keys:
            times = _times(scope.plan.groups, {part.wanted.grows.by for part in self.parts.values()})
            every = self._seen(scope, claims, _ALL_CLOSED)
            missing = {
                group
                for groups, lens in zip(empty, every, strict=True)
                for group in groups
                if any(lines[group] for lines in lens.lines)
            }
            nothing = set.intersection(*empty)
            there = {times[group] for group in kept if group not in missing and group not in nothing}
            kept = [group for group in kept if group not in missing and (group not in nothing or times[group] in there)]
        return lenses, None if scope.plan.added_up is not None and len(kept) < number else kept

    def _scope(self, scope: PricedScope, claims: Claims, drawn: dict[str, Draws]) -> PricedScope:
        lenses, kept = self._kept(scope, claims)
        if kept is None:
            raise InternalError
        parts = list[PricedMeasurement]()
        for part, lens in zip(scope.parts, lenses, strict=True):
            read = self.parts[part.identity]
            seen = replace(lens, lines=tuple(tuple(lines[group] for group in kept) for lines in lens.lines))
            draws = Draws.of((read.told(claims).measurement, read.release(claims)))
            drawn[part.identity] = DerivedDraws.through(seen, draws)
            measured = part.measurement
            assert isinstance(measured, Sums)
            parts.append(replace(part, measurement=replace(measured, groups=_some(measured.groups, kept))))
        measurements = tuple(part.measurement for part in parts if isinstance(part.measurement, Sums))
        groups = scope.plan.groups if scope.plan.added_up is not None else _some(scope.plan.groups, kept)
        outputs = tuple(_of_some(output, lenses, kept) for output in scope.plan.outputs)
        plan = replace(scope.plan, groups=groups, parts=measurements, outputs=outputs)
        return PricedScope(plan, tuple(parts))

    def notices(self) -> list[str]:
        """Return what is said beside the answer: what it was read off, and until when it tells."""
        statements = dict.fromkeys(" ".join(part.statement.split()) for part in self.parts.values())
        said = [f"free: computed from the standing question {_short(statement)}" for statement in statements]
        for wanted in {part.wanted.table.name: part.wanted for part in self.parts.values()}.values():
            grows = wanted.grows
            periods = grows.periods(wanted.first, wanted.until)
            waiting = next((day for day in periods if not grows.is_closed(day, self.edition.taken)), None)
            if waiting is not None:
                said.append(waits(wanted.table, grows, waiting, self.edition.taken))
        return said

    def explained(self) -> str:
        """Return the line about it in an EXPLAIN."""
        statements = dict.fromkeys(" ".join(part.statement.split()) for part in self.parts.values())
        return f"Standing: free, computed from {'; '.join(map(_short, statements))}"


class StandingReadings:
    """Finds what statements may be read off."""

    def __init__(
        self, deps: GatewayDependencies, standing: StandingStatements, planned: PlannedAgain, declared: DeclaredFacts
    ) -> None:
        """Plan questions again with `planned`."""
        self._deps, self._standing, self._planned = deps, standing, planned
        # No constraint of the engine's is believed: what was measured before it was there may lack what it promises.
        self._lenses = Lenses(declared, lambda _: frozenset())

    def of(self, priced: PricedPlan, request: Request) -> StandingReading | None:
        """Return how a statement is read off standing questions; None where it is not."""
        deps, role = self._deps, self._deps.policy.roles[request.asker.role]
        edition, reuse = deps.engine.edition, session_reuse(request.settings, role)
        if edition is None or deps.accounts is None or reuse is Reuse.OFF or not self._standing.grows:
            return None
        if self._standing.not_here(priced, role) is not None:
            return None
        wanted: dict[str, tuple[WantedSums, tuple[Feature, ...]]] = {}
        for scope in priced.scopes:
            for place, part in enumerate(scope.parts):
                found = wanted_sums(scope.plan, part, role.protects, self._standing.now())
                if not isinstance(found, WantedSums):
                    return None
                wanted[part.identity] = found, needed_sums(scope.plan, place)
        if not wanted:
            return None
        paid = self._paid(request, {each.table.name for each, _ in wanted.values()})
        asked = {
            identity: next(self._read(identity, each, needed, paid, request), None)
            for identity, (each, needed) in wanted.items()
        }
        parts = {identity: part for identity, part in asked.items() if part is not None}
        if len(parts) < len(wanted):
            return None
        reading = StandingReading(priced, parts, edition, self._lenses)
        return reading if reading.is_readable(self._standing.claims(reading.keys, request)) else None

    def _paid(self, request: Request, tables: Collection[str]) -> _Paid:
        """Return what the role has paid for of some tables, as far as there is time to plan it again."""
        policy, payer, begun = self._deps.policy, account(self._deps.policy, request.asker), time.thread_time()
        listed = [
            question
            for question in self._deps.ledger.standing_questions(payer, request.cancellation)
            if question.table in tables
            and question.declared == self._standing.declared(policy.tables[question.table], payer.role)
        ]
        keys = frozenset(question.key for question in listed)
        told = self._deps.ledger.told_under(payer, keys, request.cancellation)
        text_of = {release.key: release.question for release in told}
        texts = dict.fromkeys(text_of[question.key] for question in listed[:_MOST] if question.key in text_of)
        questions: list[_PlannedQuestion] = []
        for text in texts:
            if time.thread_time() - begun > _SECONDS:
                break
            questions += self._planned_again(text, payer, request)
        return _Paid(keys, questions)

    def _planned_again(self, text: str, payer: Account, request: Request) -> Iterator[_PlannedQuestion]:
        """Yield the standing questions of a statement."""
        planned = self._planned(text, request)
        if planned is None or self._standing.not_here(planned.priced, payer.role) is not None:
            return
        every = [(scope.plan, part) for scope in planned.priced.scopes for part in scope.parts]
        now, kind = self._standing.now(), payer.role.protects
        found = {part.identity: recognize_question(plan, part, kind, now) for plan, part in every}
        parts = sharing({identity: part for identity, part in found.items() if isinstance(part, StandingPart)})
        for part in parts.values():
            yield _PlannedQuestion(planned.statement, part, planned.epsilon)

    def _read(
        self, identity: str, wanted: WantedSums, needed: tuple[Feature, ...], paid: _Paid, request: Request
    ) -> Iterator[ReadPart]:
        """Yield the ways in which a measurement is read off what was paid for."""
        role = self._deps.policy.roles[request.asker.role]
        epsilon = session_epsilon(request.settings, role, role.per_query.epsilon)
        for question in paid.questions:
            if question.part.table.name != wanted.table.name or question.epsilon < epsilon:
                continue
            shifted = [question.part.in_term(term, wanted.first, wanted.until) for term in wanted.terms]
            parts = [part for part in shifted if part is not None]
            sources = tuple(self._standing.asked(part, role) for part in parts)
            number = sum(len(part.asked.groups.grouped) for part in parts)
            # The question in each of these terms has a key, and is believed to be paid for if that is among the keys
            # that are.
            if (
                len(parts) < len(shifted)
                or number > role.max_groups
                or not paid.keys.issuperset(s.key for s in sources)
            ):
                continue
            (bound, *others) = {source.part.asked.bound for source in sources}
            if others or any(source.part.waits for source in sources):
                continue  # what was measured by different C is of different rows
            # With the bound of what was measured: a C that was chosen is not known by the statement alone.
            weighed = replace(wanted, measured=replace(wanted.measured, bound=bound))
            read = ReadPart(weighed, needed, sources, question.statement)
            claims = self._standing.claims([source.key for source in sources], request)
            if self._is_all_there(read, claims) and self._is_seen(identity, read, claims, request):
                yield read

    def _is_all_there(self, part: ReadPart, claims: Claims) -> bool:
        """Return whether each closed period that is asked for was measured, or will be now."""
        taken = self._closed_at()
        for asked in part.sources:
            own = claims.get(asked.key, ())
            left, lost = due_periods(asked, own, taken), lost_periods(own)
            over = self._standing.now() >= asked.part.grows.last_moment(asked.part.term)
            if (left and over) or lost & set(asked.part.periods):
                return False
        return True

    def _is_seen(self, identity: str, part: ReadPart, claims: Claims, request: Request) -> bool:
        """Return whether it can be read off all periods that are closed; unchanged in all to come, if nothing is added up."""
        reuse = session_reuse(request.settings, self._deps.policy.roles[request.asker.role])
        # Where sums are allowed, the periods that are closed decide. Else it has to be read off unchanged once all of
        # them are there.
        told = part.told(claims, self._closed_at() if reuse is Reuse.ALL else _ALL_CLOSED)
        seen = self._lenses.of_statement(until_found=True)(identity, part.wanted.measured, part.needed, told)
        return seen is not None and (reuse is Reuse.ALL or seen.is_direct)

    def _closed_at(self) -> datetime:
        edition = self._deps.engine.edition
        if edition is None:
            raise InternalError
        return edition.taken


def _times(groups: Groups, columns: Collection[str]) -> list[tuple[Cell, ...]]:
    """Return of each group what its keys of some columns are."""
    places = [i for i, key in enumerate(groups.keys) if any(ref.name in columns for ref in refs(key.grouped))]
    return [tuple(cells[place] for place in places) for cells in groups.grouped]


def _of_some(output: Output, lenses: Sequence[Lens], groups: Collection[int]) -> Output:
    """Return an output, which is of no rows where nothing is measured of any group: then counts are 0, and all else NULL."""
    match output:
        case StatisticOutput(part=int() as part, readout=readout):
            features = set(readout.features)
        case (
            ComputedMarginOutput(part=int() as part, readouts=readouts)
            | VoteOutput(part=int() as part, readouts=readouts)
        ):
            features = {feature for readout in readouts for feature in readout.features}
        case DistinctCountOutput(part=int() as part) | DistinctMarginOutput(part=int() as part):
            features = set(lenses[part].terms)
        case _:
            return output
    lens = lenses[part]
    lines = {term.lines for feature in features for term in lens.terms.get(feature, ())}
    return output if any(lens.lines[line][group] for line in lines for group in groups) else replace(output, part=None)


def _some(groups: Groups, kept: Sequence[int]) -> Groups:
    grouped, shown = (tuple(of[group] for group in kept) for of in (groups.grouped, groups.shown))
    return Groups(groups.keys, grouped, shown)


def _short(statement: str) -> str:
    return statement if len(statement) <= _LONGEST else f"{statement[:_LONGEST]} …"
