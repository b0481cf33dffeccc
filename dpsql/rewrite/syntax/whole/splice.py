"""Put the released rows where the private ones stood: tree surgery on one scope, everything else untouched.

    SELECT zone, round(avg(fare), 2) FROM trips WHERE tip > 0 GROUP BY zone HAVING count(*) > 9 ORDER BY 2
    →  SELECT _dp."g0" AS "zone", round(_dp."a0", 2) AS "round" FROM "answer" AS _dp WHERE _dp."a1" > 9 ORDER BY 2

FROM becomes the table of answers `_dp`, keys and aggregates its columns, HAVING a WHERE. A reference to anything else
of the private rows has no meaning any more and is refused.
"""

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of, function_name, is_windowed, top_aggregates
from dpsql.rewrite.syntax.named.columns import fold, tables_in_from
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import OF_NOBODY, every, holds
from dpsql.rewrite.syntax.whole.scopes import Scope, tables_read

ANSWER = "_dp"
Match = Callable[[exp.Expr], str | None]
"""Returns the answer's column that an expression of the scope is, None if it is none."""


def replace_scope(scope: Scope, match: Match, names: Sequence[str], placeholder: str) -> None:
    """Change the scope's SELECT, in its tree, to read the table `placeholder` of answers; outputs keep `names`."""
    # Halfway: SELECT zone, round(avg(fare)) AS f FROM trips WHERE tip > 0 GROUP BY zone HAVING count(*) > 9 ORDER BY 2
    # becomes SELECT _dp.g0 AS zone, round(_dp.a0) AS f FROM placeholder AS _dp WHERE _dp.a1 > 9 ORDER BY 2. HAVING
    # becomes WHERE, since each row of an answer is a group already.
    select = scope.select
    _correlate(scope, match)
    outputs = [substitute_columns(node.unalias(), match) for node in select.expressions]
    having, order = select.args.get("having"), select.args.get("order")
    # It was SELECT DISTINCT x: the answer has each x once.
    if scope.keys and not scope.aggregates and not select.args.get("group"):
        select.set("distinct", None)
    for clause in ("from_", "joins", "where", "group", "laterals", "having"):
        select.set(clause, None)
    named = [exp.alias_(e, name, quoted=True, copy=False) for e, name in zip(outputs, names, strict=True)]
    select.set("expressions", named)
    if having is not None:
        select.set("where", exp.Where(this=substitute_columns(having.this, match)))
    if order is not None:
        for item in order.expressions:
            item.set("this", _ordering(item.this, match))
    for clause in ("distinct", "windows"):
        _inside(select.args.get(clause), match)
    table = exp.to_identifier(placeholder, quoted=True)
    select.set("from_", exp.From(this=exp.Table(this=table, alias=exp.TableAlias(this=exp.to_identifier(ANSWER)))))


def leave_out_hidden(select: exp.Select) -> None:
    """Change what reads a SELECT whose groups are hidden where they may be empty: what is not there is not known to be 0.

    Public rows beside it, FROM zones LEFT JOIN trips …, are those whose groups are shown. In place of a query that counts a
    row's trips there is NULL, and not what a count of nobody comes to.

    FROM (SELECT DISTINCT zone …) AS rows LEFT JOIN (SELECT … AS value) AS counted ON …  →  … JOIN …
    SELECT coalesce(c.v, 0)  →  SELECT c.v
    """
    item = select.parent
    join = item.parent if isinstance(item, exp.Subquery) and item.args.get("alias") else None
    if item is None or not isinstance(join, exp.Join):
        return
    if join.args.get(OF_NOBODY):
        join.set("side", None)
    alias, reader = fold(item.args["alias"].this), join.parent
    for node in every(reader, exp.Condition) if reader is not None else ():
        if node.args.get(OF_NOBODY) and alias in {fold(each.args.get("table")) for each in every(node, exp.Column)}:
            if isinstance(node, exp.Case):
                node.set("default", None)
            else:
                node.replace(node.expressions[0])


def drop_private_ctes(tree: exp.Query, policy: Policy) -> None:
    """Remove the CTEs whose rows were private: nothing refers to them any more, but others of them."""
    gone = set[str]()
    for cte in every(tree, exp.CTE, below=False):
        _drop_if_private(cte, gone, policy)


def _drop_if_private(cte: exp.CTE, gone: set[str], policy: Policy) -> None:
    """Remove a CTE, and before it those within it, that reads private rows; of the names in a statement each is one CTE's."""
    for inner in every(cte.this, exp.CTE, below=False):
        _drop_if_private(inner, gone, policy)
    if tables_read(cte, policy) or gone & {fold(table.this) for table in every(cte, exp.Table)}:
        gone.add(fold(cte.args["alias"].this))
        with_ = cte.parent
        cte.pop()
        if with_ is not None and not with_.expressions:
            with_.pop()


def _correlate(scope: Scope, match: Match) -> None:
    """Let subqueries beside the aggregates refer to the answer's keys where they referred to those of private rows."""
    if scope.alone:
        return
    ours = tables_in_from(scope.select)
    for clause in (*scope.select.expressions, scope.select.args.get("having"), scope.select.args.get("order")):
        for query in every(clause, exp.Query, below=False) if clause is not None else ():
            for column in every(query, exp.Column):
                if fold(column.args.get("table")) in ours:
                    column.replace(substitute_columns(column, match))


def _ordering(node: exp.Expr, match: Match) -> exp.Expr:
    """Return an element of ORDER BY: an output by its place stays, any other expression is looked up."""
    # ORDER BY 2 is the second output. ORDER BY 1 + 1 is a constant, as in PostgreSQL.
    return node if isinstance(node, exp.Literal) else substitute_columns(node, match)


def _inside(clause: object, match: Match) -> None:
    if isinstance(clause, list):
        for item in clause:
            _inside(item, match)
    elif isinstance(clause, exp.Expr):
        for child in list(clause.iter_expressions()):
            child.replace(substitute_columns(child, match))


def substitute_columns(node: exp.Expr, match: Match, table: str | None = ANSWER) -> exp.Expr:
    """Return `node`, which is changed, with the columns of a table in the places of keys and aggregates."""
    name = (
        None if is_windowed(node) else match(node)
    )  # `count(*) OVER ()` is of the answer's rows, whatever else counts
    if name is not None:
        return exp.column(name, table, quoted=table is None)
    # PostgreSQL has refused most of these when it bound the statement. It lets columns pass that a key in GROUP BY
    # determines, and those whose table is known are keys by now (`determined_columns`).
    if isinstance(node, exp.Column):
        raise Unsupported(
            f"{render(node)} must appear in GROUP BY or inside an aggregate",
            because="column-not-grouped",
            hint="Add it to GROUP BY, or aggregate it: count, sum, avg …",
        )
    if not isinstance(node, exp.Query):
        for child in list(node.iter_expressions()):
            child.replace(substitute_columns(child, match, table))
    return node


# The description that the shadow gives of a scope: its keys and aggregates alone, as g0, g1, a0, a1 and so on.
#
# SELECT zone, round(avg(fare)) FROM trips GROUP BY 1  →  SELECT zone AS g0, avg(fare) AS a0 FROM trips GROUP BY 1


def probe(scope: Scope) -> str:
    """Return the SELECT of the scope's keys and aggregates alone: the shadow says what types they have.

    SELECT zone, round(avg(fare)) FROM trips GROUP BY 1  →  SELECT zone AS g0, avg(fare) AS a0 FROM trips GROUP BY 1
    """
    outputs = [f"{render(node)} AS g{i}" for i, node in enumerate(scope.keys)]
    outputs += [f"{render(node)} AS a{i}" for i, node in enumerate(scope.aggregates)]
    recursive = any(cte.parent is not None and cte.parent.args.get("recursive") for cte in scope.ctes.values())
    ctes = ", ".join(map(render, scope.ctes.values()))
    with_ = f"WITH {'RECURSIVE ' * recursive}{ctes} " if ctes else ""
    group = f" GROUP BY {', '.join(str(i + 1) for i in range(len(scope.keys)))}" if scope.keys else ""
    return f"{with_}SELECT {', '.join(outputs or ['1'])}{''.join(_clauses(scope.select))}{group}"


def _clauses(select: exp.Select) -> Iterator[str]:
    """Yield the text of what decides the rows that a SELECT aggregates."""
    for name in ("from_", "joins", "laterals", "where"):
        clause = select.args.get(name) or []
        for part in clause if isinstance(clause, list) else [clause]:
            text = render(part)
            yield text if text.startswith(",") else f" {text}"


# Whether it matters which groups there are: where the first of a ranking are shown, or groups are counted themselves.
#
# SELECT zone, avg(tip) FROM trips GROUP BY zone ORDER BY 2 DESC LIMIT 5           ranked: the first 5
# SELECT zone, avg(tip), rank() OVER (ORDER BY avg(tip)) FROM trips GROUP BY zone  ranked
# SELECT DISTINCT ON (borough) … ORDER BY borough, count(*) DESC                   ranked
# SELECT avg(n) FROM (SELECT count(*) AS n FROM trips GROUP BY zone) AS zones      counted
# SELECT day, count(*) FROM (SELECT DISTINCT day, zone FROM trips) AS d GROUP BY 1 counted
# SELECT sum(n) FROM (SELECT count(*) AS n FROM trips GROUP BY zone) AS zones      neither: sums would lack the small ones
# SELECT zone, avg(tip) FROM trips GROUP BY zone ORDER BY 2                        neither: one line a group
# SELECT month, lag(count(*)) OVER (ORDER BY month) FROM trips GROUP BY month      neither

_PLACES = frozenset(
    {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "first_value", "last_value", "nth_value"}
)
"""Window functions by which the first of some rows are found."""


def ranked_rows(select: exp.Select) -> int | None:
    """Return the number of groups of a SELECT of which a ranking shows the first, in it or in what reads it.

    None where all are shown, however they are ordered; 0 where the number is not known, or groups are counted.
    """
    if is_counted(select) and not _is_added_up(select):
        return 0
    by_keys = _keys(select)
    found = [rows for query in _readers(select) if (rows := _first(query, select, by_keys)) is not None]
    return min(found, default=None)


def is_counted(select: exp.Select) -> bool:
    """Return whether the groups of a SELECT are rows to an aggregate.

    Their number alone is that of the rows which the SELECT has by itself: clients ask for it to know how many will come.
    """
    return any(
        query is not select and isinstance(query, exp.Select) and _aggregates(query) for query in _readers(select)
    )


def _is_added_up(select: exp.Select) -> bool:
    """Return whether what groups have is only added up: nothing is lost then from the sum of those that are shown."""
    around = [query for query in _readers(select) if query is not select and isinstance(query, exp.Select)]
    calls = [call for query in around for call in aggregates_of(query)]
    return bool(aggregates_of(select)) and bool(calls) and all(function_name(call) == "sum" for call in calls)


def _aggregates(query: exp.Select) -> bool:
    calls = aggregates_of(query)
    number = all(function_name(call) == "count" and not holds(call, exp.Column) for call in calls)
    return bool(query.args.get("group")) or not number


def _readers(select: exp.Select) -> Iterator[exp.Query]:
    """Yield the queries that a SELECT is, or stands in."""
    node: exp.Expr | None = select
    while node is not None:
        if isinstance(node, exp.Query):
            yield node
        node = node.parent


def _first(query: exp.Query, select: exp.Select, by_keys: frozenset[str]) -> int | None:
    """Return how many rows of a ranking a query that reads a SELECT's groups shows; None where it is no ranking."""
    if query.args.get("distinct") not in (None, False):  # which UNION ALL says, as ROLLUP with margins is written
        return 0
    outputs = query.expressions if isinstance(query, exp.Select) else []
    windows = (window for output in outputs for window in output.find_all(exp.Window))
    if any(_ranks(window, query is select, by_keys) for window in windows):
        return 0
    order = query.args.get("order")
    by = [_written_out(ordered.this, outputs) for ordered in (order.expressions if order is not None else ())]
    if all(_is_of_keys(expr, query is select, by_keys) for expr in by):
        return None
    return _rows(query)


def _rows(query: exp.Query) -> int | None:
    """Return how many rows LIMIT leaves; None where there is none, 0 where nobody knows."""
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if offset is not None and _number(offset.expression) != 0:
        return 0
    if limit is None:
        return None
    return _number(limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression) or 0


def _number(written: exp.Expr | None) -> int | None:
    """Return a whole number that stands in the statement."""
    while isinstance(written, (exp.Paren, exp.Cast)):
        written = written.this
    return int(written.this) if isinstance(written, exp.Literal) and str(written.this).isdigit() else None


def _ranks(window: exp.Window, itself: bool, by_keys: frozenset[str]) -> bool:
    """Return whether a window function finds the first of groups, by what is computed of them."""
    call = window.this
    while isinstance(call, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        call = call.this
    order = window.args.get("order")
    name = function_name(call) or (call.sql_name().lower() if isinstance(call, exp.Func) else "")
    if name not in _PLACES or order is None:
        return False
    return not all(_is_of_keys(ordered.this, itself, by_keys) for ordered in order.expressions)


def _written_out(by: exp.Expr, outputs: Sequence[exp.Expr]) -> exp.Expr:
    """Return the output that is meant by its place or its name."""
    if isinstance(by, exp.Literal) and not by.is_string and 0 < int(by.this) <= len(outputs):
        output = outputs[int(by.this) - 1]
        return output.this if isinstance(output, exp.Alias) else output
    if isinstance(by, exp.Column) and not by.args.get("table"):
        return next((output.this for output in outputs if _is_called(output, by.this)), by)
    return by


def _is_called(output: exp.Expr, name: exp.Identifier) -> bool:
    return isinstance(output, exp.Alias) and fold(output.args["alias"]) == fold(name)


def _is_of_keys(by: exp.Expr, itself: bool, by_keys: frozenset[str]) -> bool:
    """Return whether an expression is one of keys alone: in the SELECT itself no aggregate's, above it of keys' columns."""
    if itself:
        return not any(True for _ in top_aggregates(by))
    return not holds(by, exp.Query) and all(fold(column.this) in by_keys for column in by.find_all(exp.Column))


def _keys(select: exp.Select) -> frozenset[str]:
    """Return the names of outputs in which there is no aggregate."""
    outputs = [output for output in select.expressions if not any(True for _ in top_aggregates(output))]
    named = [output.args["alias"] if isinstance(output, exp.Alias) else output.this for output in outputs]
    return frozenset(fold(name) for name in named if isinstance(name, exp.Identifier))
