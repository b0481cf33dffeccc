r"""Texts in words that PostgreSQL and the parser both read alike: what is written otherwise is put into other words.

1_000, 0x1F            →  1000 , 31                    U&"\0061"              →  "a"
'a'⏎'b'                →  'ab'                         SELECT … FOR READ ONLY →  SELECT …
$$a$$, $x$a$x$         →  'a'                          'a'⏎'b'                →  'ab'
x::interval(3)         →  x::interval_3_
JOIN u USING (a) AS j  →  JOIN u USING (a)             substring(b SIMILAR p ESCAPE e)  →  substring(b , p , e)

Every text stays as long as it was, so that places in it stay where they are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dpsql.errors import Unsupported
from dpsql.lexer import literals
from dpsql.lexer.tokens import Sort, Token, tokens

_ODD_NUMBER = re.compile(r"0[xXoObB]|.*_")
_CHANGED_WORDS = frozenset({"for", "using", "interval", "substring"})
"""Keywords that may begin a change."""


@dataclass(frozen=True)
class _Tokens:
    """A text's tokens, and what is found out about all of them once."""

    found: Sequence[Token]

    def words(self, start: int, count: int) -> list[str]:
        """Return the words of `count` tokens."""
        return [token.word for token in self.found[start : start + count]]

    @cached_property
    def closing(self) -> Mapping[int, int]:
        """Return where each parenthesis that begins at a token ends."""
        opened, pairs = [], {}
        for i, token in enumerate(self.found):
            if token.word == "(":
                opened.append(i)
            elif token.word == ")" and opened:
                pairs[opened.pop()] = i
        return pairs

    @cached_property
    def names(self) -> Mapping[str | None, int]:
        """Return how often each name stands there."""
        return Counter(literals.name(token) for token in self.found)


def bridged(text: str, found: Sequence[Token] | None = None) -> str:
    """Return `text` as the parser has to read it, with its length unchanged; `found` are its tokens, if they are known.

    Raises:
        SyntaxFailed: PostgreSQL would not read it.
        Unsupported: there is something in it that the parser can't be told.
    """
    parts, at = [], 0
    for start, end, other in _changes(_Tokens(tuple(tokens(text)) if found is None else found)):
        if len(other) > end - start:
            raise Unsupported(
                "a number or a text in dollars is longer when it is written plainly", because="number-too-long"
            )
        parts += [text[at:start], other.ljust(end - start)]
        at = end
    return "".join([*parts, text[at:]])


def _changes(t: _Tokens) -> list[tuple[int, int, str]]:
    """Return where a text is to be another, in order."""
    changes: list[tuple[int, int, str]] = []
    for i, token in enumerate(t.found):
        match token.sort:
            case Sort.NUMBER if _ODD_NUMBER.match(token.text):
                changes.append((token.start, token.end, _plain_number(token.text)))
            case Sort.UNICODE_NAME:
                changes.append(_plain_name(t, i))
            case Sort.PLAIN if "'" in token.text[1:-1].replace("''", ""):
                value = literals.value(token) or ""
                changes.append((token.start, token.end, "'" + value.replace("'", "''") + "'"))
            case Sort.DOLLARS:
                changes.append((token.start, token.end, "'" + (literals.value(token) or "").replace("'", "''") + "'"))
            case Sort.NAME if token.word in _CHANGED_WORDS:
                changes += _of_word(t, i)
            case _:
                pass
    return sorted(changes)


def _of_word(t: _Tokens, i: int) -> Iterator[tuple[int, int, str]]:
    """Yield the changes that one of `_CHANGED_WORDS` begins."""
    word, following = t.found[i].word, t.words(i + 1, 2)
    if word == "for" and following == ["read", "only"]:
        yield t.found[i].start, t.found[i + 2].end, ""
    elif word == "using" and (end := t.closing.get(i + 1)) is not None and t.words(end + 1, 1) == ["as"]:
        yield t.found[end + 1].start, _alias(t, end + 2).end, ""
    elif word == "interval" and i and t.found[i - 1].word in ("::", "as") and following[:1] == ["("]:
        if t.closing.get(i + 1) == i + 3 and t.found[i + 2].text.isdecimal():
            yield t.found[i].start, t.found[i + 3].end, f"interval_{t.found[i + 2].text}_"
    elif word == "substring" and following[:1] == ["("]:
        yield from ((token.start, token.end, ",") for token in _similar(t, i + 1))


def _plain_number(text: str) -> str:
    digits = text.replace("_", "")
    return str(int(digits, 0)) if digits[1:2].lower() in ("x", "o", "b") else digits


def _plain_name(t: _Tokens, i: int) -> tuple[int, int, str]:
    """Return a name in Unicode as it is, with what says how it is escaped."""
    token, end, escape = t.found[i], t.found[i].end, "\\"
    if t.words(i + 1, 1) == ["uescape"] and i + 2 < len(t.found):
        end, escape = t.found[i + 2].end, literals.value(t.found[i + 2]) or ""
    return token.start, end, '"' + (literals.name(token, escape) or "").replace('"', '""') + '"'


def _alias(t: _Tokens, i: int) -> Token:
    """Return the alias of a USING, which nothing may refer to."""
    if i >= len(t.found) or t.names[literals.name(t.found[i])] != 1:
        raise Unsupported("the alias of USING (…) can't be referred to", because="using-alias")
    return t.found[i]


def _similar(t: _Tokens, i: int) -> list[Token]:
    """Return the words SIMILAR and ESCAPE in the parentheses that open at `i`."""
    found, at, end = [], i + 1, t.closing.get(i, i)
    while at < end:
        if t.found[at].word in ("similar", "escape"):
            found.append(t.found[at])
        at = t.closing.get(at, at) + 1
    return found if [token.word for token in found] == ["similar", "escape"] else []
