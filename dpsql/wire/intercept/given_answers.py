"""What was answered lately: most likely it is the answer again, and is sent before the gateway has said so.

    asked again      → Describe, the settings, and Parse, Describe, Bind of the answer of last time: one round trip
    the gateway      says what the answer is
    if it is that    → Execute
    if it is not     → Parse, Describe, Bind of the other, in its place, and Execute

Promise: nothing that is remembered here reaches a client but where the gateway has just said the same. It is found by the
user to whom it was told. Nothing is run before, and what was bound in vain is gone when another is bound.

The shadow might not read an answer of another moment, and would end the client's transaction for that. So it is sent only
where the session is known to have the same settings and tables of its own as when it was given, since nothing of the
client's was run that may have changed them: never within a transaction in which something was.
"""

import sys
from dataclasses import dataclass

from dpsql.byte_limited_cache import ByteLimitedCache
from dpsql.question import Asker
from dpsql.wire.intercept.prepared_statements import Execution
from dpsql.wire.protocol.replies import Message

_MOST = 2**22
"""Bytes of all that is remembered."""
_LONG = 2**14
"""Characters of the longest answer, with what it was given for."""


Facts = tuple[bytes | None, ...]
"""What the shadow says of a session: its settings, and its own tables."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What the shadow was last sent for a statement, and what it said to that."""

    text: str
    facts: Facts
    """The session's settings, and its own tables: under others the shadow may not even read the text."""
    described: bytes
    """The columns of the statement, which the answer was found to have."""
    installed: tuple[Message, ...]


class GivenAnswers:
    """The answers that were given lately: by who asked, and all that was written."""

    def __init__(self) -> None:
        self._given: ByteLimitedCache[GivenAnswer] = ByteLimitedCache(_MOST, _written)

    def of(self, asker: Asker, asked: Execution, codec: str) -> GivenAnswer | None:
        """Return what a user was answered when he asked for the same."""
        return self._given.get(_given_for(asker, asked, codec))

    def forget(self, asker: Asker, asked: Execution, codec: str) -> None:
        """Forget what a user was answered: the shadow did not take it again."""
        self._given.forget(_given_for(asker, asked, codec))

    def keep(self, asker: Asker, asked: Execution, codec: str, given: GivenAnswer) -> None:
        """Remember what a user was answered."""
        if len(given.text) + len(asked.text) + len(asked.rest) <= _LONG:
            self._given.keep(_given_for(asker, asked, codec), given)


def _given_for(asker: Asker, asked: Execution, codec: str) -> tuple[str | bytes, ...]:
    return asker.user, asker.role, asked.text, asked.values, codec, repr(asked.oids)


def _written(value: object) -> int:
    """Return the bytes of an answer, or of what it was given for."""
    match value:
        case GivenAnswer(text, facts, described, installed):
            return sum(map(sys.getsizeof, (text, *facts, described, *(body for _, body in installed))))
        case tuple() as parts:
            return sum(map(sys.getsizeof, parts))
        case _:
            return 0
