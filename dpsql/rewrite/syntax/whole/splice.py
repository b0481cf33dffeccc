"""Put the released rows in the place of the private ones: tree surgery on one scope, everything else untouched.

    SELECT zone, round(avg(fare), 2) FROM trips WHERE tip > 0 GROUP BY zone HAVING count(*) > 9 ORDER BY 2
    →  SELECT _dp."g0" AS "zone", round(_dp."a0", 2) AS "round" FROM "answer" AS _dp WHERE _dp."a1" > 9 ORDER BY 2

FROM becomes the table of answers `_dp`, keys and aggregates its columns, HAVING a WHERE. What refers to anything else of
the private rows has no meaning any more and is refused.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.columns import input_names
from dpsql.rewrite.syntax.named.identifiers import fold, position
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.named.sources import OfferedTable, sources
from dpsql.rewrite.syntax.read.trees import every, holds
from dpsql.rewrite.syntax.whole.found import Scope
from dpsql.rewrite.syntax.whole.scopes import tables_read

ANSWER = "_dp"
Match = Callable[[exp.Expr], str | None]
"""Returns the answer's column that an expression of the scope is, None if it is none."""


def replace_scope(scope: Scope, match: Match, names: Sequence[str], placeholder: str, policy: Policy) -> None:
    """Change the scope's SELECT, in its tree, to read the table `placeholder` of answers; outputs keep `names`."""
    select = scope.select
    _correlate(scope, match, policy)
    outputs = [substituted(node.unalias(), match) for node in select.expressions]
    aliases = {fold(node.args["alias"]) for node in select.expressions if isinstance(node, exp.Alias)} | set(names)
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
            item.set("this", _ordering(item.this, match, aliases))
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


def _correlate(scope: Scope, match: Match, policy: Policy) -> None:
    """Let subqueries beside the aggregates refer to the answer's keys where they referred to those of private rows."""
    if scope.alone:
        return
    clauses = (*scope.select.expressions, scope.select.args.get("having"), scope.select.args.get("order"))
    if not any(clause is not None and holds(clause, exp.Select) for clause in clauses):
        return
    ours = input_names(scope.select, scope.ctes, policy)
    for clause in clauses:
        inside = every(clause, exp.Select) if clause is not None else ()
        ctes = {**scope.ctes, **{fold(c.args["alias"].this): c for query in inside for c in _ctes(query)}}
        offered = {id(query): sources(query, ctes, policy) for query in inside}
        for query in inside:
            for column in [one for one in every(query, exp.Column) if one.parent_select is query]:
                table, name = fold(column.args.get("table")), fold(column.this)
                around = [source for one in _around(query, scope.select) for source in offered[id(one)]]
                theirs = any(source.name == table if table else source.has(name) for source in around)
                if not (theirs or _is_output(column, query)) and (table or name in ours):
                    _see_whose(column, [] if table else around)
                    column.replace(substituted(column, match))


def _see_whose(column: exp.Column, around: Iterable[OfferedTable]) -> None:
    """Refuse a bare name that a table in between may have, of which it is not known what columns it has."""
    unknown = next((source.name for source in around if source.columns is None), None)
    if unknown is not None:
        raise Unsupported(
            f'"{column.sql("postgres")}" may be a column of "{unknown}", or of the rows around',
            because="whose-column",
            hint="Write the table's name before it.",
            position=position(column),
        )


def _ctes(query: exp.Select) -> Sequence[exp.CTE]:
    with_ = query.args.get("with_")
    return [] if with_ is None else with_.expressions


def _is_output(column: exp.Column, query: exp.Select) -> bool:
    """Return whether a column in ORDER BY is an output by its name."""
    named = isinstance(column.parent, exp.Ordered) and not column.args.get("table")
    return named and fold(column.this) in {output_name(output) for output in query.expressions}


def _around(query: exp.Select, outermost: exp.Select) -> Iterator[exp.Select]:
    """Yield a query and those around it, up to where `outermost` begins."""
    here: exp.Expr | None = query
    while here is not None and here is not outermost:
        if isinstance(here, exp.Select):
            yield here
        here = here.parent


def _ordering(node: exp.Expr, match: Match, aliases: set[str]) -> exp.Expr:
    """Return an element of ORDER BY: an output by name or number stays, any other expression is looked up."""
    bare = isinstance(node, exp.Column) and not node.args.get("table") and fold(node.this) in aliases
    return node if bare or isinstance(node, exp.Literal) else substituted(node, match)


def _inside(clause: object, match: Match) -> None:
    if isinstance(clause, list):
        for item in clause:
            _inside(item, match)
    elif isinstance(clause, exp.Expr):
        for child in list(clause.iter_expressions()):
            child.replace(substituted(child, match))


def substituted(node: exp.Expr, match: Match, table: str | None = ANSWER) -> exp.Expr:
    """Return `node`, which is changed, with the columns of a table in the places of keys and aggregates."""
    name = match(node)
    if name is not None:
        return exp.column(name, table, quoted=table is None)
    if isinstance(node, (exp.Column, exp.Star)):
        raise Unsupported(
            f"{node.sql('postgres')} must appear in GROUP BY or inside an aggregate",
            because="column-not-grouped",
            hint="Name the columns of GROUP BY instead of *, and aggregate the others."
            if isinstance(node.this, exp.Star) or isinstance(node, exp.Star)
            else "Add it to GROUP BY, or aggregate it: count, sum, avg …",
            position=position(node),
        )
    if not isinstance(node, exp.Query):
        for child in list(node.iter_expressions()):
            child.replace(substituted(child, match, table))
    return node
