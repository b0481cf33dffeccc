"""A request as a text that lasts: it is planned again where another process has to know what was measured.

To plan it takes as long as to ask it. So the text also has the words of what holds of the rows of each of its measurements,
hashed: a question without these words can't be read off it, and need not see it planned. They decide nothing else.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from dpsql.gateway.request import Request
from dpsql.question import Argument, Settings

_LONGEST = 64_000
"""Characters of a question that is kept."""
_EDITION = 1
"""Counts the changes of what is a word, and of how it is hashed; words of another edition are not looked at."""
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """What a text says."""

    statement: str
    arguments: tuple[Argument, ...]
    settings: Settings
    words: Sequence[frozenset[str]] | None
    """Of each measurement, hashed; None where they are not known."""


def hashed_words(words: Iterable[object]) -> frozenset[str]:
    """Return a hash of each word, which is the same in every process."""
    return frozenset(hashlib.sha256(repr(word).encode()).hexdigest()[:_DIGITS] for word in words)


def written_question(request: Request, words: Iterable[Iterable[object]]) -> str | None:
    """Return a request's statement, parameters and settings; None where it reads tables of its session, or is long.

    The `words` are those that hold of each measurement's rows; where they would be too long, the question is kept without.
    """
    settings = {name: value for name, value in asdict(request.settings).items() if value is not None}
    if settings.pop("temporary"):
        return None
    arguments = [[argument.text, argument.type] for argument in request.arguments]
    beside = [_EDITION, [sorted(hashed_words(some)) for some in words]]
    question = [request.question.text, arguments, settings]
    texts = (json.dumps(parts, ensure_ascii=False) for parts in ([*question, beside], question))
    return next((text for text in texts if len(text) <= _LONGEST), None)


def read_question(text: str) -> WrittenQuestion | None:
    """Return what a text says; None where another dpsql wrote it otherwise."""
    try:
        statement, arguments, settings, *beside = json.loads(text)
        edition, words = beside[0] if beside else (0, [])
        return WrittenQuestion(
            str(statement),
            tuple(Argument(*argument) for argument in arguments),
            Settings(**settings),
            tuple(map(frozenset, words)) if edition == _EDITION else None,
        )
    except (TypeError, ValueError):
        return None
