"""Subqueries over public tables inside conditions on private rows: the shadow answers them at planning, as constants.

zone IN (SELECT id FROM zones WHERE name LIKE 'A%')  →  zone IN (3, 17)
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.rewrite.ir.expr import Const
from dpsql.rewrite.ir.literal import SpelledSql, UnspeakableError
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.dialect import parse_query, render
from dpsql.rewrite.translate.public.constants import constant_from_shadow
from dpsql.rewrite.translate.public.public_queries import function_named
from dpsql.rewrite.translate.public.speller import spell
from dpsql.rewrite.translate.values.context import Handler, Operand, Translator


def values_of(t: Translator, query: exp.Expr) -> tuple[Const, ...]:
    """Return the values of the one column of a public query.

    Raises:
        Unsupported: it reads anything but declared public tables, or does more than SELECT … FROM … WHERE … GROUP BY.
    """
    texts, type_name = t.constants.evaluator.column(_text(t, _unnested(query)))
    return tuple(constant_from_shadow(text, type_name) for text in texts)


def scalar(t: Translator, node: exp.Expr) -> Operand:
    """Translate a scalar subquery over public tables; one of a lone expression is that expression.

    pickup_ts >= (SELECT TIMESTAMP '2019-03-08')  →  pickup_ts >= TIMESTAMP '2019-03-08'
    """
    lone = _lone(node.this)
    if lone is not None:
        return t.operand(lone)
    # In brackets it is an expression: PostgreSQL itself sees to it that it has one column, and one row at most.
    text, type_name = t.constants.evaluator.constant(_text(t, node.this).within("({})"))
    return constant_from_shadow(text, type_name)


def _lone(query: exp.Expr) -> exp.Expr | None:
    """Return the expression of `SELECT expression`; None if there is more to the query."""
    while isinstance(query, exp.Subquery):
        query = query.this
    given = [key for key, value in query.args.items() if value]
    if not isinstance(query, exp.Select) or given != ["expressions"] or len(query.expressions) != 1:
        return None
    only = query.expressions[0].unalias()
    return None if isinstance(only, exp.Star) or aggregates_of(query) else only


def _unnested(query: exp.Expr) -> exp.Expr:
    """Return a query with the elements of an array in FROM, where they are spread in SELECT.

    SELECT unnest($1)  →  SELECT u.v FROM unnest($1) AS u (v)
    """
    lone = _lone(query)
    if not isinstance(lone, exp.Anonymous) or lone.name.lower() != "unnest":
        return query
    return parse_query(f"SELECT u.v FROM {render(lone)} AS u (v)") or query


def _text(t: Translator, query: exp.Expr) -> SpelledSql:
    while isinstance(query, exp.Subquery):
        query = query.this
    public = t.public(query)
    try:
        if public is not None and _closed(public):
            return spell(public, t.constants.arguments, queries=True)
    except UnspeakableError:
        pass
    if public is not None:
        raise Unsupported(
            "a subquery among private rows is the same for all of them: this one is about the row beside it",
            because="subquery-of-public-tables",
            hint="Join the public table on its key.",
        )
    raise Unsupported(
        "a subquery among private rows can read declared public tables only",
        because="subquery-of-public-tables",
        hint="Write the values as a list, or join the public table on its key.",
    )


def _closed(query: exp.Expr) -> bool:
    """Return whether every qualified column belongs to a table of the subquery, so that it does not look outside."""
    # (SELECT name FROM zones AS z WHERE z.id = t.zone) has another answer for each row of t: it is no constant.
    own = {fold(alias.this) for alias in query.find_all(exp.TableAlias)} | {
        function_named(x) or fold(x.this) for x in query.find_all(exp.Table)
    }
    return all(fold(column.args.get("table")) in {"", *own} for column in query.find_all(exp.Column))


LOOKUPS: Mapping[type[exp.Expr], Handler] = {exp.Subquery: scalar}
