"""The parts of a statement that need not be measured, because releases that the role has paid for say them.

A release of a statement that was to pay less is left aside: who sets a larger ε wants a better answer than there is. Nothing
here reads a record, and what is read off what depends on plans and on which releases there are.

Promise: an answer that was given stays what it is until the epoch ends. What it was read off is stored, in the ledger, before
it is given, and is looked for before anything else. So is of which releases an answer was made that aimed at an error, since
there may be more of them later.
"""

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice
from typing import NamedTuple

from dpsql.accounting.ledger import ToldRelease
from dpsql.byte_limited_cache import ByteLimitedCache
from dpsql.engines.base import SnapshotVersion
from dpsql.errors import TooComplex
from dpsql.gateway.catalogue.virtual_tables import KnownRelease
from dpsql.gateway.measuring import Measuring, WrittenQuestion, account, hashed_words, read_question
from dpsql.gateway.pricing import AimedPrice, Drawn, PaidReleases, PricedPlan, is_declared
from dpsql.gateway.request import Request
from dpsql.gateway.session_settings import session_epsilon, session_reuse
from dpsql.interrupt import ended_when_overdue
from dpsql.policy.model import Policy, Reuse
from dpsql.privacy.features.feature import ONE, Feature
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.release import Draws
from dpsql.privacy.release.target import is_aimed, is_met
from dpsql.privacy.reuse.derived_draws import DerivedDraws
from dpsql.privacy.reuse.lens import Lens, ToldNoise, lens, needed_sums
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.same_rows import EnforcedColumns, condition_words

# The releases that a role has paid for, with what they measure: planned again, and believed if the key agrees.
#
# Nothing of a plan is stored. The key of a release is a hash of all that it depends on, so that the question from which the
# same key follows tells what was measured.

_MOST, _MOST_GROUPS = 500, 200_000
"""Releases of a role that are looked at, the newest, and their groups together: plans of many groups are large."""
_SECONDS = 2.0
"""Of the processor, in which questions are planned again for one statement; the next goes on from there."""


class PlannedBefore(NamedTuple):
    """A question that the asker's role has paid for, planned again."""

    statement: str
    priced: PricedPlan
    epsilon: Fraction
    """The price of the whole."""


PlannedAgain = Callable[[str, Request], PlannedBefore | None]
"""Plans a written question for a client that asks something else; None of what asks nothing any more, or is refused."""


@dataclass(frozen=True)
class Told:
    """One release that a role has paid for."""

    key: str
    statement: str
    part: PricedMeasurement
    epsilon: Fraction
    """The price of the whole statement, or of this part of it where it was told by an error."""

    @property
    def groups(self) -> int:
        """Return how many groups it has."""
        return len(self.measurement.groups.grouped)

    @property
    def measurement(self) -> Sums | Histogram:
        """Return what was measured, as it was planned."""
        measured = self.part.measurement
        assert isinstance(measured, (Sums, Histogram))
        return measured

    @cached_property
    def noise(self) -> ToldNoise:
        """Return how noisy it is: computed once, and asked for with each question that may be read off it."""
        return ToldNoise.of(self.measurement)

    @cached_property
    def words(self) -> frozenset[object]:
        """Return the words of what holds of its rows: computed once, and asked for with each new question."""
        return condition_words(self.measurement.relation, self.measurement.where)


def candidates(wanted: Sums | Histogram, told: Iterable[Told]) -> Sequence[Told]:
    """Return the releases among whose rows those of a measurement can be: most have other words, and need no other look."""
    # A release with a condition that the question lacks is without rows that the question asks for.
    words = condition_words(wanted.relation, wanted.where)
    return [told_release for told_release in told if told_release.words <= words]


@dataclass(slots=True)
class _Listed:
    """One release, planned again once a question has all words of it."""

    release: ToldRelease
    question: WrittenQuestion
    told: Told | None = None
    planned: bool = False
    marks: list[str] = field(default_factory=list)
    """Of each measurement a word that a question has, too, which may be read off it; "" for any question."""

    def may_tell(self, words: frozenset[str]) -> bool:
        """Return whether a question with these words may be read off it."""
        told = self.question.words
        return told is None or any(some <= words for some in told)

    @property
    def groups(self) -> int:
        """Return how many groups it has, as far as that is known."""
        return 0 if self.told is None else self.told.groups


@dataclass(slots=True)
class _OfRole:
    """One role's releases in one epoch, of one copy of the records."""

    since: tuple[int, SnapshotVersion | None]
    last: int = 0
    releases: list[_Listed] = field(default_factory=list)
    told: tuple[Told, ...] = ()
    """Those that are planned, the oldest first."""
    pending: dict[str, dict[int, _Listed]] = field(default_factory=lambda: defaultdict(dict))
    """Those that are not planned yet, by a word and their numbers: each new question asks which may tell of it."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, releases: Sequence[ToldRelease]) -> None:
        """Add some that are newer, and let go of the oldest where they are too many."""
        for release in releases:
            # Two threads may bring the same ones, since they ask the ledger before they have the lock.
            if release.number > self.last:
                question, self.last = read_question(release.question), release.number
                if question is not None:
                    self.releases.append(listed := _Listed(release, question))
                    for words in question.words or [frozenset()]:
                        # The rarest tells most: what all questions about a table have in common tells nothing.
                        word = min(words, key=lambda word: len(self.pending.get(word, ())), default="")
                        listed.marks.append(word)
                        self.pending[word][release.number] = listed
        if gone := self.releases[:-_MOST]:
            del self.releases[:-_MOST]
            self._no_longer_pending(gone)
            if any(listed.told for listed in gone):
                self._tell()

    def unplanned(self, words: frozenset[str] | None) -> Sequence[_Listed]:
        """Return what is not planned yet off which a question with these words may be read, the oldest first; None: any."""
        if words is None:
            return [listed for listed in self.releases if not listed.planned]
        found = {number: one for word in ("", *words) for number, one in self.pending.get(word, {}).items()}
        return [listed for _, listed in sorted(found.items()) if listed.may_tell(words)]

    def note_planned(self, looked_at: Sequence[_Listed]) -> None:
        """Keep what came of planning some; let go of the oldest that are planned, where all together are too large."""
        self._no_longer_pending([listed for listed in looked_at if listed.planned])
        groups = sum(listed.groups for listed in self.releases)
        # They stay marked as planned: else each question would plan them again, and let go of them again.
        for listed in self.releases:
            if groups <= _MOST_GROUPS:
                break
            groups, listed.told = groups - listed.groups, None
        self._tell()

    def _tell(self) -> None:
        self.told = tuple(listed.told for listed in self.releases if listed.told is not None)

    def _no_longer_pending(self, some: Iterable[_Listed]) -> None:
        for listed in some:
            for word in listed.marks:
                if (pending := self.pending.get(word)) is not None:
                    pending.pop(listed.release.number, None)
                    if not pending:
                        del self.pending[word]


class ToldReleases:
    """The releases of all roles."""

    def __init__(self, policy: Policy, measuring: Measuring, planned: PlannedAgain) -> None:
        """Plan again with `planned`."""
        self._policy, self._measuring, self._planned = policy, measuring, planned
        self._roles: dict[str, _OfRole] = {}

    def of(self, request: Request, epoch: int, words: frozenset[object] | None = None) -> Sequence[Told]:
        """Return what the asker's role has paid for in an epoch, the oldest first.

        Where a question with these `words` is to be read off it, what can't tell of its rows may be missing.
        """
        payer = account(self._policy, request.asker)
        of_role, since = self._roles.get(payer.role.name), (epoch, self._measuring.engine.edition)
        if of_role is None or of_role.since != since:
            of_role = self._roles[payer.role.name] = _OfRole(since)
        # Without the lock: where the ledger is away, all who ask wait for it at the same time.
        told_since = self._measuring.ledger.told(payer, of_role.last, request.cancellation)
        hashed = None if words is None else hashed_words(words)
        with of_role.lock:
            of_role.add(told_since[-_MOST:])
            wanted = of_role.unplanned(hashed)
            if wanted:
                self._plan(wanted, request, epoch)
                of_role.note_planned(wanted)
            return of_role.told

    def _plan(self, wanted: Sequence[_Listed], request: Request, epoch: int) -> None:
        """Plan releases again, as many as there is time for."""
        begun = time.thread_time()
        recalled = self._recalled([listed.release for listed in wanted], request, epoch)
        # Releases are planned one by one as they are taken, so that a break leaves the others for the next question.
        for listed, (_, told) in zip(wanted, recalled, strict=True):
            listed.planned, listed.told = True, told
            if time.thread_time() - begun > _SECONDS:
                break

    def under(self, keys: Iterable[str], request: Request, epoch: int) -> Mapping[str, Told]:
        """Return what the asker's role has paid for under some keys, also what is not among those that are looked at."""
        wanted = frozenset(keys)
        found = {told.key: told for told in self.of(request, epoch) if told.key in wanted}
        missing = wanted - found.keys()
        if missing:
            payer = account(self._policy, request.asker)
            releases = self._measuring.ledger.told_under(payer, missing, request.cancellation)
            recalled = self._recalled(releases, request, epoch)
            found |= {told.key: told for _, told in recalled if told is not None}
        return found

    def listed(self, request: Request) -> Iterator[KnownRelease]:
        """Yield what the asker's role may read other answers off."""
        epoch = self._measuring.epoch(request)
        for told in self.of(request, epoch):
            yield KnownRelease(epoch, told.statement, told.part.note, told.groups, told.part.cost.epsilon)

    def _recalled(
        self, releases: Sequence[ToldRelease], request: Request, epoch: int
    ) -> Iterator[tuple[ToldRelease, Told | None]]:
        """Yield releases with their plans; None where these can't be made again."""
        told_by_question: dict[str, Mapping[str, Told]] = {}
        for release in releases:
            if release.question not in told_by_question:
                told_by_question[release.question] = self._asked(release.question, request, epoch)
            yield release, told_by_question[release.question].get(release.key)

    def _asked(self, question: str, request: Request, epoch: int) -> Mapping[str, Told]:
        """Return the measurements of a question by the keys of their releases."""
        planned = self._planned(question, request)
        if planned is None or planned.priced.inner:
            return {}
        parts = self._measuring.by_key(planned.priced, request, epoch)
        return {
            key: Told(
                key, planned.statement, part, planned.epsilon if planned.priced.aim is None else part.cost.epsilon
            )
            for key, part in parts.items()
            if _is_readable(part)
        }


def _is_readable(part: PricedMeasurement) -> bool:
    """Return whether other measurements may be read off one: its groups are declared, and it waits for no inner answer."""
    measured = part.measurement
    return isinstance(measured, (Sums, Histogram)) and not (part.cost.delta or part.finds_keys or part.awaits)


# Lenses, each found once: what a release says of a measurement depends on plans alone, and takes its time to find out.
#
# Where releases have many groups that is much for one statement. Parts for which there is no room are not read off
# anything, but measured; the next statement goes on from there.

_MOST_LENSES = 16 * 2**20
"""Bytes of the lenses that are remembered."""
_PER_GROUP, _PER_LENS = 100, 1_000
_LENS_SECONDS = 1.0
"""Of the processor, in which new ones are begun to be found for one statement."""


class Lenses:
    """Lenses by what is read off what."""

    def __init__(self, declared: DeclaredFacts, enforced: EnforcedColumns) -> None:
        self._declared, self._enforced = declared, enforced
        self._known: ByteLimitedCache[tuple[Lens | None]] = ByteLimitedCache(_MOST_LENSES, _weighed)

    def of_statement(self, *, until_found: bool = False) -> "LensesOfStatement":
        """Return what finds some for one statement, however long it takes if an answer that was given needs them."""
        return LensesOfStatement(self, math.inf if until_found else _LENS_SECONDS)

    def remembered(self, key: tuple[str, tuple[Feature, ...], str]) -> tuple[Lens | None] | None:
        """Return what was found."""
        return self._known.get(key)

    def find(
        self,
        key: tuple[str, tuple[Feature, ...], str],
        wanted: Sums | Histogram,
        told: Sums | Histogram,
        *,
        until_found: bool = False,
    ) -> Lens | None:
        """Find one, and remember it; what takes longer than planning may is none, unless an answer needs it again."""
        find = partial(lens, wanted, key[1], told, self._declared, self._enforced)
        try:
            through = find() if until_found else ended_when_overdue(find, None)
        except TooComplex:
            through = None
        self._known.keep(key, (through,))
        return through


class LensesOfStatement:
    """Finds lenses as long as there is room."""

    def __init__(self, lenses: Lenses, seconds: float) -> None:
        self._lenses, self._until = lenses, time.thread_time() + seconds

    def __call__(self, name: str, wanted: Sums | Histogram, needed: Sequence[Feature], told: Told) -> Lens | None:
        """Return how a measurement, which has a name, is read off a release; None where that is not known."""
        key = (name, tuple(needed), told.part.identity)
        kept = self._lenses.remembered(key)
        if kept is not None:
            return kept[0]
        late = time.thread_time() > self._until
        return None if late else self._lenses.find(key, wanted, told.measurement, until_found=math.isinf(self._until))


def _weighed(value: object) -> int:
    match value:
        case (Lens(lines=lines),):
            return _PER_LENS + _PER_GROUP * sum(len(line) for line in lines)
        case _:
            return _PER_LENS


@dataclass(frozen=True, slots=True)
class ReadOff:
    """Parts that are read off other releases, by the identities of the measurements that were not made."""

    derived: Mapping[str, Draws]
    told: Mapping[str, Told]
    releases: PaidReleases
    """The releases by their keys."""

    def notices(self, *, in_part: bool = False) -> tuple[str, ...]:
        """Return the notices for the client that gets the answer; `in_part` says that the rest of it was measured."""
        what = "a part is free" if in_part else "free"
        statements = dict.fromkeys(" ".join(told_release.statement.split()) for told_release in self.told.values())
        return tuple(
            f"{what}: computed from the earlier answer to {_short(statement)}; SET dpsql.reuse = 'off' asks afresh"
            for statement in statements
        )

    def beside(self, other: "ReadOff") -> "ReadOff":
        """Return it with the parts of another."""
        return ReadOff(
            {**self.derived, **other.derived}, {**self.told, **other.told}, {**self.releases, **other.releases}
        )

    def without(self, identities: Collection[str]) -> "ReadOff":
        """Return it without some measurements."""
        told = {identity: told_release for identity, told_release in self.told.items() if identity not in identities}
        keys = {told_release.key for told_release in told.values()}
        return ReadOff(
            {identity: told_release for identity, told_release in self.derived.items() if identity in told},
            told,
            {key: release for key, release in self.releases.items() if key in keys},
        )


_LONGEST = 200
"""Characters that are told of a statement."""
_ANY = Fraction(0)
"""A release may have paid any ε where its error decides."""
NOTHING_READ = ReadOff({}, {}, {})


class ReadingOff:
    """Reads measurements off releases of others."""

    def __init__(
        self,
        policy: Policy,
        measuring: Measuring,
        told: ToldReleases,
        declared: DeclaredFacts,
        enforced: EnforcedColumns,
    ) -> None:
        self._policy, self._measuring, self._told = policy, measuring, told
        self._lenses = Lenses(declared, enforced)

    def given(
        self, priced: PricedPlan, paid: PaidReleases, request: Request, epoch: int
    ) -> tuple[ReadOff, PaidReleases]:
        """Return what answers were read off when they were given, and which of their `paid` releases they were made of."""
        names = self.names(priced, request, epoch)
        readings = self._measuring.readings(names, request) if names else {}
        if not readings:
            return NOTHING_READ, paid
        parts = self._measuring.by_key(priced, request, epoch)
        own, others = dict[str, Sequence[str]](), dict[str, str]()
        for name, keys in readings.items():
            # What is stored is of either kind: the keys of releases of its own, of one measurement at several ε, or
            # another's one key.
            if all(key in parts and parts[key].identity == names[name] for key in keys):
                own[names[name]] = keys
            else:
                others[names[name]] = keys[0]
        made_of = {key: stored for key, stored in paid.items() if key in own.get(stored[0].identity, {key})}
        return self._reread(priced, others, request, epoch), made_of

    def keep_draws(self, priced: PricedPlan, drawn: Drawn, request: Request, epoch: int) -> None:
        """Store of which releases an answer is made that aims at an error, unless that is stored."""
        if priced.aim is None:
            return
        names, parts = self.names(priced, request, epoch), {part.identity: part for part in priced.measurements}
        known = self._measuring.readings(names, request)
        readings = {
            name: self._measuring.keys_of_draws(parts[identity], drawn[identity], request, epoch)
            for name, identity in names.items()
            if name not in known and identity in drawn and is_declared(parts[identity])
            if not isinstance(drawn[identity], DerivedDraws)
        }
        if readings:
            self._measuring.keep_readings(readings, request)

    def names(self, priced: PricedPlan, request: Request, epoch: int) -> Mapping[str, str]:
        """Return the identities of measurements that may be read off others, by what their readings are stored under."""
        reuse = session_reuse(request.settings, self._policy.roles[request.asker.role])
        if priced.inner or (reuse is Reuse.OFF and priced.aim is None):
            return {}
        # With another mode, or another error, it is another answer, which may be read off something else.
        how = f"{reuse}" if priced.aim is None else f"{reuse} {priced.aim.error}"
        return {f"{key} {how}": identity for identity, key in self._measuring.keys(priced, request, epoch).items()}

    def _reread(self, priced: PricedPlan, sources: Mapping[str, str], request: Request, epoch: int) -> ReadOff:
        """Return measurements as they were read off releases, by the keys of these."""
        told = self._told.under(sources.values(), request, epoch)
        lenses, pairs = self._lenses.of_statement(until_found=True), dict[str, tuple[Told, Lens]]()
        for scope in priced.scopes:
            for place, part in enumerate(scope.parts):
                source, wanted = told.get(sources.get(part.identity, "")), scope.plan.parts[place]
                if source is not None and isinstance(wanted, (Sums, Histogram)):
                    seen = lenses(part.identity, wanted, needed_sums(scope.plan, place), source)
                    pairs |= {} if seen is None else {part.identity: (source, seen)}
        return self._released(pairs, request)

    def read_off(
        self, priced: PricedPlan, answered: Collection[str], request: Request, epoch: int, *, given: bool = False
    ) -> ReadOff:
        """Return what of a plan follows from releases, beside the measurements that are `answered` by themselves.

        Where its error is aimed at only what errs as little; nothing where it waits for inner answers. If it is `given` to
        somebody it is stored what is read off what.
        """
        read = self._read_off(priced, answered, request, epoch)
        if not (given and read.derived):
            return read
        names = {identity: name for name, identity in self.names(priced, request, epoch).items()}
        readings = {names[identity]: (told.key,) for identity, told in read.told.items()}
        kept = self._measuring.keep_readings(readings, request)
        # Another process was faster: what it has read is the answer, and is read again here.
        other = {identity: kept[name][0] for identity in read.told if kept[name := names[identity]] != readings[name]}
        return read if not other else read.without(other).beside(self._reread(priced, other, request, epoch))

    def _read_off(self, priced: PricedPlan, answered: Collection[str], request: Request, epoch: int) -> ReadOff:
        role = self._policy.roles[request.asker.role]
        reuse = session_reuse(request.settings, role)
        if reuse is Reuse.OFF or priced.inner:
            return NOTHING_READ
        epsilon = session_epsilon(request.settings, role, role.per_query.epsilon) if priced.aim is None else _ANY
        sources: dict[str, tuple[Told, Lens]] = {}
        lenses, told = self._lenses.of_statement(), self._told.of(request, epoch, _words(priced))
        for scope in priced.scopes:
            for place, part in enumerate(scope.parts):
                if part.identity in answered or part.identity in sources or part.cost.delta or part.finds_keys:
                    continue
                wanted = scope.plan.parts[place]
                if not isinstance(wanted, (Sums, Histogram)):
                    continue
                worthy = [told_release for told_release in candidates(wanted, told) if told_release.epsilon >= epsilon]
                best = _best(wanted, needed_sums(scope.plan, place), partial(lenses, part.identity), worthy, reuse)
                if best is not None:
                    sources[part.identity] = best
        read = self._released(sources, request)
        return read if priced.aim is None else read.without(_too_noisy(priced, priced.aim, read))

    def stored(self, priced: PricedPlan, request: Request, epoch: int) -> frozenset[str]:
        """Return the identities of the measurements of which something is paid for and stored."""
        parts = self._measuring.by_key(priced, request, epoch)
        return frozenset(parts[key].identity for key in self._measuring.paid(parts, request))

    def neighbours(self, priced: PricedPlan, answered: Collection[str], request: Request, epoch: int) -> Iterator[str]:
        """Yield for what is not `answered` a statement whose coarser answer is free: by week where days would be measured."""
        if session_reuse(request.settings, self._policy.roles[request.asker.role]) is Reuse.OFF or priced.inner:
            return
        told, lenses = self._told.of(request, epoch), self._lenses.of_statement()

        def is_coarser(told_release: Told, itself: Told) -> bool:
            measured, name = told_release.measurement, f"{told_release.part.identity} of its own"
            return isinstance(measured, Sums) and lenses(name, measured, (ONE,), itself) is not None

        for scope in priced.scopes:
            for part in scope.parts:
                sums = isinstance(part.measurement, Sums) and not (part.cost.delta or part.finds_keys)
                if sums and part.identity not in answered:
                    itself = Told("", "", part, part.cost.epsilon)
                    near = (
                        told_release
                        for told_release in reversed(told)
                        if itself.words <= told_release.words and is_coarser(told_release, itself)
                    )
                    yield from (" ".join(told_release.statement.split()) for told_release in islice(near, 1))

    def _released(self, sources: Mapping[str, tuple[Told, Lens]], request: Request) -> ReadOff:
        """Return what is read, as far as the releases are still there."""
        if not sources:
            return NOTHING_READ
        stored = self._measuring.paid({told.key for told, _ in sources.values()}, request)
        there = {identity: pair for identity, pair in sources.items() if pair[0].key in stored}
        if not there:
            return NOTHING_READ
        return ReadOff(
            {
                identity: DerivedDraws.through(through, Draws.of((told.measurement, stored[told.key])))
                for identity, (told, through) in there.items()
            },
            {identity: told for identity, (told, _) in there.items()},
            {told.key: (told.part, stored[told.key]) for told, _ in there.values()},
        )


def _words(priced: PricedPlan) -> frozenset[object]:
    """Return the words of what holds of the rows of any part."""
    parts = [part for scope in priced.scopes for part in scope.plan.parts if isinstance(part, (Sums, Histogram))]
    return frozenset().union(*(condition_words(part.relation, part.where) for part in parts))


def _best(
    wanted: Sums | Histogram,
    needed: Sequence[Feature],
    through: Callable[[Sums | Histogram, Sequence[Feature], Told], Lens | None],
    told: Sequence[Told],
    reuse: Reuse,
) -> tuple[Told, Lens] | None:
    """Return the release with the least noise in what is read, and how it is read."""
    readable = [
        (told_release, seen)
        for told_release in told
        if (seen := through(wanted, needed, told_release)) is not None and (reuse is Reuse.ALL or seen.is_direct)
    ]
    return min(readable, key=lambda pair: pair[1].noise(pair[0].noise, needed), default=None)


def _short(statement: str) -> str:
    return statement if len(statement) <= _LONGEST else f"{statement[:_LONGEST]} …"


def _too_noisy(priced: PricedPlan, aim: AimedPrice, read: ReadOff) -> frozenset[str]:
    """Return the measurements that err by more than is aimed at, as they would be read."""
    return frozenset(
        part.identity
        for scope in priced.scopes
        for place, part in enumerate(scope.parts)
        if part.identity in read.derived
        and not (
            is_aimed(scope.plan, place) and is_met(scope.plan, place, read.derived[part.identity], aim.error, aim.steps)
        )
    )
