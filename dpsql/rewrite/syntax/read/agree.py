"""Whether the parser's tokens are PostgreSQL's: a statement that the two read differently is not understood."""

import sys
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token as ParserToken

from dpsql.lexer.tokens import TEXTS, Sort, Token

_WHOLE = TEXTS | {Sort.BITS, Sort.QUOTED, Sort.UNICODE_NAME}
"""Tokens whose inside is read by nothing else."""
_SPLIT = frozenset({Sort.OPERATOR, Sort.PARAMETER, Sort.NUMBER})
"""Tokens that the parser may read as several."""
_NOWHERE = (sys.maxsize, sys.maxsize)


def same_tokens(ours: Sequence[Token], theirs: Sequence[ParserToken]) -> bool:
    """Return whether each token of the parser's begins and ends where some of ours do, and none of ours is left out.

    The parser joins words (`GROUP BY`); it splits operators, numbers with a dot at an end, and parameters.
    """
    starts = {token.start for token in ours}
    ends = {token.end for token in ours}
    for sort, text, start, end in ours:
        if sort not in _SPLIT:
            continue
        if sort is Sort.OPERATOR:
            starts.update(range(start, end))
            ends.update(range(start + 1, end))
        elif sort is Sort.PARAMETER or text[0] == ".":
            starts.add(start + 1)
            ends.add(start + 1)
        elif text[-1] == ".":
            starts.add(end - 1)
            ends.add(end - 1)
    spans = [(token.start, token.end + 1) for token in theirs]
    if any(start not in starts or end not in ends for start, end in spans):
        return False
    rest = iter(spans)
    first, last = next(rest, _NOWHERE)
    for sort, _, start, end in ours:
        while last <= start:
            first, last = next(rest, _NOWHERE)
        if first > start or (last > end and sort in _WHOLE):
            return False
    return True
