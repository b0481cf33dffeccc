"""The stage price: what a planned statement pays, for the ε that its session has set."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.privacy_loss import equal_share
from dpsql.gateway.plans.statement_plan import StatementPlan
from dpsql.gateway.session_settings import Aim, is_clamped, session_aim, session_epsilon
from dpsql.policy.model import NoiseLevel, Role
from dpsql.privacy.accuracy.expected_error import first_look
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import MeasurementPlan, Searched
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope, in_euclidean_norm, shares, waiting
from dpsql.privacy.release.target import is_aimed
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
    whole = shares(plans, aim.cap, role, emitter)
    distinct = {part.identity: part.measurement for scope in whole for part in scope.parts}
    parts = max(sum(not isinstance(each, Searched) for each in distinct.values()), 1)
    steps = _steps(aim, max((part.cost.epsilon for scope in whole for part in scope.parts), default=aim.cap))
    looks = {
        error: max(equal_share(first_look(plans, error, aim.cap, aim.least), parts), aim.least)
        for error in _errors(aim)
    }
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
    return PricedPlan(plan, tuple(waiting(next(scopes), answers) for _ in plan.scopes), aim, inner)


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
