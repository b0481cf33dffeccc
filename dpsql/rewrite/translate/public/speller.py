"""SQL for the shadow that planning asks: written by us from a tree of allowed constants, never a client's own text.

Promise: what is spelled has no side effect, and nothing of a client's text is in it but numbers that match a pattern,
names in double quotes, and strings in quotes of our own. Names that are not listed are refused.

    extract(epoch FROM x)  →  extract('epoch' FROM "x")          now() - '1 day'  →  (pg_catalog.now() - '1 day')
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.question import Argument
from dpsql.rewrite.ir.spelled import (
    PLAIN_FUNCTIONS,
    Spelled,
    UnspeakableError,
    literal,
    number,
    only,
    quoted_name,
    word,
)
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.whole.partial import OPERATORS, PARTIAL
from dpsql.rewrite.translate.public.spelled_queries import spelled_query, spelled_tail
from dpsql.rewrite.translate.public.spelling import Rule, Speller

_BINARY: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.Pow: "^", exp.DPipe: "||",
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.And: "AND", exp.Or: "OR",
    exp.Like: "LIKE", exp.ILike: "ILIKE", exp.RegexpLike: "~", exp.RegexpILike: "~*",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_WORDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date", exp.CurrentTimestamp: "current_timestamp", exp.Localtimestamp: "localtimestamp",
}  # fmt: skip
_RANKS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist"})
_TOTAL = frozenset({"not_negative", "negative", "fits", *((PARTIAL & PLAIN_FUNCTIONS) - {"lpad", "rpad"})})
"""The functions in the schema `pg_dpsql` that take the place of PostgreSQL's."""
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "btrim"}


def spell(node: exp.Expr, arguments: Sequence[Argument] = (), *, queries: bool = False) -> Spelled:
    """Return the SQL of a constant, or of an expression in columns of public values; with `queries`, of a SELECT as well.

    Raises:
        UnspeakableError: something in it is not allowed.
    """
    speller = Speller(arguments, _RULES, _BINARY, queries=spelled_query if queries else None)
    try:
        return Spelled(speller.query(node) if isinstance(node, exp.Query) else speller.of(node), speller.volatile)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # a tree of a form that no rule thought of
        raise UnspeakableError from None


def _literal(s: Speller, node: exp.Expr) -> str:
    text = str(node.this)
    if node.is_string:
        return s.string(text)
    return number(text)


def _clock(s: Speller, node: exp.Expr) -> str:
    only(node)
    s.volatile = True
    return _WORDS[type(node)]


def _cast(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "to")
    is_constant = isinstance(node.this, (exp.Literal, exp.Null, exp.Parameter))
    return s.cast(s.of(node.this), render(node.args["to"].copy()), is_constant=is_constant)


def _case(s: Speller, node: exp.Expr) -> str:
    subject, default = node.args.get("this"), node.args.get("default")
    parts = ["CASE"] if subject is None else ["CASE", s.of(subject)]
    parts += [f"WHEN {s.of(branch.this)} THEN {s.of(branch.args['true'])}" for branch in node.args["ifs"]]
    return " ".join([*parts, "END"] if default is None else [*parts, f"ELSE {s.of(default)}", "END"])


def _in(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "expressions", "query")
    query = node.args.get("query")
    among = s.list(node.expressions) if query is None else s.query(query.this)
    return f"({s.of(node.this)} IN ({among}))"


def _is(s: Speller, node: exp.Expr) -> str:
    if not isinstance(node.args["expression"], (exp.Null, exp.Boolean)):
        raise UnspeakableError
    return f"({s.of(node.this)} IS {'NOT ' if node.args.get('negate') else ''}{s.of(node.args['expression'])})"


def _trim(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "expression", "position")
    name = _TRIMS[str(node.args.get("position") or "BOTH").upper()]
    return _function(name, "this", "expression")(s, node)


def _function(name: str, *parts: str) -> Rule:
    """Return the rule for syntax that is a function: `substring(a FROM b)` → `pg_catalog.substring(a, b)`."""

    def rule(s: Speller, node: exp.Expr) -> str:
        only(node, "position", *parts)
        return f"pg_catalog.{name}({', '.join(s.of(node.args[part]) for part in parts if node.args.get(part) is not None)})"

    return rule


def _dot(s: Speller, node: exp.Expr) -> str:
    call = node.args["expression"]
    if not isinstance(call, exp.Anonymous) or fold(node.this) not in {"pg_catalog", "pg_dpsql"}:
        raise UnspeakableError
    if fold(node.this) == "pg_catalog":
        return s.call(call)
    if call.this not in _TOTAL and not str(call.this).startswith("fits_"):
        raise UnspeakableError
    return f"pg_dpsql.{call.this}({s.list(call.expressions)})"


def _total_operator(s: Speller, node: exp.Expr) -> str:
    """Return an operator that is NULL where PostgreSQL's own would fail."""
    name = str(node.args["operator"])
    if name.removeprefix("pg_dpsql.") not in OPERATORS.values():
        raise UnspeakableError
    return f"({s.of(node.this)} OPERATOR({name}) {s.of(node.args['expression'])})"


def _window(s: Speller, node: exp.Expr) -> str:
    only(node, "this", "partition_by", "order", "over")
    call = node.this
    ranks = isinstance(call, exp.Anonymous) and str(call.this).lower() in _RANKS and not call.expressions
    function = f"pg_catalog.{str(call.this).lower()}()" if ranks else s.of(call)
    by = [f"PARTITION BY {s.list(parts)}"] if (parts := node.args.get("partition_by")) else []
    return f"{function} OVER ({' '.join(by)}{spelled_tail(s, node)})"


def _column(s: Speller, node: exp.Expr) -> str:
    _ = s
    only(node, "this", "table")
    table = node.args.get("table")
    return ("" if table is None else quoted_name(fold(table)) + ".") + quoted_name(fold(node.this))


_RULES: Mapping[type, Rule] = {
    exp.Literal: _literal,
    exp.ByteString: lambda s, n: s.string(str(n.this)),
    exp.Null: lambda _s, _n: "NULL",
    exp.Boolean: lambda _s, n: "TRUE" if n.this else "FALSE",
    exp.Paren: lambda s, n: f"({s.of(n.this)})",
    exp.Neg: lambda s, n: f"(- {s.of(n.this)})",
    exp.Not: lambda s, n: f"(NOT {s.of(n.this)})",
    exp.Tuple: lambda s, n: f"({s.list(n.expressions)})",
    exp.Array: lambda s, n: f"ARRAY[{s.list(n.expressions)}]",
    exp.Parameter: lambda s, n: s.parameter(n),
    exp.Anonymous: lambda s, n: f"ALL ({s.list(n.expressions)})" if n.name.lower() == "all" else s.call(n),
    exp.Any: lambda s, n: f"ANY ({s.of(n.this)})",
    exp.Kwarg: lambda s, n: f"{word(n.this)} => {s.of(n.args['expression'])}",
    exp.CurrentDate: _clock,
    exp.CurrentTimestamp: _clock,
    exp.Localtimestamp: _clock,
    exp.Extract: lambda s, n: f"extract({literal(str(n.this.name).lower())} FROM {s.of(n.args['expression'])})",
    exp.AtTimeZone: lambda s, n: f"({s.of(n.this)} AT TIME ZONE {s.of(n.args['zone'])})",
    exp.Collate: lambda s, n: f"({s.of(n.this)} COLLATE {quoted_name(fold(n.args['expression']))})",
    exp.Substring: _function("substring", "this", "start", "length"),
    exp.Overlay: _function("overlay", "this", "expression", "from_", "for_"),
    exp.Trim: _trim,
    exp.Cast: _cast,
    exp.Case: _case,
    exp.In: _in,
    exp.Is: _is,
    exp.Dot: _dot,
    exp.Column: _column,
    exp.Subquery: lambda s, n: f"({s.query(n.this)})",
    exp.Operator: _total_operator,
    exp.Window: _window,
}
"""How each kind of node is spelled; binary operators are in `_BINARY`."""

SPOKEN = (*_RULES, *_BINARY)
"""Every kind of node that a constant may have."""
