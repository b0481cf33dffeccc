"""EXCEPT and INTERSECT of lists with all declared values: they would say nothing about the rows in the table.

SELECT zone_id FROM zones EXCEPT SELECT zone FROM trips
→  refused: every declared zone is in the second list, with rows or without, so that the answer would be empty for any table
"""

from collections.abc import Collection, Iterator, Mapping

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.gateway.plans.statement_plan import ScopePlan
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.columns import fold, from_items
from dpsql.rewrite.syntax.read.trees import every


def follows_from_the_policy(scope: ScopePlan) -> bool:
    """Return whether the rows of a scope are declared groups, of which nothing is measured."""
    groups = scope.plan.groups
    return bool(groups.keys and not scope.plan.parts and groups.shown)


def refuse_to_compare(tree: exp.Query, declared: Collection[int]) -> None:
    """See that no part of EXCEPT or INTERSECT is a list of declared groups; `declared` are their SELECTs' ids.

    Raises:
        Unsupported: one is.
    """
    if not declared:
        return
    ctes = {fold(cte.args["alias"].this): cte for cte in every(tree, exp.CTE)}
    for node in every(tree, exp.SetOperation):
        if isinstance(node, exp.Union):
            continue
        for part in (node.this, node.expression):
            declared_list = next((each for each in _lists(part, ctes) if id(each) in declared), None)
            if declared_list is not None:
                word = type(node).__name__.upper()
                raise Unsupported(
                    f"{word} of a list that has every declared value, also those without rows, would say nothing",
                    because="list-of-declared-values",
                    hint="SET dpsql.empty_groups = 'hide' lists values that have rows; or choose them by their number: "
                    "SELECT zone FROM trips GROUP BY zone HAVING count(*) > 20.",
                )


def _lists(query: exp.Expr | None, ctes: Mapping[str, exp.CTE]) -> Iterator[exp.Select]:
    """Yield the SELECTs whose rows a query passes on as they are."""
    match query:
        case exp.Select():
            yield query
            if not (query.args.get("group") or aggregates_of(query)):
                for item in from_items(query):
                    yield from _lists(item, ctes)
        case exp.Subquery():
            yield from _lists(query.this, ctes)
        case exp.SetOperation():
            yield from _lists(query.this, ctes)
            yield from _lists(query.expression, ctes)
        case exp.Table(this=exp.Identifier()) if not query.args.get("db") and fold(query.this) in ctes:
            name = fold(query.this)
            yield from _lists(ctes[name].this, {other: cte for other, cte in ctes.items() if other != name})
        case _:
            pass
