"""Elements of FROM that read nothing private: the shadow answers them at planning, as constants.

WITH c (id, name) AS (VALUES (1, 'a')) … JOIN c ON zone = id   →  JOIN (VALUES (1, 'a')) AS c (id, name) ON zone = id
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.interrupt import count_nodes
from dpsql.policy.model import Policy, SqlType, Value
from dpsql.rewrite.ir.constant_table import ConstantTable, constant_table
from dpsql.rewrite.ir.literal import TYPES, PublicAnswer, SpelledSql, UnspeakableError
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.named.recursion import names_itself, recursive_names, repeats
from dpsql.rewrite.syntax.read.dialect import excerpt
from dpsql.rewrite.syntax.whole.scopes import declared_table
from dpsql.rewrite.translate.public.constants import Constants, constant_from_shadow
from dpsql.rewrite.translate.public.speller import spell

_PLAIN = frozenset({"expressions", "from_", "where"})
"""The clauses of a query that is followed, and not answered: a large public table need not stand in the statement."""


def inline_ctes(node: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> exp.Expr | None:
    """Return a query, or an element of FROM, with its CTEs in their places; None if it reads anything but public tables."""
    copy = node.copy()
    # A node can only be replaced within a parent, and `copy` may itself be the name of a CTE.
    holder = exp.Paren(this=copy)
    _inline(copy, ctes)
    query = holder.this
    own = {name for with_ in query.find_all(exp.With) if with_.args.get("recursive") for name in recursive_names(with_)}
    tables = [table for table in query.find_all(exp.Table) if not isinstance(table.this, exp.Anonymous)]
    tables = [table for table in tables if table.args.get("db") or fold(table.this) not in own]
    public = (declared_table(table, policy) for table in tables)
    return query.pop() if all(table is not None and table.public for table in public) else None


def _inline(node: exp.Expr, ctes: Mapping[str, exp.CTE]) -> None:
    """Put CTEs in the places of their names, in `node` and in what is below it."""
    # CTEs of which each reads the one before twice double with every step: ten of them are a thousand copies.
    count_nodes()
    with_ = node.args.get("with_")
    visible = dict(ctes)
    if with_ is not None and any(names_itself(cte) is None for cte in with_.expressions):
        visible = {name: cte for name, cte in visible.items() if name not in recursive_names(with_)}
    elif with_ is not None:
        # Each sees those before it, in which others stand in their places by now.
        for cte in with_.expressions:
            whole = with_.args.get("recursive")  # which says whether it names itself
            inside = cte if whole else exp.CTE(this=with_ctes_in_place(cte.this, visible), alias=cte.args["alias"])
            visible[fold(cte.args["alias"].this)] = inside
        with_.pop()
    if isinstance(node, exp.Table) and not node.args.get("db") and fold(node.this) in visible:
        _replace(node, visible)
        return
    for child in list(node.iter_expressions()):
        _inline(child, visible)


def with_ctes_in_place(query: exp.Expr, ctes: Mapping[str, exp.CTE]) -> exp.Expr:
    """Return a query with CTEs, and its own, in the places of their names."""
    copy: exp.Expr = query.copy()
    holder = exp.Paren(this=copy)
    _inline(copy, ctes)
    whole: exp.Expr = holder.this
    return whole.pop()


def _replace(table: exp.Expr, ctes: Mapping[str, exp.CTE]) -> None:
    name = fold(table.this)
    cte = ctes[name]
    if names_itself(cte) is None:
        return
    inner = with_ctes_in_place(
        cte.this, {other_name: other for other_name, other in ctes.items() if other_name != name}
    )
    if names_itself(cte):
        inner = repeats(cte, inner)
    alias, own = table.args.get("alias"), cte.args["alias"]
    columns = (alias.args.get("columns") if alias is not None else None) or own.args.get("columns") or []
    function_named = (alias.this if alias is not None else own.this).copy()
    query = inner.this if isinstance(inner, exp.Subquery) and not inner.args.get("alias") else inner
    table.replace(
        exp.Subquery(this=query, alias=exp.TableAlias(this=function_named, columns=[c.copy() for c in columns]))
    )


def is_plain(item: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> bool:
    """Return whether an element of FROM is a plain declared table, or a query that names its columns and filters it."""
    # WITH trips AS (SELECT * FROM trips): the first time the name is the CTE's, within it the table's.
    passed = set[str]()
    while True:
        if isinstance(item, exp.Table):
            name = fold(item.this)
            if item.args.get("db") or name not in ctes or name in passed:
                return declared_table(item, policy) is not None
            if names_itself(ctes[name]) is not False:
                return False
            passed.add(name)
            item = ctes[name]
        query = item.this if isinstance(item, (exp.Subquery, exp.CTE)) else None
        while isinstance(query, exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select) or any(v for k, v in query.args.items() if k not in _PLAIN):
            return False
        outputs, from_ = (output.unalias() for output in query.expressions), query.args.get("from_")
        if from_ is None or not all(isinstance(output, (exp.Column, exp.Star)) for output in outputs):
            return False
        item = from_.this


def function_named(item: exp.Expr) -> str:
    """Return the name of an element of FROM that was given none."""
    call = item.this
    return str(call.this).lower() if isinstance(call, exp.Anonymous) else ""


def not_beside(item: exp.Expr) -> Unsupported:
    """Return the error for what can't be joined with private rows."""
    text = excerpt(item)
    return Unsupported(
        f"private rows can be joined with public tables, VALUES, series and queries over these, not with {text}",
        because="join-public-tables",
        hint="Aggregate first, in a subquery, and join the answer. A temporary table of yours is a list with at most "
        "1,000 rows and 50 columns of numbers, texts, times and booleans.",
    )


def recursion_beside(item: exp.Expr) -> Unsupported:
    """Return the error for a query of WITH RECURSIVE that is not made of public rows alone, each behind the other."""
    return Unsupported(
        f'the recursive query "{fold(item.this)}" can\'t stand beside private rows',
        because="recursion-beside-rows",
        hint="Write generate_series(timestamp '2024-01-01', '2024-12-31', '1 day') or VALUES; or without SEARCH and CYCLE, "
        "behind the queries that it reads, and of constants and public tables.",
    )


def constants_of(item: exp.Expr, constants: Constants) -> ConstantTable:
    """Return the rows of an element of FROM that reads nothing private; its CTEs stand in their places.

    Raises:
        Unsupported: it is nothing that the shadow is asked, or too much.
    """
    if not isinstance(item, exp.Subquery) and item.find(exp.Column) is not None:
        raise not_beside(item)  # it would depend on the rows before it
    # JOIN (VALUES (1, 'a')) AS v (id, name)  →  SELECT * FROM (VALUES (1, 'a')) AS v (id, name)
    query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=item.copy()))
    try:
        answer = constants.evaluator.rows(spell(query, constants.arguments, queries=True))
    except UnspeakableError:
        raise not_beside(item) from None
    return answered_table(answer)


def answered_table(answer: PublicAnswer) -> ConstantTable:
    """Return what the shadow has answered as a table.

    Raises:
        Unsupported: a column has no name of its own, or a type that can't stand beside private rows.
    """
    require_names(answer.names)
    rows = [tuple(_cell(cell, type_) for cell, type_ in zip(row, answer.types, strict=True)) for row in answer.rows]
    return constant_table(answer.names, [TYPES.get(type_, SqlType.TEXT) for type_ in answer.types], rows)


def require_names(names: Sequence[str]) -> None:
    """Refuse names of columns that an engine takes for one: DuckDB and Spark do, where only capitals differ.

    Raises:
        Unsupported: see above.
    """
    if len({name.lower() for name in names}) < len(names):
        raise Unsupported(
            "columns that stand beside private rows need names of their own",
            because="constants-without-names",
            hint="Name them, by more than capitals: (VALUES (1, 'a')) AS v (id, label).",
        )


def _cell(text: str | None, type_: str) -> Value | None:
    return constant_from_shadow(text, type_).value


def spelled_public(query: exp.Expr, constants: Constants) -> SpelledSql | None:
    """Return a public query as the shadow is asked it; None if it is none that it is asked."""
    try:
        return spell(query, constants.arguments, queries=True)
    except UnspeakableError:
        return None
