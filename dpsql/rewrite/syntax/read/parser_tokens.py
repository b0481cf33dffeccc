"""PostgreSQL's tokens as the parser's own, so that a text need not be read twice: the two then can't read it differently.

SELECT count(*) …  →  SELECT, VAR count, L_PAREN, STAR, R_PAREN …
"""

import re
from collections.abc import Collection, Mapping, Sequence

from sqlglot.tokenizer_core import Token as ParserToken
from sqlglot.tokenizer_core import TokenType

from dpsql.lexer.tokens import Sort, Token

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_BLURRED = frozenset("?@")
"""Signs that the parser takes for a part of what stands before them."""


class Vocabulary:
    """The words and signs that the parser knows."""

    def __init__(
        self,
        keywords: Mapping[str, TokenType],
        signs: Mapping[str, TokenType],
        commands: Collection[TokenType],
        parameter: str,
    ) -> None:
        """Take keywords, signs of one character, words after which nothing is read, and what stands for `$` in `$1`."""
        self._words = {word: kind for word, kind in keywords.items() if kind not in commands}
        self._commands = keywords.keys() - self._words.keys()
        self._pairs = {pair: kind for pair, kind in keywords.items() if pair.count(" ") == 1}
        self._begins = frozenset(pair.split(" ")[0] for pair in self._pairs)
        every = {**signs, **{sign: kind for sign, kind in keywords.items() if not sign[0].isalpha()}}
        self._signs = {sign: kind for sign, kind in every.items() if _BLURRED.isdisjoint(sign)}
        self._parameter = parameter

    def told(self, found: Sequence[Token]) -> list[ParserToken] | None:
        """Return the parser's tokens; None where one is not plain: then it has to read the text itself."""
        told: list[ParserToken] = []
        behind, at = -1, 0
        """Where the last name ends: a quote there may belong to it, as in `n'a'`."""
        while at < len(found):
            sort, text, start, end = found[at]
            at += 1
            match sort:
                case Sort.NAME:
                    word, kind, behind = text, self._kind(text), end
                    if kind is None:
                        return None
                    if at < len(found) and (pair := self._pair(text, found[at])) in self._pairs:
                        word, kind, behind = pair, self._pairs[pair], found[at].end
                        at += 1
                    told.append(ParserToken(kind, word, start=start, end=behind - 1))
                    continue
                case Sort.PUNCTUATION | Sort.OPERATOR if text in self._signs:
                    one = ParserToken(self._signs[text], text, start=start, end=end - 1)
                case Sort.PLAIN if behind != start and (inside := _inside(text, "'")) is not None:
                    one = ParserToken(TokenType.STRING, inside, start=start, end=end - 1)
                case Sort.QUOTED if behind != start and (inside := _inside(text, '"')) is not None:
                    one = ParserToken(TokenType.IDENTIFIER, inside, start=start, end=end - 1)
                case Sort.NUMBER if _NUMBER.fullmatch(text):
                    one = ParserToken(TokenType.NUMBER, text, start=start, end=end - 1)
                case Sort.PARAMETER:
                    told.append(ParserToken(TokenType.PARAMETER, self._parameter, start=start, end=start))
                    one = ParserToken(TokenType.NUMBER, text[1:], start=start + 1, end=end - 1)
                case _:
                    return None
            told.append(one)
        return told

    def _kind(self, name: str) -> TokenType | None:
        """Return what a name without quotes is to the parser; None if it would not read it as PostgreSQL does."""
        word = name.upper()
        return None if word in self._commands or not _NAME.fullmatch(name) else self._words.get(word, TokenType.VAR)

    def _pair(self, name: str, following: Token) -> str:
        """Return two words as they would be one keyword."""
        word = name.upper()
        return f"{word} {following.text.upper()}" if word in self._begins else ""


def _inside(text: str, quote: str) -> str | None:
    """Return what stands between quotes; None where there are several such pieces."""
    inside = text[1:-1]
    if quote not in inside:
        return inside
    return None if quote in inside.replace(quote * 2, "") else inside.replace(quote * 2, quote)
