"""From the largest acceptable disclosure risk back to ε."""

import math
from fractions import Fraction

from dpsql.epsilon.databases.worlds import Worlds
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.risks.risk import limit_risk, logit, tight_risk

_STEPS = 200
"""More halvings than a float has bits: the search ends for every argument."""


def upper_epsilon(
    prior: Fraction, requirement: Fraction, *, noise_sensitivity: float, world_sensitivity: float
) -> float:
    """Return the largest ε whose upper bound meets the requirement: (Δf/Δv)·ln((n − 1)ρ/(1 − ρ)); may be infinite.

    Raises:
        BadInput: the requirement is below the prior: even silence does not meet it.
    """
    _check(prior, requirement)
    if not world_sensitivity:
        return math.inf
    return noise_sensitivity / world_sensitivity * (logit(requirement) - logit(prior))


def tight_epsilon(worlds: Worlds, requirement: Fraction, *, sensitivity: float, precision: float = 1e-13) -> float:
    """Return the largest ε (to `precision`, relative) whose tight bound meets the requirement; may be infinite.

    The risk never falls as ε grows, so bisection applies; what is returned is the end that satisfies the requirement.

    Raises:
        BadInput: the requirement is below the prior: even silence does not meet it.
    """
    target = float(requirement)
    if tight_risk(worlds, epsilon=0.0, sensitivity=sensitivity) > target * (1 + 1e-12):
        raise BadInput(f"a risk of {target:g} is less than what can be guessed without any answer")
    if not sensitivity or limit_risk(worlds) <= target * (1 + 1e-12):
        return math.inf
    meets, exceeds = 0.0, 1.0
    while tight_risk(worlds, epsilon=exceeds, sensitivity=sensitivity) <= target:
        meets, exceeds = exceeds, 2 * exceeds
    for _ in range(_STEPS):
        if exceeds - meets <= precision * exceeds:
            break
        middle = (meets + exceeds) / 2
        if tight_risk(worlds, epsilon=middle, sensitivity=sensitivity) <= target:
            meets = middle
        else:
            exceeds = middle
    return meets


def _check(prior: Fraction, requirement: Fraction) -> None:
    if not 0 < requirement < 1:
        raise BadInput(f"a risk of {float(requirement):g} is not between 0 and 1")
    if requirement < prior:
        raise BadInput(f"a risk of {float(requirement):g} is below the {float(prior):.3g} of a blind guess")
