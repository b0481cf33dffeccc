"""What rows are weighed by where no row need count in full: what each can add to the largest coordinate."""

from dataclasses import dataclass

from dpsql.rewrite.dialects.base import Dialect

MOST_NORM = 2**62
"""What sums of norms are cut off at; the most that one unit may have is below."""


@dataclass(frozen=True, slots=True)
class Norms:
    """What rows can add to the largest coordinate, as a column of whole numbers that are never NULL."""

    text: str
    most: int
    """What no row's is above."""
    beside: bool = False
    """Whether they are weighed by beside the number of rows, for sums, and not instead of it."""
    block: str | None = None
    """The column that says in which block of its group a row is, if there are several."""
    by_group: bool = True
    """Whether what they are weighed by is averaged over each group's rows, or as large as the largest of the unit."""

    def total(self, dialect: Dialect) -> str:
        """Return the sum of many rows' as a 64-bit integer; what is cut off has no weight left."""
        return f"CAST(least({dialect.total(self.text)}, {MOST_NORM}) AS BIGINT)"
