"""The parser's tokenizer, with a short way for plain words: it looks at every character of one three times.

Where a word ends plainly, and is not the first of several that are one keyword (`GROUP BY`), it is a token.
"""

import re

from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import TokenizerCore, TokenType

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\r\n,()\[\].;=<>+*/%:|!-]|\Z)")
"""A word and what may stand behind it: no quote, which may belong to it, as in `E''`, and no sign that a word may have."""
_BEGINS = frozenset(
    re.split(r"\W", keyword)[0]
    for keyword in Postgres.Tokenizer.KEYWORDS
    if keyword[0].isalpha() and re.search(r"\W", keyword)
)
"""First words of what is one keyword."""


class Scanner(TokenizerCore):
    """A tokenizer that takes plain words, commas and parentheses as they are."""

    __slots__ = ()

    def _scan_keywords(self) -> None:
        """Add the token that begins here."""
        char = self._char
        found = _WORD.match(self.sql, self._current - 1)
        if found is None:
            if char in self.single_tokens and char not in self.keyword_trie:
                self._add(self.single_tokens[char], text=char)
            else:
                super()._scan_keywords()
            return
        word = found[0].upper()
        if word in _BEGINS:
            super()._scan_keywords()
            return
        if len(word) > 1:
            self._advance(len(word) - 1)
        named = bool(self.tokens) and self.tokens[-1].token_type == TokenType.PARAMETER
        self._add(TokenType.VAR if named else self.keywords.get(word, TokenType.VAR))
