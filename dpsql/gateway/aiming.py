"""Errors as a target: an answer is measured again, with more ε, until what was released says that it errs little enough.

Inner answers come first. A measurement that waits for one is made once that errs little enough, with the values of its
best release. A better one would be another question, so the release is fixed from then on.

The first look pays what public numbers promise to be enough. Each measurement is charged before it runs, and all that was
released of it is read together. How many there are, and what they pay, depends on data through released values only.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from dpsql.gateway.pricing import AimedPrice, PricedPlan
from dpsql.privacy.measurement.plan import Searched
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope
from dpsql.privacy.release.draws import Draws, together
from dpsql.privacy.release.target import further, is_aimed

Drawn = Mapping[str, Draws]
"""The releases of each measurement, by its identity."""
Following = Callable[[PricedScope, int, Draws | None, AimedPrice | None], Fraction | None]
"""Returns what a part of a scope is to pay next, if anything."""


def following(priced: PricedPlan, drawn: Drawn, *, inner: bool = False) -> PricedPlan | None:
    """Return what is to be measured next: what nothing is known of, and what errs too much and has not paid its share.

    Of an `inner` query one release is to be enough.
    """
    if priced.inner and priced.aim is None:  # all of it is paid for at once
        return None if all(part.identity in drawn for part in priced.measurements) else priced
    for inner_plan in priced.inner:
        if (step := following(inner_plan, drawn, inner=True)) is not None:
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


def with_drawn(priced: PricedPlan, drawn: Drawn, more: Drawn) -> Drawn:
    """Return all that is drawn, but what was measured with an inner answer that is a better one now: of another question."""
    better = {
        identity
        for identity, draws in more.items()
        if identity in drawn and draws.best[0].epsilon > drawn[identity].best[0].epsilon
    }
    past = {part.identity for part in priced.measurements if any(inner.identity in better for inner in part.awaits)}
    return {**{identity: draws for identity, draws in drawn.items() if identity not in past}, **more}


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
    return further(scope.plan, place, draws, aim.error, aim.steps)


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
