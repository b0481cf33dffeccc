"""The stage price: what a planned statement pays, for the ε that its session has set."""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.privacy_loss import equal_share
from dpsql.gateway.plans.tracked_scopes import StatementPlan
from dpsql.gateway.session_settings import Aim, is_clamped, session_aim, session_epsilon
from dpsql.policy.model import NoiseLevel, Role
from dpsql.privacy.accuracy.expected_error import first_look
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import MeasurementPlan, Searched
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope, deferred_scope, in_euclidean_norm, shares
from dpsql.privacy.release.release import Draw, Draws, Release, together
from dpsql.privacy.release.target import is_aimed, next_payment
from dpsql.question import USUAL_INTERVALS, USUAL_STYLE, Settings
from dpsql.rewrite.emit.emitter import Emitter

_STEPS, _DECADES = 16, 3
"""The price goes up by factors of 10^(1/16)."""
_SEARCH = 20
"""The choice of a C pays at most this part of the most, or the least that a measurement pays, for every error that is aimed
at: it is paid once for them all."""
_OTHERS = 9
"""A statement of fewer measurements than this may have paid earlier what it pays for each, at most."""


@dataclass(frozen=True, slots=True)
class AimedPrice:
    """The amounts that measurements may pay for an error."""

    error: Fraction
    cap: Fraction
    """The most that the statement pays."""
    steps: tuple[Fraction, ...]
    """The prices that a measurement may pay at a time, ascending: the last is its share of the most."""
    looks: frozenset[Fraction]
    """Other prices that may have been paid: first looks for the levels, and whole shares."""

    @property
    def amounts(self) -> frozenset[Fraction]:
        """Return all that anybody may have paid: what was released for one target is found again for another."""
        return self.looks | frozenset(self.steps)

    def less(self, spent: Fraction) -> "AimedPrice":
        """Return what may be paid where so much was, for the same question with other inner answers."""
        left = max(bisect_right(self.steps, self.steps[-1] - spent), 1)
        return self if left == len(self.steps) else replace(self, steps=self.steps[:left], looks=self.amounts)


@dataclass(frozen=True, slots=True)
class PricedPlan:
    """A planned statement, and for each of its scopes the measurements with what they pay."""

    plan: StatementPlan
    scopes: tuple[PricedScope, ...]
    aim: AimedPrice | None = None
    """If an error is aimed at, the first measurement is only a look at the size of the answer."""
    inner: tuple["PricedPlan", ...] = ()
    """The inner queries, as in the plan: they are paid for together with all else, and measured before."""

    @property
    def measurements(self) -> tuple[PricedMeasurement, ...]:
        """Return the distinct measurements, each behind those that it waits for.

        A measurement that two scopes share is made and paid once.
        """
        parts = [part for stage in self.stages() for scope in stage.scopes for part in scope.parts]
        before = ((search, part) if (search := part.bound_by) else (part,) for part in parts)
        return tuple({part.identity: part for each in before for part in each}.values())

    def stages(self) -> Iterator["PricedPlan"]:
        """Yield the inner queries, each before what waits for it, and then the statement itself."""
        for inner in self.inner:
            yield from inner.stages()
        yield self


def with_scopes(priced: PricedPlan, scopes: Sequence[PricedScope]) -> PricedPlan:
    """Return a plan with other scopes in its places: of some of its groups."""
    plans = (replace(planned, plan=scope.plan) for planned, scope in zip(priced.plan.scopes, scopes, strict=True))
    return replace(priced, plan=replace(priced.plan, scopes=tuple(plans)), scopes=tuple(scopes))


def price(
    plan: StatementPlan, role: Role, settings: Settings, emitter: Emitter, *, counts_rho: bool = False
) -> PricedPlan:
    """Return the plan with each measurement's share of ε and δ, and with the engine's SQL.

    `counts_rho` says that all who pay for it count ρ: then it may have noise that has no ε. What aims at an error has none.

    Raises:
        Unsupported: the session's ε, or error, is none that the statement may have.
    """
    plans, aim = [scope.plan for stage in plan.stages() for scope in stage.scopes], session_aim(settings, role)
    if aim is None or any(each.inner for each in plan.inner):  # what waits for what waits pays at once what it may
        epsilon = session_epsilon(settings, role, role.per_query.epsilon) if aim is None else aim.cap
        if counts_rho and aim is None and emitter.dialect.finds_roots:
            plans = [in_euclidean_norm(each, epsilon) for each in plans]
        return _staged(plan, iter(shares(plans, epsilon, role, emitter)), role, settings)
    plans = [_with_widths(each) for each in plans]
    # First as if each measurement paid its share of the most, which is the last of the steps.
    whole = shares(plans, aim.cap, role, emitter)
    distinct = {part.identity: part.measurement for scope in whole for part in scope.parts}
    parts = max(sum(not isinstance(each, Searched) for each in distinct.values()), 1)
    steps = _steps(aim, max((part.cost.epsilon for scope in whole for part in scope.parts), default=aim.cap))
    looks = {
        error: max(equal_share(first_look(plans, error, aim.cap, aim.least), parts), aim.least)
        for error in _errors(aim)
    }
    # A session's own error is rounded up to a step. So different errors pay the same amounts, and find each other's
    # releases.
    first = looks[aim.error] if not settings.error else steps[bisect_left(steps, min(looks[aim.error], steps[-1]))]
    others = (equal_share(role.per_query.epsilon, number) for number in range(1, _OTHERS))
    price = AimedPrice(aim.error, aim.cap, steps, frozenset({*looks.values(), *others}))
    search = max(aim.cap / _SEARCH, aim.least)
    return _staged(plan, (_looking(scope, first, search) for scope in whole), role, settings, price)


def _staged(
    plan: StatementPlan, scopes: Iterator[PricedScope], role: Role, settings: Settings, aim: AimedPrice | None = None
) -> PricedPlan:
    """Return a plan with its inner queries; `scopes` are those of all stages in their order."""
    inner = tuple(_staged(inner_plan, scopes, role, settings, aim) for inner_plan in plan.inner)
    answers = [(_read_by(inner_plan, role, settings), inner_plan.measurements) for inner_plan in inner]
    if not inner:
        return PricedPlan(plan, tuple(next(scopes) for _ in plan.scopes), aim)
    return PricedPlan(plan, tuple(deferred_scope(next(scopes), answers) for _ in plan.scopes), aim, inner)


def _read_by(inner: PricedPlan, role: Role, settings: Settings) -> str:
    """Return a text of all that an inner answer depends on, beside what is released."""
    read = [
        (scope.types, priced_scope.plan.outputs, priced_scope.plan.hides_empty, priced_scope.plan.units)
        for scope, priced_scope in zip(inner.plan.scopes, inner.scopes, strict=True)
    ]
    return repr(
        (
            inner.plan.pieces,
            read,
            is_clamped(settings, role),
            settings.time_zone,
            settings.date_order,
            *_style(settings),
        )
    )


def _style(settings: Settings) -> tuple[str, ...]:
    """Return in which styles dates and intervals are written, as far as they are not the usual ones."""
    pairs = ((settings.date_style, USUAL_STYLE), (settings.interval_style, USUAL_INTERVALS))
    return tuple(style for style, usual in pairs if style != usual)


def _with_widths(plan: MeasurementPlan) -> MeasurementPlan:
    """Return a plan that measures with each chosen value how far off it is: what it takes for an error follows from that."""
    if plan.finder is not None:
        return plan
    parts = (
        replace(part, margin=True) if isinstance(part, Histogram) and part.chooses_one else part for part in plan.parts
    )
    return replace(plan, parts=tuple(parts))


def _errors(aim: Aim) -> Iterable[Fraction]:
    return {aim.error, *(level.error for level in NoiseLevel)}


def _steps(aim: Aim, share: Fraction) -> tuple[Fraction, ...]:
    """Return the same amounts for every share, but for the last."""
    last = math.floor(_STEPS * math.log10(share))
    # Six digits, so that the last bits of a power, which machines may compute otherwise, decide nothing.
    readable = (Fraction(f"{10 ** (step / _STEPS):.5e}") for step in range(last - _STEPS * _DECADES, last + 1))
    return (*(epsilon for epsilon in readable if aim.least <= epsilon < share), share)


def _looking(scope: PricedScope, epsilon: Fraction, search: Fraction) -> PricedScope:
    """Return a scope that pays for a first look where its error can be told, and at once its share of the most elsewhere.

    That is where keys are to be selected: the threshold falls with ε, and selecting them again would cost δ again.
    """
    if any(part.cost.delta for part in scope.parts):
        return scope
    parts = tuple(
        part.looking(epsilon, search) if is_aimed(scope.plan, place) else part for place, part in enumerate(scope.parts)
    )
    measured = tuple(p.measurement for p in parts if not isinstance(p.measurement, Searched))
    return PricedScope(replace(scope.plan, parts=measured), parts)


# Errors as a target: an answer is measured again, with more ε, until what was released says that it errs little enough.
#
# Inner answers come first. A measurement that waits for one is made once that errs little enough, with the values of its
# best release. A better one would be another question, so the release is fixed from then on.
#
# The first look pays what public numbers promise to be enough. Each measurement is charged before it runs, and all that was
# released of it is read together. How many there are, and what they pay, depends on data through released values only.

Drawn = Mapping[str, Draws]
"""The releases of each measurement, by its identity."""
PaidReleases = Mapping[str, tuple[PricedMeasurement, Release]]
"""Releases by what they are stored under, each with the measurement that it is of."""
Following = Callable[[PricedScope, int, Draws | None, AimedPrice | None], Fraction | None]
"""Returns what a part of a scope is to pay next, if anything."""
_MOST = 64
"""Combinations of inner answers by which it is looked what was paid earlier."""


def following(priced: PricedPlan, drawn: Drawn, *, inner: bool = False) -> PricedPlan | None:
    """Return what is to be measured next: what nothing is known of, and what errs too much and has not paid its share.

    Of an `inner` query one release is to be enough.
    """
    if priced.inner and priced.aim is None:  # all of it is paid for at once
        return None if all(part.identity in drawn for part in priced.measurements) else priced
    for inner_plan in priced.inner:
        step = following(inner_plan, drawn, inner=True)
        # An inner answer is bettered only while enough is left to measure anew what waits for it.
        if step is not None and (any(p.identity not in drawn for p in step.measurements) or _can_begin(priced, drawn)):
            return step
    wanted = _wanted(priced, drawn, _better if inner else _next)
    if not wanted:
        return None
    # Measurements of selected keys are paid for, and stored, beside the search for them: free, where that is stored.
    for part in tuple(wanted.values()):
        if part.finds_keys is not None:
            wanted.setdefault(part.finds_keys.identity, part.finds_keys)
    scopes = tuple(
        replace(scope, parts=tuple(wanted[part.identity] for part in scope.parts if part.identity in wanted))
        for scope in priced.scopes
    )
    return replace(priced, scopes=scopes)


def drawn_until(
    priced: PricedPlan, drawn: Drawn, measured: Callable[[PricedPlan, bool], Mapping[str, Release] | None]
) -> tuple[PricedPlan, Drawn]:
    """Measure step by step until nothing is left to be measured, or nothing more can be; return the plan and all releases.

    `measured` returns what is released of a step now, by the measurements' identities, and is told whether there is an answer
    without it, only less exact; None where that has to do.
    """
    while (step := following(priced, drawn)) is not None:
        now = measured(step, all(part.identity in drawn for part in priced.measurements))
        if now is None:
            break
        more = {
            part.identity: drawn.get(part.identity, Draws(())).with_draw(part.measurement, now[part.identity])
            for part in step.measurements
        }
        priced, drawn = with_drawn(priced, drawn, more)
        priced, _ = by_best(priced, drawn)
    return priced, drawn


def _wanted(priced: PricedPlan, drawn: Drawn, following_one: Following) -> dict[str, PricedMeasurement]:
    """Return what is to be measured next of a statement, whose inner queries stay as they are."""
    wanted: dict[str, PricedMeasurement] = {}
    fixed = _inner_parts(priced)
    for scope in priced.scopes:
        for place, part in enumerate(scope.parts):
            epsilon = following_one(scope, place, drawn.get(part.identity), priced.aim)
            if epsilon is None or part.identity in fixed:
                continue
            already = wanted.get(part.identity)
            if already is None or already.cost.epsilon < epsilon:
                wanted[part.identity] = part if epsilon == part.cost.epsilon else part.paying(epsilon)
    return wanted


def by_best(priced: PricedPlan, drawn: Drawn) -> tuple[PricedPlan, Drawn]:
    """Return a plan that waits for the best release of what its inner queries measure, and what was drawn without others."""
    if priced.aim is None or not priced.inner:
        return priced, drawn
    best = {identity: Draws((drawn[identity].best,)) for identity in _inner_parts(priced) if identity in drawn}
    paid = {identity: draws.best[0].epsilon for identity, draws in best.items()}

    def at(part: PricedMeasurement) -> PricedMeasurement:
        paid_part = part.paying(paid[part.identity]) if part.identity in paid else part
        bound_by = None if paid_part.bound_by is None else at(paid_part.bound_by)
        return replace(paid_part, awaits=tuple(map(at, paid_part.awaits)), bound_by=bound_by)

    def of(plan: PricedPlan) -> PricedPlan:
        scopes = tuple(replace(scope, parts=tuple(map(at, scope.parts))) for scope in plan.scopes)
        return replace(plan, scopes=scopes, inner=tuple(map(of, plan.inner)))

    return of(priced), {**drawn, **best}


def by_each(priced: PricedPlan, drawn: Drawn) -> Iterator[PricedPlan]:
    """Yield a plan with each release of its inner queries that there is, the best first."""
    inner = {identity: drawn[identity].drawn for identity in sorted(_inner_parts(priced)) if identity in drawn}
    releases = (sorted(each, key=lambda draw: draw[0].epsilon, reverse=True) for each in inner.values())
    for chosen in itertools.islice(itertools.product(*releases), _MOST):
        yield by_best(priced, {name: Draws((draw,)) for name, draw in zip(inner, chosen, strict=True)})[0]


def spent(priced: PricedPlan, drawn: Drawn) -> Fraction:
    """Return what was paid for measurements that wait for an inner answer, and would be others with another."""
    waiting = (drawn[part.identity].drawn for part in priced.measurements if part.awaits and part.identity in drawn)
    return sum((measurement.epsilon for draws in waiting for measurement, _ in draws), Fraction(0))


def having_spent(priced: PricedPlan, before: Fraction) -> PricedPlan:
    """Return a plan that may pay so much less for each measurement: all together pay no more than the statement may."""
    aim = None if priced.aim is None else priced.aim.less(before)
    return replace(priced, aim=aim, inner=tuple(having_spent(plan, before) for plan in priced.inner))


def _can_begin(priced: PricedPlan, drawn: Drawn, before: Fraction = Fraction(0)) -> bool:
    """Return whether what waits for inner answers could be measured with others: if enough is left for first looks."""
    if priced.aim is None:
        return True
    first = max((part.cost.epsilon for part in priced.measurements if part.awaits), default=Fraction(0))
    return first + before + spent(priced, drawn) <= priced.aim.steps[-1]


def affordable(priced: PricedPlan, inner: Sequence[Drawn], drawn_of: Callable[[PricedPlan], Drawn]) -> PricedPlan:
    """Return a plan with the best inner answers with which it has been measured, or can pay for that.

    `inner` has the releases of its inner queries; `drawn_of` returns those of a plan that waits for some of them.
    """
    every = {identity: draws for drawn in inner for identity, draws in drawn.items()}
    plans = [(plan, drawn_of(plan)) for plan in by_each(priced, every)]
    # What was ever paid with any inner answer counts against the most that the statement pays.
    whole = sum((spent(plan, drawn) for plan, drawn in plans), Fraction(0))
    for plan, drawn in plans:
        before = whole - spent(plan, drawn)
        if _can_begin(plan, {}, before) or all(part.identity in drawn for part in plan.measurements):
            return having_spent(plan, before)
    return plans[0][0]


def as_awaited(priced: PricedPlan, releases: PaidReleases) -> PaidReleases:
    """Return releases but those of inner queries that are better than what a plan waits for."""
    awaited = {inner.identity: inner.cost.epsilon for part in priced.measurements for inner in part.awaits}
    return {
        key: (part, release)
        for key, (part, release) in releases.items()
        if part.cost.epsilon <= awaited.get(part.identity, part.cost.epsilon)
    }


def with_drawn(priced: PricedPlan, drawn: Drawn, more: Drawn) -> tuple[PricedPlan, Drawn]:
    """Return all that is drawn, but what was measured with an inner answer that is a better one now: of another question.

    It was paid for, so that there is less to pay with.
    """
    # A better inner answer has other values, and what was measured with the earlier ones is of another question.
    better = {
        identity
        for identity, draws in more.items()
        if identity in drawn and draws.best[0].epsilon > drawn[identity].best[0].epsilon
    }
    past = {part.identity for part in priced.measurements if any(inner.identity in better for inner in part.awaits)}
    gone = spent(priced, {identity: draws for identity, draws in drawn.items() if identity in past})
    kept = {identity: draws for identity, draws in drawn.items() if identity not in past}
    return having_spent(priced, gone) if gone else priced, {**kept, **more}


def _inner_parts(priced: PricedPlan) -> frozenset[str]:
    """Return the identities of what inner queries measure."""
    return frozenset(part.identity for inner in priced.inner for part in inner.measurements)


def is_declared(part: PricedMeasurement) -> bool:
    """Return whether a measurement can be made again at another ε: its groups are declared, and no C is chosen by it."""
    return not part.cost.delta and part.finds_keys is None and not isinstance(part.measurement, Searched)


def _next(scope: PricedScope, place: int, draws: Draws | None, aim: AimedPrice | None) -> Fraction | None:
    """Return what a part is to pay next, if anything."""
    part = scope.parts[place]
    if draws is None:
        return part.cost.epsilon
    if aim is None or not is_declared(part) or not is_aimed(scope.plan, place):
        return None
    return next_payment(scope.plan, place, draws, aim.error, aim.steps)


def _better(scope: PricedScope, place: int, draws: Draws | None, aim: AimedPrice | None) -> Fraction | None:
    """Return what a part of an inner query is to pay next, if anything: enough for a release that is read by itself."""
    if draws is None or aim is None:
        return _next(scope, place, draws, aim)
    best, paid = Draws((draws.best,)), sum(measurement.epsilon for measurement, _ in draws.drawn)
    now, step = best.best[0].epsilon, _next(scope, place, best, aim)
    free = [epsilon for epsilon in aim.steps if now < epsilon <= aim.steps[-1] - paid]
    if step is None or not free:
        return None
    return free[min(bisect_left(free, together((step, now))), len(free) - 1)]


def read_draws(paid_releases: PaidReleases) -> Drawn:
    """Return what was released of each measurement."""
    draws: dict[str, tuple[Draw, ...]] = {}
    for part, release in paid_releases.values():
        draws[part.identity] = (*draws.get(part.identity, ()), (part.measurement, release))
    return {identity: Draws.of(*made) for identity, made in draws.items()}
