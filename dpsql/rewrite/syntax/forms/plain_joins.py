"""Joins in words that say what they mean: NATURAL JOIN, and joins in brackets with a name.

FROM riders NATURAL JOIN rides  →  FROM riders JOIN rides USING (rider)
FROM (riders JOIN rides USING (rider)) AS r  →  FROM (SELECT * FROM riders JOIN rides USING (rider)) AS r

Claim: PostgreSQL means the same by both, so that what is measured is what is measured for the longer words.
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.columns import from_items
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.units import columns_of_item


def spelled_out(select: exp.Select, ctes: Mapping[str, exp.CTE], policy: Policy) -> None:
    """Change the joins of a SELECT to those that say what they mean."""
    items = list(from_items(select))
    for item in items:
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table) and _name(item):
            table, joins = item.this, item.this.args.get("joins")
            table.set("joins", None)
            item.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=table), joins=joins))
    from_ = select.args.get("from_")
    joins = [*((from_.this.args.get("joins") if from_ is not None else None) or ()), *(select.args.get("joins") or ())]
    if not any(join.args.get("method") for join in joins):
        return
    left = _names(items[0], ctes, policy)
    for join in joins:
        right = _names(join.this, ctes, policy)
        if not any(join.args.get(key) for key in ("side", "kind", "method", "on", "using")):
            left = right  # a comma binds less
            continue
        if str(join.args.get("method") or "").upper() == "NATURAL":
            if left is None or right is None or not (both := [name for name in left if name in right]):
                return
            join.set("method", None)
            join.set("using", [exp.to_identifier(name, quoted=True) for name in both])
        if join.args.get("using") and left is not None and right is not None:
            merged = {fold(one if isinstance(one, exp.Identifier) else one.this) for one in join.args["using"]}
            right = [name for name in right if name not in merged]
        left = None if left is None or right is None or {*left} & {*right} else [*left, *right]


def _name(item: exp.Subquery) -> bool:
    alias = item.args.get("alias")
    return isinstance(alias, exp.TableAlias) and alias.this is not None


def _names(item: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> list[str] | None:
    """Return the names of an element's columns; None where they are not known, or not each its own."""
    found = [name for name, _ in columns_of_item(item, ctes, policy)]
    return found if found and len({*found}) == len(found) else None
