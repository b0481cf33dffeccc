"""The measurement of order statistics: one statement counts rows per bucket, buckets are then chosen privately.

Claim: adding or removing one unit moves all counts of a group's histogram, and all groups' together, by at most
`bound.mass` (a row is in one group and one bucket, and carries its weight). For MIN and MAX rows are a unit's own extremes,
one for each group that it is in: the extreme of all rows is that of these. `quantile.py` and `extreme.py` take it from there;
for many points the histogram itself is released with discrete Laplace noise of scale mass/ε (Dwork, McSherry, Nissim, Smith
2006), and every point is read off it.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.privacy.features.chosen_end import ChosenEnd
from dpsql.privacy.features.feature import ScaledExpr
from dpsql.privacy.measurement.contribution import USUAL_ROWS, ContributionBound, Form
from dpsql.privacy.measurement.engine_sql import BoundedScan, HeavySum, RowValues, UnitNumbers, numbers_of_units
from dpsql.privacy.mechanisms import extreme, quantile
from dpsql.privacy.mechanisms.quantile import OUTER, depth
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.emit.binning import Grid, bucket, bucket_order, outermost
from dpsql.rewrite.emit.emitter import Emitter, with_columns_clamped_once
from dpsql.rewrite.functions.table import integral
from dpsql.rewrite.functions.temporal import is_elapsed
from dpsql.rewrite.ir.expr import Expr
from dpsql.rewrite.ir.relation import Relation

BUCKETS = 1024
"""Of what has more values, and not too many groups."""
_FINE, _FINE_PAIRS = 2**14, 2**12
"""The buckets of few groups together, where so many rows are expected: half of one is what a chosen value is off by at
most besides noise. A score with every width takes a second of a processor for 2^17 buckets."""
_FEW_READ = 8
"""Rows are read first, to find the outermost, where they are one of so many that are expected at most."""
_FEW_POINTS = 12
"""Of more points buckets stay wide, for they are read off noisy ones."""
_CELLS = 2**22
"""The most cells of a histogram over all groups; with more groups the buckets become wider."""
_PAIRS = 2**24
"""The most pairs of a bucket and a width over all groups."""
_READ_OFF = 7
"""m points are read off one noisy histogram of k buckets when 7·m² > k.

Chosen each for its share of ε they are off by about 1.3·m rows' mass/ε; read off, by 16 at k = 1,024, 6 at 256, 1 at 64, 0.2
at 31 and next to nothing at 7 (means over lognormal and uniform values, 20,000 rows).
"""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Order statistics of one expression over the groups of a relation: points in [0, 1]; 0 and 1 are the extremes."""

    relation: Relation
    where: Expr
    groups: Groups
    x: ScaledExpr
    points: tuple[Fraction, ...]
    extremes: bool
    """Whether it is for MIN or MAX, the only point 0 or 1, which have a mechanism of their own."""
    bound: ContributionBound
    epsilon: Fraction
    margin: bool = False
    """Whether the margin is chosen together with the point, of which there is one."""
    told_apart: int | None = None
    """How many units beyond a bucket of an extreme are as good as any number; None where all are read anyway."""
    end: ChosenEnd | None = None
    """The end of the interval, if it is the extreme of a number of each unit's and C is chosen for that."""

    @property
    def number(self) -> int:
        """Return k, the number of buckets."""
        return self._most if self.x.interval.low >= 0 else self.grid.number

    @property
    def _most(self) -> int:
        rows = self.relation.expected_rows or USUAL_ROWS
        fine = not self.extremes and len(self.points) <= _FEW_POINTS
        return bucket_count(self.x, len(self.groups.grouped), rows if fine else 0, pairs=self.margin)

    @property
    def grid(self) -> Grid:
        """Return the buckets: of values that are chosen they are the finer the smaller these are."""
        if self.whole or self.extremes or len(self.points) > _FEW_POINTS or self.x.expr.type.is_temporal or self.noisy:
            return Grid(self.x.interval, self._most)
        if self.x.interval.low < 0:
            return Grid.around_zero(self.x.interval, self._most, coarse=is_elapsed(self.x.expr))
        return Grid.of(self.x.interval, self._most)

    @property
    def whole(self) -> bool:
        """Return whether each bucket is one value."""
        return _whole(self.x) and self._most == self.x.interval.width + 1

    @property
    def noisy(self) -> bool:
        """Return whether the points are read off one noisy histogram."""
        # Chosen one by one, m points have ε/m each; a noisy histogram has all of ε, and any number of points.
        several = len(self.points) if len(self.points) > 1 else 0
        return not self.extremes and _READ_OFF * several**2 > self._most

    @property
    def chooses_one(self) -> bool:
        """Return whether it has one point, which is chosen, and no extreme: how far off it is can be chosen along."""
        return not self.extremes and len(self.points) == 1

    @property
    def scale(self) -> Fraction:
        """Return the scale of the histogram's noise."""
        return Fraction(self.bound.mass) / self.epsilon

    def enough(self, mass: int) -> int:
        """Return about how many rows make a group's points more than guesses, where one unit has `mass` of them.

        Where they are read off, noise alone has as large a sum once in 24 times: √(6·k) scales are 1.7 of its standard
        deviations.
        """
        if self.noisy:
            return math.isqrt(math.floor(6 * self.number * (mass / self.epsilon) ** 2)) + 1
        if self.extremes:
            return extreme.fewest_units(self.epsilon, mass)
        if self.margin:
            return quantile.enough(self.epsilon, mass)
        return max(depth(self.number, self.epsilon / len(self.points), mass), 1)

    def ranks(self, q: Fraction) -> float | None:
        """Return by how many ranks a chosen point is off at most with 95 %; None where it is read off, or an extreme."""
        if self.noisy or self.extremes:
            return None
        if self.margin:
            share, choices = self.epsilon * (1 - quantile.COUNTED), self.number**2
        else:
            share, choices = self.epsilon / len(self.points), self.number
        whole = (
            not self.margin and min(q, 1 - q) <= OUTER
        )  # a step of an outer quantile's score is a row, of others less
        return float(depth(choices, share, self.bound.rows) * (1 if whole else max(q, 1 - q)))

    def half_width(self, buckets: int, at: int) -> Fraction:
        """Return how far the value of a bucket may be from a value that is so many buckets away at most."""
        if self.whole:
            return Fraction(buckets)
        return self.grid.half_width(buckets, at) + Fraction(1 if _whole(self.x) else 0, 2)

    def ends(self, first: int, last: int) -> tuple[Fraction, Fraction]:
        """Return between which values buckets are, of which some may lie beyond the ends of the interval."""
        first, last = max(first, 0), min(last, self.number - 1)
        if self.whole:
            return self.x.interval.low + first, self.x.interval.low + last
        return self.grid.end(first), self.grid.end(last + 1)

    def value(self, index: int) -> Fraction:
        """Return the public point that stands for a bucket: its only value, or its middle."""
        if self.whole:
            return self.x.interval.low + index
        # A bucket is shown by one value that the policy and the statement decide. Its rows' mean would be theirs.
        middle = self.grid.middle(index)
        return Fraction(math.floor(middle + Fraction(1, 2))) if _whole(self.x) else middle

    @property
    def row_norm_of_units(self) -> int:
        """Return what one row is in `rows_of_units`."""
        return 1 if self.end is None else self.end.parts

    @property
    def bounds_rows(self) -> bool:
        """Return whether it is the number of a unit's rows that is bounded."""
        return not self.extremes

    def rows_of_units(self, emitter: Emitter) -> UnitNumbers:
        """Return each unit `u` and how many rows, or of extremes groups, it has, or its largest number: `n`."""
        if self.end is not None:
            return numbers_of_units(self.relation, self.where, self.end, self.bound, emitter)
        keys, used = (self.groups.keys, [self.x.expr]) if self.extremes else ((), [])
        scan = BoundedScan.of_units(self.relation, self.where, keys, used, self.bound, emitter)
        return scan.per_unit(scan.rows((), distinct=True) if self.extremes else None)

    def paying(self, epsilon: Fraction) -> "Histogram":
        """Return the measurement at an ε, which says how many units an extreme of one large group is read off."""
        # Only then can rows be left unread: with groups, or several rows a unit, the outermost rows of all say nothing
        # of each.
        extreme_of_all = self.extremes and self.bound.form is Form.UNIQUE and not self.groups.keys
        most = extreme.units_told_apart(epsilon, self.bound.mass) if extreme_of_all else None
        alone = len(self.relation.sources) == 1 and self.relation.sources[0].made is None
        if most is not None and alone and _FEW_READ * self._read_first(most) <= self._expected:
            return replace(self, epsilon=epsilon, told_apart=most)
        return replace(self, epsilon=epsilon)

    @property
    def _expected(self) -> int:
        return self.relation.expected_rows or USUAL_ROWS

    def _read_first(self, most: int) -> int:
        """Return in how many rows the value is found that `most` units reach: about half as many lie beyond it in all."""
        return 2 * math.isqrt(most * self._expected)

    def settled(self, rows: int) -> "Histogram":
        """Return the measurement with the C that was chosen."""
        if self.end is not None:
            end = replace(self.end, rows=rows)
            return replace(self, end=end, x=end.clamped(self.x), bound=replace(self.bound, up_to=None))
        return replace(self, bound=self.bound.settled(rows))

    def sql(self, emitter: Emitter) -> str:
        """Return the engine's statement: the groups' keys, the bucket, and its weight as text."""
        used = [self.x.expr, self.where, *(key.grouped for key in self.groups.keys)]
        return with_columns_clamped_once(self._sql, self.relation, used, emitter)

    def _sql(self, emitter: Emitter) -> str:
        scan = BoundedScan.of(self.relation, self.where, self.groups.keys, [self.x.expr], self.bound, emitter)
        if self.extremes:
            scan = scan.told_apart()
            rows = self._extreme_rows(scan)
            chosen = "max(b)" if self.points[0] else "min(b)"
            return scan.grouped(rows, ["count(*)"], ["b"], "b") if self.bound.single else scan.one_a_unit(rows, chosen)
        values = self._row_values(emitter)
        if scan.maybe_heavy:
            return scan.heavy_apart(values, [HeavySum("count(*)", "w", emitter.dialect.total("w"))], "b")
        weight = emitter.dialect.total("w") if self.bound.form is Form.REWEIGHT else "count(*)"
        return scan.summed(values, [weight], "b")

    def _row_values(self, emitter: Emitter) -> RowValues:
        """Return the bucket of each row; in two steps where the second reads more than once what the first computes."""
        grid = self.grid
        if grid.parts == 1:
            return RowValues([f"{self._equal(emitter)} AS b"])
        fine = bucket(emitter, self.x.expr, self.x.interval, grid.fine, single=False)
        return RowValues([f"{grid.index(emitter, 'x')} AS b"], [f"{fine} AS x"])

    def _equal(self, emitter: Emitter) -> str:
        return bucket(emitter, self.x.expr, self.x.interval, self.number, single=self.whole)

    def _extreme_rows(self, scan: BoundedScan) -> str:
        """Return the SELECT of rows of which extremes are chosen: all, or the outermost."""
        part = self._equal(scan.emitter)
        if self.told_apart is None:
            return scan.rows([f"{part} AS b"])
        emitter, most = scan.emitter, self.told_apart
        scan = replace(scan, unit_read=emitter.dialect.without_range(scan.unit, self.bound.unit.type))
        rows = scan.rows([f"{part} AS b", f"{bucket_order(emitter, self.x.expr, part)} AS x"])
        return outermost(rows, emitter.dialect, largest=bool(self.points[0]), most=most, some=self._read_first(most))


def usual_counts(x: ScaledExpr, rows: int) -> tuple[int, ...]:
    """Return how many buckets most histograms of a table with so many rows have: with several groups, and without."""
    return tuple(dict.fromkeys((BUCKETS, bucket_count(x, 1, rows))))


def bucket_count(x: ScaledExpr, groups: int, rows: int, *, pairs: bool = False) -> int:
    """Return how many buckets a histogram has: as fine as the type, up to 1,024, fewer with very many groups.

    With few groups there are more, a power of two, where so many `rows` are expected in each.
    """
    cells = _PAIRS // len(quantile.widths(BUCKETS)) if pairs else _CELLS
    fine = min(_FINE_PAIRS if pairs else _FINE, rows) // max(groups, 1)
    most = max(min(BUCKETS, cells // max(groups, 1)), 2, 1 << max(fine.bit_length() - 1, 0))
    width = x.interval.width
    if _whole(x) and width < most:
        return int(width) + 1
    return most if width else 1


def is_counted(histogram: Histogram) -> bool:
    """Return whether its values are whole numbers, or times."""
    return _whole(histogram.x)


def _whole(x: ScaledExpr) -> bool:
    return integral(x.expr) or x.expr.type.is_temporal
