"""A second opinion on the price: the engine's text is read again, and it is proved from it how far one unit can move.

It shares nothing with what has written the text, and believes no claim of a measurement. It reads sums and counts over
protected tables that are tied by the unit (`owned_rows`), with public ones beside them, and over what units come to, with
each unit kept to its bound in one of these ways. Everything else is `NotProvedError`, and rests on the trial alone.

    rows of one unit each:  SELECT count(*) FROM (SELECT … AS u FROM trips GROUP BY 1) AS r
    all rows weighed:       WITH h AS (… M // greatest(count(*), C) AS w … GROUP BY 1) SELECT sum(w * f) FROM r JOIN h …
    weighed by length:      WITH h AS (… M // greatest(l, C) AS w …) SELECT k0, sum(w * f) FROM r JOIN h … GROUP BY k0
    heavy units apart:      all rows in full, and (w − W)·s for units that have more than C, of which none is missed
    values of each unit:    SELECT count(*) FROM (SELECT DISTINCT x FROM (… WHERE place <= C) AS r) AS v, of C rows a unit

Weights by length are for Gaussian noise: where no row is longer than s, a unit moves a group by w·n·s at most,
in the Euclidean norm, and all groups together by w·√(Σ n²)·s ≤ M·s. And σ² ≥ (M·s)² / 2ρ is what ρ-zCDP wants.

Claim: a unit with n rows adds w·n ≤ M rows' worth, since w ≤ M / max(n, C), and one with n ≤ C rows, which is in no list of
heavy ones, W·n ≤ W·C = M. A row's worth is bounded by what its summed columns can be, by their own CASE and casts. Where sums
weigh v ≥ w beside a count, v·r ≤ w·S·n in each group, since v ≤ max(w, w·S / c) and c > r / n there, r being what the n rows
of the unit in the group add up to.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import sqlglot
from sqlglot import exp

from dpsql.accounting.zcdp import rho_of
from dpsql.policy.model import MechanismName
from dpsql.privacy.measurement.sums import Sums
from dpsql.trial.heavy_apart import HeavyApart, HeavyMarks, KeptUnits
from dpsql.trial.named_columns import with_columns_in_place, with_rows_in_place
from dpsql.trial.owned_rows import OwnedRows, require_unit_windows
from dpsql.trial.row_contribution import (
    FULL_WEIGHT,
    ONE_ROW,
    ColumnBounds,
    NotProvedError,
    RowNorm,
    RowsRead,
    Summand,
    column_bounds,
    conditions_of,
    grouped_by,
    has_unchecked_parts,
    is_by_first,
    is_column,
    is_member,
    is_text,
    require_known_nodes,
    require_plain_select,
    select_columns,
    summed_column,
    tables_of,
    weight_of,
    without_group,
    without_parens,
)

# Weights by the length of a unit's rows over the groups, read again from the text: w·√(Σ n²) ≤ M, and over which groups.
#
#     h: SELECT u AS hu, CASE WHEN q < TOP THEN CAST(M // greatest(l, C) AS …) ELSE 0 END AS w FROM (l) AS c
#     l: SELECT u, q, n, CASE WHEN (r - 1) * (r - 1) >= q THEN r - 1 WHEN r * r >= q THEN r ELSE r + 1 END AS l FROM (r) AS b
#     r: SELECT u, q, n, CAST(ceil(sqrt(CAST(q AS DOUBLE))) AS BIGINT) AS r FROM (q) AS a
#     q: SELECT u, CAST(least(sum(least(n, MOST) * least(n, MOST)), TOP) AS BIGINT) AS q, … AS n FROM (g) AS g GROUP BY u
#     g: SELECT u, count(*) AS n FROM (SELECT u, … AS k0, … FROM (rows) AS r) AS p GROUP BY u, k0, …
#
# Claim: a unit with n rows in group after group has w·√(Σ n²) ≤ M. Proof: TOP = MOST², so where q < TOP no n is MOST, and q
# is Σ n² to the digit; elsewhere w is 0. A double's root of q < 2^62 errs by less than a half, so that r + 1 is never below
# √q, and each other branch asks that its square is q at least: l² ≥ q. And w·l ≤ M. ∎
#
# The groups are those of what is put out: keys are the same expressions in both places, so that rows which come back as one
# group were counted as one. NULL is one group in both.

_OF_BYTES = re.compile(r"\(*CAST\([^()]+ AS (VARCHAR|TEXT)\) COLLATE \"C\"\)*( of .*)?")
_MOST = 2**31 - 1
_TOP = _MOST**2
_LENGTH = "CASE WHEN (r - 1) * (r - 1) >= q THEN r - 1 WHEN r * r >= q THEN r ELSE r + 1 END"
_ROOT = "CAST(ceil(sqrt(CAST(q AS DOUBLE))) AS BIGINT)"
_ALL = f"CAST(least(sum(n), {2**62}) AS BIGINT)"
_SQUARES = f"CAST(least(sum(least(n, {_MOST}) * least(n, {_MOST})), {_TOP}) AS BIGINT)"


def mass_by_length(
    weights: exp.Select,
    rows: RowsRead,
    keys: Sequence[exp.Expr],
    read: Callable[[exp.Expr], RowsRead],
) -> int:
    """Return M, of which no unit's weight times the length of its rows over the groups of these keys is more.

    Raises:
        NotProvedError: it is not that form, or of other rows or other groups.
    """
    require_plain_select(weights)
    columns = select_columns(weights)
    if list(columns) != ["hu", "w"] or not is_column(columns["hu"], "u") or grouped_by(weights):
        raise NotProvedError
    most = _weighed(columns["w"])
    lengths = _below(weights, "c", {"u": "u", "q": "q", "n": "n", "l": _LENGTH})
    roots = _below(lengths, "b", {"u": "u", "q": "q", "n": "n", "r": _ROOT})
    squares = _select(roots, "a")
    own = select_columns(squares)
    if list(own) != ["u", "q", "n"] or not is_column(own["u"], "u"):
        raise NotProvedError
    if not is_text(own["q"], _SQUARES) or not is_text(own["n"], _ALL):
        raise NotProvedError
    by_group = _select(squares, "g")
    counted = select_columns(by_group)
    if list(counted) != ["u", "n"] or not is_column(counted["u"], "u") or not is_text(counted["n"], "count(*)"):
        raise NotProvedError
    parted = _select(by_group, "p")
    _require_groups(squares, ["u"])
    _require_groups(by_group, list(select_columns(parted)))
    _require_keys(parted, rows, keys, read)
    return most


# Why the keys matter: w is for the length of a unit's rows over the groups by which its rows are counted. If the rows
# came back in other groups, a unit with one row in each of a hundred groups could have been counted in one.
def _require_keys(
    parted: exp.Select, rows: RowsRead, keys: Sequence[exp.Expr], read: Callable[[exp.Expr], RowsRead]
) -> None:
    """See that rows are told apart by the very values by which they come back, and are the same rows."""
    unit, *own = select_columns(parted).items()
    if unit[0] != "u" or not is_column(unit[1], "u") or grouped_by(parted):
        raise NotProvedError
    if [column.sql() for _, column in own] != [key.unalias().sql() for key in keys]:
        raise NotProvedError
    again = read(parted.args["from_"].this)
    named = {column.name for key in keys for column in key.find_all(exp.Column)}
    same = all(name in rows.definitions and rows.definitions[name] == again.definitions.get(name) for name in named)
    if not again.same_rows(rows) or not same or not all(_is_told_apart(key.unalias(), rows) for key in keys):
        raise NotProvedError


def _is_told_apart(key: exp.Expr, rows: RowsRead) -> bool:
    """Return whether values of a key that come back alike are so to the engine: whole numbers, and texts by their bytes."""
    inner = key
    while isinstance(inner, exp.Cast):
        inner = inner.this
    if not isinstance(inner, exp.Column) or inner.table:
        return False
    whole = isinstance(key, exp.Cast) and key.to.this is exp.DType.BIGINT
    return whole or (key is inner and _OF_BYTES.fullmatch(rows.definitions[inner.name]) is not None)


def _require_groups(select: exp.Select, names: Sequence[str]) -> None:
    if [key.sql() for key in grouped_by(select)] != list(names):
        raise NotProvedError


def _weighed(text: exp.Expr) -> int:
    """Return M of CASE WHEN q < TOP THEN CAST(M // greatest(l, C) AS …) ELSE 0 END."""
    if not isinstance(text, exp.Case) or text.args.get("this") is not None or len(text.args["ifs"]) != 1:
        raise NotProvedError
    (if_,) = text.args["ifs"]
    if not is_text(if_.this, f"q < {_TOP}") or not is_text(text.args.get("default"), "0"):
        raise NotProvedError
    most, least, length = weight_of(if_.args["true"])
    if not is_column(length, "l") or least <= 0:
        raise NotProvedError
    return most


def _below(above: exp.Select, name: str, columns: dict[str, str]) -> exp.Select:
    """Return what a SELECT is made of, if its columns are these."""
    select = _select(above, name)
    own = select_columns(select)
    if list(own) != list(columns) or grouped_by(select):
        raise NotProvedError
    if not all(is_text(own[column], text) or _is_root(own[column], text) for column, text in columns.items()):
        raise NotProvedError
    return select


def _is_root(column: exp.Expr, text: str) -> bool:
    """Return whether a column is the root, in PostgreSQL's words."""
    return text == _ROOT and is_text(column, "CAST(ceil(sqrt((q)::float8)) AS BIGINT)", "postgres")


def _select(above: exp.Select, name: str) -> exp.Select:
    """Return the SELECT that one is made of, under this name, which leaves nothing out."""
    source = above.args["from_"].this
    if not isinstance(source, exp.Subquery) or source.alias != name or not isinstance(source.this, exp.Select):
        raise NotProvedError
    require_plain_select(source.this)
    return source.this


# Above that nothing is proved, and the trial alone decides.
_LONGEST = 20_000
"""Characters of a text that is read again: it takes a tenth of a second."""
_CUT = ("limit", "qualify", "sample", "laterals")


@dataclass(frozen=True, slots=True)
class UnitTables:
    """The owners of an engine's rows, table by table, for a kind of units; names are those of the SQL that is read here."""

    owners: Mapping[str, str | None]
    """By table the column that names the unit; None for public ones. Others are somebody's through other tables."""
    kept: Mapping[str, KeptUnits]
    """The kept heavy units, by the name of the rows that are summed in full."""
    unique: Mapping[str, Collection[str]]
    """Columns of public tables that have each whole number once."""


def is_proved(measurement: object, sql: str, dialect: str, tables: UnitTables) -> bool:
    """Return whether no unit can move a measurement further than its noise is made for, as its own text proves."""
    if not isinstance(measurement, Sums) or measurement.mechanism is MechanismName.LAPLACE or measurement.delta:
        return False
    if len(sql) > _LONGEST:
        return False
    try:
        tree = with_columns_in_place(with_rows_in_place(sqlglot.parse_one(sql, dialect=dialect)))
        reading = _Reading(tree, tables, dialect)
        if measurement.mechanism is MechanismName.GAUSSIAN:
            square = reading.square(measurement)
            # A Gaussian of standard deviation σ on what a unit moves by Δ is ρ-zCDP with ρ = Δ²/(2σ²), so that Δ² may
            # be 2ρσ².
            noise = measurement.scale**2 * 2 * rho_of(measurement.epsilon)
            proved = square <= measurement.square and square <= noise
        else:
            moved = reading.moved(measurement)
            # Both what is claimed and what is paid: noise of scale b on what a unit moves by Δ is ε-private where b·ε ≥
            # Δ.
            proved = moved <= measurement.sensitivity and measurement.scale * measurement.epsilon >= moved
        return proved and not has_unchecked_parts(tree, reading.is_public, reading.seen)
    # To see why a text is not proved: call `_Reading(…).moved(measurement)` on it in a shell, and look at where
    # `NotProvedError` comes from; it is raised without a text, since each place knows one thing.
    except Exception:  # noqa: BLE001  (whatever it stumbles over, nothing is proved)
        return False


@dataclass(frozen=True, slots=True)
class _Reading:
    """A statement, and whose rows tables have."""

    tree: exp.Expr
    tables: UnitTables
    language: str
    seen: set[str] = field(default_factory=set)
    """The texts of SELECTs with windows, and of those in EXISTS, that were looked at."""

    def moved(self, measurement: Sums) -> Fraction:
        """Return how far one unit moves all groups together at most, in the norm of the noise.

        Raises:
            NotProvedError: it is nothing that is read.
        """
        final = self.select(self.tree)
        called = {
            name
            for name in _called(final)
            if any(f'"{name}"()' in kept.rows.overlap for kept in self.tables.kept.values())
        }
        require_known_nodes(final, self.is_public, called)
        ctes = {cte.alias: self.select(cte.this) for cte in final.ctes}
        source = final.args["from_"].this if "from_" in final.args else None
        keys = [output for output in final.expressions if not _is_sum(output)]
        # The shapes that are read, as engine_sql writes them; whatever looks otherwise is not proved: rows of units that
        # have one each, or that are selected; all rows with the weights of their units, h; rows r that are read twice,
        # once to find the weights; and all rows in full, less what those of heavy units have too much.
        is_read_twice = set(ctes) == {"r", "h"} and is_member(source, "r")
        if not (is_read_twice or isinstance(source, exp.Subquery)) or any(key.find(exp.AggFunc) for key in keys):
            raise NotProvedError
        is_apart = isinstance(source, exp.Subquery) and isinstance(source.this, exp.Union)
        require_plain_select(final, joins="h" in ctes and not is_apart)
        if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Union):
            return self._apart(final, source.this, ctes, measurement)
        if not isinstance(source, exp.Subquery):
            columns, mass = self._of_pairs(final, ctes)
        elif not ctes and (kept := self._kept_rows(source)) is not None:
            columns, mass = kept
        else:
            rows = self.rows(source, distinct="h" in ctes)
            columns, mass = rows.columns, self._mass(final, ctes, rows)
        sums = {
            str(n): Summand.of(output, columns, distinct=not ctes)
            for n, output in enumerate(final.expressions)
            if _is_sum(output)
        }
        if any(summed.weight != ("w" if ctes else "") for summed in sums.values()):
            raise NotProvedError
        return mass * RowNorm(measurement.reader(), measurement.blocks, sums).largest(())

    def square(self, measurement: Sums) -> Fraction:
        """Return the square of how far one unit moves all groups together at most, in the Euclidean norm.

        Raises:
            NotProvedError: it is nothing that is read.
        """
        final = self.select(self.tree)
        require_known_nodes(final, self.is_public, ())
        ctes = {cte.alias: self.select(cte.this) for cte in final.ctes}
        source = final.args["from_"].this
        keys = [output for output in final.expressions if not _is_sum(output)]
        if set(ctes) != {"h"} or not isinstance(source, exp.Subquery) or isinstance(source.this, exp.Union):
            raise NotProvedError
        require_plain_select(final, joins=True)
        (join,) = final.args.get("joins") or [exp.Join()]
        if join.side or not is_member(join.this, "h") or not is_text(join.args.get("on"), "u = hu"):
            raise NotProvedError
        rows = self.rows(source)
        sums = {
            str(n): Summand.of(output, rows.columns) for n, output in enumerate(final.expressions) if _is_sum(output)
        }
        if any(summed.weight != "w" for summed in sums.values()):
            raise NotProvedError
        mass = mass_by_length(ctes["h"], rows, keys, self.rows)
        return mass**2 * RowNorm(measurement.reader(), measurement.blocks, sums).largest_square()

    def _apart(self, final: exp.Select, both: exp.Union, ctes: Mapping[str, exp.Select], measurement: Sums) -> Fraction:
        """Return how far a unit moves the sums where heavy units' rows are weighed apart."""
        outputs = [summed_column(output) for output in final.expressions if _is_sum(output)]
        full, heavy = self.select(both.left), self.select(both.right)
        require_plain_select(full)
        if both.args.get("distinct"):
            raise NotProvedError
        rows, named = self._in_full(full, outputs)
        keys = [name for name in select_columns(full) if name not in named]
        if not all(is_column(select_columns(full)[key], key) for key in keys):
            raise NotProvedError
        marks = HeavyMarks(ctes.get("heavy"), rows, self.rows, self.tables.kept)
        norm = RowNorm(measurement.reader(), measurement.blocks, named)
        return HeavyApart(ctes, rows, named, heavy, keys, norm, marks).moved()

    def _mass(self, final: exp.Select, ctes: Mapping[str, exp.Select], rows: RowsRead) -> Fraction:
        """Return how many rows' worth a unit has where each row is weighed, or is its unit's only one."""
        if not ctes:
            if ONE_ROW not in rows.conditions:
                raise NotProvedError
            return Fraction(1)
        weights = ctes.get("h")
        if set(ctes) != {"h"} or weights is None or weights.args.get("group") is None:
            raise NotProvedError
        read = self.rows(exp.Subquery(this=without_group(weights)), unit="hu", also="w")
        if not read.same_rows(rows) or not is_by_first(weights, "hu"):
            raise NotProvedError
        return self._weighed(final, weights)

    def _of_pairs(
        self, final: exp.Select, ctes: Mapping[str, exp.Select]
    ) -> tuple[Mapping[str, ColumnBounds], Fraction]:
        """Return the columns of rows that are told apart, and how many rows' worth a unit has of them.

        WITH r AS (SELECT DISTINCT … AS u, … AS k0 …), h AS (SELECT u AS hu, CAST(M // greatest(count(*), C) AS …) AS w FROM r
        GROUP BY 1) SELECT k0, sum(w) FROM r JOIN h ON u = hu GROUP BY k0
        """
        rows, weights = self.rows(exp.Subquery(this=ctes["r"].copy()), distinct=True), ctes["h"]
        require_plain_select(weights)
        if rows.named != "u" or not is_member(weights.args["from_"].this, "r") or not is_by_first(weights, "hu"):
            raise NotProvedError
        if not is_column(select_columns(weights)["hu"], "u"):
            raise NotProvedError
        return rows.columns, self._weighed(final, weights)

    def _weighed(self, final: exp.Select, weights: exp.Select) -> Fraction:
        """Return M, where each row is joined to the weight of its unit."""
        (join,) = final.args["joins"]
        if join.side or not is_member(join.this, "h") or not is_text(join.args.get("on"), "u = hu"):
            raise NotProvedError
        most, least, number = weight_of(select_columns(weights)["w"])
        if not is_text(number, "count(*)") or least <= 0:
            raise NotProvedError
        return Fraction(most)

    def _kept_rows(self, source: exp.Subquery) -> tuple[Mapping[str, ColumnBounds], Fraction] | None:
        """Return the columns of rows of which each unit has C at most, and C; None of others.

        (SELECT DISTINCT k0, x FROM (SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY u …) AS place FROM (SELECT
        DISTINCT … AS u, … FROM rides …) AS r) AS ranked WHERE place <= 20) AS r) AS v
        """
        select = self.select(source.this)
        own = None if select.args.get("distinct") is None else select_columns(select)
        if own is not None:
            given = {name for name, part in select.args.items() if part}
            of_columns = all(is_column(column, name) for name, column in own.items())
            if (
                given != {"distinct", "expressions", "from_"}
                or select.args["distinct"].args.get("on")
                or not of_columns
            ):
                return None
            if not isinstance(select.args["from_"].this, exp.Subquery):
                return None
            select = self.select(_subquery(select.args["from_"].this))
        if not select.is_star or len(select.expressions) > 1 or select.args.get("where") is None:
            return None
        place, ranked = select.args["where"].this, self.select(_subquery(select.args["from_"].this))
        given = {name for name, part in select.args.items() if part}
        numbered = select_columns(ranked).get("place")
        if (
            not isinstance(numbered, exp.Window)
            or given != {"expressions", "from_", "where"}
            or len(ranked.expressions) != 2
            or not ranked.expressions[0].is_star
            or not isinstance(numbered.this, exp.RowNumber)
            or [part.sql() for part in numbered.args.get("partition_by") or ()] != ["u"]
            or not isinstance(place, exp.LTE)
            or not is_column(place.this, "place")
            or not place.expression.is_int
        ):
            raise NotProvedError
        require_unit_windows(ranked, "u")
        below = self.rows(ranked.args["from_"].this, distinct=True)
        if "place" in below.columns or below.named != "u":
            raise NotProvedError
        self.seen.add(ranked.sql())
        columns = {name: below.columns[name] for name in own or below.columns if name in below.columns}
        return columns, Fraction(int(place.expression.name))

    def _in_full(self, full: exp.Select, outputs: Sequence[str]) -> tuple[RowsRead, dict[str, Summand]]:
        """Return the rows that are summed in full, and what each output sums."""
        rows = self.rows(full.args["from_"].this)
        sums = {}
        for name, column in select_columns(full).items():
            if name in outputs:
                product = without_parens(column)
                if not isinstance(product, exp.Mul) or not is_text(product.this, str(FULL_WEIGHT)):
                    raise NotProvedError
                sums[name] = Summand.of(product.expression, rows.columns)
        if list(sums) != list(outputs):
            raise NotProvedError
        return rows, sums

    def rows(self, source: exp.Expr, unit: str = "u", also: str = "", *, distinct: bool = False) -> RowsRead:
        """Return the rows of a subquery; nothing but public rows may stand beside the unit's own.

        A `distinct` SELECT may leave out some of a unit's rows.
        """
        if not isinstance(source, exp.Subquery):
            raise NotProvedError
        select = self.select(source.this)
        inner = select.args["from_"].this
        if not isinstance(inner, exp.Subquery) or select.args.get("joins"):
            return self._of_tables(select, unit, also, distinct=distinct)
        own = select_columns(select)
        named = own.get(unit)
        below = None if isinstance(inner.this, exp.SetOperation) else self._by_unit(inner, named)
        if below is None and isinstance(named, exp.Column) and named.table == inner.alias:
            return self._of_tables(select, unit, also, distinct=distinct)
        below = below or self.rows(inner)
        names = own if not select.is_star else {name: exp.column(name) for name in ("u", *below.columns)}
        columns = {name: column_bounds(column, below.columns) for name, column in names.items() if name != "u"}
        made = {n: _defined(column, below.definitions) for n, column in names.items()}
        if not is_text(names.get("u"), below.named) or select.args.get("group") or select.args.get("distinct"):
            raise NotProvedError
        return RowsRead(
            below.text, below.conditions | conditions_of(select), below.unit, columns, made, once=below.once
        )

    def _by_unit(self, inner: exp.Subquery, unit: exp.Expr | None) -> RowsRead | None:
        """Return the rows of which each is all that a unit has, with any columns; None if they are others.

        (SELECT s0."rider" AS "rider", count(*) AS "count" FROM rides AS s0 WHERE s0."rider" IS NOT NULL … GROUP BY 1) AS s0
        """
        select = self.select(inner.this)
        if not isinstance(unit, exp.Column) or unit.table != inner.alias or not is_by_first(select):
            return None
        named = select.expressions[0]
        if named.alias_or_name != unit.name:
            return None
        self._require_tables(select, named.unalias())
        if not _is_asked(named.unalias().sql(), conditions_of(select)):
            raise NotProvedError
        return RowsRead(select.sql(), frozenset({ONE_ROW}), named.unalias().sql(), {}, {}, unit.sql())

    def _of_tables(self, select: exp.Select, unit: str, also: str, *, distinct: bool) -> RowsRead:
        own = select_columns(select)
        self._require_tables(select, own.get(unit))
        grouped, apart = select.args.get("group") is not None, select.args.get("distinct") is not None
        if grouped and (len(own) > 1 or not is_by_first(select)):
            raise NotProvedError
        if apart and len(own) > 1 and not distinct:
            raise NotProvedError
        columns = {n: column_bounds(column, {}) for n, column in own.items() if n not in (unit, also)}
        tables = tables_of(select)
        named = own[unit].sql()
        conditions = conditions_of(select) | (
            frozenset({ONE_ROW}) if grouped or (apart and len(own) == 1) else frozenset()
        )
        if not _is_asked(named, conditions):
            raise NotProvedError
        if self._has_one_of_each(select):
            conditions |= {ONE_ROW}
        first = select.args["from_"].this
        once = isinstance(first, exp.Table) and all(map(self._adds_none, select.args.get("joins") or ()))
        return RowsRead(tables, conditions, named, columns, {n: column.sql() for n, column in own.items()}, once=once)

    def _has_one_of_each(self, select: exp.Select) -> bool:
        """Return whether a unit has one row at most: joined by the unit is what has one of each alone."""
        items = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
        named = self._owned().named_in(select)
        return all(
            isinstance(item, exp.Subquery)
            and isinstance(item.this, exp.Select)
            and is_by_first(item.this)
            and item.this.expressions[0].alias_or_name == named.get(item.alias)
            for item in items
        )

    def _adds_none(self, join: exp.Join) -> bool:
        """Return whether a join makes no two rows of one: it is of a public table, by numbers that this has once each."""
        condition, table = join.args.get("on"), join.this
        if not isinstance(table, exp.Table) or condition is None:
            return False
        unique, condition = self.tables.unique.get(_name_of(table), ()), without_parens(condition)
        for part in condition.flatten() if isinstance(condition, exp.And) else (condition,):
            sides = [without_parens(side) for side in (part.this, part.expression)] if isinstance(part, exp.EQ) else []
            for own, other in (sides, sides[::-1]) if sides else ():
                of = {column.table for column in other.find_all(exp.Column)}
                if (
                    isinstance(own, exp.Column)
                    and own.table == table.alias
                    and own.name in unique
                    and own.table not in of
                ):
                    return True
        return False

    def _require_tables(self, select: exp.Select, unit: exp.Expr | None) -> None:
        """See that all rows that are somebody's are of the unit that is named, and all others public."""
        named = self._owned().named_in(select)
        if not isinstance(unit, exp.Column) or named.get(unit.table) != unit.name:
            raise NotProvedError

    def is_public(self, table: exp.Table) -> bool:
        """Return whether a table's rows are nobody's."""
        return self._owner(table) is None

    def _owned(self) -> OwnedRows:
        return OwnedRows(self._owner, self.select, self.seen)

    def _owner(self, table: exp.Table) -> str | None:
        name = _name_of(table)
        if name not in self.tables.owners:
            raise NotProvedError
        return self.tables.owners[name]

    @staticmethod
    def select(tree: exp.Expr) -> exp.Select:
        """Return a plain SELECT."""
        if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in _CUT):
            raise NotProvedError
        offset = tree.args.get("offset")
        if offset is not None and offset.expression.name != "0":
            raise NotProvedError
        return tree


def _subquery(item: exp.Expr) -> exp.Expr:
    """Return the query of an element of FROM.

    Raises:
        NotProvedError: it is none.
    """
    if not isinstance(item, exp.Subquery):
        raise NotProvedError
    query: exp.Expr = item.this
    return query


def _defined(tree: exp.Expr, below: Mapping[str, str]) -> str:
    """Return how a column is computed, with those that it is computed of in their places."""
    columns = [column.name for column in tree.find_all(exp.Column)]
    return f"{tree.sql()} of {[below.get(name, '') for name in columns]}"


def _name_of(table: exp.Table) -> str:
    plain = table.copy()
    plain.set("alias", None)
    return str(plain.sql())


def _is_asked(named: str, conditions: Collection[str]) -> bool:
    """Return whether rows of nobody are left out; each engine's parser reads that in one of two ways."""
    return f"NOT {named} IS NULL" in conditions or f"{named} IS NOT NULL" in conditions


def _is_sum(output: exp.Expr) -> bool:
    return output.find(exp.Sum, exp.Count) is not None


def _called(tree: exp.Expr) -> set[str]:
    return {call.name for call in tree.find_all(exp.Anonymous)}
