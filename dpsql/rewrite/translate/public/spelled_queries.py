"""Queries over public rows as the shadow is asked them: each clause, and each element of FROM, is known by name or refused.

SELECT zone FROM zones WHERE name = 'JFK'  →  SELECT "zone" FROM "public"."zones" WHERE ("name" = 'JFK')
generate_series(1, 9) AS g                 →  (SELECT pg_catalog.generate_series(1, 9)) AS "g" ("g")
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.policy.model import TableName
from dpsql.rewrite.ir.spelled import UnspeakableError, only, quoted_name
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.view_nodes import ViewRead
from dpsql.rewrite.translate.public.spelling import Speller

_SIDES = frozenset({"", "LEFT", "RIGHT", "FULL"})
_KINDS = frozenset({"", "INNER", "OUTER", "CROSS"})
_SETS: Mapping[type[exp.Expr], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}
_CLAUSES = ("expressions", "distinct", "from_", "joins", "where", "group", "having", "kind", "order", "limit", "offset")


def spelled_query(s: Speller, node: exp.Expr) -> str:
    """Return a query without CTEs over constants and tables in `public`."""
    match node:
        case exp.Select():
            return _select(s, node)
        case exp.Subquery():
            only(node, "this")
            return f"({spelled_query(s, node.this)})"
        case exp.Union() | exp.Intersect() | exp.Except():
            only(node, "this", "expression", "distinct", "order", "limit", "offset")
            how = f"{_SETS[type(node)]}{'' if node.args.get('distinct') else ' ALL'}"
            return f"{_side(s, node.this)} {how} {_side(s, node.expression)}{spelled_tail(s, node)}"
        case _:
            raise UnspeakableError


def _side(s: Speller, node: exp.Expr) -> str:
    text = spelled_query(s, node)
    return text if isinstance(node, exp.Subquery) else f"({text})"


def _select(s: Speller, node: exp.Select) -> str:
    with_ = node.args.get("with_")
    if with_ is not None:
        return _recursive(s, node, with_)
    only(node, *_CLAUSES)
    distinct, source, joins = node.args.get("distinct"), node.args.get("from_"), node.args.get("joins") or []
    if (distinct and distinct.args.get("on")) or node.args.get("kind"):
        raise UnspeakableError
    outputs = ", ".join(_output(s, output) for output in node.expressions)
    parts = [f"SELECT {'DISTINCT ' if distinct else ''}{outputs}"]
    parts += [] if source is None else [f"FROM {spelled_source(s, source.this)}"]
    parts += [_join(s, join) for join in joins]
    where, group, having = (node.args.get(name) for name in ("where", "group", "having"))
    parts += [] if where is None else [f"WHERE {s.of(where.this)}"]
    if group is not None:
        only(group, "expressions")
        parts.append(f"GROUP BY {s.list(group.expressions)}")
    parts += [] if having is None else [f"HAVING {s.of(having.this)}"]
    return " ".join(parts) + spelled_tail(s, node)


def _recursive(s: Speller, node: exp.Select, with_: exp.Expr) -> str:
    """Return a query over the rows of one that names itself."""
    only(with_, "expressions", "recursive")
    (cte,) = with_.expressions
    only(cte, "this", "alias", "materialized")
    plain, name = node.copy(), fold(cte.args["alias"].this)
    plain.set("with_", None)
    with s.knowing(name):
        return f"WITH RECURSIVE{_called(cte)[3:]} AS ({spelled_query(s, cte.this)}) {_select(s, plain)}"


def spelled_tail(s: Speller, node: exp.Expr) -> str:
    """Return ORDER BY, LIMIT and OFFSET."""
    text, order = "", node.args.get("order")
    if order is not None:
        only(order, "expressions")
        text = f" ORDER BY {', '.join(_ordered(s, key) for key in order.expressions)}"
    for name in ("limit", "offset"):
        clause = node.args.get(name)
        if clause is not None:
            only(clause, "expression")
            text += f" {name.upper()} {s.of(clause.expression)}"
    return text


def _ordered(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "desc", "nulls_first")
    nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
    return f"{s.of(node.this)} {'DESC' if node.args.get('desc') else 'ASC'} NULLS {nulls}"


def _output(s: Speller, node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return f"{s.of(node.this)} AS {quoted_name(fold(node.args['alias']))}"
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return f"{quoted_name(fold(node.args.get('table')))}.*"
    return "*" if isinstance(node, exp.Star) and not any(node.args.values()) else s.of(node)


def spelled_source(s: Speller, node: exp.Expr) -> str:
    """Return an element of FROM."""
    match node:
        case exp.Values():
            only(node, "expressions", "alias")
            return f"(VALUES {', '.join(_row(s, row) for row in node.expressions)}){_called(node)}"
        case ViewRead():  # of public rows: PostgreSQL has the view, for any query of it
            return f"{TableName.of(node.view).quoted}{_called(node)}"
        case exp.Subquery():
            only(node, "this", "alias")
            return f"({spelled_query(s, node.this)}){_called(node)}"
        case exp.Table(this=exp.Anonymous() as call):
            only(node, "this", "alias", "ordinality")
            if str(call.this).lower() == "unnest":
                numbered = " WITH ORDINALITY" if node.args.get("ordinality") else ""
                return f"unnest({s.list(call.expressions)}){numbered}{_called(node)}"
            return _series(s, node, call)
        case exp.Table():
            only(node, "this", "db", "alias")
            name = fold(node.this)
            of_rows = not node.args.get("db") and name in s.row_names
            return f"{quoted_name(name) if of_rows else TableName.of(name).quoted}{_called(node)}"
        case _:
            raise UnspeakableError


def _row(s: Speller, node: exp.Expr) -> str:
    return f"({s.list(node.expressions) if isinstance(node, exp.Tuple) else s.of(node)})"


def _series(s: Speller, node: exp.Expr, call: exp.Anonymous) -> str:
    """Return a series as a query that makes its rows one by one: FROM would write all of them down before the first."""
    plain = str(call.this).lower() == "generate_series" and not node.args.get("ordinality")
    if not plain or not 2 <= len(call.expressions) <= 3:
        raise UnspeakableError
    alias = node.args.get("alias")
    name = "generate_series" if alias is None else fold(alias.this)
    columns = [] if alias is None else alias.args.get("columns") or []
    column = fold(columns[0]) if columns else name
    text = f"pg_catalog.generate_series({s.list(call.expressions)})"
    return f"(SELECT {text}) AS {quoted_name(name)} ({quoted_name(column)})"


def _called(node: exp.Expr) -> str:
    """Return ` AS name (columns)`, nothing where it has no name."""
    alias = node.args.get("alias")
    if alias is None:
        return ""
    only(alias, "this", "columns")
    columns = ", ".join(quoted_name(fold(column)) for column in alias.args.get("columns") or ())
    return f" AS {quoted_name(fold(alias.this))}" + (f" ({columns})" if columns else "")


def _join(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "side", "kind", "on", "using")
    side, kind = (str(node.args.get(name) or "").upper() for name in ("side", "kind"))
    if side not in _SIDES or kind not in _KINDS:
        raise UnspeakableError
    using, on = node.args.get("using"), node.args.get("on")
    how = f" ON {s.of(on)}" if on is not None else ""
    how = f" USING ({', '.join(quoted_name(fold(name)) for name in using)})" if using else how
    return f"{side} {kind or ('' if how else 'CROSS')} JOIN {spelled_source(s, node.this)}{how}"
