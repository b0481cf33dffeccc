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
from dpsql.rewrite.syntax.named.aggregate_names import is_windowed
from dpsql.rewrite.syntax.named.columns import fold, tables_in_from
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.scopes import Scope, tables_read

ANSWER = "_dp"
Match = Callable[[exp.Expr], str | None]
"""Returns the answer's column that an expression of the scope is, None if it is none."""


def replace_scope(scope: Scope, match: Match, names: Sequence[str], placeholder: str) -> None:
    """Change the scope's SELECT, in its tree, to read the table `placeholder` of answers; outputs keep `names`."""
    select = scope.select
    _correlate(scope, match)
    outputs = [substituted(node.unalias(), match) for node in select.expressions]
    having, order = select.args.get("having"), select.args.get("order")
    if scope.keys and not scope.aggregates and not select.args.get("group"):
        select.set("distinct", None)
    for clause in ("from_", "joins", "where", "group", "laterals", "having"):
        select.set(clause, None)
    named = [exp.alias_(e, name, quoted=True, copy=False) for e, name in zip(outputs, names, strict=True)]
    select.set("expressions", named)
    if having is not None:
        select.set("where", exp.Where(this=substituted(having.this, match)))
    if order is not None:
        for item in order.expressions:
            item.set("this", _ordering(item.this, match))
    for clause in ("distinct", "windows"):
        _inside(select.args.get(clause), match)
    table = exp.to_identifier(placeholder, quoted=True)
    select.set("from_", exp.From(this=exp.Table(this=table, alias=exp.TableAlias(this=exp.to_identifier(ANSWER)))))


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
                    column.replace(substituted(column, match))


def _ordering(node: exp.Expr, match: Match) -> exp.Expr:
    """Return an element of ORDER BY: an output by its place stays, any other expression is looked up."""
    return node if isinstance(node, exp.Literal) else substituted(node, match)


def _inside(clause: object, match: Match) -> None:
    if isinstance(clause, list):
        for item in clause:
            _inside(item, match)
    elif isinstance(clause, exp.Expr):
        for child in list(clause.iter_expressions()):
            child.replace(substituted(child, match))


def substituted(node: exp.Expr, match: Match, table: str | None = ANSWER) -> exp.Expr:
    """Return `node`, which is changed, with the columns of a table in the places of keys and aggregates."""
    name = (
        None if is_windowed(node) else match(node)
    )  # `count(*) OVER ()` is of the answer's rows, whatever else counts
    if name is not None:
        return exp.column(name, table, quoted=table is None)
    if isinstance(node, exp.Column):
        raise Unsupported(
            f"{node.sql('postgres')} must appear in GROUP BY or inside an aggregate",
            because="column-not-grouped",
            hint="Add it to GROUP BY, or aggregate it: count, sum, avg …",
        )
    if not isinstance(node, exp.Query):
        for child in list(node.iter_expressions()):
            child.replace(substituted(child, match, table))
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
