"""The names of the columns that tables and queries put out, as far as names go."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.output_names import output_name


def from_items(node: exp.Select) -> Iterator[exp.Expr]:
    """Yield what stands in FROM and in its joins."""
    from_ = node.args.get("from_")
    if from_ is not None:
        yield from_.this
        for join in from_.this.args.get("joins") or ():
            yield join.this
    for join in node.args.get("joins") or ():
        yield join.this
    yield from node.args.get("laterals") or ()


def input_names(node: exp.Select, ctes: Mapping[str, exp.CTE], policy: Policy) -> frozenset[str]:
    """Return the names of all columns that FROM offers to a SELECT."""
    return frozenset(name for item in from_items(node) for name in item_names(item, ctes, policy))


def names_around(node: exp.Select, ctes: Mapping[str, exp.CTE], policy: Policy) -> frozenset[str]:
    """Return the names of the columns that the queries have in which a SELECT is nested as an expression."""
    names: frozenset[str] = frozenset()
    above, beside = node.parent, False
    while above is not None:
        if isinstance(above, exp.Select):
            names |= frozenset() if beside else input_names(above, ctes, policy)
            beside = False
        above, beside = above.parent, beside or isinstance(above, (exp.From, exp.Join, exp.CTE))
    return names


def item_names(item: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> Iterator[str]:
    """Yield the names of the columns that an element of FROM offers, where it renames some by both names."""
    alias = item.args.get("alias")
    renamed = [fold(column) for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    yield from renamed
    if isinstance(item, exp.Table):
        name = fold(item.this)
        if name in ctes and not item.args.get("db"):
            yield from (fold(column) for column in ctes[name].args["alias"].args.get("columns") or ())
            yield from _query_names(ctes[name].this, ctes, policy)
        elif name in policy.tables:
            yield from policy.tables[name].columns
    elif isinstance(item, exp.Subquery):
        yield from _query_names(item.this, ctes, policy)


def _query_names(query: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> Iterator[str]:
    while isinstance(query, (exp.SetOperation, exp.Subquery)):
        query = query.this
    if not isinstance(query, exp.Select):
        return
    for output in query.expressions:
        if isinstance(output, (exp.Star, exp.Column)) and output.find(exp.Star):
            for item in from_items(query):
                yield from item_names(item, ctes, policy)
        else:
            yield output_name(output)
