"""How much of the data one privacy unit can be: C rows' worth, enforced in the engine's own statement.

*Mass scaling* (for sums and quantiles): a unit with m rows in the measured relation gives each of them the integer weight
floor(W·C / max(m, C)). So its weights add up to at most C·W for all m, and to exactly m·W when m ≤ C. They depend on the
unit's own rows only. The weights come by an INNER JOIN: a row without a weight is left out, so a mistake loses rows and
never counts one too many. Both scans stand in one statement and see one snapshot. Where only heavy units' rows are
weighed (`engine_sql`), the integers are the same.

*Norm scaling*: if no number of rows is measured, no row need count in full. Then the *norms* ρ of the rows are added up
instead of the rows; ρ is the most that a row can add to the largest coordinate. With S the most of any row, w = ⌊W·C·S /
max(Σρ, C·S)⌋ keeps Σ w·ρ to C·W·S just as well. It is never smaller than the weight by rows, so that less of a heavy unit
is lost.

Where rows are counted and sums from 0 asked beside (`Bound.two_weights`), rows weigh w as above, and v ≥ w in those sums.
With n_g rows of the unit in group g (or in a group's block, where there are some), and r_g what they can add to a sum there,
v = ⌊w·S / c⌋ where c > r_g / n_g for every g, at most W and at least w. Then v·r_g ≤ w·S·n_g: in no group do the sums move
further than what counts rows may move there, so that the unit moves all groups by Σ_g w·S·n_g ≤ C·W·S at most in the norm
Σ_groups max|coordinate|, as if there were no sums. A measurement of their own would keep the sums as well, but take half of
ε from the count and half from the sums.

No mean is above the largest row, so that any c above the norms of all of the unit's rows will do, too. It is what is taken
where groups are so many that most of those that a unit is in have a row or two of it (`Bound.scatters`): v is little less
then, and DuckDB, which need not tell the unit's rows apart by group, takes a third of the time.

*Scaling by an account* (for questions that stand while a table grows): an account says what a unit's rows have weighed in
earlier measurements of the question, `used`. With n rows in this one each weighs ⌊max(0, C·W − used) / n⌋, at most W, and n
times that is added. As n·w ≤ max(0, C·W − used), the account never passes C·W, whatever rows came, moved or vanished between
two measurements, and in whichever order they were made: a unit's weights in all of them together add up to at most C·W. Only
rows are weighed so, no norms. That the account is kept is the caller's: see `dpsql.standing`.

*Scaling by squares* (for Gaussian noise, see `euclidean`): a unit with n_g rows in each group g weighs by ℓ, the root of
Σ n_g² rounded up, and not by how many rows it has: ⌊W·C / max(ℓ, C)⌋. Groups are told apart as they come back.

*Selection* (for keys and distinct values that are released: a weighted unit could touch any number of them): the first C
rows of each unit. The order is total over everything that the measurement reads, and the same for values that the engine
takes for one. An order of their texts would put −0 and 0 in different places.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from dpsql.frozen import quickly_made
from dpsql.policy.model import SqlType
from dpsql.privacy.features.lattice import FINE, HEAVIEST, MOST_POINTS
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.ir.expr import Ref

# Weights are whole numbers, since sums of floats depend on the order of the rows. A unit with m rows weighs ⌊W·C/m⌋ a
# row: for C = 20 and 30 rows 43,690 of 65,536, and its 30 rows together no more than 20·65,536.
WEIGHT = 2**16
"""W: at most one row in W of a unit's mass is lost to rounding down while m ≤ W."""

_SCATTERING = 8
"""How many groups there are for each row that a unit may have where its rows are taken to be scattered over them."""


class Form(Enum):
    """The means that keep a unit to its bound."""

    UNIQUE = "the engine enforces one row per unit"
    REWEIGHT = "mass scaling"
    TRUNCATE = "selection of rows"
    ACCOUNT = "mass scaling by what an account has left"
    EUCLIDEAN = "mass scaling by the root of the squares of a unit's rows in each group"

    @property
    def weighs(self) -> bool:
        """Return whether rows have weights."""
        return self is not Form.UNIQUE and self is not Form.TRUNCATE


ACCOUNT = "dpsql_account"
"""The table of each unit's account, where rows are scaled by it: `unit`, as a text, and `used`, in whole 1/W of a row."""


@quickly_made
@dataclass(frozen=True, slots=True)
class ContributionBound:
    """The owner of the rows, the number of rows' worth that one unit may have, and the means that enforce it."""

    unit: Ref
    rows: int
    """C."""
    form: Form
    most_groups: int | None = None
    """In how many groups a unit may be, where the policy says so."""
    once: bool = False
    """Whether a unit has no more rows here than in the table that names it, where that is read."""
    single: bool = False
    """Whether the engine itself enforces that a unit has one row."""
    up_to: int | None = None
    """The most that C may be where it is chosen for the statement; until then it is taken for `rows`."""

    @property
    def groups(self) -> int:
        """Return in how many groups a unit may be: in as many as it may have rows, unless the policy says otherwise."""
        return self.rows if self.most_groups is None else self.most_groups

    def at_most(self, number: int) -> "ContributionBound":
        """Return the bound of what a unit has no more of than that many."""
        most = self.up_to if self.up_to is None else min(self.up_to, number)
        return replace(self, rows=min(self.rows, number), up_to=None if most == 1 else most)

    def settled(self, rows: int) -> "ContributionBound":
        """Return the bound with the C that was chosen."""
        return replace(self, rows=rows, up_to=None)

    def scatters(self, groups: int) -> bool:
        """Return whether groups are so many that most of a unit's have a row or two, be they a few times as many as count."""
        return self.most_groups is None and groups >= _SCATTERING * self.rows

    @property
    def weighs_alike(self) -> bool:
        """Return whether rows weigh in sums as in counts, but for what a C takes off that was chosen to take little off.

        A mean of the two is off by no more than the share that it takes off the count; under a declared C that may be much.
        """
        return self.form is not Form.REWEIGHT or self.up_to is not None

    @property
    def weight(self) -> int:
        """Return W, the weight of a row of a unit that keeps to its bound."""
        if not self.form.weighs:
            return 1
        return min(max(WEIGHT, 1 << (16 * self.rows - 1).bit_length()), HEAVIEST)

    @property
    def mass(self) -> int:
        """Return the most that one unit's weights can add up to."""
        return self.weight * self.rows

    def weights(
        self,
        unit: str,
        from_where: str,
        dialect: Dialect,
        *,
        number: str = "count(*)",
        row_norm: int = 1,
        once: Sequence[str] | None = None,
    ) -> str:
        """Return the CTE `h (hu, w)` of every unit's weight, `number` being the unit's rows as a 64-bit integer.

        Where `number` is what the rows' norms add up to, of which one is at most `row_norm`, what is bounded is that.
        Where there is a row for each unit already, the columns `once` of it come with the weights.
        """
        rows = f"greatest({number}, {self.rows * row_norm})"
        weight = dialect.unit_weight(self.mass * row_norm, rows, heaviest=self.weight)
        columns = ", ".join([f"{unit} AS hu", f"{weight} AS w", *(once or ())])
        return dialect.common_table("h", f"SELECT {columns} {from_where}{' GROUP BY 1' if once is None else ''}")

    def weights_left(self, rows: str, dialect: Dialect) -> str:
        """Return the CTE `h (hu, n, w)` of the weights that accounts leave the units of `rows`, and how many rows they have.

        A unit without an account is not in it, and does not count.
        """
        # What the unit has used in earlier periods of the same question is gone for good; here it has what is left.
        left = f"greatest({self.mass} - a.used, 0)"
        weight = f"CAST(least({dialect.integer_quotient(left, 'p.n')}, {self.weight}) AS BIGINT)"
        numbers = f"SELECT u, count(*) AS n FROM {rows} AS r GROUP BY u"
        joined = f"({numbers}) AS p JOIN {ACCOUNT} AS a ON a.unit = {unit_text('p.u')}"
        return dialect.common_table("h", f"SELECT p.u AS hu, p.n AS n, {weight} AS w FROM {joined}")

    def weights_of_squares(self, parts: str, dialect: Dialect) -> str:
        """Return the CTE `h (hu, w)` of every unit's weight by the root of the squares of its rows in each group.

        `parts` has a row for each unit `u` and group, with the number `n` of its rows there. The root is found in double
        precision, which errs by one at most, and made the least whole number with ℓ² ≥ Σ n² by whole numbers.
        """
        weight = dialect.unit_weight(self.mass, f"greatest(l, {self.rows})", heaviest=self.weight)
        weighed = f"CASE WHEN q < {MOST_IN_GROUP**2} THEN {weight} ELSE 0 END"
        return dialect.common_table("h", f"SELECT u AS hu, {weighed} AS w FROM ({self.lengths(parts, dialect)}) AS c")

    def lengths(self, parts: str, dialect: Dialect) -> str:
        """Return the SELECT of every unit `u`, the number `n` of its rows, the sum `q` of squares and its length `l`.

        All are cut off at what 64 bits have room for; see `weights_of_squares`.
        """
        # Cut off before it is squared: (2³¹ − 1)² fits into 64 bits, and a unit with more rows than that in a group
        # gets no weight.
        square = f"least(n, {MOST_IN_GROUP}) * least(n, {MOST_IN_GROUP})"
        q = f"CAST(least({dialect.total(square)}, {MOST_IN_GROUP**2}) AS BIGINT)"
        number = f"CAST(least({dialect.total('n')}, {MOST_NORM}) AS BIGINT)"
        squares = f"SELECT u, {q} AS q, {number} AS n FROM {parts} GROUP BY u"
        root = dialect.forms.ceil.format(f"sqrt({dialect.cast('q', SqlType.DOUBLE)})")
        roots = f"SELECT u, q, n, CAST({root} AS BIGINT) AS r FROM ({squares}) AS a"
        least = "CASE WHEN (r - 1) * (r - 1) >= q THEN r - 1 WHEN r * r >= q THEN r ELSE r + 1 END"
        return f"SELECT u, q, n, {least} AS l FROM ({roots}) AS b"

    def two_weights(self, parts: str, dialect: Dialect, *, row_norm: int, once: Sequence[str] | None = None) -> str:
        """Return the CTE `h (hu, w, v)` of what every unit's rows weigh, and what they weigh in sums.

        `parts` are `u`, the number of its rows `n` and the number `c` of the module's claim, by unit and by group (and
        block); or by unit alone: then the columns `once` of it come with the weights.
        """
        number, above = ("CAST(sum(n) AS BIGINT)", "max(c)") if once is None else ("n", "c")
        also = "".join(f", {name}" for name in once or ())
        weight = dialect.unit_weight(self.mass, f"greatest({number}, {self.rows})", heaviest=self.weight)
        grouping = " GROUP BY 1" if once is None else ""
        units = f"SELECT u, {weight} AS w, {above} AS c{also} FROM {parts}{grouping}"
        own = dialect.integer_quotient(f"CAST(w AS BIGINT) * {row_norm}", "c")
        own = f"greatest(w, CAST(least({own}, {self.weight}) AS {dialect.weight_type(self.weight)}))"
        return dialect.common_table("h", f"SELECT u AS hu, w, {own} AS v{also} FROM ({units}) AS n")


MOST_NORM = 2**62
"""Sums of norms are cut off at this; the most that one unit may have is below."""


@dataclass(frozen=True, slots=True)
class Norms:
    """The most that rows can add to the largest coordinate, as a column of whole numbers that are never NULL."""

    text: str
    most: int
    """No row has a norm above it."""
    beside: bool = False
    """Whether these norms weigh rows in sums beside the number of rows, and not instead of it."""
    block: str | None = None
    """The column that says in which block of its group a row is, if there are several."""
    by_group: bool = True
    """Whether the norm is averaged over each group's rows, or is the largest of the unit."""

    def total(self, dialect: Dialect) -> str:
        """Return the sum of many rows' as a 64-bit integer; what is cut off has no weight left."""
        return f"CAST(least({dialect.total(self.text)}, {MOST_NORM}) AS BIGINT)"


MOST_IN_GROUP = 2**31 - 1
"""Rows of a unit in a group whose square is computed; a unit with as many or more has no weight."""


def unit_text(unit: str) -> str:
    """Return the text by which an account is kept: different units have different ones, whole numbers and texts alike."""
    return f"CAST({unit} AS VARCHAR)"


def rows_within_bound(rows: str, columns: Sequence[str], most: int, salt: str = "u") -> str:
    """Return the rows of `rows` that are among the first `most` of their unit `u`, ordered by all of `columns`.

    Rows that are equal in every column contribute the same, so it does not matter which of them stays. For that,
    values that the engine takes for one must have one text, and `salt`, which makes the order each unit's own, one for
    each unit.
    """
    # By a hash with the unit in it, so that which rows stay has nothing to do with their values: ordered by a column,
    # the lowest would stay, and every mean be too low. The columns behind the hash decide if two hashes are equal.
    order = ", ".join((f"md5(concat_ws('|', {', '.join((salt, *columns))}))", *columns)) if columns else "u"
    ranked = f"SELECT r.*, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({rows}) AS r"
    return f"SELECT * FROM ({ranked}) AS ranked WHERE place <= {most}"


# How fine values are rounded, such that nobody sees it in a sum: by the statement and the policy alone.

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
