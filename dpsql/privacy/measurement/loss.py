"""How much weights are expected to take off an answer, by the statement and the policy alone: designs differ in it."""

from fractions import Fraction

from dpsql.privacy.measurement.contribution import Bound, Form
from dpsql.rewrite.analysis.groups import Groups

_SHARE = Fraction(1, 200)
"""The share of all rows that `max_rows` takes off, as owners choose it: a larger share would be seen, and for a smaller one
noise would be larger than it need be. Of the demo's trips it is 7 in 100, of a million trips with fewer heavy units 1."""


def expected_loss(rows: int | None, groups: Groups, bound: Bound, epsilon: Fraction) -> Fraction:
    """Return how many of a group's rows weights take off, in C/ε, which is what noise is measured in.

    `epsilon` is the most that a statement of the role pays. It is 0 where nothing is weighed, and where nobody says how many
    rows a group has: then designs are compared by their noise alone.
    """
    if bound.form is not Form.REWEIGHT or not rows or not groups.grouped:
        return Fraction(0)
    share, paid = _SHARE.denominator, epsilon  # which is 1 of so many
    return Fraction(rows * paid.numerator, share * len(groups.grouped) * paid.denominator * bound.rows)
