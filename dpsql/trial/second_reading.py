"""A second opinion on the price: the engine's text is read again, and it is proved from it how far one unit can move.

It shares nothing with what has written the text, and believes no claim of a measurement. What it reads: sums and counts over
one protected table and public ones joined to it, with each unit kept to its bound in one of these ways. Everything else is
`NotProvedError`, and rests on the trial alone.

    rows of one unit each:  SELECT count(*) FROM (SELECT … AS u FROM trips GROUP BY 1) AS r
    all rows weighed:       WITH h AS (… M // greatest(count(*), C) AS w … GROUP BY 1) SELECT sum(w * f) FROM r JOIN h …
    heavy units apart:      all rows in full, and (w − W)·s for units that have more than C, of which none is missed

Claim: a unit with n rows adds w·n ≤ M rows' worth, since w ≤ M / max(n, C), and one with n ≤ C rows, which is in no list of
heavy ones, W·n ≤ W·C = M. A row's worth is bounded by what its summed columns can be, by their own CASE and casts. Where sums
weigh v ≥ w beside a count, v·r ≤ w·S·n in each group, since v ≤ max(w, w·S / c) and c > r / n there, r being what the n rows
of the unit in the group add up to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import sqlglot
from sqlglot import exp

from dpsql.policy.model import MechanismName
from dpsql.privacy.measurement.sums import Sums
from dpsql.trial.heavy_apart import HeavyApart
from dpsql.trial.statement_parts import (
    FULL_WEIGHT,
    RowsRead,
    conditions_of,
    is_by_first,
    is_column,
    names_in,
    projected,
    see_that_it_is_plain,
    summed_column,
    weight_of,
    without_group,
)
from dpsql.trial.summed import NotProvedError, Summed, column_bounds, is_text, largest, without_parens

_LONGEST = 20_000
"""Characters of a text that is read again: it takes a tenth of a second."""
_CUT = ("limit", "offset", "qualify", "sample", "laterals")
_CHANGING = frozenset({"random", "uuid", "gen_random_uuid", "nextval", "clock_timestamp", "setseed"})


def is_proved(measurement: object, sql: str, dialect: str, tables: Mapping[str, str | None]) -> bool:
    """Return whether no unit can move a measurement further than its noise is made for, as its own text proves.

    `tables` has the engine's names of tables with the column that names the unit, None for public ones.
    """
    if not isinstance(measurement, Sums) or measurement.mechanism is not MechanismName.CUBE or measurement.delta:
        return False
    if len(sql) > _LONGEST:
        return False
    try:
        moved = _Reading(sqlglot.parse_one(sql, dialect=dialect), tables).moved(measurement)
    except Exception:  # noqa: BLE001  (whatever it stumbles over, nothing is proved)
        return False
    return moved <= measurement.sensitivity and measurement.scale * measurement.epsilon >= moved


@dataclass(frozen=True, slots=True)
class _Reading:
    """A statement, and whose rows tables have."""

    tree: exp.Expr
    tables: Mapping[str, str | None]

    def moved(self, measurement: Sums) -> Fraction:
        """Return how far one unit moves all groups together at most, in the norm of the noise.

        Raises:
            NotProvedError: it is nothing that is read.
        """
        final = self.select(self.tree)
        ctes = {cte.alias: self.select(cte.this) for cte in final.ctes}
        source = final.args["from_"].this if "from_" in final.args else None
        if not isinstance(source, exp.Subquery):
            raise NotProvedError
        see_that_it_is_plain(final, joins="h" in ctes and not isinstance(source.this, exp.Union))
        if isinstance(source.this, exp.Union):
            outputs = [summed_column(one) for one in final.expressions if one.find(exp.Sum, exp.Count)]
            full, heavy = self.select(source.this.left), self.select(source.this.right)
            see_that_it_is_plain(full)
            if source.this.args.get("distinct"):
                raise NotProvedError
            rows, named = self._in_full(full, outputs)
            keys = [name for name in projected(full) if name not in named]
            if not all(is_column(projected(full)[key], key) for key in keys):
                raise NotProvedError
            mass, beside = HeavyApart(ctes, rows, named, heavy, keys, self.rows).mass()
            return mass * largest(measurement.reader(), measurement.blocks, named, beside)
        rows = self.rows(source)
        sums = [Summed.of(one, rows.columns) for one in final.expressions if one.find(exp.Sum, exp.Count)]
        return self._mass(final, ctes, rows) * largest(measurement.reader(), measurement.blocks, sums, None)

    def _mass(self, final: exp.Select, ctes: Mapping[str, exp.Select], rows: RowsRead) -> Fraction:
        """Return how many rows' worth a unit has where each row is weighed, or is its unit's only one."""
        if not ctes:
            if "one row a unit" not in rows.conditions:
                raise NotProvedError
            return Fraction(1)
        weights = ctes.get("h")
        if set(ctes) != {"h"} or weights is None or weights.args.get("group") is None:
            raise NotProvedError
        summed = [one for one in final.expressions if one.find(exp.Sum, exp.Count)]
        if any("w" not in names_in(one) for one in summed):
            raise NotProvedError
        (join,) = final.args["joins"]
        if join.side or not is_text(join.args.get("on"), "u = hu"):
            raise NotProvedError
        read = self.rows(exp.Subquery(this=without_group(weights)), unit="hu", also="w")
        if not read.same_rows(rows) or not is_by_first(weights):
            raise NotProvedError
        most, least, number = weight_of(projected(weights)["w"])
        if not is_text(number, "count(*)") or least <= 0:
            raise NotProvedError
        return Fraction(most)

    def _in_full(self, full: exp.Select, outputs: Sequence[str]) -> tuple[RowsRead, dict[str, Summed]]:
        """Return the rows that are summed in full, and what each output sums."""
        rows = self.rows(full.args["from_"].this)
        found = {}
        for name, one in projected(full).items():
            if name in outputs:
                product = without_parens(one)
                if not isinstance(product, exp.Mul) or not is_text(product.this, str(FULL_WEIGHT)):
                    raise NotProvedError
                found[name] = Summed.of(product.expression, rows.columns)
        if list(found) != list(outputs):
            raise NotProvedError
        return rows, found

    def rows(self, source: exp.Expr, unit: str = "u", also: str = "") -> RowsRead:
        """Return the rows of a subquery; nothing but public rows may stand beside the unit's own."""
        if not isinstance(source, exp.Subquery):
            raise NotProvedError
        select = self.select(source.this)
        inner = select.args["from_"].this
        own = projected(select)
        if isinstance(inner, exp.Subquery) and not select.args.get("joins"):
            below = self.rows(inner)
            names = own if not select.is_star else {name: exp.column(name) for name in ("u", *below.columns)}
            columns = {name: column_bounds(one, below.columns) for name, one in names.items() if name != "u"}
            made = {n: _defined(one, below.definitions) for n, one in names.items()}
            if not is_column(names.get("u"), "u") or select.args.get("group") or select.args.get("distinct"):
                raise NotProvedError
            return RowsRead(below.text, below.conditions | conditions_of(select), below.unit, columns, made)
        self._see_tables(select, own.get(unit))
        grouped = select.args.get("group") is not None
        once = grouped or select.args.get("distinct") is not None
        if once and (len(own) > 1 or (grouped and not is_by_first(select))):
            raise NotProvedError
        columns = {n: column_bounds(one, {}) for n, one in own.items() if n not in (unit, also)}
        tables = " ".join(one.sql() for one in (select.args["from_"], *(select.args.get("joins") or ())))
        named = own[unit].sql()
        known = conditions_of(select) | (frozenset({"one row a unit"}) if once else frozenset())
        if f"NOT {named} IS NULL" not in known:
            raise NotProvedError
        return RowsRead(tables, known, named, columns, {n: one.sql() for n, one in own.items()})

    def _see_tables(self, select: exp.Select, unit: exp.Expr | None) -> None:
        """See that one table is somebody's, that the unit is its, and that all others are public."""
        joins = select.args.get("joins") or []
        sources = [select.args["from_"].this, *(join.this for join in joins)]
        if any(not isinstance(one, exp.Table) for one in sources) or any(
            join.side not in ("", "LEFT") for join in joins
        ):
            raise NotProvedError
        owned = [one for one in sources if self._owner(one) is not None]
        if owned != sources[:1] or not isinstance(unit, exp.Column):
            raise NotProvedError
        if unit.table != sources[0].alias or unit.name != self._owner(sources[0]):
            raise NotProvedError
        if any(one.find(exp.Select) for one in (select.args.get("where"), *joins) if one is not None):
            raise NotProvedError
        if select.find(exp.Rand, exp.Window, exp.TableSample) or _called(select) & _CHANGING:
            raise NotProvedError  # it need not be the same in two scans

    def _owner(self, table: exp.Table) -> str | None:
        plain = table.copy()
        plain.set("alias", None)
        name = plain.sql()
        if name not in self.tables:
            raise NotProvedError
        return self.tables[name]

    @staticmethod
    def select(tree: exp.Expr) -> exp.Select:
        """Return a plain SELECT."""
        if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in _CUT):
            raise NotProvedError
        return tree


def _defined(tree: exp.Expr, below: Mapping[str, str]) -> str:
    """Return how a column is computed, with those that it is computed of in their places."""
    columns = [one.name for one in tree.find_all(exp.Column)]
    return f"{tree.sql()} of {[below.get(name, '') for name in columns]}"


def _called(tree: exp.Expr) -> set[str]:
    return {one.name.lower() for one in tree.find_all(exp.Anonymous)}
