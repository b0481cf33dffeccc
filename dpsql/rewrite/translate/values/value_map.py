"""Functions of expressions with few possible values: the shadow evaluates them value by value.

    upper(paid)  →  CASE paid WHEN 'card' THEN 'CARD' WHEN 'cash' THEN 'CASH' END

The engine sees only the resulting map, so that every engine has PostgreSQL's own semantics.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dpsql.errors import DpsqlError, Unsupported
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.keys import key_of
from dpsql.rewrite.functions.function import lists_too_many
from dpsql.rewrite.functions.table import digits_written
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, Results, refs, walk
from dpsql.rewrite.ir.literal import TYPES, format_value, parse_value
from dpsql.rewrite.syntax.read.dialect import excerpt, written_type
from dpsql.rewrite.translate.values.context import Handler, Translator, unknown_construct

MAX_VALUES = 10_000
_MANY = 100
"""From so many values on it is seen whether there is a part that has fewer: engines take long to read a CASE of thousands."""


_PATHS = (exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar)


@dataclass(frozen=True, slots=True)
class _Input:
    """A part of a function's arguments that has few values."""

    part: exp.Expr
    expr: Expr
    values: Sequence[Value]


def narrowed_where(t: Translator, translate: Callable[[Translator], Expr]) -> Expr:
    """Return what is translated value by value: of those that WHERE leaves, where they are too many without it.

    A map of all values is the same in every statement, so that one answer may tell another.

    Raises:
        Unsupported: there are too many all the same, or whatever else is wrong.
    """
    try:
        return translate(t)
    except Unsupported as refusal:
        too_many = lists_too_many(refusal) or refusal.because in {"function-needs-domain", "map-too-large"}
        if not too_many or t.facts_in_rows is None:
            raise
        facts_of = t.facts_in_rows
    return translate(replace(t, facts_of=facts_of, facts_in_rows=None))


def through_shadow(t: Translator, node: exp.Expr) -> Expr:
    """Let the shadow evaluate a function whose arguments have few values, value by value; the engine sees the results."""
    return narrowed_where(t, lambda narrowed: _through_shadow(narrowed, node))


def _through_shadow(t: Translator, node: exp.Expr) -> Expr:
    if not t.by_value or node.find(exp.Column) is None or not _speakable(t, node):
        raise unknown_construct(node, because="function-not-known")
    inputs = tuple(_inputs(t, node, node))
    if len({input_.expr for input_ in inputs}) > 1:
        return _of_combinations(t, inputs, node)
    # upper(paid) || '!'  →  the shadow is asked for upper(x) || '!' over 'card' and 'cash', and says 'CARD!' and 'CASH!'.
    places = {input_.part: _typed(input_, _as_written(input_.expr, exp.column("x"))) for input_ in inputs}
    return map_values(t, inputs[0].expr, inputs[0].values, _in_terms_of(node, places))


def _inputs(t: Translator, node: exp.Expr, whole: exp.Expr) -> Iterator[_Input]:
    """Yield what a function is of: its columns if each has few values, else the largest parts that have."""
    columns = {column: t.names.find(column) for column in node.find_all(exp.Column)}
    _refuse_labels_as_texts(columns, whole)
    few = {column: few_values(t, expr) for column, expr in columns.items()}
    inputs = [_Input(column, columns[column], values) for column, values in few.items() if values is not None]
    if len(inputs) == len(few):
        yield from _shortest(t, node, whole, inputs)
        return
    # There is no part of a column that could have fewer values.
    if isinstance(node, exp.Column):
        raise _needs_domain(whole, columns[node])
    yield from _parts(t, node, whole)


def _shortest(t: Translator, node: exp.Expr, whole: exp.Expr, inputs: Sequence[_Input]) -> Sequence[_Input]:
    """Return the columns, or the parts around them where these have fewer values.

    floor(price / 20) * 20 || '-' || floor(price / 20) * 20 + 20  →  of three values, and not of thousands
    """
    if isinstance(node, exp.Column) or _combinations(inputs) <= _MANY:
        return inputs
    try:
        parts = list(_parts(t, node, whole))
    except DpsqlError:
        return inputs
    return parts if _combinations(parts) < _combinations(inputs) else inputs


def _combinations(inputs: Sequence[_Input]) -> int:
    return math.prod(len(values) for values in {input_.expr: input_.values for input_ in inputs}.values())


def _parts(t: Translator, node: exp.Expr, whole: exp.Expr) -> Iterator[_Input]:
    """Yield the largest parts that have few values.

    A part that only the shadow could evaluate is looked into: what is in it is evaluated together with the rest.
    """
    for part in node.iter_expressions():
        if part.find(exp.Column) is None:
            continue
        # Without the shadow: else a part would be asked of it, and the map then be mapped once more by what is around it.
        argument = _understood(replace(t, by_value=False), part)
        values = few_values(t, argument) if argument is not None else None
        if argument is not None and values is not None:
            yield _Input(part, argument, values)
        else:
            yield from _inputs(t, part, whole)


def _refuse_labels_as_texts(columns: Mapping[exp.Column, Expr], whole: exp.Expr) -> None:
    """Check that labels are texts to a function: the shadow is told them as such, and texts have another order."""
    for column, expr in columns.items():
        parent = column.parent
        as_text = isinstance(parent, exp.Cast) and TYPES.get(written_type(parent.to)) is SqlType.TEXT
        if expr.type is SqlType.ENUM and not as_text:
            raise Unsupported(
                f"{excerpt(whole)} is not supported of an enum",
                because="function-of-enum",
                hint=f"Write {column.name}::text.",
            )


def _of_combinations(t: Translator, inputs: Sequence[_Input], node: exp.Expr) -> Expr:
    """Return the map from the numbers of all combinations of values.

    paid || stars  →  CASE place of paid + 3 * place of stars WHEN 0 THEN 'card1' WHEN 1 THEN 'cash1' … END
    """
    number: Expr = Const(0, SqlType.BIGINT)
    combinations = 1
    shown: dict[Expr, exp.Expr] = {}
    # As digits of a number: of three values of paid, place of paid + 3 * place of stars tells all pairs apart, from 0 on.
    for expr, values in {input_.expr: input_.values for input_ in inputs}.items():
        cells = (*values, None) if t.facts_of(expr).nullable else tuple(values)
        shown[expr] = _as_written(expr, _value_at(combinations, cells, expr.type))
        place = _place(expr, values, times=combinations, nullable=len(cells) > len(values))
        number = Apply("add", (number, place), SqlType.BIGINT) if combinations > 1 else place
        combinations *= len(cells)
    if combinations > MAX_VALUES:
        raise _too_many(node, f"{combinations:,} possible combinations of values")
    return map_values(
        t,
        number,
        range(combinations),
        _in_terms_of(node, {input_.part: _typed(input_, shown[input_.expr]) for input_ in inputs}),
    )


def _place(expr: Expr, values: Sequence[Value], *, times: int, nullable: bool) -> Expr:
    """Return how many of its values come before the one that an expression has; all of them before NULL."""
    keys = (Const(value, expr.type) for value in values)
    places = Apply("map", (expr, *keys), SqlType.BIGINT, Results(tuple(n * times for n in range(len(values)))))
    after = Const(len(values) * times, SqlType.BIGINT)
    return Apply("coalesce", (places, after), SqlType.BIGINT) if nullable else places


def _value_at(times: int, cells: Sequence[Value | None], type_: SqlType) -> exp.Expr:
    """Return for the shadow which value it is whose place is in a combination's number `x`."""
    # The shadow takes the number apart again: (x / 3) % 5 is the place of stars, of which there are five.
    place = exp.Mod(
        this=exp.Paren(this=exp.Div(this=exp.column("x"), expression=_count(times))), expression=_count(len(cells))
    )
    values = [None if cell is None else exp.Literal.string(format_value(cell, type_)) for cell in cells]
    ifs = [
        exp.If(this=_count(n), true=exp.cast(exp.null() if value is None else value, type_.spelled, dialect="postgres"))
        for n, value in enumerate(values)
    ]
    return exp.Case(this=exp.Paren(this=place), ifs=ifs)


def _as_written(expr: Expr, value: exp.Expr) -> exp.Expr:
    """Return for the shadow a value of `expr` with the digits that PostgreSQL would write."""
    if expr.type is SqlType.CHARACTER and isinstance(expr, Ref):  # with the blanks that some functions see
        return exp.cast(value, expr.column.declared, dialect="postgres")
    digits = digits_written(expr) if expr.type is SqlType.NUMERIC else None
    return exp.Anonymous(this="round", expressions=[value, _count(digits)]) if digits else value


def _typed(of: _Input, value: exp.Expr) -> exp.Expr:
    """Return for the shadow a value in the type that its part was cast to: whole numbers all have 64 bits here."""
    narrow = isinstance(of.part, exp.Cast) and of.expr.type.is_integer
    return exp.Cast(this=value, to=of.part.args["to"].copy()) if narrow else value


def _count(number: int) -> exp.Expr:
    return exp.Literal.number(number)


def _needs_domain(node: exp.Expr, expr: Expr) -> Unsupported:
    declare = "The owner of the data can declare `values: […]` (or, for whole numbers, `bounds`) for the column."
    of_time = (
        "Write to_char(t, 'YYYY-MM-DD HH24'), or date_trunc('hour', t): the text of a time has as many values as times."
    )
    return Unsupported(
        f"{excerpt(node)} needs a column whose possible values are declared",
        because="function-needs-domain",
        hint=of_time if expr.type.is_moment else declare,
    )


def _too_many(node: exp.Expr, what: str) -> Unsupported:
    return Unsupported(
        f"{excerpt(node)} is over {what}, the limit is {MAX_VALUES:,}",
        because="map-too-large",
        hint="WHERE can leave fewer of them.",
    )


def map_values(t: Translator, argument: Expr, values: Sequence[Value], node: exp.Expr) -> Expr:
    """Return the map from each of `values` to what the shadow makes of it; `node` is in terms of a column `x`.

    NULL is one of the values where the argument can be NULL.
    """
    if len(values) > MAX_VALUES:
        raise _too_many(node, f"{len(values):,} possible values")
    nulls: tuple[None, ...] = (None,) if t.facts_of(argument).nullable else ()
    texts, type_name = t.constants.evaluator.over(t.constants.spelled(node), (*values, *nulls), argument.type)
    type_ = TYPES.get(type_name)
    if type_ is None:
        raise unknown_construct(node, because="result-type")
    results = tuple(None if text is None else _result(text, type_) for text in texts)
    keys = tuple(Const(v, argument.type) for v in values)
    result = Apply("map", (argument, *keys), type_, Results(results[: len(values)]))
    if not nulls or results[-1] is None:
        return result
    # CASE x WHEN NULL has no branch for NULL, which equals nothing: what the shadow makes of it stands around the map.
    missing = Apply("is_null", (argument,), SqlType.BOOLEAN)
    return Apply("case", (missing, Const(results[-1], type_), result), type_)


def _result(text: str, type_: SqlType) -> Value:
    """Return what PostgreSQL has made of one value.

    Raises:
        Unsupported: it is infinite, no number, before Christ, or an interval with months.
    """
    try:
        return parse_value(text, type_)
    except (ValueError, OverflowError):
        raise Unsupported(
            f'"{text[:80]}", which this makes of one of its values, can\'t stand beside private rows',
            because="result-not-finite",
            hint="Use finite values, dates from year 1 to 9999, and intervals without months.",
        ) from None


def _speakable(t: Translator, node: exp.Expr) -> bool:
    """Return whether the shadow may be asked; paths in JSON are no part of what it is told."""
    try:
        t.constants.spelled(node.transform(lambda part: exp.column("x") if isinstance(part, _PATHS) else part))
    except DpsqlError:
        return False
    return True


def few_values(t: Translator, expr: Expr) -> Sequence[Value] | None:
    """Return all values of an expression that the shadow would write as PostgreSQL does, if they are known and few."""
    declared = t.facts_of(expr).values
    if declared is not None or (expr.type is SqlType.NUMERIC and digits_written(expr) is None):
        return declared
    try:
        shown = key_of(expr, {ref: t.facts_of(ref) for ref in refs(expr)}, MAX_VALUES).shown or {}
        values = tuple(cell for cell in shown.values() if cell is not None)
    except DpsqlError:
        return None
    return None if expr.type.is_float and 0 in values and _may_be_minus_zero(t, expr) else values


def _may_be_minus_zero(t: Translator, expr: Expr) -> bool:
    """Return whether a number in floating point may be minus zero, which PostgreSQL takes for 0 and writes as -0."""
    intervals = [t.facts_of(part).interval for part in walk(expr) if part.type.is_float]
    return any(interval is None or interval.low < 0 for interval in intervals)


def _understood(t: Translator, node: exp.Expr) -> Expr | None:
    try:
        return t.expression(node)
    except DpsqlError:
        return None


def _in_terms_of(node: exp.Expr, places: Mapping[exp.Expr, exp.Expr]) -> exp.Expr:
    """Return `node` with other expressions in the places of its parts."""
    # Nodes are equal that are written alike, so that a column which stands twice is replaced twice.
    return exp.Paren(this=node.transform(lambda part: places[part].copy() if part in places else part))


MAPPED: Mapping[type[exp.Expr], Handler] = dict.fromkeys(
    (
        exp.RegexpLike,
        exp.RegexpILike,
        exp.Substring,
        exp.Trim,
        exp.DPipe,
    ),
    through_shadow,
)
