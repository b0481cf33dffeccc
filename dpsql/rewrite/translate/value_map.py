"""Functions of one expression with few possible values: the shadow evaluates them value by value.

    upper(paid)  →  CASE paid WHEN 'card' THEN 'CARD' WHEN 'cash' THEN 'CASH' END

The engine sees only the resulting map, so that every engine has PostgreSQL's own semantics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from dpsql.errors import DpsqlError, Unsupported
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.keys import key_of
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.evaluator import TYPES
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Results, refs
from dpsql.rewrite.ir.literal import parse_value
from dpsql.rewrite.syntax.identifiers import position
from dpsql.rewrite.translate.context import Handler, Translator, refused

MAX_VALUES = 10_000
_ZONED = frozenset({"timestamp with time zone", "timestamptz"})


def through_shadow(t: Translator, node: exp.Expr) -> Expr:
    """Evaluate a function of one thing with few values on the shadow, value by value; the engine sees the result."""
    columns = list(node.find_all(exp.Column))
    inner = {t.names.find(column) for column in columns}
    if len(inner) != 1 or not t.by_value or not _speakable(t, node):
        raise refused(node, because="function-not-known")
    (column,) = inner
    values = _few(t, column)
    if values is not None:
        return mapped(t, column, values, _in_terms_of_x(node, columns))
    # A part that only the shadow could evaluate is not asked about: what is in it is evaluated together with the rest.
    plain, part = replace(t, by_value=False), _only_branch(node)
    while part is not None and not isinstance(part, exp.Column):
        argument = _understood(plain, part)
        values = _few(t, argument) if argument is not None else None
        if argument is not None and values is not None:
            return mapped(t, argument, values, _in_terms_of_x(node, [part]))
        part = _only_branch(part)
    raise Unsupported(
        f"{node.sql('postgres')[:80]} needs a column whose possible values are declared",
        because="function-needs-domain",
        hint="The owner of the data can declare `values: […]` (or, for whole numbers, `bounds`) for the column.",
        position=position(node),
    )


def mapped(t: Translator, argument: Expr, values: Sequence[Value], node: exp.Expr) -> Expr:
    """Return the map from each of `values` to what the shadow makes of it; `node` is in terms of a column `x`.

    NULL is one of the values where the argument can be NULL.
    """
    if len(values) > MAX_VALUES:
        raise Unsupported(
            f"{node.sql('postgres')[:80]} is over {len(values):,} possible values, the limit is {MAX_VALUES:,}",
            because="map-too-large",
            hint="WHERE can leave fewer of them.",
        )
    nulls: tuple[None, ...] = (None,) if t.known(argument).nullable else ()
    texts, type_name = t.constants.evaluator.over(t.constants.spelled(node), (*values, *nulls), argument.type)
    type_ = TYPES.get(type_name)
    if type_name in _ZONED:
        raise Unsupported(
            f"{node.sql('postgres')[:80]} is a time with a time zone, which private rows can't have",
            because="result-with-time-zone",
            hint="Write … AT TIME ZONE 'UTC' after it.",
        )
    if type_ is None:
        raise refused(node, because="result-type")
    results = tuple(None if text is None else parse_value(text, type_) for text in texts)
    keys = tuple(Const(v, argument.type) for v in values)
    result = Apply("map", (argument, *keys), type_, Results(results[: len(values)]))
    if not nulls or results[-1] is None:
        return result
    missing = Apply("is_null", (argument,), SqlType.BOOLEAN)
    return Apply("case", (missing, Const(results[-1], type_), result), type_)


def _speakable(t: Translator, node: exp.Expr) -> bool:
    try:
        t.constants.spelled(node)
    except DpsqlError:
        return False
    return True


def _few(t: Translator, expr: Expr) -> Sequence[Value] | None:
    """Return all values of an expression that the shadow would write as PostgreSQL does, if they are known and few."""
    declared = t.known(expr).values
    # Floating point has two zeros, and numeric any number of digits after the point: PostgreSQL writes them apart.
    whole = isinstance(expr, Apply) and function_of(expr).without_digits and expr.type is SqlType.NUMERIC
    if declared is not None or (expr.type.is_number and not expr.type.is_integer and not whole):
        return declared
    try:
        shown = key_of(expr, {ref: t.known(ref) for ref in refs(expr)}, MAX_VALUES).shown or {}
    except DpsqlError:
        return None
    return tuple(cell for cell in shown.values() if cell is not None)


def _understood(t: Translator, node: exp.Expr) -> Expr | None:
    try:
        return t.expression(node)
    except DpsqlError:
        return None


def _only_branch(node: exp.Expr) -> exp.Expr | None:
    """Return the child that has all the columns, if only one has any."""
    found = [child for child in node.iter_expressions() if child.find(exp.Column) is not None]
    return found[0] if len(found) == 1 else None


def _in_terms_of_x(node: exp.Expr, parts: Sequence[exp.Expr]) -> exp.Expr:
    """Return `node` with a column `x` in the places of `parts`."""
    return exp.Paren(this=node.transform(lambda one: exp.column("x") if one in parts else one))


MAPPED: Mapping[type[exp.Expr], Handler] = dict.fromkeys(
    (
        exp.RegexpLike,
        exp.RegexpILike,
        exp.Substring,
        exp.Trim,
        exp.StrPosition,
        exp.DPipe,
        exp.Escape,
        exp.SimilarTo,
    ),
    through_shadow,
)
