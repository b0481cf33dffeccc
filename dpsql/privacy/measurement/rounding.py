"""How fine values are rounded, such that nobody sees it in a sum: by the statement and the policy alone."""

from fractions import Fraction

from dpsql.privacy.features.lattice import FINE, MOST_POINTS

USUAL_ROWS = 10**6
"""The rows of a table that does not say how many to expect, or fewer: there may be more than somebody has declared."""
_MARGIN = Fraction(3, 2)
"""The least margin of a sum, in C/ε times the width of its interval: noise is within 2.996 scales of half of it in 95 %."""
_SHARE = 10
"""How many times smaller than the margin the error by rounding is, if all rows are off to the same side."""


def foreseen(rows: int | None) -> int:
    """Return how many rows rounding is to be invisible in, of a table that expects so many, which proves nothing."""
    return max(rows or 0, USUAL_ROWS)


def least_points(rows: int | None, mass: int, epsilon: Fraction) -> int:
    """Return the least power of two S with rows/(2S) ≤ a tenth of the margin, in widths of the interval.

    Values are off by a quarter of that at most. `mass` is C, and `epsilon` the most that a statement of the role pays: with
    less its margin is wider. A million fares of 2.75 in [0, 150] were off by 74 margins with S = 2^10.
    """
    margin, per = _MARGIN.numerator * mass * epsilon.denominator, _MARGIN.denominator * epsilon.numerator
    least = -(-foreseen(rows) * _SHARE * per // (2 * margin))  # the ceiling, in whole numbers
    return min(max(1 << (least - 1).bit_length(), FINE), MOST_POINTS)
