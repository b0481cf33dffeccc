"""The measurement of how many rows units have, by which C is chosen for a statement that does not have it declared.

C is no privacy parameter: ε holds for a whole unit with every C. A large one has more noise, a small one takes more
off the units that have many rows; which is better depends on the rows that are asked for, which only they tell.

Between two rungs c_j < n ≤ c_{j+1} of a ladder a unit with n rows is split: (n − c_j)/(c_{j+1} − c_j) of it stands at the
upper rung and the rest at the lower one, so that both together have its n rows. Then what any rung c_k takes off all units,
Σ max(n − c_k, 0), is Σ_{j > k} cell_j·(c_j − c_k): it is read off the cells exactly. A unit with fewer rows than the first
rung stands there, and one with more than the last rung at that.

Claim: adding or removing all rows of one unit moves the cells by `sensitivity` at most, their moves added up.
Proof: a unit is in one row of `per unit`, by its own rows alone, and adds non-negative whole numbers to two cells at most,
which add up to `sensitivity`: every gap between rungs, in the steps that n has, divides it. So independent noise with
P(z) ∝ exp(−|z|·ε/sensitivity) in each cell is ε-DP (Dwork, McSherry, Nissim, Smith 2006), however many cells there are.

A unit with one row stands at the first rung, with any columns. So units with more in the whole table are all that need
be told apart, where each row of it is in one measured row at most (`Owners.once`); the others are as many as their
rows.

Where not rows are weighed but their norms (see `contribution`), n is what they add up to, in units of the most that one has.

A number of rows by itself, of no groups, depends on how many rows each unit has, and on nothing else. So the engine need not
be asked for it: whichever C is chosen, it is read off the rows that the ladder was made of (`weighed`).
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import isqrt

from dpsql.frozen import quickly_made
from dpsql.policy.model import CHOOSING
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.analysis.groups import NO_KEYS, Groups
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import TRUE
from dpsql.rewrite.ir.relation import Relation

# The ladder by which C is chosen for a limit in the Euclidean norm: of pairs of a unit's length and the number of its rows.
#
# A unit with n rows and the length ℓ (see `euclidean`) loses n·max(1 − C/ℓ, 0) of them. How many that is does not follow from
# ℓ, beside which n may be √G times as large in G groups. So a unit stands between two rungs of ℓ, with shares that are linear
# in 1/ℓ, of which what it loses is a convex function. At each it stands between the fewest rows and the most that a unit of
# such a length may have, with shares that are linear in n, as what it loses is. What the cells say of it is never less than
# it loses, then. Two cells a rung are enough, since it is linear: more of them would only have more noise.
#
# Claim: adding or removing all rows of one unit moves the cells by `WHOLE`² at most, their moves added up. Proof: it stands
# in one row of the engine's, by its own rows alone, and adds to four cells at most the products of two pairs of whole
# numbers, each of which adds up to `WHOLE`. ∎

WHOLE = 2**12
"""Shares are whole numbers of this part."""


def ends_of(rungs: Sequence[int], groups: int) -> list[tuple[int, int]]:
    """Return for each rung how few rows a unit has that stands at it, and how many it may have in so many groups."""
    last, widest = len(rungs) - 1, isqrt(max(groups, 1)) + 1
    return [(rungs[max(i - 1, 0)], rungs[min(i + 1, last)] * widest) for i in range(last + 1)]


def cells_of(rungs: Sequence[int], groups: int, answer: Iterable[Sequence[int]]) -> list[int]:
    """Return what stands at each rung with few rows and with many, from lengths, numbers, and how many units have both."""
    ends, cells = ends_of(rungs, groups), [0] * (2 * len(rungs))
    for length, number, units in answer:
        for place, of_length in _places(rungs, length):
            few, many = ends[place]
            inside = min(max(number, few), many)
            above = -(-WHOLE * (inside - few) // (many - few))
            cells[2 * place] += units * of_length * (WHOLE - above)
            cells[2 * place + 1] += units * of_length * above
    return cells


def _places(rungs: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Return the rungs at which a length stands, with its shares there."""
    if length <= rungs[0] or length >= rungs[-1]:
        return [(0 if length <= rungs[0] else len(rungs) - 1, WHOLE)]
    below = next(place for place in range(len(rungs) - 1) if length <= rungs[place + 1])
    low, high = rungs[below], rungs[below + 1]
    upper = -(-WHOLE * (length - low) * high // (length * (high - low)))  # up: what is lost is not told too small by it
    return [(below, WHOLE - upper), (below + 1, upper)]


SHARE = CHOOSING - 1
"""A measurement pays so many times what it takes to choose its C."""


@quickly_made
@dataclass(frozen=True, slots=True)
class RowsPerUnit:
    """How many rows the units have that another measurement reads."""

    of: Sums | Histogram
    epsilon: Fraction = Fraction(0)
    also: int = 1
    """A rung that the ladder has beside its own."""

    @property
    def relation(self) -> Relation:
        """Return whose rows are counted."""
        return self.of.relation

    @property
    def bound(self) -> ContributionBound:
        """Return the bound that is to be chosen."""
        return self.of.bound

    @property
    def groups(self) -> Groups:
        """Return that there are none."""
        return NO_KEYS

    @property
    def rungs(self) -> tuple[int, ...]:
        """Return what C may be, ascending."""
        own = rungs(self.bound.up_to or self.bound.rows)
        return own if self.also in own else tuple(sorted((*own, self.also)))

    @property
    def sensitivity(self) -> int:
        """Return what one unit adds to all cells together."""
        if self.is_by_length:
            return WHOLE**2
        return self.of.row_norm_of_units * math.lcm(*(b - a for a, b in pairwise(self.rungs)))

    @property
    def scale(self) -> Fraction:
        """Return the scale of each cell's noise."""
        return Fraction(self.sensitivity) / self.epsilon

    @property
    def is_by_length(self) -> bool:
        """Return whether C limits the length of units in the Euclidean norm: the ladder is of pairs then, see `lengths`."""
        return self.bound.form is Form.EUCLIDEAN

    @property
    def is_by_number(self) -> bool:
        """Return whether the engine is asked how many units have each number; of norms nearly each unit has its own."""
        return (
            not self.is_by_length
            and self.of.row_norm_of_units == 1
            and (not isinstance(self.of, Sums) or self.of.end is None)
        )

    def sql(self, emitter: Emitter) -> str:
        """Return the engine's statement: a number of rows, and how many units have it, as text.

        Where all rows of a table are asked for, and the engine keeps how many units have how many, that is read. Units
        with one row, which stand at the first rung with any contents, may be counted besides.

        SELECT n, count(*) FROM (SELECT passenger_id AS u, count(*) AS n FROM trips GROUP BY 1) AS p GROUP BY n

        Of norms it has the rung below, how many units have it, and what they have.

        SELECT b, count(*), sum(n) FROM (SELECT CASE WHEN n <= 64 THEN -1 WHEN n <= 256 THEN 0 … END AS b, n FROM …) AS q
        GROUP BY b
        """
        dialect, profiled = emitter.dialect, self._known(emitter)
        if isinstance(self.of, Sums) and self.is_by_length:
            every = f"({self.of.lengths_of_units(emitter)}) AS p"
            return f"SELECT l, n, {dialect.as_text('count(*)')} FROM {every} GROUP BY l, n"
        if profiled is not None:
            return f"SELECT n, {dialect.as_text('units')} FROM {profiled} AS p"
        rows_of_units = self.of.rows_of_units(emitter)
        every = f"({rows_of_units.select}) AS p"
        if self.is_by_number:
            numbers, others = f"SELECT n, {dialect.as_text('count(*)')} FROM {every} GROUP BY n", ("1",)
        else:
            norm = self.of.row_norm_of_units
            cases = " ".join(f"WHEN n <= {rung * norm} THEN {place - 1}" for place, rung in enumerate(self.rungs))
            placed = f"SELECT CASE {cases} ELSE {len(self.rungs) - 1} END AS b, n FROM {every}"
            sums = ", ".join(map(dialect.as_text, ("count(*)", dialect.total("n"))))
            numbers, others = f"SELECT b, {sums} FROM ({placed}) AS q GROUP BY b", ("-1",)
        if not rows_of_units.others:
            return numbers
        ends = () if self.is_by_number else (dialect.as_text("0"),)
        return f"{numbers} UNION ALL SELECT {', '.join((*others, dialect.as_text(rows_of_units.others), *ends))}"

    def _known(self, emitter: Emitter) -> str | None:
        """Return the table that says how many units have how many rows, if all rows of a table are asked for."""
        relation, unit = self.relation, self.bound.unit
        kept, only = emitter.kept(unit.table).heavy_rows.get(unit.name), relation.sources[0]
        whole = len(relation.sources) == 1 and only.made is None and relation.where == TRUE and self.of.where == TRUE
        return kept.numbers if kept and whole and self.of.bounds_rows else None

    def cells(self, answer: Sequence[Sequence[int]]) -> list[int]:
        """Return what stands at each rung, in steps, from the rows of `sql` as whole numbers."""
        if self.is_by_length:
            return cells_of(self.rungs, len(self.of.groups.grouped), answer)
        ladder, whole, norm = self.rungs, self.sensitivity, self.of.row_norm_of_units
        cells = [0] * len(ladder)
        placed = (
            ((bisect_left(ladder, n) - 1, units, n * units) for n, units in answer) if self.is_by_number else answer
        )
        for below, units, rows in placed:
            place = min(max(below, 0), len(ladder) - 1)
            if below < 0 or place == len(ladder) - 1:
                cells[place] += units * whole
                continue
            gap = (ladder[place + 1] - ladder[place]) * norm
            upper = (rows - units * ladder[place] * norm) * (whole // gap)
            cells[place + 1] += upper
            cells[place] += units * whole - upper
        return cells

    def weighed(self, answer: Sequence[Sequence[int]], bound: ContributionBound) -> int:
        """Return what the rows of all units weigh together, from the rows of `sql`, each unit's as `contribution` says.

        Claim: that is the very integer of Σ_rows w, and one unit moves it by C·W at most: it adds n·⌊C·W / max(n, C)⌋.
        """
        return sum(units * n * (bound.mass // max(n, bound.rows)) for n, units in answer)


@dataclass(frozen=True, slots=True)
class ChosenBound:
    """The C that was chosen, and how many rows it takes off all units together, as far as the ladder says."""

    rows: int
    cut: int
    """The rows it takes off units that were seen."""
    doubt: int = 0
    """The rows it may take off units that were not, for margins."""
    few: bool = False
    """Whether there are so few units that heavy ones among them would not have been seen."""


@lru_cache(maxsize=256)
def rungs(last: int) -> tuple[int, ...]:
    """Return 1, 4, 16, 64 … up to `last`, which is one of them.

    Finer rungs would spread few heavy units over cells in each of which they are less than the noise.
    """
    return (*(1 << power for power in range(0, (last - 1).bit_length(), 2)), last)
