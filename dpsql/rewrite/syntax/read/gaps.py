"""What of PostgreSQL's SQL the parser can't read, or would read as something else, each with a name and a way around it."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from dpsql.errors import Unsupported
from dpsql.lexer import literals
from dpsql.lexer.tokens import TEXTS, Sort, Token, tokens

_UNITS = ("year", "month", "day", "hour", "minute", "second")
_SPAN = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)\s*")
"""What the parser takes an interval's literal apart with; it forgets whatever stands around a single find."""
_PADDED = ("bit", "char", "character", "nchar", "bpchar")
"""Types that are one character long where no length is given, but not before a literal."""
_BACK = 8
"""Tokens that the name of a type may have."""

_LOOKED_AT = 10_000
"""Tokens of a text that is refused anyway."""

Begins = Callable[[Sequence[Token], int], bool]


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that is not understood: what it is called, what to write, and where it begins."""

    name: str
    instead: str
    words: Collection[str]
    """The words, or signs, one of which it begins with."""
    follows: Begins = lambda _, __: True
    """Whether what stands around such a word makes it the gap."""

    def begins(self, found: Sequence[Token], i: int) -> bool:
        """Return whether it begins at a token."""
        return found[i].word in self.words and self.follows(found, i)


def is_misread(found: Sequence[Token]) -> bool:
    """Return whether the parser would read something as something else."""
    suspect = [i for i, token in enumerate(found) if token.text.lower() in _MISREAD_WORDS]
    return any(gap.begins(found, i) for i in suspect for gap in _MISREAD)


def not_understood(text: str) -> Unsupported:
    """Return the error for a text that the parser can't read, and that PostgreSQL may understand.

    Raises:
        SyntaxFailed: PostgreSQL would not read it.
    """
    found = tuple(islice(tokens(text), _LOOKED_AT))
    for i, token in enumerate(found):
        for gap in (*_MISREAD, *_UNREAD):
            if gap.begins(found, i):
                return Unsupported(
                    f"{gap.name} is not understood in a statement over a protected table",
                    because="construct-not-understood",
                    hint=f"Write {gap.instead}, or aggregate in a subquery and write it around that.",
                    position=token.start + 1,
                )
    return Unsupported(
        "this statement over a protected table is not understood, or too long",
        because="statement-not-understood",
        hint="docs/sql.md says which SQL is answered. Aggregate in a subquery: around it everything is.",
    )


def _words(found: Sequence[Token], start: int, count: int) -> list[str]:
    return [token.word for token in found[start : start + count]]


def _is_call(found: Sequence[Token], i: int) -> bool:
    return _words(found, i + 1, 1) == ["("]


def _is_odd_interval(found: Sequence[Token], i: int) -> bool:
    """Find interval(3) '1 s', interval '1 day' day, interval '1' second(0), interval '@ 1 day ago', interval '.5 day'."""
    if i + 1 == len(found):
        return False
    text = literals.value(found[i + 1]) if found[i + 1].sort in TEXTS else None
    if text is None:
        return found[i + 1].word == "("
    spans, behind = _SPAN.findall(text), _words(found, i + 2, 4)
    if behind[:1] and behind[0] in _UNITS:
        return bool(spans) or behind[:2] == ["second", "("] or behind[1:4] == ["to", "second", "("]
    return len(spans) == 1 and _SPAN.fullmatch(text.replace("+", "", 1)) is None


def _is_padded_literal(found: Sequence[Token], i: int) -> bool:
    """Find char 'abc', which is not 'abc'::char."""
    return i + 1 < len(found) and found[i + 1].sort in TEXTS


def _is_array_suffix(found: Sequence[Token], i: int) -> bool:
    """Find x::int array."""
    return _words(found, i + 1, 1) not in (["["], ["("])


def _is_sized_array(found: Sequence[Token], i: int) -> bool:
    """Find x::int[3] and x::numeric(3, 1)[3], which are not elements of x."""
    if i + 1 == len(found) or found[i + 1].sort is not Sort.NUMBER:
        return False
    before = [*found[max(i - _BACK, 0) : i]]
    if before and before[-1].word == ")":
        while before and before.pop().word != "(":
            pass
    while before and (before[-1].sort in (Sort.NAME, Sort.QUOTED) or before[-1].word == "."):
        before.pop()
    return bool(before) and before[-1].word == "::"


def _is_join_name(found: Sequence[Token], i: int) -> bool:
    """Find FROM t anti JOIN u, where `anti` is an alias."""
    return _words(found, i + 1, 1) == ["join"]


def _is_ordering_by_operator(found: Sequence[Token], i: int) -> bool:
    return i + 1 < len(found) and found[i + 1].sort is Sort.OPERATOR


_MISREAD = (
    Gap("BIT VARYING", "varbit", ("bit",), lambda found, i: _words(found, i + 1, 1) == ["varying"]),
    Gap(
        "an INTERVAL with a precision, a sign in words or two units",
        "interval '-1 day'",
        ("interval",),
        _is_odd_interval,
    ),
    Gap("a literal of a type with a length", "'…'::text", _PADDED, _is_padded_literal),
    Gap("ARRAY behind a type", "int[]", ("array",), _is_array_suffix),
    Gap("an array type with a size", "int[]", ("[",), _is_sized_array),
    Gap("the name of a kind of join as an alias", "another name", ("semi", "anti", "asof"), _is_join_name),
    Gap("IS NORMALIZED", "x = normalize(x)", ("normalized",)),
    Gap("a root as an operator", "sqrt(x) or cbrt(x)", ("|/", "||/")),
)
_MISREAD_WORDS = frozenset(word for gap in _MISREAD for word in gap.words)
_JSON_READERS = ("json_value", "json_query", "json_exists", "json_table")
_UNREAD = (
    Gap(
        "JSON_OBJECT", "json_build_object('a', x) or json_object_agg(a, x)", ("json_object", "json_objectagg"), _is_call
    ),
    Gap("JSON_ARRAY", "json_build_array(x) or json_agg(x)", ("json_array", "json_arrayagg"), _is_call),
    Gap("this function of JSON", "->, ->> or #>", _JSON_READERS, _is_call),
    Gap("VARIADIC", "the elements one by one", ("variadic",)),
    Gap("ORDER BY … USING", "ASC or DESC", ("using",), _is_ordering_by_operator),
)
