"""See that what stands for one value in a planned statement has one row at most: PostgreSQL would fail when it is paid."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.question import ColumnDescription
from dpsql.rewrite.analysis.declared import PublicRows
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of, function_name
from dpsql.rewrite.syntax.named.columns import fold, from_items
from dpsql.rewrite.syntax.named.grouping import Grouping
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import Statement, Wrap
from dpsql.rewrite.syntax.read.trees import every, holds
from dpsql.rewrite.syntax.whole.scopes import Scope, tables_read
from dpsql.rewrite.syntax.whole.single_row import (
    Released,
    ReleasedRows,
    depends_on_nothing,
    has_more_rows,
    has_values,
    is_written_value,
    several_rows,
    values_of_several_rows,
)
from dpsql.rewrite.translate.public.public_queries import with_ctes_in_place
from dpsql.rewrite.translate.rows.relations import value_of_several_rows


def known_rows(released: Released, policy: Policy, rows: PublicRows) -> Released:
    """Return the facts about the rows of answers, and of public tables."""
    public = {
        name: ReleasedRows(
            len(next(iter(columns.values()), ())),
            None if policy.tables[name].key is None else frozenset({policy.tables[name].key or ""}),
            tuple(columns),
            columns,
        )
        for name, columns in rows.items()
        if name in policy.tables
    }
    return {**public, **released}


def trials_of_values(tree: exp.Query, policy: Policy) -> Iterator[str]:
    """Yield what fails if something that stands for one value in a query has several rows, and depends on no answer."""
    if not has_values(tree):
        return
    for subquery in values_of_several_rows(with_ctes_in_place(tree, {}), {}):
        if not tables_read(subquery, policy) and depends_on_nothing(subquery, tree):
            yield f"SELECT {render(subquery)} IS NULL"


def trials_beside(statement: Statement, policy: Policy) -> Iterator[str]:
    """Yield the same of the queries that a statement has beside those that are answered."""
    for beside in statement.beside:
        tree = beside.query.tree
        yield from trials_of_values(tree, policy)
        flat = with_ctes_in_place(tree, {})
        if (
            not is_written_value(beside.before, beside.behind)
            or tables_read(flat, policy)
            or not several_rows(flat, {})
        ):
            continue
        if depends_on_nothing(exp.Subquery(this=flat), tree) and not beside.reads_row:
            yield f"SELECT ({render(tree)}) IS NULL"


def require_values_beside(statement: Statement, released: Released, policy: Policy) -> None:
    """See that what reads an answer beside it, by the name of a CTE, has one row at most where it stands for one value.

    Raises:
        Unsupported: it may have several rows.
    """
    for beside in statement.beside:
        flat = with_ctes_in_place(beside.query.tree, {})
        values = [value for value in values_of_several_rows(flat, released) if tables_read(value, policy)]
        if (
            is_written_value(beside.before, beside.behind)
            and tables_read(flat, policy)
            and several_rows(flat, released)
        ):
            values.append(exp.Subquery(this=flat))
        if values:
            raise value_of_several_rows()


def require_values(tree: exp.Query, asked: exp.Query, released: Released, answers: Mapping[str, object]) -> None:
    """See that what stands for one value in a query over `answers` has one row at most; `asked` is it as it was asked.

    Of what depends on no answer the session has tried whether it has.

    Raises:
        Unsupported: one of them may have several rows.
    """
    if not has_values(tree):
        return
    for subquery in values_of_several_rows(with_ctes_in_place(tree, {}), released):
        read = {table.name for table in every(subquery, exp.Table)}
        if read & answers.keys() or not depends_on_nothing(subquery, asked):
            raise value_of_several_rows()


def in_parentheses(statement: Statement) -> bool:
    """Return whether a query of a statement stands in parentheses that are not the query's."""
    return any("(" in text for text in statement.around[:-1])


def require_written_value(statement: Statement, place: int, tree: exp.Query, released: Released) -> None:
    """See that the query in one place of a statement has one row at most, if what is written around it wants one value.

    Raises:
        Unsupported: it may have several rows.
    """
    around = statement.around[place : place + 2]
    if statement.wrap is Wrap.COPY or not is_written_value(*around):
        return
    if several_rows(with_ctes_in_place(tree, {}), released):
        raise value_of_several_rows()


# Counts of groups that are selected by noise: those that there are, and not those that are shown.
#
# SELECT count(*) FROM (SELECT DISTINCT code, total FROM …) AS v  →  SELECT count(DISTINCT (code, total)) FROM …
#
# Where the groups of a list are declared, their number follows from the policy, and nothing is changed.

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
