"""Whether the parser's tokens are PostgreSQL's: a statement that the two read differently is not understood."""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token as ParserToken

from dpsql.lexer.tokens import TEXTS, Sort, Token

_WHOLE = TEXTS | {Sort.BITS, Sort.QUOTED, Sort.UNICODE_NAME}
"""Tokens whose inside is read by nothing else."""


def same_tokens(ours: Sequence[Token], theirs: Sequence[ParserToken]) -> bool:
    """Return whether each token of the parser's begins and ends where some of ours do, and none of ours is left out.

    The parser joins words (`GROUP BY`); it splits operators, numbers with a dot at an end, and parameters.
    """
    starts = {token.start for token in ours}
    ends = {token.end for token in ours}
    for token in ours:
        if token.sort is Sort.OPERATOR:
            starts.update(range(token.start, token.end))
            ends.update(range(token.start + 1, token.end))
        elif token.sort is Sort.PARAMETER or (token.sort is Sort.NUMBER and token.text.startswith(".")):
            starts.add(token.start + 1)
            ends.add(token.start + 1)
        elif token.sort is Sort.NUMBER and token.text.endswith("."):
            starts.add(token.end - 1)
            ends.add(token.end - 1)
    if any(token.start not in starts or token.end + 1 not in ends for token in theirs):
        return False
    spans = iter(theirs)
    around = next(spans, None)
    for token in ours:
        while around is not None and around.end < token.start:
            around = next(spans, None)
        if around is None or around.start > token.start:
            return False
        if token.sort in _WHOLE and around.end + 1 > token.end:
            return False
    return True
