"""The short way for plain words ends in the very tokens of the long one."""

import random

import pytest
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenizerCore

from dpsql.rewrite.syntax.read.dialect import Client
from dpsql.rewrite.syntax.read.scanner import Scanner
from tests.support.golden import load

PIECES = [
    "a", "_a1", "A", "n", "e", "é", "naïve", "a$b", "group", "GROUP BY", "group\nby", "Order  by", "groups", "grouping sets",
    "double precision", "user", "user-defined", "from", "show", "fetch", "e'a'", "E 'x'", "N'x'", "x'1f'", "U&'a'", "$1",
    "\ue0001", "\ue000a", "'it''s'", '"q"', "$$a$$", "1.5e3", ".5", "::int", "->>", "<>", "=", "{%", "{{", "@", "#", "?",
    "--c\n", "/* c */", "(", ")", ",", "[", "]", ".", ";", "\t", "\r\n", " ", "\f", "\u00a0",
]  # fmt: skip
"""Words and signs, and what of them belongs together."""


def _read(core: type[TokenizerCore], text: str) -> list[tuple[object, ...]] | str:
    tokenizer = Client().tokenizer()
    tokenizer._core.__class__ = core
    try:
        return [_shown(token) for token in tokenizer.tokenize(text)]
    except TokenError as error:
        return str(error)


def _shown(token: Token) -> tuple[object, ...]:
    return token.token_type, token.text, token.line, token.col, token.start, token.end, token.comments


def test_statements_are_read_alike() -> None:
    """Those of the golden files, as they are and in capitals."""
    texts = [text for one in load()[::7] for text in (one.sql, one.sql.upper())]
    assert [_read(Scanner, text) for text in texts] == [_read(TokenizerCore, text) for text in texts]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_stands_beside_each_other_is_read_alike(seed: int) -> None:
    """Words, signs and quotes in any order, with or without space between."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    for _ in range(100):
        text = "".join(chance.choice(PIECES) + chance.choice(["", " "]) for _ in range(8))
        assert _read(Scanner, text) == _read(TokenizerCore, text), text


def test_statements_are_read_so() -> None:
    """Else the short way would not be taken."""
    assert isinstance(Client().tokenizer()._core, Scanner)
