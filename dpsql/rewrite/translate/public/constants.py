"""Constants of a statement: literals, parameters, and the values that PostgreSQL gives to constant expressions.

date '2019-03-01' + 14  →  Const(17970, date)        $1, bound to '5' as integer  →  Const(5, integer)
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType, in_single_precision
from dpsql.question import Argument
from dpsql.rewrite.ir.expr import NULL, Const, IntervalValue
from dpsql.rewrite.ir.literal import (
    TYPES,
    ConstantEvaluator,
    SpelledSql,
    UnspeakableError,
    exact_number,
    is_endless,
    parse_any,
    parse_interval,
    simplest,
    type_name,
)
from dpsql.rewrite.syntax.read.dialect import excerpt, written_type
from dpsql.rewrite.translate.public.speller import spell

_WIDEST = frozenset({"numeric", "decimal", "double precision"})
_SINGLES = frozenset({"real[]", "float4[]"})
_FEW_DIGITS = 10**15
"""Numbers of fewer digits are as they are written in every type that has room for all numbers."""
# 02/03/2020 is one of two days, by the session's DateStyle. 2020-03-02 is the same in all.
_AMBIGUOUS = re.compile(r"\s*\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}")


@dataclass(frozen=True, slots=True)
class Constants:
    """Where the values of constants come from."""

    arguments: Sequence[Argument]
    evaluator: ConstantEvaluator

    def of(self, node: exp.Expr, *, endless: bool = False) -> Const | IntervalValue:
        """Return the value of an expression without columns; one that is not finite only where it may be `endless`.

        Raises:
            Unsupported: it may not be asked of the shadow, or has a type that is not supported.
        """
        simple = self._simple(node)
        value = simple if simple is not None else self._asked(node)
        return value if endless or isinstance(value, IntervalValue) else _finite(value)

    def items(self, node: exp.Expr) -> tuple[Const, ...] | None:
        """Return the elements of a constant array (`ARRAY[…]`, `'{…}'::int[]`, `$1`) or of VALUES, None when it is NULL.

        Some may not be finite, or be the texts of such.
        """
        while isinstance(node, exp.Paren):
            node = node.this
        if node.find(exp.Column) is not None and node.find(exp.Query) is None:
            raise Unsupported(
                f"an array of constants can stand here, and not {excerpt(node)}",
                because="array-of-rows",
                hint="Write a test for each member: x = a OR x = b.",
            )
        if isinstance(node, exp.Array):
            return tuple(self._scalar(item) for item in node.expressions)
        if isinstance(node, exp.Values) and all(len(row.expressions) == 1 for row in node.expressions):
            return tuple(self._scalar(row.expressions[0]) for row in node.expressions)
        if isinstance(node, exp.Cast) and _is_label(written_type(node.to).removesuffix("[]")):
            node = self._as_texts(node.this)
        elif isinstance(node, exp.Parameter) and _is_label(self.argument(node).type.removesuffix("[]")):
            node = self._as_texts(node)
        # '{1,NULL,3}'::int[]  →  to_json('{1,NULL,3}'::int[])  →  [1,null,3], in which a 0.1 is read as a tenth, and not as a
        # double.
        type_ = self.argument(node).type if isinstance(node, exp.Parameter) else ""
        type_ = written_type(node.to) if isinstance(node, exp.Cast) else type_
        parse = _single if type_ in _SINGLES else Fraction
        text, _ = self.evaluator.constant(self.spelled(node).within("pg_catalog.to_json({})"))
        return None if text is None else tuple(_element(item) for item in json.loads(text, parse_float=parse))

    def _as_texts(self, node: exp.Expr) -> exp.Expr:
        """Return an array of an enumeration's labels as one of texts, since the shadow that planning asks has no such type.

        '{sad,ok}'::mood[]  →  '{sad,ok}'::text[]
        """
        if isinstance(node, exp.Parameter):
            text = self.argument(node).text
            node = exp.null() if text is None else exp.Literal.string(text)
        return exp.cast(node.copy(), "text[]", dialect="postgres")

    def spelled(self, node: exp.Expr, *, queries: bool = False) -> SpelledSql:
        """Return the SQL that asks the shadow for `node`, its parameters' values in place.

        Raises:
            Unsupported: it is not pure and quick, or has something that we do not know.
        """
        try:
            return spell(node, self.arguments, queries=queries)
        except UnspeakableError:
            raise Unsupported(
                f"{excerpt(node)} can't stand beside private rows",
                because="constant-not-pure",
                hint="Constants may use PostgreSQL's functions of numbers, texts and times that always give the same result.",
            ) from None

    def _scalar(self, node: exp.Expr) -> Const:
        value = self.of(node, endless=True)
        if isinstance(value, IntervalValue):
            raise Unsupported("intervals can't stand in a list", because="interval-in-list")
        return value

    def argument(self, node: exp.Parameter) -> Argument:
        """Return what a parameter is bound to."""
        return self.arguments[int(node.name) - 1]

    def _simple(self, node: exp.Expr) -> Const | IntervalValue | None:
        match node:
            case exp.Paren():
                return self.of(node.this, endless=True)
            case exp.Null():
                return NULL
            case exp.Boolean():
                return Const(bool(node.this), SqlType.BOOLEAN)
            case exp.Literal():
                return Const(str(node.this), SqlType.TEXT) if node.is_string else _number(str(node.this))
            case exp.Neg():
                return _negated(self.of(node.this, endless=True))
            case exp.Parameter():
                argument = self.argument(node)
                return _typed(argument.text, argument.type)
            # A length changes the value: numeric(10, 2) rounds and varchar(3) cuts. The shadow is asked for those.
            case exp.Cast() if not node.to.expressions or isinstance(node.to.this, exp.Interval):
                return self._cast(node.this, written_type(node.to))
        return None

    def _cast(self, node: exp.Expr, type_: str) -> Const | IntervalValue | None:
        """Return a constant of a type, where that is written: what a time with a zone is depends on the session's."""
        if isinstance(node, exp.Null):
            return Const(None, TYPES.get(type_, SqlType.TEXT))
        if isinstance(node, exp.Literal):
            text = str(node.this)
            if type_.startswith("interval") and text.startswith("P"):
                return parse_interval(text)
            if type_ == "time":  # which is no value by itself, but of what it is compared with
                return Const(text, SqlType.TEXT)
            return None if type_.startswith("timestamp") and type_ != "timestamp" else _typed(text, type_)
        number = self._simple(node) if type_ in _WIDEST else None
        return Const(number.value, TYPES[type_]) if isinstance(number, Const) and _has_few_digits(number) else None

    def _asked(self, node: exp.Expr) -> Const | IntervalValue:
        text, type_ = self.evaluator.constant(self.spelled(node))
        if type_ == "interval" and text is not None:
            return parse_interval(text)
        value = _typed(text, type_)
        if value is None:
            raise Unsupported(
                f"a constant of type {type_} is not supported beside private rows",
                because="constant-type",
            )
        return value


def _has_few_digits(const: Const) -> bool:
    value = const.value
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        return False
    size = Fraction(value)
    return abs(size.numerator) < _FEW_DIGITS and _FEW_DIGITS % size.denominator == 0


def constant_from_shadow(text: str | None, type_name: str) -> Const:
    """Return a value that the shadow evaluated.

    Raises:
        Unsupported: its type can't stand beside private rows.
    """
    value = _typed(text, type_name)
    if value is None:
        raise _no_type(type_name)
    return _finite(value)


def require_known_type(type_name: str) -> None:
    """Check that values of a type can stand beside private rows.

    Raises:
        Unsupported: they can't.
    """
    constant_from_shadow(None, type_name)
    if type_name not in TYPES:
        raise _no_type(type_name)


def _no_type(type_name: str) -> Unsupported:
    named = "this type" if type_name == "?" else f"type {type_name}"  # which PostgreSQL alone knows
    return Unsupported(f"a value of {named} can't stand beside private rows", because="constant-type")


def coerce(const: Const, type_: SqlType, constants: Constants, *, endless: bool = False) -> Const:
    """Return NULL, or a string literal, as the type of what it is compared with; others unchanged."""
    coerced = _coerced(const, type_, constants)
    return coerced if endless else _finite(coerced)


def _finite(const: Const) -> Const:
    if is_endless(const.value):
        raise Unsupported("infinity and NaN can only be compared with private values", because="endless-value")
    return const


def _coerced(const: Const, type_: SqlType, constants: Constants) -> Const:
    if const.value is None:
        return Const(None, type_)
    if const.type is not SqlType.TEXT or type_ is SqlType.TEXT:
        return const
    try:
        return Const(parse_any(str(const.value), type_), type_)
    except ValueError:
        if type_.is_temporal and _AMBIGUOUS.match(str(const.value)):
            raise Unsupported(
                f"'{const.value}' may be day first or month first", because="date-ambiguous", hint="Write YYYY-MM-DD."
            ) from None
        literal = exp.Cast(
            this=exp.Literal.string(str(const.value)), to=exp.DataType.build(type_.spelled, dialect="postgres")
        )
        text, _ = constants.evaluator.constant(constants.spelled(literal))
        return Const(None if text is None else _parsed(text, type_), type_)


def _parsed(text: str, type_: SqlType) -> bool | int | Fraction | str:
    try:
        return parse_any(text, type_)
    except (ValueError, OverflowError) as error:
        raise Unsupported(
            f'"{text}" can\'t be compared with private values',
            because="constant-not-finite",
            hint="Use a finite value.",
        ) from error


def _is_label(type_: str) -> bool:
    """Return whether a type is none of PostgreSQL's own: those that the shadow has beside are enumerations."""
    try:
        type_name(type_)
    except UnspeakableError:
        return type_ not in TYPES
    return False


def _typed(text: str | None, type_: str) -> Const | None:
    sql_type = SqlType.ENUM if _is_label(type_) else TYPES.get(type_)
    if sql_type is None:
        return None
    if text is None:
        return Const(None, sql_type)
    # None for a text in a form that only PostgreSQL reads, '1 March 2020': where a literal has it, the shadow is asked.
    value = _parsed_or_none(text, sql_type)
    return None if value is None else Const(value, sql_type)


def _parsed_or_none(text: str, type_: SqlType) -> bool | int | Fraction | str | None:
    try:
        return parse_any(text, type_)
    except (ValueError, OverflowError):
        return None


def _single(text: str) -> Fraction:
    """Return an element of an array of the type real."""
    return in_single_precision(Fraction(text))


def _element(item: object) -> Const:
    match item:
        case None:
            return NULL
        case bool():
            return Const(item, SqlType.BOOLEAN)
        case int():
            return Const(item, SqlType.BIGINT)
        case Fraction():
            return Const(simplest(item), SqlType.NUMERIC)
        case str():
            return Const(item, SqlType.TEXT)
    raise Unsupported("only flat arrays of simple values are supported", because="array-flat")


def _number(text: str) -> Const:
    digits = text.replace("_", "")
    try:
        value = exact_number(digits)
    except ValueError as error:
        raise Unsupported(
            f"{text[:40]} is too large to be compared with private values", because="number-too-large"
        ) from error
    # PostgreSQL's own types of literals: integer, from 2^31 on bigint, from 2^63 on numeric.
    if not digits.isdigit() or not isinstance(value, int) or value >= 2**63:
        return Const(value, SqlType.NUMERIC)
    return Const(value, SqlType.BIGINT if value >= 2**31 else SqlType.INTEGER)


def _negated(value: Const | IntervalValue) -> Const | IntervalValue | None:
    if isinstance(value, IntervalValue):
        return value.times(-1)
    if value.value is None or isinstance(value.value, str) or not value.type.is_number:
        return None
    return Const(-value.value, value.type)
