"""The measurement that finds keys by the number of units that have them: one statement sums what each unit adds to its keys.

Claim: adding or removing all rows of one unit moves the numbers of at most `bound.rows` keys, all g of them by one
⌊W/√g⌋, and no other unit's; noise and threshold for it are those of `gaussian_selection`.
Proof: the statement reads the distinct pairs of a unit and a key as it comes back, keeps at most `bound.rows` of each
unit's, chosen by that unit's pairs alone, and weighs them by how many that unit has.
"""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.privacy.measurement.contribution import Bound
from dpsql.privacy.measurement.engine_sql import BoundedScan
from dpsql.privacy.mechanisms.gaussian_selection import GaussianSelection, selection, weights
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import TRUE
from dpsql.rewrite.ir.relation import Relation


@dataclass(frozen=True, slots=True)
class KeySearch:
    """The keys of a relation that enough units share."""

    relation: Relation
    groups: Groups
    bound: Bound
    """At most so many keys of a unit, by selection."""
    delta: Fraction
    epsilon: Fraction = Fraction(0)

    def selection(self) -> GaussianSelection:
        """Return the noise and the threshold."""
        return selection(self.epsilon, self.delta, self.bound.rows)

    def sql(self, emitter: Emitter) -> str:
        """Return the engine's statement: the keys, and what their units add to them as text."""
        scan = BoundedScan.of(self.relation, TRUE, self.groups.keys, [], self.bound, emitter)
        *steps, last = weights(self.bound.rows)
        cases = " ".join(f"WHEN n <= {step.keys} THEN {step.weight}" for step in steps)
        return scan.spread(f"CASE {cases} ELSE {last.weight} END" if steps else str(last.weight))
