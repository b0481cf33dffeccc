"""The steps of numbers: all values are whole multiples of one."""

import math
from collections.abc import Iterable
from fractions import Fraction


def common_step(steps: Iterable[Fraction]) -> Fraction:
    """Return the largest number of which all are whole multiples; 0 where all are 0."""
    common = Fraction(0)
    for step in steps:
        below = math.lcm(common.denominator, step.denominator)
        common = Fraction(math.gcd(int(common * below), int(step * below)), below)
    return common
