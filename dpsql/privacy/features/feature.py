"""Statistics of one row: numbers in [−1, 1], on an integer lattice, whose sums are all that is ever measured.

Every feature of a row lies in [−1, 1] for all contents of the row, so the vector of d features lies in the cube [−1,
1]^d: the claim on which the sensitivity rests (Hardt and Talwar, STOC 2010, with the cube as the ball of the norm).
The three cells of a value are otherwise: they are shares of the row, never negative, and add up to one.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from dpsql.frozen import HashedOnce, ShownOnce, hashed_once, quickly_made, shown_once
from dpsql.policy.interval import Interval
from dpsql.rewrite.ir.expr import TRUE, Expr


class Shape(Enum):
    """How a feature is made of a row; u(x) = 2(x − L)/(U − L) − 1, and 0 where x is NULL or the condition fails.

    In the cells t = (u + 1)/2: the three Bernstein polynomials of degree 2.
    """

    ONE = "1"
    SIGN = "2·1[condition] − 1"
    VALUE = "u(x)"
    SIGNED = "x / max(|L|, |U|)"
    SQUARE = "2·u(x)² − 1[condition]"
    PRODUCT = "u(x)·u(y)"
    LOW = "(1 − t)²"
    BETWEEN = "2t(1 − t)"
    HIGH = "t²"


CELLS = (Shape.LOW, Shape.BETWEEN, Shape.HIGH)


@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class Scaled(HashedOnce):
    """An expression with the interval that its values are clamped to."""

    expr: Expr
    interval: Interval
    step: Fraction | None = None
    """All values are whole multiples of it, and both ends of the interval; any other value counts as the nearest."""

    @property
    def own_points(self) -> int:
        """Return how many steps there are from end to end; 0 where there is no step."""
        return int(self.interval.width / self.step) if self.step else 0


@shown_once
@hashed_once
@quickly_made
@dataclass(frozen=True, slots=True)
class Feature(ShownOnce):
    """One coordinate of a row's vector."""

    shape: Shape
    where: Expr = TRUE
    """The condition of the rows that it counts; TRUE is all of them."""
    x: Scaled | None = None
    y: Scaled | None = None
    block: int | None = None
    """The block whose rows it is about; None for all rows."""

    def within(self, block: int | None) -> "Feature":
        """Return the same feature of one block's rows, or of all."""
        return self if block == self.block else Feature(self.shape, self.where, self.x, self.y, block)


ONE = Feature(Shape.ONE)
