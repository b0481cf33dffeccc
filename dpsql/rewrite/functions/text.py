"""Texts: patterns, and maps from each of few values to what PostgreSQL makes of it.

Every function of a text is such a map: the shadow evaluates it over the domain when a statement is planned.

    upper(payment_type)  →  CASE payment_type WHEN 'card' THEN 'CARD' WHEN 'cash' THEN 'CASH' END
"""

import string
from collections.abc import Mapping, Sequence

from dpsql.policy.interval import Interval
from dpsql.policy.model import Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.function import EmitRule, Function, first_argument, type_change
from dpsql.rewrite.functions.steps import of_map
from dpsql.rewrite.ir.expr import Apply, Const, Digits, Facts, Results, option

_BACKSLASH = "\\"
_MANY = 100
"""Keys from which on a list is quicker than a CASE: DuckDB reads what is looked up anew for each WHEN."""


def _like(word: str) -> EmitRule:
    return lambda args, _, dialect: f"({args[0]} {word} {args[1]} ESCAPE {dialect.text(_BACKSLASH).strip()})"


def _looked_up(args: Sequence[str], apply: Apply, dialect: Dialect) -> str:
    texts = [dialect.literal(value, apply.type) for value in option(apply, Results).values]
    if not texts:
        return dialect.literal(None, apply.type)
    if apply.args[0].type.is_text:
        return dialect.looked_up(args[0], args[1:], texts)
    # CASE n WHEN 4 THEN 'a' WHEN 5 THEN 'b' END  →  the entry n − 3 of a list of 'a' and 'b'
    first = _first_of_consecutive(apply)
    if first is not None:
        return dialect.entry(args[0], first, texts)
    if len(texts) > _MANY:
        return dialect.looked_up(args[0], args[1:], texts)
    pairs = " ".join(f"WHEN {key} THEN {text}" for key, text in zip(args[1:], texts, strict=True))
    return f"(CASE {args[0]} {pairs} END)"


def _first_of_consecutive(apply: Apply) -> int | None:
    """Return the first key of something computed whose keys are whole numbers without gaps; None of anything else.

    Not of a column, which may be stored with any value, so that no difference to it is safe.
    """
    argument, *keys = apply.args
    if not isinstance(argument, Apply) or not argument.type.is_integer:
        return None
    numbers = [int(key.value) for key in keys if isinstance(key, Const) and isinstance(key.value, int)]
    return numbers[0] if numbers == list(range(numbers[0], numbers[0] + len(keys))) else None


def _result(args: Sequence[Value | None], apply: Apply) -> Value | None:
    return None if args[0] is None else results_of(apply).get(args[0])


def results_of(apply: Apply) -> Mapping[Value | None, Value | None]:
    """Return what is looked up, by the values of the first argument."""
    keys = (key.value for key in apply.args[1:] if isinstance(key, Const))
    return dict(zip(keys, option(apply, Results).values, strict=True))


def _results(facts: Facts, apply: Apply) -> Facts:
    """Return which results are possible: those of keys that the argument can have."""
    keys = [key.value if isinstance(key, Const) else None for key in apply.args[1:]]
    # WHERE paid = 'cash' leaves one key, and so one result of upper(paid).
    among = _among(facts, keys)
    possible = {r for key, r in zip(keys, option(apply, Results).values, strict=True) if key in among}
    ordered = tuple(sorted(value for value in possible if value is not None))
    return Facts.of_values(ordered, nullable=facts.nullable or None in possible)


def _among(facts: Facts, keys: Sequence[Value | None]) -> frozenset[Value | None]:
    if facts.values is not None:
        return frozenset(facts.values)
    interval = facts.interval
    if interval is None:
        return frozenset(keys)
    return frozenset(k for k in keys if k is not None and (isinstance(k, str) or interval.low <= k <= interval.high))


_CAPITALS, _SMALL = string.ascii_uppercase, string.ascii_lowercase
# İ and the Kelvin sign have i and k as small letters; ı and ſ have I and S as capitals. No other character beyond ASCII
# becomes one of ASCII, and with such a text alone the result is compared.
_LOWERED = (f"{_CAPITALS}\u0130\u212a", f"{_SMALL}ik")
"""All characters whose small letters are ASCII, and these: two are not ASCII themselves."""
_UPPERED = (f"{_SMALL}\u0131\u017f", f"{_CAPITALS}IS")


def _replaced(characters: str, by: str) -> EmitRule:
    return lambda args, _, dialect: f"translate({args[0]}, {dialect.text(characters)}, {dialect.text(by)})"


def _length(args: Sequence[str], apply: Apply, _: Dialect) -> str:
    # A text that is longer than declared is cut first: the lesser of a number and NULL would be the number.
    text = args[0] if apply.option is None else f"left({args[0]}, {option(apply, Digits).number})"
    return f"CAST(length({text}) AS BIGINT)"


def _lengths(_: Sequence[Interval | None], apply: Apply) -> Interval | None:
    return Interval.of(0, option(apply, Digits).number) if apply.option is not None else None


PATTERNS: tuple[Function, ...] = (Function("like", "a LIKE 'pattern'", _like("LIKE"), needs_bounds=False),)
ANY_TEXTS: tuple[Function, ...] = (
    Function(
        "lowered",
        "lower(a), a ILIKE 'pattern'",
        _replaced(*_LOWERED),
        needs_bounds=False,
        note="compared with texts of ASCII",
    ),
    Function("uppered", "upper(a)", _replaced(*_UPPERED), needs_bounds=False, note="compared with texts of ASCII"),
    Function(
        "folded",
        "a ~ 'pattern', a ~* 'pattern'",
        _replaced(_CAPITALS, _SMALL),
        needs_bounds=False,
        note="of characters, `.`, `.*`, `.+`, `^`, `$` and alternatives",
    ),
    Function(
        "length",
        "length(a), char_length(a)",
        _length,
        _lengths,
        needs_bounds=False,
        note="bounded by varchar(n)",
    ),
)
CUTS: tuple[Function, ...] = (
    type_change("as_text", "a::text of char(n), uuid and enum"),
    Function(
        "cut",
        "a::varchar(n), left(a, n), substring(a, 1, n)",
        lambda args, apply, _: f"left({args[0]}, {option(apply, Digits).number})",
        needs_bounds=False,
        describe=first_argument,
        note="longer texts are cut",
    ),
    Function(
        "unpadded",
        "a::char(n)",
        lambda args, _, dialect: dialect.unpadded(args[0]),
        needs_bounds=False,
        describe=first_argument,
        note="longer texts are cut; blanks at the end mean nothing",
    ),
)
MAPS: tuple[Function, ...] = (
    Function(
        "map",
        "any function of something with few values",
        _looked_up,
        needs_bounds=False,
        evaluate=_result,
        facts=_results,
        step=of_map,
        looks_up=True,
        describe=lambda args, _: f"a function of {args[0]}",
    ),
)
