"""PostgreSQL's tokens as the parser's own, so that a text need not be read twice: the two then can't read it differently.

SELECT count(*) …  →  SELECT, VAR count, L_PAREN, STAR, R_PAREN …
"""

import re
from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token as ParserToken
from sqlglot.tokenizer_core import TokenType

from dpsql.lexer import tokens as lexer_tokens
from dpsql.lexer.tokens import TEXTS, Sort, Token

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_OF_OTHERS = frozenset(
    """ANTI APPLY ASOF AUTOINCREMENT AUTO_INCREMENT DESCRIBE EXEC FILE GLOB KEEP KILL NAMESPACE OPTIMIZE OVERWRITE
    PARTITIONED_BY PERCENT PIVOT PRAGMA QUALIFY REGEXP RLIKE SEMI SETTINGS STRAIGHT_JOIN UNCACHE UNNEST UNPIVOT USE
    XOR""".split()
)
"""Words that the parser knows from other systems: PostgreSQL does not quote what is called so."""


PREFIXES: Mapping[str, str] = {"@": "abs", "|/": "sqrt", "||/": "cbrt"}
"""Operators before what they take, and the functions that they are."""


class Vocabulary:
    """The words and signs that the parser knows."""

    def __init__(self, keywords: Mapping[str, TokenType], signs: Mapping[str, TokenType]) -> None:
        """Take keywords, and signs of one character."""
        self._words = {word: kind for word, kind in keywords.items() if word not in _OF_OTHERS}
        self._pairs = {pair: kind for pair, kind in keywords.items() if pair.count(" ") == 1}
        self._begins = frozenset(pair.split(" ")[0] for pair in self._pairs)
        self._signs = {**signs, **{sign: kind for sign, kind in keywords.items() if not sign[0].isalpha()}}

    def told(self, tokens: Sequence[Token]) -> list[ParserToken] | None:
        """Return the parser's tokens; None where there is one that the parser does not know."""
        told: list[ParserToken] = []
        pending = list(tokens)[::-1]
        while pending:
            sort, text, start, end = token = pending.pop()
            kind, inside = self._known(token)
            if kind is None and sort is Sort.OPERATOR and len(text) > 1:  # !~~ is NOT and ~~
                pending += [Token(sort, text[1:], start + 1, end), Token(sort, text[0], start, start + 1)]
                continue
            if kind is None:
                return None
            if sort is Sort.NAME and pending and (pair := self._pair(text, pending[-1])) in self._pairs:
                kind, inside, end = self._pairs[pair], pair, pending.pop().end
            told.append(ParserToken(kind, inside, start=start, end=end - 1))
            if kind is TokenType.PARAMETER:
                told.append(ParserToken(TokenType.NUMBER, text[1:], start=start + 1, end=end - 1))
        return told

    def _known(self, token: Token) -> tuple[TokenType | None, str]:
        """Return what a token is to the parser, None if it is nothing, and its text."""
        text = token.text
        match token.sort:
            case Sort.NAME:
                return self._words.get(text.upper(), TokenType.VAR), text
            case Sort.OPERATOR if text in PREFIXES:
                return TokenType.PIPE_SLASH, text
            case Sort.PUNCTUATION | Sort.OPERATOR:
                return self._signs.get(text), text
            case Sort.QUOTED:
                return TokenType.IDENTIFIER, lexer_tokens.name(token) or ""
            case Sort.NUMBER if _NUMBER.fullmatch(text):
                return TokenType.NUMBER, text
            case Sort.PARAMETER:
                return TokenType.PARAMETER, "$"
            case Sort.BITS:
                return TokenType.BIT_STRING, text[2:-1]
            case _ if token.sort in TEXTS and (inside := lexer_tokens.value(token)) is not None:
                return TokenType.STRING, inside
            case _:
                return None, text

    def _pair(self, name: str, following: Token) -> str:
        """Return two words as they would be one keyword."""
        word = name.upper()
        return f"{word} {following.text.upper()}" if word in self._begins else ""
