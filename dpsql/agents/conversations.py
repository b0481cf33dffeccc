"""Sessions that last for a conversation, so that temporary tables and settings do: of one log-in, and nobody else's.

Over standard input and output a process is one conversation. Over HTTP requests know nothing of each other, so a conversation
has a name, which the agent makes up. It is kept by the log-in and the name, and only once dpsql has let the log-in in. A call
without a name has a session of its own.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from dpsql.agents.session import AgentRefused, AgentSession, Login

IDLE = 600.0
"""Seconds without a call after which a session is ended."""
MOST_OF_ONE, MOST = 4, 64
"""Sessions that are kept of one log-in, and of all: beyond them those end that were idle longest."""
_LOST = "the session of this conversation was lost, and with it its temporary tables and settings"
_Key = tuple[Login, str]


class Sessions(Protocol):
    """Where calls have their session from: a log-in by itself, or one in a conversation."""

    def session(self) -> AbstractAsyncContextManager[AgentSession]:
        """Give a session for one call."""


@dataclass(slots=True)
class _Kept:
    """A session between calls, of which there is one at a time."""

    session: AgentSession | None = None
    calls: int = 0
    """Those that have it or wait for it."""
    used: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One log-in in one conversation."""

    of: "Conversations"
    login: Login
    name: str

    def session(self) -> AbstractAsyncContextManager[AgentSession]:
        """Give the conversation's session for one call."""
        return self.of.session(self.login, self.name)


class Conversations:
    """Keeps sessions by log-in and name; each call leaves its own as it would be without the call's arguments."""

    def __init__(self, *, idle: float = IDLE, most_of_one: int = MOST_OF_ONE, most: int = MOST) -> None:
        self._kept: dict[_Key, _Kept] = {}
        self._idle, self._most_of_one, self._most = idle, most_of_one, most

    @asynccontextmanager
    async def session(self, login: Login, name: str) -> AsyncIterator[AgentSession]:
        """Give a conversation's session, once no other call has it.

        Raises:
            AgentRefused: the log-in fails.
        """
        key = (login, name)
        kept = self._kept.setdefault(key, _Kept())
        kept.calls += 1
        try:
            async with kept.lock:
                was_lost = kept.session is not None and kept.session.is_lost
                if kept.session is None or was_lost:
                    kept.session = await login.opened()
                    self._make_room(login)
                session = kept.session
                session.begin(_LOST if was_lost else None)
                try:
                    yield session
                except AgentRefused:
                    await session.settle()
                    raise
                except BaseException:  # in the middle of an answer, or of what was to be sent
                    session.hang_up()
                    raise
                await session.settle()
        finally:
            kept.calls -= 1
            kept.used = time.monotonic()
            if kept.calls == 0 and kept.session is None and self._kept.get(key) is kept:
                del self._kept[key]
            elif kept.calls == 0:
                asyncio.get_running_loop().call_later(self._idle, self._end_idle, key, kept)

    def end(self) -> None:
        """End all sessions."""
        for key in list(self._kept):
            self._end(key)

    def _end_idle(self, key: _Key, kept: _Kept) -> None:
        if self._kept.get(key) is kept and not kept.calls and time.monotonic() - kept.used >= self._idle * 0.99:
            self._end(key)

    def _make_room(self, login: Login) -> None:
        """End what was idle longest, where there is too much."""
        while (key := self._surplus([key for key in self._kept if key[0] == login], self._most_of_one)) is not None:
            self._end(key)
        while (key := self._surplus(list(self._kept), self._most)) is not None:
            self._end(key)

    def _surplus(self, keys: list[_Key], most: int) -> _Key | None:
        idle = [key for key in keys if not self._kept[key].calls]
        return min(idle, key=lambda key: self._kept[key].used, default=None) if len(keys) > most else None

    def _end(self, key: _Key) -> None:
        session = self._kept.pop(key).session
        if session is not None:
            session.hang_up()
