"""The engine's statement of a measurement: rows of the relation, bounded, grouped and summed."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from dpsql.frozen import quickly_made
from dpsql.policy.model import SqlType
from dpsql.privacy.features.chosen_end import ChosenEnd
from dpsql.privacy.measurement.contribution import (
    USUAL_ROWS,
    ContributionBound,
    Form,
    Norms,
    rows_within_bound,
    unit_text,
)
from dpsql.rewrite.analysis.keys import Key
from dpsql.rewrite.emit.binning import lattice_step
from dpsql.rewrite.emit.emitter import Emitter, identity, quote_name, salt
from dpsql.rewrite.emit.kept_columns import HeavyRows
from dpsql.rewrite.emit.source import from_where
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, Results
from dpsql.rewrite.ir.relation import Relation

# Sums of all rows in full, corrected for the heavy units: those with more rows than count in full.
#
# Claim: the integers are those of mass scaling (see `contribution`), Σ_rows w·φ, w being the weight of the row's unit. Proof:
# with W the weight of a row of a unit that keeps to its bound, Σ w·φ = W·Σ φ + Σ (w − W)·φ, and in the second sum only rows
# of units with w ≠ W differ from 0. Such a unit has more than C rows: with n ≤ C of them ⌊W·C / max(n, C)⌋ = W, and where
# norms ρ ≤ S are weighed, Σρ ≤ n·S ≤ C·S and w = W again; what weighs at least w and at most W is W, too. So it is enough to
# add up the second sum over the rows of some set of units that holds all with more than C rows, in which w is computed from
# *all* measured rows of each unit: those of a unit are in the set together or not at all, for it is a set of units.
#
# The rows that mark the heavy units may count more rows than are measured (conditions left out), which can only mark
# more of them, and may mark others besides (several units share a mark): neither changes an integer. It must stand in
# the very statement that reads the rows, so that one snapshot is marked and measured; a mark that was kept could not
# know of rows that have come since.
#
# Of rows that never change, a snapshot's, marks may be kept beside them (`rewrite.emit.kept_columns`): numbers in all rows of
# the units with more than some n ≤ C rows in the whole table, for every statement. Where each row of the table is in one
# measured row at most (`Owners.once`: conditions leave rows out, and joins along unique keys add none), a unit has no
# more measured rows than rows in the table. So one with more than C is marked, with all its rows, which is all that the
# proof asks of a mark. The same holds of rows that are kept apart, of files that are watched while they are open: from
# them, read in place of the unit's table, the second sum's rows come. They say how many rows their unit has, so that
# those for any C ≥ n are told. Where they are most rows, the first sum may be over the others alone, W·Σ φ over rows of
# units with at most C, and the second Σ w·φ.

# A mark is a counter in a table of slots, and each unit's rows count in one slot. Two units of few rows that share one
# may look heavy, which costs time and changes no sum.
_FEWEST_SLOTS, _MOST_SLOTS = 2**10, 2**20
_FEWER = 4
"""Where so many times as many rows count as those have whose units are kept, few of these units are heavy."""
_SLOTS = 8
"""How many marks there are for each heavy unit that there can be, where as many rows are as the policy expects."""


@quickly_made
@dataclass(frozen=True, slots=True)
class HeavySum:
    """A sum over rows, and the column of the weights that belong to it."""

    text: str
    """Without the weights."""
    weight: str
    weighed: str
    """With them."""


@dataclass(frozen=True, slots=True)
class HeavyMarking:
    """How heavy units are told from others."""

    table: str | None
    """The member of WITH that marks them; None where the engine keeps the marks."""
    condition: str
    """That a row's unit is marked; where the statement marks them, its name is `u`."""
    unit: str = ""
    """The column that tells marked units apart, if there is a shorter one."""
    instead: str = ""
    """The table that their rows are read from in place of the one that names them, if they are kept apart."""
    in_full: str = ""
    """The table of what is summed in full, if that is another one."""
    no_more: str = ""
    """The condition for its rows."""
    overlap: str = ""
    """How often heavy units' rows are in that, if it is not once."""
    others: str = ""
    """The table of the rows of all other units, if they are kept apart, too."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """The values of each row, with names: `read` is made of columns, and `named` of that; without `read` all of columns."""

    named: Sequence[str]
    read: Sequence[str] = ()

    def read_twice(self, sums: Sequence[str]) -> bool:
        """Return whether some value `f0` … stands several times in the sums: engines compute it each time."""
        names = [name for text in sums for name in re.findall(r"\bf\d+\b", text)]
        return len(names) > len(set(names))


@dataclass(frozen=True, slots=True)
class UnitNumbers:
    """How many rows, or of what else, units have."""

    select: str
    """The SELECT of units and their numbers."""
    others: str
    """How many units there are besides, of which each has one row at most; nothing where all are in the SELECT."""


def mark_heavy(
    relation: Relation, where: Expr, rows: str, bound: ContributionBound, emitter: Emitter, *, normed: bool
) -> HeavyMarking | None:
    """Return what marks the heavy units of `rows`; None to weigh every row.

    Of one table, rows that lack a value in a column which is summed or grouped by may be counted, too.
    """
    if bound.form is not Form.REWEIGHT:
        return None
    if bound.once and (kept := _kept(relation, bound, emitter)):
        return kept
    alone = len(relation.sources) == 1
    counted = from_where(replace(relation, needed=()), where, [], bound.unit, emitter) if alone else rows
    # There can be no more heavy units than rows/C. The number of rows is the one that the policy expects, so that the
    # text, which a plan is remembered by, does not change with the data.
    heavy = _SLOTS * (relation.expected_rows or USUAL_ROWS) // bound.rows
    slots = min(max(1 << heavy.bit_length(), _FEWEST_SLOTS), _MOST_SLOTS)
    unit = identity(bound.unit, emitter.dialect)
    if counted == rows:
        unit, counted = "u", "FROM r"
    marks = emitter.dialect.maybe_heavy(
        unit, bound.unit.type, counted, most=bound.rows, slots=slots, normed=normed, alone=alone
    )
    return None if marks is None else HeavyMarking(*marks)


def _kept(relation: Relation, bound: ContributionBound, emitter: Emitter) -> HeavyMarking | None:
    """Return what the engine keeps of the units with more than C rows, if that is some."""
    place, name, kept = bound.unit.source, bound.unit.name, emitter.kept(bound.unit.table)
    if (mark := kept.heavy.get(name)) and mark.rows <= bound.rows:
        number = f"s{place}.{quote_name(mark.column)}"
        return HeavyMarking(None, f"{number} IS NOT NULL", number)
    if (heavy := _rows_apart(relation, bound, emitter)) and heavy.rows <= bound.rows:
        count = f"s{place}.{quote_name(heavy.count)}"
        number = f"s{place}.{quote_name(heavy.number if bound.rows < _FEWER * heavy.rows else heavy.spread)}"
        more, no_more = f"{count} > {bound.rows}", f"{count} <= {bound.rows}"
        return HeavyMarking(None, more, number, heavy.table, heavy.in_full, no_more, heavy.overlap)
    return None


def _rows_apart(relation: Relation, bound: ContributionBound, emitter: Emitter) -> HeavyRows | None:
    """Return the rows of units that are kept apart of the table whose rows name the unit."""
    unit = bound.unit
    kept = emitter.kept(unit.table).heavy_rows.get(unit.name)
    return kept if bound.once and relation.sources[unit.source].made is None else None


def of_several_rows(relation: Relation, bound: ContributionBound, emitter: Emitter) -> HeavyMarking | None:
    """Return all rows of the units that have more than one in the whole table, if the engine keeps them apart."""
    kept = _rows_apart(relation, bound, emitter)
    if kept is None or kept.rows != 1:
        return None
    return HeavyMarking(None, "TRUE", f"s{bound.unit.source}.{quote_name(kept.number)}", kept.table, others=kept.others)


def in_full(
    rows: str, names: Sequence[str], sums: Sequence[HeavySum], weight: int, widest: Callable[[str], str]
) -> str:
    """Return the SELECT of the sums by `names` in which every row weighs the same; without a limit of 64 bits."""
    # SELECT k0, W * sum(f0) AS s0 FROM trips GROUP BY k0: no join and no weights, which is what makes it as fast as the
    # plain query.
    parts = [f"{weight} * {widest(part.text)} AS s{i}" for i, part in enumerate(sums)]
    grouping = f" GROUP BY {', '.join(names)}" if names else ""
    return f"SELECT {', '.join([*names, *parts])} FROM {rows}{grouping}"


def correction(
    units: str, names: Sequence[str], sums: Sequence[HeavySum], weight: str, widest: Callable[[str], str]
) -> str:
    """Return the SELECT of what each unit's sums `s0` … are to weigh less, by `names`."""
    parts = [f"({part.weight} - {weight}) * {widest(f's{i}')}" for i, part in enumerate(sums)]
    return f"SELECT {', '.join([*names, *parts])} FROM {units}"


def correction_of_rows(rows: str, names: Sequence[str], sums: Sequence[HeavySum], weight: str) -> str:
    """Return the same SELECT over rows one by one, by each unit's weight in `h`.

    Where marks are kept no unit has to be found, and this takes a quarter of the time that sums by unit and key take.
    """
    parts = [f"{part.weighed} AS s{i}" for i, part in enumerate(sums)]
    grouping = f" GROUP BY {', '.join(names)}" if names else ""
    weights = [f"{name} - {weight} AS {name}" for name in sorted({part.weight for part in sums})]
    # SELECT k0, sum((w − W) * f0) FROM heavy rows JOIN h ON u = hu GROUP BY k0: negative sums, which are added to those
    # in full.
    less = f"(SELECT hu, {', '.join(weights)} FROM h) AS h"
    return f"SELECT {', '.join([*names, *parts])} FROM {rows} JOIN {less} ON u = hu{grouping}"


# How a key stands in an engine's statement: what rows are grouped by, and how it comes back.


def telling_keys(keys: Sequence[Key], relation: Relation, emitter: Emitter) -> dict[str, Ref]:
    """Return the keys that are numbers of all values of a column which has to have one, by their names, with the columns.

    Whether such a row has a value is then told by its key, and need not be selected twice.
    """
    telling = {}
    for i, key in enumerate(keys):
        match key.grouped:
            case Apply(args=(Ref() as column, *values), option=Results(values=numbers)):
                every = {value.value for value in values if isinstance(value, Const)}
                told = every == set(emitter.declared.facts_of(column).values or ()) and None not in numbers
                holds = relation.sources[column.source].holds and not (column.public or column.column.nullable)
                if told and holds and column.type.is_text:
                    telling[f"k{i}"] = column
    return telling


def grouping_text(key: Key, emitter: Emitter) -> str:
    """Return what rows are grouped by.

    Under partition selection no two keys may come back as one: a unit that is in both would count twice.
    """
    text, type_ = emitter.sql(key.grouped), key.grouped.type
    # Declared keys come back as what they are, since they are compared with a list of ours. A key that was found has to
    # come back as what the engine has told apart: two timestamps that print alike are two groups, and would be one to
    # us.
    if key.shown is None:
        return emitter.as_number(text, type_) if type_.is_temporal else text
    return _narrow(text, key, emitter)


def _narrow(text: str, key: Key, emitter: Emitter) -> str:
    """Return a computed whole number in the type that grouping by it is fastest in.

    An expression that an engine knows of a stored column, or evaluates once for each entry of a dictionary, stays
    unchanged.
    """
    if not key.grouped.type.is_number or key.fractional or _easy(key.grouped, text, emitter):
        return text
    values = [int(v) for v in key.shown or () if v is not None and not isinstance(v, str)]
    if isinstance(key.grouped, Ref) and values:
        return emitter.narrowed(key.grouped, min(values), max(values))
    return emitter.dialect.narrowed(text, min(values), max(values)) if values else text


def _easy(grouped: Expr, text: str, emitter: Emitter) -> bool:
    match grouped:
        case Ref():
            return text == emitter.raw(grouped)
        case Apply():
            return isinstance(grouped.option, Results)
        case Const():
            return True


def returned_text(name: str, key: Key, emitter: Emitter) -> str:
    """Return a key as an integer or a text."""
    type_ = key.grouped.type
    if type_.is_text or (key.shown is None and type_.is_temporal):
        return name
    if key.fractional:
        return emitter.dialect.as_text(emitter.cast(name, SqlType.DOUBLE))
    number = f"CAST({name} AS INTEGER)" if type_ is SqlType.BOOLEAN else emitter.as_number(name, type_)
    return number if type_.is_temporal else f"CAST({number} AS BIGINT)"


_FEW_SUMS = 3
"""So many are faster added up together with the numbers that a unit's rows in each group are weighed by."""


@quickly_made
@dataclass(frozen=True, slots=True)
class BoundedScan:
    """The rows that a measurement reads, and their keys, with each unit kept to its bound."""

    keys: tuple[Key, ...]
    bound: ContributionBound
    emitter: Emitter
    from_where: str
    tested: tuple[str, ...] = ()
    """The keys that are NULL for the rows, and only those, which lack a value in the key's column."""
    maybe_heavy: HeavyMarking | None = None
    """Where heavy units are weighed apart, what marks them."""
    heavy_rows: str = ""
    """FROM and WHERE of their rows, where the engine keeps them."""
    rows_in_full: str = ""
    """FROM and WHERE of the rows that are summed in full then."""
    as_named: bool = False
    """Whether these rows have their names already: all columns are read from a member of WITH."""
    unit_read: str = ""
    """The column that tells the units of these rows apart, if it is another than the one that names them."""
    others: str = ""
    """How many rows there are besides, of units with one at most each, where they are not read."""

    @classmethod
    def of(
        cls,
        relation: Relation,
        where: Expr,
        keys: tuple[Key, ...],
        used: Sequence[Expr],
        bound: ContributionBound,
        emitter: Emitter,
        *,
        normed: bool = False,
    ) -> Self:
        """Build from a relation and all expressions that will be read from it."""
        columns = [*(key.grouped for key in keys), *used]
        rows = from_where(relation, where, columns, bound.unit, emitter)
        marked = mark_heavy(relation, where, rows, bound, emitter, normed=normed)
        in_place = emitter.dialect.computed_once and (bound.form is Form.UNIQUE or marked is not None)
        telling = telling_keys(keys, relation, emitter) if in_place else {}
        if telling:
            rows = from_where(relation, where, columns, bound.unit, emitter, tested=telling.values())
        if marked is None or marked.table is not None:
            return cls(keys, bound, emitter, rows, tuple(telling), marked)
        heavy = in_full = rows
        if marked.instead:
            heavy, in_full = (
                from_where(
                    relation,
                    where,
                    columns,
                    bound.unit,
                    emitter,
                    tested=telling.values(),
                    instead={bound.unit.source: table},
                )
                for table in (marked.instead, marked.in_full)
            )
            in_full = f"{in_full} AND {marked.no_more}"
        return cls(keys, bound, emitter, rows, tuple(telling), marked, f"{heavy} AND {marked.condition}", in_full)

    @property
    def unit(self) -> str:
        """Return the unit's column: units that a cast made one would change each other's weights."""
        return "u" if self.as_named else self.unit_read or identity(self.bound.unit, self.emitter.dialect)

    @classmethod
    def of_units(
        cls,
        relation: Relation,
        where: Expr,
        keys: tuple[Key, ...],
        used: Sequence[Expr],
        bound: ContributionBound,
        emitter: Emitter,
    ) -> Self:
        """Build a scan of all rows, of each unit as many as it has.

        Where nothing is read of them, those that lack a value somewhere are among them: for all keys and all sums,
        their number is then asked in the same words, and paid once. Where rows of all units that have several are kept
        apart, these are read, and the others counted.
        """
        read = [*(key.grouped for key in keys), *used]
        every = relation if read else replace(relation, needed=())
        rows = from_where(every, where, read, bound.unit, emitter)
        several = of_several_rows(every, bound, emitter)
        if several is None:
            return cls(keys, bound, emitter, rows, unit_read=emitter.unit_number(bound.unit) or "")
        heavy, other = (
            from_where(every, where, read, bound.unit, emitter, instead={bound.unit.source: table})
            for table in (several.instead, several.others)
        )
        others = f"(SELECT count(*) {other})"
        return cls(keys, bound, emitter, heavy, unit_read=several.unit, others=others)

    def per_unit(self, rows: str | None = None, number: str = "count(*)") -> UnitNumbers:
        """Return each unit `u` and the number `n` of its rows, of all or of a SELECT of some."""
        if rows is None:
            return UnitNumbers(f"SELECT {self.unit} AS u, {number} AS n {self.from_where} GROUP BY 1", self.others)
        return UnitNumbers(f"SELECT u, {number} AS n FROM ({rows}) AS r GROUP BY u", self.others)

    def told_apart(self) -> Self:
        """Return the scan with units read as the numbers that the engine keeps of them, where they are only told apart.

        Claim: a statement that compares units with each other, and with nothing else, answers the same by any names of
        theirs, so long as two rows have one number if and only if they have one unit. Where rows are selected, units
        are more than that: their order within a unit is made of what names it, and must not depend on other units, as
        numbers do.
        """
        number = self.emitter.unit_number(self.bound.unit)
        return self if number is None or self.bound.form is Form.TRUNCATE else replace(self, unit_read=number)

    @property
    def group_by(self) -> str:
        """Return the GROUP BY clause over the keys."""
        return f" GROUP BY {', '.join(self._names())}" if self.keys else ""

    def steps(self, values: RowValues, *, twice: bool = False) -> str:
        """Return the SELECT of the unit `u`, the keys `k0` … and values in one step or two.

        `twice` says that some are read more than once.
        """
        once = self.emitter.dialect.computed_once
        if not values.read:
            return self.rows(values.named, also=once if twice else "")
        inner = self.rows(values.read, also=once)
        return f"SELECT {', '.join(['u', *self._names(), *values.named])} FROM ({inner}) AS x{once if twice else ''}"

    def source(self, values: RowValues, *, twice: bool = False) -> str:
        """Return the rows of `steps` as they stand in FROM."""
        once = twice and self.emitter.dialect.computed_once
        if self.as_named and not (values.read or self.tested or once):
            return self.from_where.removeprefix("FROM ")
        return f"({self.steps(values, twice=twice)}) AS r"

    def rows(self, values: Iterable[str], *, distinct: bool = False, also: str = "") -> str:
        """Return the SELECT of the unit `u`, the keys `k0` … and `values`; `also` is added to its WHERE, or follows it.

        Where rows are told apart or ranked, equal keys have one text.
        """
        if self.as_named:
            return self._tested(f"SELECT * {self.from_where}{also}")
        alike = distinct or self.bound.form is Form.TRUNCATE
        texts = [grouping_text(key, self.emitter) for key in self.keys]
        if alike:
            texts = [self.emitter.one_text(t, key.grouped.type) for t, key in zip(texts, self.keys, strict=True)]
        keys = [f"{text} AS k{i}" for i, text in enumerate(texts)]
        columns = ", ".join([f"{self.unit} AS u", *keys, *values])
        if distinct and columns == f"{self.unit} AS u":
            # DuckDB groups whole numbers by an array, four times as fast as it tells rows apart by a hash.
            return f"SELECT {columns} {self.from_where}{also} GROUP BY 1"
        return self._tested(f"SELECT {'DISTINCT ' if distinct else ''}{columns} {self.from_where}{also}")

    def _tested(self, rows: str) -> str:
        """Return the rows that have a value in the column of each tested key."""
        if not self.tested:
            return rows
        once = self.emitter.dialect.computed_once
        not_null = " AND ".join(f"{name} IS NOT NULL" for name in self.tested)
        return f"SELECT * FROM ({rows.removesuffix(once)}{once}) AS y WHERE {not_null}"

    def summed(
        self, values: RowValues, sums: Sequence[str], *also: str, norm: Norms | None = None, twice: bool = False
    ) -> str:
        """Return the statement that bounds the rows, or their norms, and sums them by the keys (and by `also`)."""
        if self.bound.form in {Form.REWEIGHT, Form.EUCLIDEAN}:
            return self._weighed(values, sums, *also, norm=norm)
        names = (text.rpartition(" ")[2] for text in values.named)
        return self.grouped(self.steps(values, twice=twice), sums, names, *also)

    def _weighed(self, values: RowValues, sums: Sequence[str], *also: str, norm: Norms | None) -> str:
        """Return the statement that weighs each row by what its unit has: the rows are said once.

        WITH r AS (SELECT … FROM trips …), h AS (SELECT u AS hu, … AS w FROM r GROUP BY 1) SELECT sum(w * f0) FROM r JOIN h …
        """
        dialect = self.emitter.dialect
        named = dialect.named_rows("r", self.rows(values.read or values.named))
        every = replace(self, from_where="FROM r", as_named=True) if named else self
        rows = every.source(values)
        if self.bound.form is Form.EUCLIDEAN:
            weights = self.bound.weights_of_squares(self._by_group(rows), dialect)
        else:
            weights = every._weights(rows, norm)  # noqa: SLF001 # its own
        tables = ", ".join(filter(None, (named, weights)))
        outputs, by = self.outputs(sums, *also), [*self._names(), *also]
        grouping = f" GROUP BY {', '.join(by)}" if by else ""
        return f"WITH {tables} SELECT {outputs} FROM {rows} JOIN h ON u = hu{grouping}"

    def grouped(self, rows: str, sums: Sequence[str], values: Iterable[str], *also: str) -> str:
        """Return the statement that selects some of each unit's rows, if it has several, and sums them by the keys."""
        by = [*self._names(), *also]
        grouping = f" GROUP BY {', '.join(by)}" if by else ""
        outputs = self.outputs(sums, *also)
        match self.bound.form:
            case Form.UNIQUE:
                return f"SELECT {outputs} FROM ({rows}) AS r{grouping}"
            case Form.TRUNCATE:
                return f"SELECT {outputs} FROM ({self._selected(rows, values)}) AS r{grouping}"
            case Form.ACCOUNT:
                return self._by_accounts(rows, sums, *also)
            case Form.REWEIGHT | Form.EUCLIDEAN:
                raise AssertionError(self.bound)

    def _by_accounts(self, rows: str, sums: Sequence[str], *also: str) -> str:
        """Return the statement of the sums, and below them of what is added to each unit's account.

        They have NULL in all but the last two columns. One statement has both, so that what is added is what was summed.
        """
        dialect, by = self.emitter.dialect, [*self._names(), *also]
        tables = f"{dialect.common_table('r', rows)}, {self.bound.weights_left('r', dialect)}"
        grouping = f" GROUP BY {', '.join(by)}" if by else ""
        summed = f"SELECT {self.outputs(sums, *also)}, NULL AS unit, NULL AS added FROM r JOIN h ON u = hu{grouping}"
        nothing = ", ".join(["NULL"] * (len(by) + len(sums)))
        return f"WITH {tables} {summed} UNION ALL SELECT {nothing}, {unit_text('hu')}, CAST(w * n AS BIGINT) FROM h"

    def lengths(self) -> str:
        """Return the SELECT of each unit `u`, the number `n` of its rows, and its length `l` over the groups."""
        return self.bound.lengths(self._by_group(f"({self.rows(())}) AS r"), self.emitter.dialect)

    def _by_group(self, rows: str) -> str:
        """Return how many rows `n` each unit has in each group; keys that come back equal are one before they are counted."""
        names = self._names()
        codes = [f"{code} AS {name}" for code, name in zip(self._codes(), names, strict=True)]
        by = ", ".join(["u", *names])
        told_apart = f"SELECT {', '.join(['u', *codes])} FROM {rows}"
        return f"(SELECT u, count(*) AS n FROM ({told_apart}) AS p GROUP BY {by}) AS g"

    def texts_of_units(self) -> str:
        """Return the SELECT of the texts by which accounts of the rows' units are kept, each once: `unit`."""
        return f"SELECT DISTINCT {unit_text(self.unit)} AS unit {self.from_where}"

    def each_once(self, rows: str, sums: Sequence[str], values: Sequence[str]) -> str:
        """Return the statement that keeps C of each unit's rows, and sums those that differ by the keys."""
        kept = rows if self.bound.form is Form.UNIQUE else self._selected(rows, values)
        names = ", ".join([*self._names(), *values])
        return f"SELECT {self.outputs(sums)} FROM (SELECT DISTINCT {names} FROM ({kept}) AS r) AS v{self.group_by}"

    def _weights(self, rows: str, norm: Norms | None) -> str:
        dialect = self.emitter.dialect
        if norm is None:
            return self.bound.weights(self.unit, self.from_where, dialect)
        if norm.beside:
            within = [*self._names(), *([] if norm.block is None else [norm.block])] if norm.by_group else []
            by = ", ".join(["u", *within])
            parts = f"(SELECT {by}, count(*) AS n, {self._above_mean(norm)} AS c FROM {rows} GROUP BY {by}) AS g"
            return self.bound.two_weights(parts, dialect, row_norm=norm.most, once=None if within else ())
        return self.bound.weights("u", f"FROM {rows}", dialect, number=norm.total(dialect), row_norm=norm.most)

    def _above_mean(self, norm: Norms) -> str:
        """Return a whole number above what a unit's rows can add on average."""
        whole = self.emitter.dialect.whole_mean(norm.text) if norm.by_group else f"CAST(max({norm.text}) AS BIGINT)"
        return f"{whole} + 1"

    def spread(self, weight: str) -> str:
        """Return the statement that sums a weight by the keys, over each unit's distinct keys that are selected.

        In `weight` a unit has `n` of them, selected or not. Keys that come back equal are one before they are counted.
        """
        codes = [f"{code} AS {name}" for code, name in zip(self._codes(), self._names(), strict=True)]
        pairs = f"SELECT DISTINCT {', '.join(['u', *codes])} FROM ({self.rows(())}) AS c"
        counted = f"SELECT p.*, count(*) OVER (PARTITION BY u) AS n FROM ({pairs}) AS p"
        dialect = self.emitter.dialect
        total = dialect.as_text(dialect.total(weight))
        return f"SELECT {', '.join([*self._names(), total])} FROM ({self._selected(counted)}) AS r{self.group_by}"

    def heavy_apart(self, values: RowValues, sums: Sequence[HeavySum], *also: str, norm: Norms | None = None) -> str:
        """Return the statement that sums all rows in full, and corrects that by what those of heavy units weigh less.

        The integers are those that weigh every row; the claim is at the top. Where the statement marks heavy units itself,
        the rows are said once:

            WITH r AS (SELECT … FROM trips …), heavy AS (… FROM r …), p AS (… FROM r WHERE u IN (SELECT u FROM heavy) …)
        """
        assert self.maybe_heavy is not None
        marked, dialect = self.maybe_heavy, self.emitter.dialect
        names, tables = [*self._names(), *also], []
        if marked.table is None:
            every, heavy = replace(self, from_where=self.rows_in_full), replace(self, from_where=self.heavy_rows)
        else:
            plain = replace(self, tested=()).rows(values.read or values.named)
            tables = [dialect.named_rows("r", plain), marked.table]
            every, heavy = (
                replace(self, from_where=text, as_named=True) for text in ("FROM r", f"FROM r WHERE {marked.condition}")
            )
        rows = every.source(values, twice=values.read_twice([part.text for part in sums]))
        full = in_full(rows, names, sums, self.bound.weight, dialect.widest)
        more, less = replace(heavy, unit_read=marked.unit)._less(values, names, sums, norm)  # noqa: SLF001 # its own
        outputs = self.outputs([dialect.total(f"s{i}") for i, _ in enumerate(sums)], *also)
        grouping = f" GROUP BY {', '.join(names)}" if names else ""
        return f"WITH {', '.join([*tables, *more])} SELECT {outputs} FROM ({full} UNION ALL {less}) AS g{grouping}"

    def _less(
        self, values: RowValues, names: Sequence[str], sums: Sequence[HeavySum], norm: Norms | None
    ) -> tuple[list[str], str]:
        """Return the SELECT of what these rows, of heavy units, weigh less, and the members of WITH that it reads."""
        assert self.maybe_heavy is not None
        dialect, marked = self.emitter.dialect, self.maybe_heavy
        full = " * ".join(filter(None, (str(self.bound.weight), marked.overlap)))
        block = [norm.block] if norm is not None and norm.block is not None else []
        within = [*names, *block]
        together = norm is not None and norm.beside and norm.by_group and len(sums) <= _FEW_SUMS
        if marked.table is None and within and not together:
            rows = self.source(values)
            return [self._weights(rows, norm)], correction_of_rows(rows, names, sums, full)
        unit = dialect.without_range("u", self.bound.unit.type) if marked.table else "u"
        parts = [f"{part.text} AS s{i}" for i, part in enumerate(sums)]
        number = [f"{'count(*)' if norm is None or norm.beside else norm.total(dialect)} AS n"]
        number += [f"{self._above_mean(norm)} AS c"] if norm and norm.beside else []
        columns = ", ".join([unit if unit == "u" else f"{unit} AS u", *within, *number, *parts])
        by_unit = f"SELECT {columns} FROM {self.source(values)} GROUP BY {', '.join([unit, *within])}"
        units, once = dialect.common_table("p", by_unit), None if within else [f"s{i}" for i, _ in enumerate(sums)]
        weighed = "p JOIN h ON u = hu" if within else "h"
        return [units, self._weights_of_sums(norm, once)], correction(weighed, names, sums, full, dialect.widest)

    def _weights_of_sums(self, norm: Norms | None, once: Sequence[str] | None) -> str:
        """Return the weights of the units in `p`, which has their rows or norms by unit and keys, or by unit alone."""
        dialect = self.emitter.dialect
        if norm is not None and norm.beside:
            return self.bound.two_weights("p", dialect, row_norm=norm.most, once=once)
        if once is not None:
            number = "n"
        else:
            number = "CAST(sum(n) AS BIGINT)" if norm is None else Norms("n", norm.most).total(dialect)
        most = 1 if norm is None else norm.most
        return self.bound.weights("u", "FROM p", dialect, number=number, row_norm=most, once=once)

    def one_a_unit(self, rows: str, chosen: str) -> str:
        """Return the statement that keeps of each unit's rows one for each group, `chosen` of them, and counts by `b`."""
        names = self._names()
        by_unit, by = ", ".join(["u", *names]), ", ".join([*names, "b"])
        kept = f"SELECT {by_unit}, {chosen} AS b FROM ({rows}) AS r GROUP BY {by_unit}"
        if self.bound.form is not Form.REWEIGHT:
            return f"SELECT {self.outputs(['count(*)'], 'b')} FROM ({kept}) AS r GROUP BY {by}"
        dialect = self.emitter.dialect
        weights = self.bound.weights("u", "FROM r", dialect)
        select = f"SELECT {self.outputs([dialect.total('w')], 'b')} FROM r JOIN h ON u = hu GROUP BY {by}"
        return f"WITH {dialect.common_table('r', kept)}, {weights} {select}"

    def outputs(self, sums: Sequence[str], *also: str) -> str:
        """Return the keys in a form that every engine returns in the same way, `also`, and the sums as text."""
        return ", ".join([*self._codes(), *also, *map(self.emitter.dialect.as_text, sums)])

    def _codes(self) -> list[str]:
        return [returned_text(f"k{i}", key, self.emitter) for i, key in enumerate(self.keys)]

    def _selected(self, rows: str, values: Iterable[str] = ()) -> str:
        """Return as many rows of each unit as its bound allows."""
        salted = salt(self.bound.unit, "u", self.emitter.dialect)
        return rows_within_bound(rows, [*self._names(), *values], self.bound.rows, salted)

    def _names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]


def numbers_of_units(
    relation: Relation, where: Expr, end: ChosenEnd, bound: ContributionBound, emitter: Emitter
) -> UnitNumbers:
    """Return each unit and the number of which the end is chosen, the largest where it has several rows.

    Claim: a unit stands in one row, so that it moves the ladder as one that has one row.
    """
    scan = BoundedScan.of_units(relation, where, (), [end.number], bound, emitter)
    number = lattice_step(emitter, end.told.expr, end.told.interval, end.up_to * end.parts)
    numbers = f"SELECT {scan.unit} AS u, coalesce({number}, 0) AS n {scan.from_where}"
    if bound.rows == 1:
        return UnitNumbers(numbers, scan.others)
    return UnitNumbers(f"SELECT u, max(n) AS n FROM ({numbers}) AS e GROUP BY u", scan.others)
