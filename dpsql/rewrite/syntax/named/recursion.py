"""WITH RECURSIVE: which of its queries name themselves, and are made row by row.

WITH RECURSIVE d (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM d WHERE x < 9) … FROM d
→  … FROM (WITH RECURSIVE d (x) AS (…) SELECT * FROM d) AS d (x), which PostgreSQL answers if nothing in it is private
"""

from collections.abc import Iterator

from sqlglot import exp

from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.trees import every


def recursive_names(with_: exp.Expr) -> Iterator[str]:
    """Yield the names of the queries of a WITH."""
    return (fold(cte.args["alias"].this) for cte in with_.expressions)


def names_itself(cte: exp.Expr) -> bool | None:
    """Return whether a query of WITH RECURSIVE reads its own rows.

    None where it reads those of one behind it, or says in which order, or when to stop: such are not followed.
    """
    with_ = cte.parent
    if not isinstance(with_, exp.With) or not with_.args.get("recursive"):
        return False
    names = list(recursive_names(with_))
    name = fold(cte.args["alias"].this)
    read = {fold(table.this) for table in every(cte.this, exp.Table) if not table.args.get("db")}
    # Two queries that read each other, or one that is read before its turn.
    if read & {*names[names.index(name) + 1 :]}:
        return None
    return False if name not in read else None if with_.args.get("search") or with_.args.get("cycle") else True


def repeats(cte: exp.Expr, query: exp.Expr) -> exp.Select:
    """Return the query that has the rows of one that names itself; `query` is what that is, with others in their places."""
    alias = cte.args["alias"]
    own = exp.CTE(this=query, alias=alias.copy())
    rows = exp.Table(this=alias.this.copy())
    made = exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))
    made.set("with_", exp.With(expressions=[own], recursive=True))
    return made
