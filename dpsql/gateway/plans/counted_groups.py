"""Counts of groups that are selected by noise: those that there are, and not those that are shown.

SELECT count(*) FROM (SELECT DISTINCT code, total FROM …) AS v  →  SELECT count(DISTINCT (code, total)) FROM …

Where the groups of a list are declared, their number follows from the policy, and nothing is changed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.question import ColumnDescription
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.columns import fold, from_items
from dpsql.rewrite.syntax.named.grouping import Grouping
from dpsql.rewrite.syntax.read.trees import every, holds
from dpsql.rewrite.syntax.whole.scopes import Scope
from dpsql.rewrite.syntax.whole.single_row import has_more_rows

_NUMBER = ColumnDescription("a0", 20, -1, "bigint")
_COUNTS = frozenset({"count", "regr_count"})
_CONDITIONS = (exp.Predicate, exp.Connector, exp.Not)
_LIST_ALONE = ("having", "limit", "offset", "fetch", "windows", "qualify")
_COUNT_ALONE = ("where", "group", "joins", "laterals", "windows", "distinct")


@dataclass(frozen=True, slots=True)
class GroupCount:
    """A SELECT that says how many groups another one has, and nothing else of them."""

    scope: Scope

    def match(self, node: exp.Expr) -> str | None:
        """Return the column of the answer that a node is: every count is the one number."""
        return "a0" if function_name(node) == "count" else None

    @property
    def columns(self) -> tuple[ColumnDescription, ...]:
        """Return the columns of the answer."""
        return (_NUMBER,)


def group_count(scope: Scope) -> GroupCount | None:
    """Return the SELECT that counts a scope's groups, if nobody else reads them and it does nothing else."""
    listed, query = scope.select, next(_in_from(scope.select), None)
    alone = query is not None and next(from_items(query), None) is not None and len(list(_in_from(listed))) == 1
    if query is None or not alone or not _is_plain(scope):
        return None
    calls = aggregates_of(query)
    if not calls or any(query.args.get(clause) for clause in _COUNT_ALONE) or not all(map(_is_of_rows, calls)):
        return None
    if any(holds(output, exp.Window) for output in query.expressions):
        return None
    return GroupCount(Scope(query, Grouping((), ((),)), calls[:1], scope.ctes))


def refuse_to_count(select: exp.Select) -> None:
    """See that nothing counts the groups of a SELECT, which are selected.

    Raises:
        Unsupported: something does.
    """
    if any(map(_counts, _readers(select))) or any(map(_is_count_window, select.find_all(exp.Window))):
        raise Unsupported(
            "count() over groups that are selected by noise would count those that are shown, not those that there are",
            because="count-of-selected-groups",
            hint="count(DISTINCT (a, b)) counts the values that there are. CREATE TEMP TABLE shown AS SELECT … keeps the "
            "groups that are shown, and their number is that of its rows.",
        )


def _is_plain(scope: Scope) -> bool:
    """Return whether each group of a scope is one row of its SELECT."""
    select = scope.select
    if not scope.grouping.plain or not scope.keys or any(select.args.get(clause) for clause in _LIST_ALONE):
        return False
    if select.args.get("distinct") is not None and (select.args.get("group") or scope.aggregates):
        return False
    return not has_more_rows(select) and not any(holds(output, exp.Query, exp.Window) for output in select.expressions)


def _is_of_rows(call: exp.Expr) -> bool:
    """Return whether an aggregate is count(*), or of a constant."""
    return function_name(call) == "count" and all(
        isinstance(part, (exp.Star, exp.Literal, exp.Boolean)) for part in call.expressions
    )


def _in_from(query: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs in whose FROM a query stands alone, as itself or by its name."""
    parent = query.parent
    match parent:
        case exp.Subquery():
            above = parent.parent
            if isinstance(above, exp.From) and isinstance(above.parent, exp.Select):
                yield above.parent
        case exp.CTE():
            for place in _names(parent):
                above = place.parent
                if isinstance(above, exp.From) and isinstance(above.parent, exp.Select):
                    yield above.parent
                else:
                    yield exp.Select()  # something else, which counts nothing alone
        case _:
            pass


def _readers(query: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs that have a query's rows in FROM, alone or among others, and those that have theirs, each once."""
    seen, waiting = set[int](), [query]
    while waiting:
        node = waiting.pop()
        parent = node.parent
        match parent:
            case exp.Subquery() | exp.SetOperation() | exp.From() | exp.Join() | exp.Lateral():
                waiting.append(parent)
            case exp.CTE() if id(parent) not in seen:
                seen.add(id(parent))
                waiting += _names(parent)
            case exp.Select() if id(parent) not in seen and not isinstance(node, exp.Query):
                seen.add(id(parent))
                yield parent
                waiting.append(parent)
            case _:
                pass


def _names(cte: exp.CTE) -> list[exp.Table]:
    """Return where a CTE's rows are read by its name."""
    name = fold(cte.args["alias"].this)
    places = every(cte.root(), exp.Table)
    return [place for place in places if fold(place.this) == name and not place.args.get("db")]


def _counts(query: exp.Select) -> bool:
    of_windows = (window for output in query.expressions for window in output.find_all(exp.Window))
    return any(map(_is_count, aggregates_of(query))) or any(map(_is_count_window, of_windows))


def _is_count_window(window: exp.Window) -> bool:
    return _is_count(window.this)


def _is_count(call: exp.Expr) -> bool:
    """Return whether an aggregate says how many rows there are, or how many of some kind: count(x), or sum(1)."""
    call = call.this if isinstance(call, exp.Filter) else call
    name = function_name(call)
    return name in _COUNTS or (name == "sum" and all(map(_is_written, call.expressions)))


def _is_written(value: exp.Expr | None) -> bool:
    """Return whether a value stands in the statement, or is one of several that do."""
    match value:
        case exp.Case():
            return all(_is_written(part.args.get("true")) for part in value.args["ifs"]) and _is_written(
                value.args.get("default")
            )
        case exp.Cast(this=of) if isinstance(of.unnest(), _CONDITIONS):
            return True
        case exp.Cast() | exp.Paren() | exp.Neg():
            return _is_written(value.this)
        case _:
            return value is None or isinstance(value, (exp.Literal, exp.Null, exp.Boolean))
