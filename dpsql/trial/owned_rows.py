"""Whose the rows are that a FROM offers: of one unit each, whatever is joined by the unit, grouped by it, or put together.

    rides AS s0 JOIN trips AS s1 ON s1."passenger_id" = s0."rider"                   a joined row is of one rider's rows
    rides AS s0 WHERE EXISTS (SELECT 1 FROM trips AS s1 WHERE s1."passenger_id" = s0."rider")           likewise
    rides AS s0 JOIN (SELECT s0."rider", count(*) … GROUP BY 1) AS s1 ON s1."rider" = s0."rider"        likewise
    (SELECT "rider", fare FROM rides … UNION ALL SELECT "passenger_id", fare FROM trips …) AS s0        a row of either

Claim: which rows there are with a unit, and how often, depends on that unit's own rows and on public ones, and is the
same in each scan of a statement. Proof, from inside out: it holds of a protected table, whose column says whose a row is.
A row that is joined has parts of which each names the same unit, or is public; what a LEFT JOIN finds, or does not find,
is of the unit of the row before it. A group by the unit has its rows alone, and so has a UNION ALL of such. A condition
is of one row, or of public ones, or asks whether its unit has rows that are tied to it: EXISTS. What is aggregated is the
same in any order of rows: counts, extremes, and sums of whole numbers; of windows see below.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.trial.row_contribution import NotProvedError, asked_in_place, column_bounds, is_text, without_parens

# Windows within the rows of a unit, which compute the same of them in each scan of a statement.
#
#     SELECT s0.*, row_number() OVER (PARTITION BY "rider" ORDER BY "day", "fare") AS "row_number" FROM (
#       SELECT s0."rider" AS "rider", … AS "day", … AS "fare" FROM rides AS s0 WHERE …) AS s0
#
# Claim: such a SELECT has the rows of its FROM, and what is beside them depends on the rows of the same unit alone, but for
# which of several equal rows has it. Proof: a window parts by the unit, so that it sees one unit's rows. A number of rows, an
# extreme, a sum of whole numbers and a rank are the same for all rows that are equal in its order, whichever comes first. Any
# other function is read only where the order has all columns: rows that are equal in it are equal, and changing places
# changes nothing. For that, equal values must be one value: a floating-point number has two zeros, unless they are written as
# one.

_OF_PEERS = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
"""Functions that are the same for rows which are equal in their order."""
_OF_PLACES = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
"""Those that tell equal rows apart."""
_READ = frozenset({"this", "partition_by", "order", "spec", "over"})


def windows_of(select: exp.Select) -> list[exp.Window]:
    """Return the windows among a SELECT's own outputs, and not those of queries in it."""
    return [
        window
        for output in select.expressions
        for window in output.find_all(exp.Window)
        if window.find_ancestor(exp.Select) is select
    ]


def require_unit_windows(select: exp.Select, unit: str) -> None:
    """See that a SELECT with windows has each row of its FROM, and what a unit's rows make of each other beside it.

    `unit` is the column of its FROM that names the unit.

    Raises:
        NotProvedError: it can't be seen.
    """
    given = {name for name, part in select.args.items() if part}
    inner = select.args["from_"].this
    if (
        given != {"expressions", "from_"}
        or not isinstance(inner, exp.Subquery)
        or not isinstance(inner.this, exp.Select)
    ):
        raise NotProvedError
    columns = [output.alias_or_name for output in inner.this.expressions]
    if any(output.is_star for output in inner.this.expressions) or len({*columns}) < len(columns):
        raise NotProvedError
    single = all(map(_has_one_form, inner.this.expressions))
    for window in windows_of(select):
        _require_unit_window(window, unit, inner.alias, columns if single else ())


def _require_unit_window(window: exp.Window, unit: str, table: str, columns: Sequence[str]) -> None:
    """See that a window is the same in each scan; without `columns` no order tells rows apart."""
    if {name for name, part in window.args.items() if part} - _READ or window.args.get("over") != "OVER":
        raise NotProvedError
    parts = [_column(part, table) for part in window.args.get("partition_by") or ()]
    if unit not in parts:
        raise NotProvedError
    order = window.args.get("order")
    by = [_column(part.this, table) for part in (order.expressions if order is not None else ())]
    call, spec = window.this, window.args.get("spec")
    while isinstance(call, exp.Filter):
        call = call.this
    if any(inner is not call for inner in window.find_all(exp.AggFunc)):
        raise NotProvedError  # which makes one row of everybody's before there are windows
    if (is_in_any_order(call) or isinstance(call, _OF_PEERS)) and spec is None:
        return
    total = bool(columns) and {*columns} <= {*parts, *by}
    if not total or not (is_in_any_order(call) or isinstance(call, (*_OF_PEERS, *_OF_PLACES))):
        raise NotProvedError


def _column(part: exp.Expr, table: str) -> str | None:
    """Return the name of a column of the one table; None for anything else."""
    part = without_parens(part)
    return part.name if isinstance(part, exp.Column) and part.table in ("", table) else None


def _has_one_form(output: exp.Expr) -> bool:
    """Return whether values of an output that compare as equal are one: no floating-point number but in its one form.

    CASE WHEN x = 0 THEN 0.0e0 WHEN isnan(x) THEN CAST('NaN' AS DOUBLE) ELSE x END
    """
    value = without_parens(output.unalias())
    if not any(type_.this in (exp.DType.DOUBLE, exp.DType.FLOAT) for type_ in value.find_all(exp.DataType)):
        return True
    if column_bounds(value, {}).is_known:
        return True
    if not isinstance(value, exp.Case) or value.this is not None:
        return False
    first = value.args["ifs"][0]
    zero, is_zero = first.args["true"], without_parens(first.this)
    rest = value.args.get("default")
    return (
        isinstance(is_zero, exp.EQ)
        and is_text(is_zero.expression, "0")
        and _is_zero(zero)
        and rest is not None
        and without_parens(rest) == without_parens(is_zero.this)
    )


def _is_zero(text: exp.Expr) -> bool:
    while isinstance(text, (exp.Cast, exp.Paren)):
        text = text.this
    return isinstance(text, exp.Literal) and text.name in ("0", "0.0", "0e0", "0.0e0")


def is_in_any_order(call: exp.Expr) -> bool:
    """Return whether an aggregate is the same in whatever order rows come: a sum of doubles is not."""
    if isinstance(call, exp.Sum):
        is_whole = isinstance(call.this, exp.Cast) and call.this.to.this is exp.DType.BIGINT
        return is_whole or column_bounds(call.this, {}).is_known
    return isinstance(call, (exp.Count, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr))


def aggregates_of(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the aggregates by which a SELECT makes one row of several; a window is none."""
    for call in select.find_all(exp.AggFunc, exp.Anonymous):
        if isinstance(call, exp.AggFunc) and call.find_ancestor(exp.Select, exp.Window) is select:
            yield call


_ASKED = frozenset({"expressions", "from_", "joins", "where"})
"""The parts that a SELECT in EXISTS may have: then it has a row if there is one."""


@dataclass(frozen=True, slots=True)
class OwnedRows:
    """Reads from a text whose rows are."""

    owner: Callable[[exp.Table], str | None]
    """Returns the column of a table that says whose a row is, None for public ones; refuses unknown ones."""
    select: Callable[[exp.Expr], exp.Select]
    """Returns a SELECT that cuts nothing off, or raises NotProvedError."""
    seen: set[str] = field(default_factory=set)
    """The texts of the SELECTs that have windows, or are asked for in EXISTS, and that were read."""

    def named_in(self, select: exp.Select) -> dict[str, str]:
        """Return, for each element of a SELECT's FROM that is somebody's, the column that names the unit: it is one for all.

        Raises:
            NotProvedError: rows of two units could meet, or it is not known whose they are.
        """
        first, joins = select.args["from_"].this, select.args.get("joins") or []
        named = dict[str, str]()
        for item, join in ((first, None), *((join.this, join) for join in joins)):
            if join is not None and (
                join.side not in ("", "LEFT") or join.args.get("using") or join.args.get("method")
            ):
                raise NotProvedError
            unit = self.unit_of(item)
            if unit is None:
                continue
            if join is not None and not (named and self._is_tied(join, (item.alias, unit), named)):
                raise NotProvedError
            if item.alias in named or not item.alias:
                raise NotProvedError
            named[item.alias] = unit
        if not named:
            raise NotProvedError
        for condition in (select.args.get("where"), *(join.args.get("on") for join in joins)):
            if condition is not None:
                self._require_row_condition(condition, named)
        return named

    def _require_row_condition(self, condition: exp.Expr, named: dict[str, str]) -> None:
        """See that a condition asks about a row, about public ones, and whether the row's unit has others."""
        within = set[int]()
        for test in condition.find_all(exp.Exists):
            tables = list(test.find_all(exp.Table))
            if any(id(table) in within for table in tables) or all(self.owner(table) is None for table in tables):
                continue  # it is within another one, which was seen, or about public rows
            inner = self.select(test.this)
            where, from_ = inner.args.get("where"), inner.args.get("from_")
            if {name for name, part in inner.args.items() if part} - _ASKED or where is None or from_ is None:
                raise NotProvedError
            items = [from_.this, *(join.this for join in inner.args.get("joins") or ())]
            others = self.named_in(inner)
            if {item.alias for item in items} & {*named}:  # it would be another table's column there
                raise NotProvedError
            if not any(self._is_equal(part, own, named) for part in _conjuncts(where.this) for own in others.items()):
                raise NotProvedError
            self.seen.add(asked_in_place(inner))
            within |= {id(table) for table in tables}
        if any(self.owner(table) is not None and id(table) not in within for table in condition.find_all(exp.Table)):
            raise NotProvedError

    def unit_of(self, item: exp.Expr) -> str | None:
        """Return the column of an element of FROM that says whose a row is; None if its rows are public.

        Raises:
            NotProvedError: it is not known.
        """
        if isinstance(item, exp.Table):
            return self.owner(item)
        if not isinstance(item, exp.Subquery):
            raise NotProvedError
        if all(self.owner(table) is None for table in item.find_all(exp.Table)):
            return None
        parts = _parts(item.this)
        units = {self._put_out(part) for part in parts}
        starred = any(output.is_star for part in parts if isinstance(part, exp.Select) for output in part.expressions)
        if len(units) != 1 or (len(parts) > 1 and starred):  # of a star nobody knows where columns are
            raise NotProvedError
        return units.pop()[1]

    def _put_out(self, part: exp.Expr) -> tuple[int, str]:
        """Return the place where a SELECT puts out the unit of its rows, and under which name."""
        select = self.select(part)
        if select.args.get("with_") or select.args.get("from_") is None:
            raise NotProvedError
        named, group, distinct = self.named_in(select), select.args.get("group"), select.args.get("distinct")
        calls = list(aggregates_of(select))
        if (distinct is not None and distinct.args.get("on")) or not all(map(is_in_any_order, calls)):
            raise NotProvedError
        if windows_of(select):
            require_unit_windows(select, next(iter(named.values())))
            self.seen.add(select.sql())
        units = {place: name for place, output in enumerate(select.expressions, 1) if (name := _unit_in(output, named))}
        if group is not None:
            by = [element.sql() for element in group.expressions]
            units = {place: name for place, name in units.items() if str(place) in by}
        elif calls or select.args.get("having"):
            raise NotProvedError  # of all units together
        if not units:
            raise NotProvedError
        place, name = next(iter(units.items()))
        if name in [output.alias_or_name for at, output in enumerate(select.expressions, 1) if at != place]:
            raise NotProvedError
        return place, name

    def _is_tied(self, join: exp.Join, own: tuple[str, str], named: dict[str, str]) -> bool:
        """Return whether a join's condition asks that a row has the unit of the rows before it."""
        on = join.args.get("on")
        return on is not None and any(self._is_equal(part, own, named) for part in _conjuncts(on))

    @staticmethod
    def _is_equal(part: exp.Expr, own: tuple[str, str], named: dict[str, str]) -> bool:
        """Return whether a condition is that the unit in a column is that of one of the others."""
        sides = [without_parens(part.this), without_parens(part.expression)] if isinstance(part, exp.EQ) else []
        columns = [(side.table, side.name) for side in sides if isinstance(side, exp.Column)]
        others = [column for column in columns if column != own]
        return len(columns) == 1 + len(others) == 2 and named.get(others[0][0]) == others[0][1]


def _unit_in(output: exp.Expr, named: dict[str, str]) -> str | None:
    """Return the name of the unit in an output that is its column, or that is all columns of a table."""
    column = output.unalias()
    if not isinstance(column, exp.Column) or column.table not in named:
        return None
    if isinstance(column.this, exp.Star):
        return str(named[column.table])
    return str(output.alias_or_name) if named[column.table] == column.name else None


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what all has to hold."""
    condition = without_parens(condition)
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    else:
        yield condition


def _parts(query: exp.Expr) -> list[exp.Expr]:
    """Return the SELECTs of a UNION ALL, or the one that there is.

    Raises:
        NotProvedError: it is another operation.
    """
    if not isinstance(query, exp.SetOperation):
        return [query]
    if (
        not isinstance(query, exp.Union)
        or query.args.get("distinct")
        or query.args.get("limit")
        or query.args.get("offset")
    ):
        raise NotProvedError
    return [*_parts(without_parens(query.left)), *_parts(without_parens(query.right))]
