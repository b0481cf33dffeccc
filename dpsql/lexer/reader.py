"""One statement's tokens, taken from the left."""

from dpsql.errors import Unsupported
from dpsql.lexer import literals
from dpsql.lexer.tokens import TEXTS, Sort, Token, tokens

MOST_TOKENS = 32_000
"""Tokens that are looked at to tell what a statement does."""


class Reader:
    """Takes tokens one after the other; behind the last one there are more, of no word.

    Every method raises SyntaxFailed where PostgreSQL's lexer would stop, and Unsupported behind `MOST_TOKENS` tokens.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._left = MOST_TOKENS
        self._held: list[Token] = []

    @property
    def token(self) -> Token:
        """Return the next token without taking it."""
        return self.ahead(0)

    @property
    def word(self) -> str:
        """Return the next token's word without taking it; "" at the end, and for what is quoted."""
        return self.token.word

    @property
    def is_at_end(self) -> bool:
        """Return whether no token is left."""
        return self.token.start == len(self._text)

    def ahead(self, count: int) -> Token:
        """Return the token behind the next `count`, without taking any."""
        while len(self._held) <= count:
            self._held.append(self._next())
        return self._held[count]

    def take(self) -> Token:
        """Take the next token."""
        taken = self.token
        del self._held[0]
        return taken

    def skip(self, *words: str) -> bool:
        """Take the next token if it is one of these words; return whether it was."""
        is_next = self.word in words and not self.is_at_end
        if is_next:
            self.take()
        return is_next

    def skip_parentheses(self) -> tuple[int, int] | None:
        """Take what stands in parentheses; return where their inside begins and ends, None if there are none."""
        if self.word != "(":
            return None
        start, depth = self.token.end, 0
        while not self.is_at_end:
            token = self.take()
            depth += {"(": 1, ")": -1}.get(token.word, 0)
            if depth == 0:
                return start, token.start
        return None

    def name(self) -> str | None:
        """Take a name; return it as PostgreSQL keeps it, None (and nothing taken) if there is none."""
        if self.token.sort not in (Sort.NAME, Sort.QUOTED, Sort.UNICODE_NAME):
            return None
        token = self.take()
        return literals.name(token, self._escape())

    def string(self) -> str | None:
        """Take a string literal; return its value, None (and nothing taken) if there is none."""
        if self.token.sort not in TEXTS:
            return None
        token = self.take()
        return literals.value(token, self._escape())

    def _escape(self) -> str:
        """Take `UESCAPE 'x'`, if it is there."""
        if self.word == "uescape" and self.ahead(1).sort in TEXTS:
            self.take()
            return literals.value(self.take()) or ""
        return "\\"

    def _next(self) -> Token:
        self._left -= 1
        if self._left < 0:
            raise Unsupported("the statement is too long to see what it does", because="statement-too-long")
        end = len(self._text)
        return next(self._tokens, Token(Sort.OTHER, "", end, end))
