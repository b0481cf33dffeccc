"""Joins in brackets, which PostgreSQL writes of joins behind a comma, in one line with those before them.

FROM days d, (trips t JOIN zones z ON t.zone = z.id) WHERE …
→  FROM days d CROSS JOIN trips t JOIN zones z ON t.zone = z.id WHERE …
FROM people p JOIN (trips t LEFT JOIN zones z ON t.id = z.id) ON p.id = t.rider
→  FROM people p CROSS JOIN trips t LEFT JOIN zones z ON t.id = z.id WHERE p.id = t.rider

Claim: the rows are the same. The conditions in brackets are of what is joined there alone, so that each row before is joined
with all rows in brackets either way; and no join behind them makes rows that the condition in WHERE would leave out.
"""

from sqlglot import exp

from dpsql.rewrite.syntax.read.trees import every

_MAKING = frozenset({"RIGHT", "FULL"})
"""Joins that make rows of what is joined."""


def with_joins_in_line(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    for select in every(tree, exp.Select):
        joins = select.args.get("joins") or []
        if any(_is_bracketed(join.this) for join in joins):
            select.set("joins", _in_line(select, joins))


def _is_bracketed(item: exp.Expr) -> bool:
    """Return whether an element of FROM is joins in brackets, without a name of their own."""
    return (
        isinstance(item, exp.Subquery)
        and isinstance(item.this, (exp.Table, exp.Subquery, exp.Lateral))
        and not item.args.get("alias")
    )


def _in_line(select: exp.Select, joins: list[exp.Join]) -> list[exp.Join]:
    """Return joins in one line, as far as they can be; what the brackets were joined on moves to WHERE."""
    in_line, makes = list[exp.Join](), any(join.side in _MAKING for join in joins)
    for join in joins:
        first, inside = _opened(join.this)
        fixed = makes or join.side or join.method or join.args.get("using")
        if (
            not inside
            or fixed
            or any(inner.side in _MAKING or inner.method for inner in inside)
            or any(inner.args.get("using") for inner in inside)
        ):
            in_line.append(join)
            continue
        first.set("joins", None)
        in_line += [exp.Join(this=first, kind="CROSS"), *_in_line(select, inside)]
        if join.args.get("on") is not None:
            select.where(join.args["on"], copy=False)
    return in_line


def _opened(item: exp.Expr) -> tuple[exp.Expr, list[exp.Join]]:
    """Return the first element in an element's brackets, and the joins in these."""
    joins = list[exp.Join]()
    while _is_bracketed(item):
        item = item.this
        joins = [*(item.args.get("joins") or []), *joins]
    return item, joins
