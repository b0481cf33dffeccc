"""The measurement of sums: one statement of the engine, one scale of noise for all its statistics.

Claim: adding or removing all rows of one unit moves the vector of all groups' coordinates by at most `sensitivity` in the
norm Σ_groups Σ_blocks ‖block‖, where ‖block‖ is the largest of its coordinates, or their sum for the cells of one value.
Proof: a row contributes, to one block of its own group only, w·φ with ‖φ‖ ≤ `row_norm` (see `lattice.coordinate`). One
unit's weights add up to at most `bound.mass`. Of sums alone, each row's weight times its own ‖φ‖ adds up to at most
`bound.mass` times `row_norm`. The triangle inequality does the rest. Sums beside other features may have weights v of
their own. In each group they come to no more than the unit's weight there (`contribution`), so that the largest of its
coordinates is no larger by them. A block counts as a group of its own for that. So noise with P(z) ∝ exp(−‖z‖ / t) per
block, t = ⌈sensitivity / ε⌉, is ε-DP (Hardt and Talwar, STOC 2010).

That a row lies in one block only does not rest on conditions that exclude each other: its block is the value of one CASE.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from dpsql.frozen import quickly_made
from dpsql.policy.model import MechanismName, SqlType
from dpsql.privacy.features.chosen_end import ChosenEnd
from dpsql.privacy.features.feature import (
    ONE,
    Combination,
    Feature,
    ScaledExpr,
    Shape,
    blocks,
    readable_features,
    weighed_by_value,
)
from dpsql.privacy.features.lattice import (
    FINE,
    MOST_POINTS,
    EngineSum,
    columns,
    coordinate,
    lattice,
    own_points,
    row_norm,
)
from dpsql.privacy.measurement.contribution import MOST_NORM, ContributionBound, Form, Norms
from dpsql.privacy.measurement.engine_sql import BoundedScan, HeavySum, RowValues, UnitNumbers, numbers_of_units
from dpsql.privacy.mechanisms.block import Block, epsilon_parts
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.emit.binning import lattice_step
from dpsql.rewrite.emit.emitter import Emitter, with_columns_clamped_once
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref
from dpsql.rewrite.ir.relation import Relation

# The values that a measurement of sums computes of each row, and the sums over them, as the engine is to write them.

_SHORT = 2**22
"""Steps of 32 bits that an engine may add up in 64: it would take 2^41 rows, more than a table of PostgreSQL's has."""


class LatticeValues:
    """The lattice values, conditions and blocks that the inner SELECT computes, each under one name."""

    def __init__(
        self,
        emitter: Emitter,
        bound: ContributionBound,
        points: int,
        block_conditions: Sequence[Expr],
        *,
        in_steps: bool = False,
    ) -> None:
        self.named: dict[str, str] = {}
        self._read: dict[str, str] = {}
        """Expressions of columns before they are rounded, where the engine would compute them each time that they are
        named."""
        self._later: set[str] = set()
        """The texts that read it."""
        self._in_steps = in_steps and bool(emitter.dialect.computed_once)
        self._emitter, self._bound, self.points = emitter, bound, points
        # CASE takes the first condition that holds, so a row gets one number. FILTER (WHERE a), FILTER (WHERE b) could
        # count a row in both, if a and b do not exclude each other after all.
        cases = " ".join(f"WHEN {emitter.sql(where)} THEN {i}" for i, where in enumerate(block_conditions))
        self._block = f"CASE {cases} ELSE {len(block_conditions)} END"

    def summed(self, column: EngineSum, *, weighted: bool, apart: bool = False) -> str:
        """Return the sum as the engine computes it; where heavy units are weighed apart, without weights."""
        weight = ["v" if column.by_value else "w"] if weighted and not apart else []
        long = weighted and (not apart or 2 * self.points > _SHORT)
        text = self._emitter.dialect.total(" * ".join([*weight, *self._factors(column, cast=long)]))
        # What the engine is asked for a mean of fares in [0, 100] with S = 1000: sum(w * f0), with f0 = round(2000 ·
        # (clamped fare) / 100) from 0 to 2000, and count(*) for the rows. `coordinate` makes of both what lies in [−S,
        # S].
        text = text if weight or column.factors else "count(*)"
        conditions = [] if column.block is None else [self.block(column.block)]
        conditions += [] if column.where == TRUE else [self._name(self._emitter.sql(column.where))]
        return f"{text} FILTER (WHERE {' AND '.join(conditions)})" if conditions else text

    def norm(self, columns: Sequence[EngineSum]) -> str:
        """Return the largest of a row's lattice values from 0, whichever of them it counts in; one without a value has S."""
        sizes = [
            f"coalesce({self._from_zero(factor, upwards=column.upwards)}, {self.points})"
            for column, factor in ((c, self._factors(c, cast=False)[0]) for c in columns if c.factors)
        ]
        different = list(dict.fromkeys(sizes))
        return f"greatest({', '.join(different)})" if len(different) > 1 else different[0]

    def _from_zero(self, factor: str, *, upwards: bool) -> str:
        number = self._emitter.cast(factor, SqlType.BIGINT)
        return number if upwards else f"abs({number} - {self.points})"

    def block(self, block: int) -> str:
        """Return the condition that a row is in a block: one number says in which, so it can't be in two."""
        return f"{self.block_name} = {block}"

    @property
    def block_name(self) -> str:
        """Return the column that says in which block a row is."""
        return self._name(self._block)

    def _factors(self, column: EngineSum, *, cast: bool) -> list[str]:
        steps = self.points if column.upwards else 2 * self.points
        names = [self._name(self._stepped(x, steps)) for x in column.factors]
        type_ = self._product(column)
        if not column.centred:
            return [self._emitter.cast(name, type_) if cast or len(names) > 1 else name for name in names]
        return [f"({self._emitter.cast(name, type_)} - {self.points})" for name in names]

    def _stepped(self, x: ScaledExpr, steps: int) -> str:
        own = own_points(x, steps)
        if not self._in_steps or isinstance(x.expr, Ref):
            return lattice_step(self._emitter, x.expr, x.interval, steps, own=own)
        earlier: list[str] = []

        def read(text: str) -> str:
            earlier.append(text)
            return self._read.setdefault(text, f"x{len(self._read)}")

        text = lattice_step(self._emitter, x.expr, x.interval, steps, own=own, read=read)
        self._later.update([text] if earlier else [])
        return text

    @property
    def row_values(self) -> RowValues:
        """Return all with their names, those that are computed of others' names apart from these."""
        if not self._read:
            return RowValues([f"{text} AS {name}" for text, name in self.named.items()])
        read = {**self._read, **{text: name for text, name in self.named.items() if text not in self._later}}
        named = [f"{text} AS {name}" if text in self._later else name for text, name in self.named.items()]
        return RowValues(named, [f"{text} AS {name}" for text, name in read.items()])

    # An overflow in the engine would be an error that depends on data. So the type of each product and sum is chosen
    # for the largest that rows within their bounds can make, and is never the engine's guess.
    def _product(self, column: EngineSum) -> SqlType:
        """Return the type that holds one row's product."""
        most = self._bound.weight * (2 * self.points) ** len(column.factors)
        return self._emitter.dialect.product_type(most)

    def _name(self, text: str) -> str:
        # By its text: what two statistics need of a row is computed once for both.
        return self.named.setdefault(text, f"f{len(self.named)}")


class CountOf(Enum):
    """The things that are counted: rows, each unit, value or tuple of values once a group, or the features of each value."""

    ROWS = "rows"
    UNITS = "units"
    VALUES = "values"
    TUPLES = "tuples"
    EACH_VALUE = "each value"


@quickly_made
@dataclass(frozen=True, slots=True)
class Sums:
    """Noisy sums of features over the groups of a relation."""

    relation: Relation
    where: Expr
    groups: Groups
    features: tuple[Feature, ...]
    bound: ContributionBound
    epsilon: Fraction
    mechanism: MechanismName
    points: int = FINE
    """How fine the lattice of values without a step of their own is to be."""
    delta: Fraction = Fraction(0)
    """Above 0: the groups are not declared, and only those whose noisy count passes a threshold are shown."""
    distinct: CountOf = CountOf.ROWS
    values: tuple[Expr, ...] = ()
    """The value that is counted once, or those of `CountOf.TUPLES`."""
    block_conditions: tuple[Expr, ...] = ()
    """The conditions of the blocks: a row is in the first block whose condition holds, else in one that follows them."""
    of_ratios: bool = False
    """Whether nothing but ratios is read off it, which change less than counts by the rows that a C takes off."""
    end: ChosenEnd | None = None
    """The end of the bounds of a number of each unit's, if that is what C is chosen for."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the coordinates that noise is drawn for together."""
        return blocks(self.features)

    @property
    def lattice(self) -> int:
        """Return S: every value is rounded to one of 2S + 1 points."""
        return lattice(self.features, self.points, self.bound.weight)

    @property
    def row_norm(self) -> int:
        """Return what one row with weight 1 is at most, in the norm of its block."""
        return row_norm(self.features, self.lattice)

    @property
    def steps_per_row(self) -> int:
        """Return what one whole row of weight W adds to the coordinate ONE: noisy sums are divided by it."""
        return self.row_norm * self.bound.weight

    @property
    def sensitivity(self) -> int:
        """Return the most by which one unit moves all coordinates together."""
        return self.bound.mass * self.row_norm

    @property
    def square(self) -> int:
        """Return the square of the most by which one unit moves all coordinates together in the Euclidean norm.

        It is claimed of units that are bounded so: see `euclidean` and `Gaussian`.
        """
        return self.sensitivity**2 * epsilon_parts(self.blocks)

    @property
    def scale(self) -> int:
        """Return the noise's t, or σ."""
        return mechanism(self.mechanism).scale(self.sensitivity, self.blocks, self.epsilon)

    @property
    def worth(self) -> int:
        """Return C: how many rows of a unit count, as such or in a number of its."""
        return self.bound.rows if self.end is None else self.end.rows

    @property
    def readable(self) -> Mapping[Feature, Combination]:
        """Return every feature whose sum is a sum of coordinates."""
        return readable_features(self.features) if self.end is None else self.end.readable(self.features)

    def columns(self) -> tuple["EngineSum", ...]:
        """Return the sums that the engine computes, each once."""
        valued = self.valued
        return tuple(dict.fromkeys(column for feature in self.features for column in _columns(feature, valued)))

    def reader(self) -> Callable[[Sequence[int]], tuple[int, ...]]:
        """Return the function from the engine's columns to the features' sums, as integers; it is used for every group."""
        # Whole numbers from the engine to the noise. Doubles would round, and in another way for each order of the
        # rows: two databases that differ in a unit could then differ by more than `sensitivity`.
        place = {column: index for index, column in enumerate(self.columns())}
        made = [(f.shape, [place[column] for column in _columns(f, self.valued)]) for f in self.features]
        s, size = self.lattice, self.row_norm
        return lambda sums: tuple(coordinate(shape, [sums[i] for i in at], s, size) for shape, at in made)

    def sql(self, emitter: Emitter) -> str:
        """Return the engine's statement: the groups' keys, then `columns()` as text."""
        used = [*self._used(), *self.values, self.where, *(key.grouped for key in self.groups.keys)]
        return with_columns_clamped_once(self._sql, self.relation, used, emitter)

    def _sql(self, emitter: Emitter) -> str:
        match self.distinct:
            case CountOf.ROWS:
                return self._of_rows(emitter)
            case CountOf.UNITS:
                return self._of_units(emitter)
            case CountOf.VALUES:
                return self._of_values(emitter)
            case CountOf.TUPLES:
                return self._of_tuples(emitter)
            case CountOf.EACH_VALUE:
                return self._of_each_value(emitter)

    def _used(self) -> list[Expr]:
        """Return the expressions that features and blocks are made of."""
        return [e for f in self.features for e in (f.where, *(s.expr for s in (f.x, f.y) if s))] + [
            *self.block_conditions
        ]

    def _of_rows(self, emitter: Emitter) -> str:
        used = self._used()
        columns, weighs_norms = self.columns(), self.weighs_norms
        normed, in_steps = weighs_norms or any(c.by_value for c in columns), self.bound.form is not Form.TRUNCATE
        scan = BoundedScan.of(self.relation, self.where, self.groups.keys, used, self.bound, emitter, normed=normed)
        values = LatticeValues(emitter, self.bound, self.lattice, self.block_conditions, in_steps=in_steps)
        weighted = self.bound.form.weighs
        sums = [values.summed(column, weighted=weighted) for column in columns]
        norm = self._norms(values, columns, alone=weighs_norms) if self.bound.form is Form.REWEIGHT else None
        if scan.maybe_heavy:
            # Most units have no more than C rows. So all rows are summed without weights in one scan, and the rows of
            # heavy units, which are weighed, in another: see `engine_sql` for why both together are the same integers.
            plain = (values.summed(column, weighted=True, apart=True) for column in columns)
            every = [HeavySum(p, "v" if c.by_value else "w", s) for p, c, s in zip(plain, columns, sums, strict=True)]
            return scan.heavy_apart(values.row_values, every, norm=norm)
        twice = self.bound.form is Form.UNIQUE and values.row_values.read_twice(sums)
        return scan.summed(values.row_values, sums, norm=norm, twice=twice)

    @property
    def row_norm_of_units(self) -> int:
        """Return what one whole row is in `rows_of_units`."""
        if self.end is not None:
            return self.end.parts
        return self.row_norm if self.weighs_norms and self.distinct is CountOf.ROWS else 1

    @property
    def bounds_rows(self) -> bool:
        """Return whether it is the number of a unit's rows that is bounded."""
        return self.distinct is CountOf.ROWS and not self.weighs_norms and self.end is None

    @property
    def counts_rows(self) -> bool:
        """Return whether it is the number of all rows, of no groups, weighed by how many their unit has."""
        plain = self.features == (ONE,) and not self.groups.keys and not self.delta and self.bound.form is Form.REWEIGHT
        return plain and self.bounds_rows

    def rows_of_units(self, emitter: Emitter) -> UnitNumbers:
        """Return each unit `u` and what it has of what is bounded, `n`: rows, their norms, pairs or values."""
        if self.end is not None:
            return numbers_of_units(self.relation, self.where, self.end, self.bound, emitter)
        columns = self.columns() if self.row_norm_of_units > 1 else ()
        used = (
            [e for f in self.features for e in (f.where, *(s.expr for s in (f.x, f.y) if s))]
            if columns
            else self.values
        )
        keys = () if self.distinct is CountOf.ROWS else self.groups.keys
        scan = BoundedScan.of_units(self.relation, self.where, keys, used, self.bound, emitter)
        if columns:
            # By the very texts of the sums: C is chosen by the norms that rows will then be weighed by.
            lattice = LatticeValues(emitter, self.bound, self.lattice, self.block_conditions, in_steps=True)
            norm = Norms(lattice.norm(columns), lattice.points)
            return scan.per_unit(scan.steps(lattice.row_values), norm.total(emitter.dialect))
        match self.distinct:
            case CountOf.ROWS:
                return scan.per_unit()
            case CountOf.UNITS:
                return scan.per_unit(scan.rows((), distinct=True))
            case CountOf.VALUES | CountOf.TUPLES | CountOf.EACH_VALUE:
                read = [f"{text} AS {name}" for text, name in self._named_values(emitter).items()]
                return scan.per_unit(scan.rows(read, distinct=True))

    def lengths_of_units(self, emitter: Emitter) -> str:
        """Return the SELECT of each unit's length `l` and the number `n` of its rows, of the very rows that are summed."""
        return BoundedScan.of(self.relation, self.where, self.groups.keys, self._used(), self.bound, emitter).lengths()

    def units_accounted(self, emitter: Emitter) -> str:
        """Return the SELECT of the texts by which accounts of the rows' units are kept."""
        used = [*self._used(), *(key.grouped for key in self.groups.keys)]
        return BoundedScan.of(self.relation, self.where, self.groups.keys, used, self.bound, emitter).texts_of_units()

    def settled(self, rows: int) -> "Sums":
        """Return the measurement with the chosen C. A smaller C has less noise, and its lattice is finer in proportion."""
        if self.end is not None:
            end = replace(self.end, rows=rows)
            bound = replace(self.bound, up_to=None)
            return replace(self, end=end, features=end.narrowed(self.features), bound=bound)
        finer = (-(-self.bound.rows // rows) - 1).bit_length()
        return replace(self, bound=self.bound.settled(rows), points=min(self.points << finer, MOST_POINTS))

    def _norms(self, values: LatticeValues, columns: Sequence[EngineSum], *, alone: bool) -> Norms | None:
        """Return what rows are weighed by besides their number, or, where sums are `alone`, instead of it."""
        if alone:
            return Norms(values.norm(columns), values.points)
        valued = [column for column in columns if column.by_value]
        if not valued:
            return None
        block = values.block_name if self.block_conditions else None
        by_group = not self.bound.scatters(len(self.groups.grouped))
        return Norms(values.norm(valued), values.points, beside=True, block=block, by_group=by_group)

    @property
    def weighs_norms(self) -> bool:
        """Return whether what is bounded are the norms of a unit's rows: of sums alone, which no row need have in full."""
        alone = all(feature.shape is Shape.SIGNED for feature in self.features)
        if self.bound.form in {Form.ACCOUNT, Form.EUCLIDEAN}:
            return False
        return alone and not self.delta and self.sensitivity < MOST_NORM

    @property
    def valued(self) -> frozenset[Feature]:
        """Return the sums that have weights of their own, beside others whose rows are weighed by their number."""
        alone = all(feature.shape is Shape.SIGNED for feature in self.features)
        weighed = self.bound.form is Form.REWEIGHT and self.distinct is CountOf.ROWS and not alone
        return weighed_by_value(self.features) if weighed else frozenset()

    def _of_units(self, emitter: Emitter) -> str:
        """Count each unit once a group: over the distinct pairs of unit and group, of which a unit has some C."""
        # WITH r AS (SELECT DISTINCT u, keys …), h AS (SELECT u AS hu, ⌊W·C / max(count(*), C)⌋ AS w FROM r GROUP BY 1)
        # SELECT keys, sum(w) FROM r JOIN h ON u = hu GROUP BY keys
        scan = BoundedScan.of(self.relation, self.where, self.groups.keys, [], self.bound, emitter).told_apart()
        pairs = scan.rows((), distinct=not self.bound.single)
        if self.bound.form is not Form.REWEIGHT:  # selection keeps C pairs of unit and group
            return scan.grouped(pairs, ["count(*)"], ())
        weights = self.bound.weights("u", "FROM r", emitter.dialect)
        select = f"SELECT {scan.outputs([emitter.dialect.total('w')])} FROM r JOIN h ON u = hu{scan.group_by}"
        return f"WITH {emitter.dialect.common_table('r', pairs)}, {weights} {select}"

    def _of_values(self, emitter: Emitter) -> str:
        """Count each value once a group, after keeping at most C pairs of group and value for each unit."""
        scan = BoundedScan.of(self.relation, self.where, self.groups.keys, self.values, self.bound, emitter)
        rows = scan.rows([f"{text} AS x" for text in self._named_values(emitter)], distinct=True)
        # A value that two units have counts once. So a unit that is taken away takes those of its C values with it that
        # nobody else has, and no others.
        return scan.grouped(rows, ["count(DISTINCT x)"], ["x"])

    def _of_tuples(self, emitter: Emitter) -> str:
        """Count each tuple of values once a group, after keeping at most C pairs of group and tuple for each unit.

        Taking a unit away takes at most C of these pairs from all that are kept, as it does of single values.
        """
        scan = BoundedScan.of(self.relation, self.where, self.groups.keys, self.values, self.bound, emitter)
        named = self._named_values(emitter)
        rows = scan.rows([f"{text} AS {name}" for text, name in named.items()], distinct=True)
        return scan.each_once(rows, ["count(*)"], list(named.values()))

    def _named_values(self, emitter: Emitter) -> dict[str, str]:
        """Return the names of the values that are counted once, by their texts."""
        texts = dict.fromkeys(emitter.one_text(emitter.settled(value), value.type) for value in self.values)
        return {text: f"x{i}" if self.distinct is CountOf.TUPLES else "x" for i, text in enumerate(texts)}

    def _of_each_value(self, emitter: Emitter) -> str:
        """Sum each value's features once a group, after keeping at most C pairs of group and value for each unit.

        Taking a unit away takes at most C of these pairs from all that are kept, and each pair that is left counts once,
        however many units keep it: at most C rows of features come or go. That a value has one row of features is no
        part of the argument: pairs are told apart by both.
        """
        scan = BoundedScan.of(self.relation, self.where, self.groups.keys, self.values, self.bound, emitter)
        values = LatticeValues(emitter, self.bound, self.lattice, ())
        sums = [values.summed(column, weighted=False) for column in self.columns()]
        named = {**self._named_values(emitter), **values.named}
        rows = scan.rows([f"{text} AS {name}" for text, name in named.items()], distinct=True)
        return scan.each_once(rows, sums, list(named.values()))


def _columns(feature: Feature, valued: Collection[Feature]) -> tuple[EngineSum, ...]:
    """Return the sums that a feature's is made of, with whether their rows have weights of their own."""
    engine_sums = columns(feature)
    return tuple(replace(column, by_value=True) for column in engine_sums) if feature in valued else engine_sums
