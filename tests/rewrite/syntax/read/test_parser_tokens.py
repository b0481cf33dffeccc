"""PostgreSQL's tokens, told to the parser, are those that it reads by itself wherever the two agree."""

import random

import pytest
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as ParserToken

from dpsql.errors import DpsqlError
from dpsql.lexer.tokens import tokens
from dpsql.rewrite.syntax.read.agree import same_tokens
from dpsql.rewrite.syntax.read.bridges import bridged
from dpsql.rewrite.syntax.read.dialect import _VOCABULARY, Client, tokenized, with_marked_parameters
from tests.support.golden import load

PIECES = [
    "a", "_a1", "A", "n", "e", "é", "a$b", "group", "GROUP BY", "group\nby", "Order  by", "groups", "by", "grouping sets",
    "double precision", "user", "from", "show", "fetch", "execute", "e'a'", "E 'x'", "N'x'", "x'1f'",
    "U&'a'", "$1", "$23", "'it''s'", "'a\\b'", '"q"', '"q""r"', "''", "1", "1.5e3", "2E-7", ".5", "1.", "::int", "->>",
    "<>", "=", "||", "<=", ":=", "..", "{", "@", "#", "?", "|/", "!~~", "(", ")", ",", "*", "[", "]", ".", ";", "-", "+",
    "\t", "\r\n", " ", "\f",
]  # fmt: skip
"""Words and signs, and what of them belongs together; the first way is not taken where there are comments."""


def _shown(token: ParserToken) -> tuple[object, ...]:
    return token.token_type, token.text, token.start, token.end


def _differ(text: str) -> bool | None:
    """Return whether what is told differs from what the parser reads; None where nothing is told."""
    plain = bridged(text)
    ours, marked = tuple(tokens(plain)), with_marked_parameters(plain)
    told = _VOCABULARY.told(ours)
    if told is None:
        return None
    theirs = Client().tokenize(marked)
    return same_tokens(ours, theirs) and [*map(_shown, told)] != [*map(_shown, theirs)]


def test_statements_are_told_as_they_would_be_read() -> None:
    """Nearly all golden statements are told, as they are and in capitals; the few others have odd words."""
    texts = [text for one in load() if "--" not in one.sql for text in (one.sql, one.sql.upper())]
    found = [_differ(text) for text in texts]
    assert True not in found
    assert found.count(None) < len(found) // 50


@pytest.mark.parametrize("seed", range(3))
def test_whatever_stands_beside_each_other_is_told_as_it_would_be_read(seed: int) -> None:
    """Words, signs and quotes in any order, with or without space between: the same tokens, or none are told."""
    chance, told = random.Random(seed), 0  # noqa: S311  # no secret
    for _ in range(3_000):
        text = "".join(chance.choice(PIECES) + chance.choice(["", " "]) for _ in range(chance.randint(1, 6)))
        try:
            found = _differ(text)
        except (DpsqlError, TokenError):
            continue
        assert not found, text
        told += found is not None
    assert told > 300


@pytest.mark.parametrize("text", ["n'a'", 'a"b"', "é", "a$b", "x'1f'", "e'a'", ".5", "1.", "fetch", "@", "..", "{a}"])
def test_what_can_be_read_otherwise_is_not_told(text: str) -> None:
    """Then the parser reads the text itself, and what it reads is compared."""
    assert _VOCABULARY.told(tuple(tokens(text))) is None


def test_difference_of_two_names_is_none_of_the_parsers_words() -> None:
    """It takes USER-DEFINED for one word."""
    told = _VOCABULARY.told(tuple(tokens("user-defined")))
    assert told is not None
    assert [token.text for token in told] == ["user", "-", "defined"]


def test_comments_are_left_to_the_parser_and_compared() -> None:
    """It may end them elsewhere."""
    text = "1 /* a */ + 2"
    found = tokenized(text, tuple(tokens(text)))
    assert found is not None
    assert found[0].comments == [" a "]
