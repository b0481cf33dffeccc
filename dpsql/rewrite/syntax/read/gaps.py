"""The gaps of the parser: PostgreSQL's words that it can't read, each with a name and a way around it."""

from collections.abc import Mapping
from itertools import islice, pairwise

from dpsql.errors import Unsupported
from dpsql.lexer.tokens import tokens

_LOOKED_AT = 10_000
"""Tokens of a text that is refused anyway."""
_OBJECT = "JSON_OBJECT", "json_build_object('a', x) or json_object_agg(a, x)"
_ARRAY = "JSON_ARRAY", "json_build_array(x) or json_agg(x)"
_READER = "this function of JSON", "->, ->> or #>"
_CALLED: Mapping[str, tuple[str, str]] = {
    "json_object": _OBJECT, "json_objectagg": _OBJECT, "json_array": _ARRAY, "json_arrayagg": _ARRAY,
    **dict.fromkeys(("json_value", "json_query", "json_exists", "json_table"), _READER),
}  # fmt: skip
_WORDS: Mapping[str, tuple[str, str]] = {
    "normalized": ("IS NORMALIZED", "x = normalize(x)"),
    "similar": ("SIMILAR in substring", "substring(x FROM 'a regular expression')"),
    "variadic": ("VARIADIC", "the elements one by one"),
}
"""Functions of JSON, and other words, with what to call them and what to write instead."""


def not_understood(text: str) -> Unsupported:
    """Return the error for a text that PostgreSQL understands, and whose words the parser can't read.

    Raises:
        SyntaxFailed: PostgreSQL would not read it.
    """
    for token, following in pairwise(islice(tokens(text), _LOOKED_AT)):
        gap = _CALLED.get(token.word) if following.word == "(" else None
        if gap := gap or _WORDS.get(token.word):
            name, instead = gap
            return Unsupported(
                f"{name} is not understood in a statement over a protected table",
                because="construct-not-understood",
                hint=f"Write {instead}, or aggregate in a subquery and write it around that.",
            )
    return Unsupported(
        "this statement over a protected table is not understood, or too long",
        because="statement-not-understood",
        hint="docs/sql.md says which SQL is answered. Aggregate in a subquery: any SQL may stand around it.",
    )
