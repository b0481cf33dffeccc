"""How much of the data one privacy unit can be: C rows' worth, enforced in the engine's own statement.

Mass scaling: a unit with m rows in the measured relation gives each of them the integer weight floor(W·C / max(m, C)),
so its weights add up to at most C·W whatever it does, and to exactly m·W when m ≤ C (mechanisms: "mass scaling"; the
weights depend on the unit's own rows only). The weights come by an INNER JOIN: a row without a weight is left out, so a
mistake loses rows and never counts one too many. Both scans stand in one statement and see one snapshot.
"""

from dataclasses import dataclass

from dpsql.rewrite.expr import Ref
from dpsql.rewrite.function import Dialect

WEIGHT = 2**16
"""W: at most one row in W of a unit's mass is lost to rounding down while m ≤ W."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Whose rows they are, and how many rows' worth one unit may have."""

    unit: Ref
    rows: int
    """C."""
    unique: bool
    """Whether the engine itself enforces one row per unit, so that nothing has to be weighed."""

    @property
    def weight(self) -> int:
        """Return W, the weight of a row of a unit that keeps to its bound."""
        if self.unique:
            return 1
        return max(WEIGHT, 1 << (16 * self.rows - 1).bit_length())

    @property
    def mass(self) -> int:
        """Return the most that one unit's weights can add up to."""
        return self.weight * (1 if self.unique else self.rows)

    def weights(self, unit: str, from_where: str, dialect: Dialect) -> str:
        """Return the CTE `h (hu, w)` of every unit's weight."""
        divide = "//" if dialect is Dialect.DUCKDB else "/"
        weight = f"CAST({self.mass} {divide} greatest(count(*), {self.rows}) AS BIGINT)"
        return f"h AS MATERIALIZED (SELECT {unit} AS hu, {weight} AS w {from_where} GROUP BY 1)"
