"""The releases that a role has paid for, with what they measure: planned again, and believed if the key agrees.

Nothing of a plan is stored. The key of a release is a hash of all that it depends on, so that the question from which the
same key follows tells what was measured.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ToldRelease
from dpsql.engines.base import Edition
from dpsql.errors import DpsqlError, QueryCanceled, TooComplex
from dpsql.gateway.catalogue.virtual_tables import KnownRelease
from dpsql.gateway.measuring import Measuring, account
from dpsql.gateway.pricing import PricedPlan
from dpsql.gateway.request import Request
from dpsql.gateway.session_settings import session_epsilon
from dpsql.gateway.written_questions import WrittenQuestion, hashed_words, read_question
from dpsql.interrupt import ended_when_overdue
from dpsql.policy.model import Policy
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.reuse.lens import Lens, ToldNoise, lens
from dpsql.question import Argument, Settings
from dpsql.remembered import Remembered
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.same_rows import EnforcedColumns, condition_words

_MOST, _MOST_GROUPS = 500, 200_000
"""Releases of a role that are looked at, the newest, and their groups together: plans of many groups are large."""
_SECONDS = 2.0
"""Of the processor, in which questions are planned again for one statement; the next goes on from there."""
PlannedAgain = Callable[[str, tuple[Argument, ...], Settings, Request], PricedPlan | None]
"""Plans a statement for a client that asks something else."""


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
    words = condition_words(wanted.relation, wanted.where)
    return [told_release for told_release in told if told_release.words <= words]


@dataclass(slots=True)
class _Listed:
    """One release, planned again once a question has all words of it."""

    release: ToldRelease
    question: WrittenQuestion
    told: Told | None = None
    planned: bool = False

    def may_tell(self, words: frozenset[str] | None) -> bool:
        """Return whether a question with these words may be read off it; None: with any."""
        told = self.question.words
        return words is None or told is None or any(some <= words for some in told)

    @property
    def groups(self) -> int:
        """Return how many groups it has, as far as that is known."""
        return 0 if self.told is None else self.told.groups


@dataclass(slots=True)
class _OfRole:
    """One role's releases in one epoch, of one copy of the records."""

    since: tuple[int, Edition | None]
    last: int = 0
    releases: list[_Listed] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, releases: Sequence[ToldRelease]) -> None:
        """Add some that are newer, and let go of the oldest where they are too many."""
        for release in releases:
            if release.number > self.last:
                question, self.last = read_question(release.question), release.number
                if question is not None:
                    self.releases.append(_Listed(release, question))
        del self.releases[:-_MOST]

    def shorten(self) -> None:
        """Let go of the oldest that are planned, where all together are too large."""
        groups = sum(listed.groups for listed in self.releases)
        for listed in self.releases:
            if groups <= _MOST_GROUPS:
                break
            groups, listed.told = groups - listed.groups, None


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
            wanted = [listed for listed in of_role.releases if not listed.planned and listed.may_tell(hashed)]
            self._plan(wanted, payer, request, epoch)
            of_role.shorten()
            return tuple(listed.told for listed in of_role.releases if listed.told is not None)

    def _plan(self, wanted: Sequence[_Listed], payer: Account, request: Request, epoch: int) -> None:
        """Plan releases again, as many as there is time for."""
        begun = time.thread_time()
        for listed, (_, told) in zip(
            wanted, self._recalled([listed.release for listed in wanted], payer, request, epoch), strict=True
        ):
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
            recalled = self._recalled(releases, payer, request, epoch)
            found |= {told.key: told for _, told in recalled if told is not None}
        return found

    def listed(self, request: Request) -> Iterator[KnownRelease]:
        """Yield what the asker's role may read other answers off."""
        epoch = self._measuring.epoch(request)
        for told in self.of(request, epoch):
            yield KnownRelease(epoch, told.statement, told.part.note, told.groups, told.part.cost.epsilon)

    def _recalled(
        self, releases: Sequence[ToldRelease], payer: Account, request: Request, epoch: int
    ) -> Iterator[tuple[ToldRelease, Told | None]]:
        """Yield releases with their plans; None where these can't be made again."""
        told_by_question: dict[str, Mapping[str, Told]] = {}
        for release in releases:
            if release.question not in told_by_question:
                told_by_question[release.question] = self._asked(release.question, payer, request, epoch)
            yield release, told_by_question[release.question].get(release.key)

    def _asked(self, question: str, payer: Account, request: Request, epoch: int) -> Mapping[str, Told]:
        """Return the measurements of a question by the keys of their releases."""
        read = read_question(question)
        if read is None:
            return {}
        try:
            priced = self._planned(read.statement, read.arguments, read.settings, request)
            if priced is None or priced.inner:
                return {}
            whole = session_epsilon(read.settings, payer.role, payer.role.per_query.epsilon)
        except QueryCanceled:  # which says nothing of the question, and the next who asks plans it
            raise
        except DpsqlError:
            return {}
        parts = self._measuring.by_key(priced, request, epoch)
        return {
            key: Told(key, read.statement, part, whole if priced.aim is None else part.cost.epsilon)
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

    def __init__(self, declared: Declared, enforced: EnforcedColumns) -> None:
        self._declared, self._enforced = declared, enforced
        self._known: Remembered[tuple[Lens | None]] = Remembered(_MOST_LENSES, _weighed)

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
