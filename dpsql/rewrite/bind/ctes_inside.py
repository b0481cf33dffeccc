"""Common table expressions of subqueries, where they are read.

(WITH x AS (SELECT t.fare FROM trips t WHERE t.zone = z.id) SELECT count(*) FROM x)
→  (SELECT count(*) FROM (SELECT t.fare FROM trips t WHERE t.zone = z.id) AS x)

Claim: the rows are the same. A CTE that is read once is computed once, there or where it was named, and one that
nobody reads is not computed. In PostgreSQL's words no name stands for two things where one is seen within the other.
"""

from sqlglot import exp

from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.recursion import names_itself
from dpsql.rewrite.syntax.read.trees import every


def with_ctes_inside(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place; each of its CTEs has a name of its own."""
    for written in reversed(every(tree, exp.With)):
        query = written.parent
        if query is None or query is tree or not isinstance(query, exp.Query):
            continue
        for cte in reversed(list(written.expressions)):  # what reads others before these
            if _is_inside(cte, query):
                written.set("expressions", [other for other in written.expressions if other is not cte])
        if not written.expressions:
            query.set("with_", None)


def _is_inside(cte: exp.CTE, query: exp.Query) -> bool:
    """Put a CTE where it is read, and return whether that is done: where it is read once, or never."""
    name = fold(cte.args["alias"].this)
    reads = [table for table in every(query, exp.Table) if not table.args.get("db") and fold(table.this) == name]
    if len(reads) > 1 or names_itself(cte) or cte.args.get("materialized") is not None:
        return False
    for table in reads:
        alias = table.args.get("alias")
        given = [] if alias is None else list(alias.args.get("columns") or ())
        columns = [*given, *(cte.args["alias"].args.get("columns") or ())[len(given) :]]
        called = cte.args["alias"].this if alias is None or alias.this is None else alias.this
        named = exp.TableAlias(this=called.copy(), columns=[column.copy() for column in columns])
        others = {key: table.args.get(key) for key in ("joins", "laterals") if table.args.get(key)}
        table.replace(exp.Subquery(this=cte.this.copy(), alias=named, **others))
    return True
