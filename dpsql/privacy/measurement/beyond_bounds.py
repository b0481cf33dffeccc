"""The measurement of which share of each unit's values lies beyond the bounds that the policy declares.

For each column a unit with n rows, b of which are below the bounds and a above, stands for ⌊S·b/n⌋ below and ⌊S·a/n⌋ above;
and it counts once, S, among the units. So every unit has the same say, however many rows it has.

Claim: adding or removing all rows of one unit moves the cells by `sensitivity` at most, their moves added up.
Proof: a unit is in one row of `per unit`, by its own rows alone. It adds ⌊S·b/n⌋ + ⌊S·a/n⌋ ≤ S to the two cells of a column,
since no value is both, and S to the number of units. So independent noise with P(z) ∝ exp(−|z|·ε/sensitivity) in each cell is
ε-DP (Dwork, McSherry, Nissim, Smith 2006).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.frozen import quickly_made
from dpsql.privacy.measurement.contribution import ContributionBound
from dpsql.privacy.measurement.engine_sql import BoundedScan
from dpsql.rewrite.analysis.groups import NO_KEYS, Groups
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.source import from_where
from dpsql.rewrite.ir.expr import TRUE, Ref
from dpsql.rewrite.ir.relation import Relation

ONE_UNIT = 2**20
"""S: what a unit is in each cell at most."""


@quickly_made
@dataclass(frozen=True, slots=True)
class BeyondBounds:
    """The shares of the values of some columns below and above their bounds."""

    relation: Relation
    bound: ContributionBound
    columns: tuple[Ref, ...]
    """Columns of the relation's first table that have bounds."""
    epsilon: Fraction = Fraction(0)

    @property
    def groups(self) -> Groups:
        """Return that there are none."""
        return NO_KEYS

    @property
    def sensitivity(self) -> int:
        """Return what one unit adds to all cells together."""
        return (len(self.columns) + 1) * ONE_UNIT

    @property
    def scale(self) -> Fraction:
        """Return the scale of each cell's noise."""
        return Fraction(self.sensitivity) / self.epsilon

    def sql(self, emitter: Emitter) -> str:
        """Return the engine's statement: one row with the number of units, and two sums for each column, as text.

        SELECT count(*), sum(1048576 * c0 // n), … FROM (SELECT u, count(*) AS n, sum(b0) AS c0, …
        FROM (SELECT passenger_id AS u, CASE WHEN fare < 0 THEN 1 ELSE 0 END AS b0, … FROM trips) AS r GROUP BY u)
        """
        dialect = emitter.dialect
        # Two tests a column, in the order in which `cells` are read: below, above.
        tests = [test for ref in self.columns for test in emitter.beyond(ref)]
        values = [f"CASE WHEN {test} THEN 1 ELSE 0 END AS b{i}" for i, test in enumerate(tests)]
        every = from_where(replace(self.relation, needed=()), TRUE, [], self.bound.unit, emitter)
        scan = BoundedScan((), self.bound, emitter, every)
        counts = [f"CAST(sum(b{i}) AS BIGINT) AS c{i}" for i, _ in enumerate(tests)]
        units = f"SELECT {', '.join(['u', 'count(*) AS n', *counts])} FROM ({scan.rows(values)}) AS r GROUP BY u"
        shares = [dialect.total(dialect.integer_quotient(f"{ONE_UNIT} * c{i}", "n")) for i, _ in enumerate(tests)]
        return f"SELECT {', '.join(map(dialect.as_text, ['count(*)', *shares]))} FROM ({units}) AS p"

    def cells(self, answer: Sequence[Sequence[int]]) -> list[int]:
        """Return the cells: the units, and for each column what is below and above, from the row of `sql`."""
        ((units, *shares),) = answer
        return [units * ONE_UNIT, *shares]
