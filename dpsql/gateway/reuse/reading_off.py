"""The parts of a statement that need not be measured, because releases that the role has paid for say them.

A release of a statement that was to pay less is left aside: who sets a larger ε wants a better answer than there is. Nothing
here reads a record, and what is read off what depends on plans and on which releases there are.

Promise: an answer that was given stays what it is until the epoch ends. What it was read off is stored, in the ledger, before
it is given, and is looked for before anything else. So is of which releases an answer was made that aimed at an error, since
there may be more of them later.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice

from dpsql.gateway.aiming import Drawn, PaidReleases, is_declared
from dpsql.gateway.measuring import Measuring
from dpsql.gateway.pricing import AimedPrice, PricedPlan
from dpsql.gateway.request import Request
from dpsql.gateway.reuse.told_releases import Lenses, Told, ToldReleases, candidates
from dpsql.gateway.session_settings import session_epsilon, session_reuse
from dpsql.policy.model import Policy, Reuse
from dpsql.privacy.features.feature import ONE, Feature
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.draws import Draws
from dpsql.privacy.release.release import Release
from dpsql.privacy.release.target import is_aimed, is_met
from dpsql.privacy.reuse.derived import Derived
from dpsql.privacy.reuse.lens import Lens, needed_sums
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.same_rows import EnforcedColumns, condition_words


@dataclass(frozen=True, slots=True)
class ReadOff:
    """Parts that are read off other releases, by the identities of the measurements that were not made."""

    derived: Mapping[str, Draws]
    told: Mapping[str, Told]
    releases: PaidReleases
    """The releases by their keys."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Return the notices for the client that gets the answer."""
        statements = dict.fromkeys(" ".join(told_release.statement.split()) for told_release in self.told.values())
        return tuple(
            f"free: computed from the earlier answer to {_short(statement)}; SET dpsql.reuse = 'off' asks afresh"
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
        declared: Declared,
        enforced: EnforcedColumns,
    ) -> None:
        self._policy, self._measuring, self._told = policy, measuring, told
        self._lenses = Lenses(declared, enforced)

    def given(
        self, priced: PricedPlan, paid: PaidReleases, request: Request, epoch: int
    ) -> tuple[ReadOff, PaidReleases]:
        """Return what answers were read off when they were given, and which of their `paid` releases they were made of."""
        names = self._names(priced, request, epoch)
        readings = self._measuring.readings(names, request) if names else {}
        if not readings:
            return NOTHING_READ, paid
        parts = self._measuring.by_key(priced, request, epoch)
        own, others = dict[str, Sequence[str]](), dict[str, str]()
        for name, keys in readings.items():
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
        names, parts = self._names(priced, request, epoch), {part.identity: part for part in priced.measurements}
        known = self._measuring.readings(names, request)
        readings = {
            name: self._measuring.keys_of_draws(parts[identity], drawn[identity], request, epoch)
            for name, identity in names.items()
            if name not in known and identity in drawn and is_declared(parts[identity])
            if not isinstance(drawn[identity], Derived)
        }
        if readings:
            self._measuring.keep_readings(readings, request)

    def _names(self, priced: PricedPlan, request: Request, epoch: int) -> Mapping[str, str]:
        """Return the identities of measurements that may be read off others, by what their readings are stored under."""
        reuse = session_reuse(request.settings, self._policy.roles[request.asker.role])
        if priced.inner or (reuse is Reuse.OFF and priced.aim is None):
            return {}
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
        names = {identity: name for name, identity in self._names(priced, request, epoch).items()}
        readings = {names[identity]: (told.key,) for identity, told in read.told.items()}
        kept = self._measuring.keep_readings(readings, request)
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
                identity: Derived.through(through, Draws.of((told.measurement, Release.from_bytes(stored[told.key]))))
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
