"""Constants with which PostgreSQL fails for all released values: they are tried before anything is paid for.

    count(*) / 0                  →  SELECT 1 / (0)                  name ~ '('        →  SELECT '' ~ '('
    split_part(name, ',', 0)      →  SELECT split_part('', '', 0)    LIMIT -1          →  SELECT LIMIT -1
    to_date('x', 'YYYY')          →  SELECT to_date('x', 'YYYY')     format('%', n)    →  SELECT format('%', '')

A constant that stands alone, such as `chr(0)`, PostgreSQL computes when it plans a statement: EXPLAIN tries it.
"""

import itertools
from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpsql.lexer.reader import TokenKind, tokens
from dpsql.rewrite.syntax.named.aggregate_names import OBJECTS_OF_ROWS, function_name, is_aggregate
from dpsql.rewrite.syntax.read.dialect import render, without_literal_type
from dpsql.rewrite.syntax.read.trees import every, holds
from dpsql.rewrite.syntax.whole.single_row import (
    BY_SECOND,
    CASTS,
    OPERATORS,
    PARTIAL,
    PARTS_OF_TIMES,
    SETS,
    TOTAL_CASTS,
)

_NARROW = (exp.DType.SMALLINT, exp.DType.INT)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_TRIED = (
    exp.Div, exp.Mod, exp.Limit, exp.Offset, exp.RegexpLike, exp.RegexpILike, exp.AtTimeZone, exp.Extract, exp.Substring,
    exp.WindowSpec, exp.Anonymous,
)  # fmt: skip
"""Nodes that may have such a constant."""
_LATE = SETS | {
    "convert", "convert_from", "convert_to", "current_setting", "to_date", "to_number", "to_timestamp", "to_tsquery",
}  # fmt: skip
"""Functions whose results for constants EXPLAIN does not compute: they have rows, or depend on settings."""
_RELEASED = (exp.Column, exp.Query, exp.Star, exp.Parameter)
"""Nodes that are no constants there."""
_LAZY = frozenset({"case", "coalesce", "and", "or"})
"""Words of what PostgreSQL may never come to compute."""
_OBJECTS = frozenset({"json_build_object", "jsonb_build_object"})
_FAILING = _OBJECTS | OBJECTS_OF_ROWS | {"array_agg", "current_setting", "format", "set_config", "setseed"}
"""Functions that fail for some arguments, and have no form that would be NULL instead."""


def constant_probes(nodes: Sequence[exp.Expr]) -> tuple[str, ...]:
    """Return statements that fail if among the nodes of a query is a constant with which it can't but fail."""
    # An example: SELECT sum(fare) / 0 FROM trips. The quotient is computed of released values, so that PostgreSQL fails
    # after the charge, whatever was released. `SELECT 1 / (0)` fails in the same way before it. Nothing that a probe
    # runs has anything of the records in it.
    tried = [node for node in nodes if isinstance(node, _TRIED) and not _is_lazy(node)]
    return tuple(dict.fromkeys(trial for node in tried for trial in _of(node)))


def probes_around(texts: Sequence[str]) -> Iterator[str]:
    """Yield the same of what is written around queries, as far as signs and words tell: a division by 0."""
    for text in texts:
        words = list(tokens(text))
        if _LAZY & {token.word for token in words}:
            continue
        for sign, divisor in itertools.pairwise(words):
            if sign.word in ("/", "%") and divisor.sort is TokenKind.NUMBER and not set(divisor.text) - set("0._"):
                yield f"SELECT 1 / {divisor.text}"


def may_fail(nodes: Sequence[exp.Expr]) -> bool:
    """Return whether a query of these nodes calls what may fail for keys, or for values of tables of one's own."""
    return any(isinstance(node, exp.Anonymous) and function_name(node) in _FAILING for node in nodes)


def has_constants(nodes: Sequence[exp.Expr]) -> bool:
    """Return whether a query of these nodes computes something of constants alone."""
    computed = (node for node in nodes if isinstance(node, exp.Condition) and _is_computed(node))
    return any(not holds(node, exp.Column, exp.Query, exp.Star) for node in computed)


def _is_computed(node: exp.Expr) -> bool:
    if not isinstance(node, (exp.Binary, exp.Func)):
        return False
    match node:
        case exp.Cast():
            return not isinstance(node.this, exp.Literal) or _is_narrowed(node)
        case exp.Anonymous():
            return bool(node.expressions) and not is_aggregate(node)
        case _:
            return not isinstance(node, (exp.Connector, exp.Dot, exp.Operator))


def _is_narrowed(cast: exp.Cast) -> bool:
    """Return whether a number may be too large for its type; PostgreSQL has read texts when it bound them."""
    return not cast.this.is_string and (cast.to.this in _NARROW or bool(cast.to.expressions))


def _is_lazy(node: exp.Expr) -> bool:
    """Return whether PostgreSQL may never come to compute a node."""
    # CASE WHEN n > 0 THEN 1 / 0 END may never divide. To refuse it would refuse what PostgreSQL answers.
    return node.find_ancestor(exp.Case) is not None


def _of(node: exp.Expr) -> Iterator[str]:
    match node:
        case exp.Div(expression=divisor) | exp.Mod(expression=divisor):
            yield from _quotient(divisor)
        case exp.Limit() | exp.Offset():
            if not isinstance(node.expression, exp.Literal) and _is_number(node.expression):
                yield f"SELECT {render(node)}"
        case exp.RegexpLike() | exp.RegexpILike():
            yield from _of_pattern(node)
        case exp.WindowSpec():
            yield from _of_frame(node)
        case exp.AtTimeZone() | exp.Extract() | exp.Substring():
            yield from _of_grammar(node)
        case exp.Anonymous():
            yield from _of_call(function_name(node), node.expressions)
            yield from _of_late(node, function_name(node), node.expressions)
        case _:
            pass


def _of_pattern(node: exp.Expr) -> Iterator[str]:
    pattern = node.args["expression"]
    if not holds(pattern, *_RELEASED):
        yield f"SELECT '' ~ {render(pattern)}"


def _of_frame(node: exp.WindowSpec) -> Iterator[str]:
    for end in (node.args.get("start"), node.args.get("end")):
        if isinstance(end, exp.Expr) and not isinstance(end, exp.Literal) and _is_number(end):
            yield f"SELECT pg_catalog.count(1) OVER (ROWS {render(end)} PRECEDING)"


def _of_late(node: exp.Anonymous, name: str, args: list[exp.Expr]) -> Iterator[str]:
    """Yield a call with its constants, a text instead of the release."""
    match name, args and [without_literal_type(args[0]), *args[1:]]:
        case "format", [exp.Literal() as form, *values] if "*" not in form.name:
            texts = ["''" for _ in values]
            yield f"SELECT pg_catalog.format({', '.join([render(form), *texts])})"
        case _ if name in _LATE and not any(holds(arg, *_RELEASED) for arg in args) and not _may_be_left(node):
            yield f"SELECT pg_catalog.{name}({', '.join(map(render, args))}) LIMIT 1"
        case _:
            pass


# coalesce, AND and OR stop at what decides them.
def _may_be_left(node: exp.Expr) -> bool:
    """Return whether what is before a node may decide already."""
    above = node.parent
    while (
        isinstance(above, exp.Condition) and not isinstance(above, exp.Connector) and function_name(above) != "coalesce"
    ):
        above = above.parent
    return isinstance(above, exp.Condition)


def _quotient(divisor: exp.Expr) -> Iterator[str]:
    if _is_number(divisor) and not _is_written_above_0(divisor):
        yield f"SELECT 1 / ({render(divisor)})"


def _of_grammar(node: exp.AtTimeZone | exp.Extract | exp.Substring) -> Iterator[str]:
    match node:
        case exp.AtTimeZone():
            if isinstance(without_literal_type(node.args["zone"]), exp.Literal):
                yield f"SELECT pg_catalog.now() AT TIME ZONE {render(node.args['zone'])}"
        case exp.Extract():
            if node.name.lower() not in PARTS_OF_TIMES:
                yield f"SELECT EXTRACT({render(node.this)} FROM pg_catalog.now())"
        case exp.Substring():
            if _is_negative(node.args.get("length")):
                yield f"SELECT SUBSTRING('' FROM 1 FOR {render(node.args['length'])})"


def _of_call(name: str, args: list[exp.Expr]) -> Iterator[str]:
    match name, args and [without_literal_type(args[0]), *args[1:]]:
        case ("date_trunc" | "date_part", [exp.Literal() as field, *_]) if field.name.lower() not in PARTS_OF_TIMES:
            yield f"SELECT pg_catalog.{name}({render(field)}, pg_catalog.now())"
        case "split_part", [_, _, place] if _is_number(place):
            yield f"SELECT pg_catalog.split_part('', '', {render(place)})"
        case (("substr" | "substring"), [_, _, length]) if _is_negative(length):
            yield f"SELECT pg_catalog.substr('', 1, {render(length)})"
        case "ntile", [number] if _is_number(number):
            yield f"SELECT pg_catalog.ntile({render(number)}) OVER ()"
        case "nth_value", [_, number] if _is_number(number):
            yield f"SELECT pg_catalog.nth_value(1, {render(number)}) OVER ()"
        case (("mod" | "div"), [_, divisor]) if _is_number(divisor) and not _is_written_above_0(divisor):
            yield f"SELECT 1 / ({render(divisor)})"
        case (("percentile_cont" | "percentile_disc"), [share]) if _is_number(share):
            yield f"SELECT {name}({render(share)}) WITHIN GROUP (ORDER BY 1)"
        case _ if name in _OBJECTS and len(args) % 2:
            yield f"SELECT pg_catalog.{name}({', '.join('1' for _ in args)})"
        case _:
            pass


def _is_number(node: exp.Expr | None) -> bool:
    """Return whether a node is computed of written numbers alone."""
    match node:
        case exp.Cast(this=exp.Literal()):
            return render(node.to).lower() in CASTS
        case exp.Literal():
            return not node.is_string
        case exp.Neg() | exp.Paren():
            return _is_number(node.this)
        case exp.Cast():
            return render(node.to).lower() in CASTS and _is_number(node.this)
        case _:
            return isinstance(node, _ARITHMETIC) and _is_number(node.this) and _is_number(node.expression)


def _is_written_above_0(node: exp.Expr) -> bool:
    node = without_literal_type(node)
    return isinstance(node, exp.Literal) and any(digit in "123456789" for digit in node.name.lower().split("e")[0])


def _is_negative(node: exp.Expr | None) -> bool:
    written = None if node is None else without_literal_type(node)
    below = isinstance(written, exp.Literal) and written.name.startswith("-")
    return below or (isinstance(node, exp.Neg) and _is_number(node))


# Results over released values that are NULL where PostgreSQL would fail: a quotient by 0, the root of a negative number.
#
#     sum(x) / count(*)  →  (_dp.a0 OPERATOR(pg_dpsql./) _dp.a1)       sqrt(n)  →  pg_dpsql.sqrt(n)
#     n::integer         →  CAST(pg_dpsql.fits_integer(n) AS INT) LIMIT (SELECT …)  →  LIMIT pg_dpsql.not_negative((SELECT …))
#     g::date            →  CAST(pg_dpsql.fits(g, CAST(NULL AS DATE)) AS DATE)
#
# An empty public group divides by 0 and noise takes values below it: a statement that was paid for must not fail for what no
# planning could find out. The functions and operators are the shadow's (`shadow/contents/guard.py`).

_POSITIVE = {"ntile": 0, "nth_value": 1}
"""Window functions, and which argument has to be above 0."""
_OF_FIELDS = frozenset({"date_part", "date_trunc"})


def without_failing(tree: exp.Query) -> None:
    """Change what can fail for some values, in a tree that reads no private rows any more."""
    for node in reversed(every(tree, exp.Expr)):  # what is inside first: what is around it is copied
        _change(node)


def _change(node: exp.Expr) -> None:
    match node:
        case exp.Cast():
            _fit(node)
        case exp.Limit() | exp.Offset():
            _put_around(node.expression, "not_negative")
        case exp.Anonymous() | exp.Dot():
            _called(node)
        case exp.Neg() if _varies(node):
            node.replace(_call("negative", node.this))
        case exp.Substring() | exp.Overlay() | exp.Extract() | exp.AtTimeZone() if _varies(node):
            _spelled_otherwise(node)
        case _ if type(node) in OPERATORS:
            _operated(node)
        case _:
            pass


def _operated(node: exp.Expr) -> None:
    """Change an operator between two values."""
    if not _varies(node.expression if type(node) in BY_SECOND else node):
        return
    operand, other = (
        part.copy() if _is_one(part) else exp.Paren(this=part.copy()) for part in (node.this, node.expression)
    )
    changed: exp.Expr = exp.Operator(this=operand, operator=f"pg_dpsql.{OPERATORS[type(node)]}", expression=other)
    if node.args.get("negate"):
        changed = exp.Not(this=changed)
    node.replace(exp.Paren(this=changed))


def _is_one(node: exp.Expr) -> bool:
    """Return whether a node needs no parentheses beside an operator."""
    return isinstance(node, (exp.Column, exp.Literal, exp.Paren, exp.Subquery, exp.Cast, exp.Anonymous, exp.Dot))


def _called(node: exp.Expr) -> None:
    """Change a call of one of PostgreSQL's functions."""
    if isinstance(node.parent, exp.Dot) or not _varies(node):
        return  # with its schema, later
    name, call = function_name(node), node.expression if isinstance(node, exp.Dot) else node
    if name in _OF_FIELDS and call.expressions and str(call.expressions[0].name).lower() in PARTS_OF_TIMES:
        return
    if name in _POSITIVE and len(call.expressions) > _POSITIVE[name]:
        _put_around(call.expressions[_POSITIVE[name]], "positive")
    elif name in PARTIAL or name in SETS:
        node.replace(_call(name, *call.expressions))


def _spelled_otherwise(node: exp.Substring | exp.Overlay | exp.Extract | exp.AtTimeZone) -> None:
    """Change what is a function with a grammar of its own."""
    match node:
        case exp.Substring():
            start, length = node.args.get("start") or exp.Literal.number(1), node.args.get("length")
            node.replace(_call("substring", node.this, start, *([length] if length else [])))
        case exp.Overlay():
            parts = [node.this, node.expression, node.args["from_"], node.args.get("for_")]
            node.replace(_call("overlay", *filter(None, parts)))
        case exp.Extract():
            if node.name.lower() not in PARTS_OF_TIMES:
                node.replace(_call("extract", exp.Literal.string(node.name.lower()), node.expression))
        case exp.AtTimeZone():
            if _varies(node.args["zone"]):
                node.replace(_call("timezone", node.args["zone"], node.this))


def _fit(cast: exp.Cast) -> None:
    """Let a cast find nothing that it could miss."""
    type_, (written, _, length) = cast.to, render(cast.to).lower().removeprefix("pg_catalog.").partition("(")
    if written in ("decimal", "numeric") and length:
        places, scale = (*type_.expressions, exp.Literal.number(0))[:2]
        _put_around(cast.this, "fits_numeric", places.copy(), scale.copy())
    elif written in CASTS and not length:
        _put_around(cast.this, f"fits_{CASTS[written]}".replace(" ", "_"))
    elif written not in TOTAL_CASTS:
        _put_around(cast.this, "fits", exp.Cast(this=exp.Null(), to=type_.copy()))


def _put_around(node: exp.Expr, function: str, *more: exp.Expr) -> None:
    if _varies(node):
        node.replace(_call(function, node, *more))


def _varies(node: exp.Expr) -> bool:
    """Return whether there is anything in it but constants that stand in the statement."""
    return holds(node, exp.Column, exp.Query, exp.Parameter)


def _call(function: str, *args: exp.Expr) -> exp.Expr:
    called = exp.Anonymous(this=function, expressions=[arg.copy() for arg in args])
    return exp.Dot(this=exp.to_identifier("pg_dpsql"), expression=called)
