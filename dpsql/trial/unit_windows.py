"""Windows within the rows of a unit, which compute the same of them in each scan of a statement.

    SELECT s0.*, row_number() OVER (PARTITION BY "rider" ORDER BY "day", "fare") AS "row_number" FROM (
      SELECT s0."rider" AS "rider", … AS "day", … AS "fare" FROM rides AS s0 WHERE …) AS s0

Claim: such a SELECT has the rows of its FROM, and what is beside them depends on the rows of the same unit alone, but for
which of several equal rows has it. Proof: a window parts by the unit, so that it sees one unit's rows. A number of rows, an
extreme, a sum of whole numbers and a rank are the same for all rows that are equal in its order, whichever comes first. Any
other function is read only where the order has all columns: rows that are equal in it are equal, and changing places changes
nothing. For that, equal values must be one value: a floating-point number has two zeros, unless they are written as one.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpsql.trial.column_bounds import NotProvedError, column_bounds, without_parens
from dpsql.trial.summed import is_text

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


def see_windows(select: exp.Select, unit: str) -> None:
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
        _see(window, unit, inner.alias, columns if single else ())


def _see(window: exp.Window, unit: str, table: str, columns: Sequence[str]) -> None:
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
    if not any(type_.is_type("double", "float") for type_ in value.find_all(exp.DataType)):
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
        is_whole = isinstance(call.this, exp.Cast) and call.this.to.is_type("bigint")
        return is_whole or column_bounds(call.this, {}).is_known
    return isinstance(call, (exp.Count, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr))


def aggregates_of(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the aggregates by which a SELECT makes one row of several; a window is none."""
    for call in select.find_all(exp.AggFunc, exp.Anonymous):
        if isinstance(call, exp.AggFunc) and call.find_ancestor(exp.Select, exp.Window) is select:
            yield call
