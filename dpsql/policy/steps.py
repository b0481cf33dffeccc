"""The steps of numbers: all values are whole multiples of one."""

import math
from collections.abc import Iterable
from fractions import Fraction


def common_step(steps: Iterable[Fraction]) -> Fraction:
    """Return the largest number of which all are whole multiples; 0 where all are 0."""
    found = Fraction(0)
    for step in steps:
        below = math.lcm(found.denominator, step.denominator)
        found = Fraction(math.gcd(int(found * below), int(step * below)), below)
    return found
