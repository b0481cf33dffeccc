"""Errors as a target: an answer is measured again, with more ε, until what was released says that it errs little enough.

The first look pays what public numbers promise to be enough. Each measurement is charged before it runs, and all that was
released of it is read together. How many there are, and what they pay, depends on data through released values only.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dpsql.gateway.pricing import AimedPrice, PricedPlan
from dpsql.privacy.measurement.plan import Searched
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope
from dpsql.privacy.release.draws import Draws
from dpsql.privacy.release.target import further, is_aimed

Drawn = Mapping[str, Draws]
"""The releases of each measurement, by its identity."""


def following(priced: PricedPlan, drawn: Drawn) -> PricedPlan | None:
    """Return what is to be measured next: what nothing is known of, and what errs too much and has not paid its share."""
    if priced.inner:  # all of it is paid for at once
        return None if all(part.identity in drawn for part in priced.measurements) else priced
    wanted: dict[str, PricedMeasurement] = {}
    for scope in priced.scopes:
        for place, part in enumerate(scope.parts):
            epsilon = _next(scope, place, drawn.get(part.identity), priced.aim)
            known = wanted.get(part.identity)
            if epsilon is not None and (known is None or known.cost.epsilon < epsilon):
                wanted[part.identity] = part if epsilon == part.cost.epsilon else part.paying(epsilon)
    if not wanted:
        return None
    # What depends on keys that were found is paid for, and stored, beside what found them: free, where that is stored.
    for part in tuple(wanted.values()):
        if part.finds_keys is not None:
            wanted.setdefault(part.finds_keys.identity, part.finds_keys)
    scopes = tuple(
        replace(scope, parts=tuple(wanted[part.identity] for part in scope.parts if part.identity in wanted))
        for scope in priced.scopes
    )
    return replace(priced, scopes=scopes)


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
