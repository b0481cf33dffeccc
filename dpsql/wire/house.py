"""What all connections share: who may come in, the gateway, the way to the shadow, and who is there."""

import asyncio
import hmac
import secrets
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from dpsql.errors import TooManyClients
from dpsql.question import Answers, Asker, Cancellation
from dpsql.wire.backend import cancel_request
from dpsql.wire.frames import Limits
from dpsql.wire.scram import Verifier
from dpsql.wire.types import TypeNames

Key = tuple[str, tuple[tuple[str, str], ...]]
"""A user and the start options on which the shadow's greeting depends."""

_MOST_GREETINGS = 1_000  # clients choose the options, so they must not fill the memory
_KEY = 4  # bytes of a cancel key in protocol 3.0


@dataclass(frozen=True, slots=True)
class UserEntry:
    """A user of the server: the policy's role that they ask as, and what checks their password."""

    role: str
    verifier: str = field(repr=False)
    """As PostgreSQL spells it: `SCRAM-SHA-256$4096:…`."""


class Guest(Protocol):
    """A connection, as a cancel request sees it."""

    @property
    def working(self) -> Cancellation | None:
        """Return what interrupts the gateway; None when it does not work for this connection."""

    @property
    def shadow_key(self) -> bytes | None:
        """Return what cancels the session in the shadow; None when there is none."""


class House:
    """The shared state of one listener's connections."""

    def __init__(
        self,
        answers: Answers,
        users: Mapping[str, UserEntry],
        database: str,
        *,
        open_shadow: Callable[[asyncio.Protocol], Awaitable[None]],
        workers: Executor,
        tls: ssl.SSLContext | None,
        limits: Limits,
    ) -> None:
        """`open_shadow` connects a protocol to the shadow, or raises OSError.

        Raises:
            ValueError: when a verifier is none.
        """
        self.answers = answers
        self.users = users
        self.database = database
        self.open_shadow = open_shadow
        self.workers = workers
        self.tls = tls
        self.limits = limits
        self.types = TypeNames()
        self._verifiers = {name: Verifier.parse(entry.verifier) for name, entry in users.items()}
        self._guests: dict[int, tuple[bytes, Guest]] = {}
        self._present: Counter[str] = Counter()
        self._greetings: dict[Key, dict[str, str]] = {}
        self._secret = secrets.token_bytes(32)

    def verifier(self, user: str) -> Verifier:
        """Return what checks the user's password; for a name that is not known, something that nothing passes."""
        return self._verifiers.get(user) or Verifier.of_nobody(user, self._secret)

    def asker(self, user: str) -> Asker:
        """Return who a known user asks as."""
        return Asker(user, self.users[user].role)

    @contextmanager
    def seat(self, user: str, guest: Guest) -> Iterator[tuple[int, bytes]]:
        """Count the user's connection while it lasts; gives the process number and key that cancel it.

        Raises:
            TooManyClients: when the user has too many.
        """
        if self._present[user] >= self.limits.connections_per_user:
            raise TooManyClients(f'too many connections for user "{user}"')
        process = secrets.randbelow(2**31 - 1) + 1
        while process in self._guests:
            process = secrets.randbelow(2**31 - 1) + 1
        key = secrets.token_bytes(_KEY)
        self._guests[process] = (key, guest)
        self._present[user] += 1
        try:
            yield process, key
        finally:
            del self._guests[process]
            self._present[user] -= 1
            self._present += Counter()  # forget who has left

    def greeting(self, key: Key) -> dict[str, str] | None:
        """Return the parameters that the shadow told a client like this before."""
        return self._greetings.get(key)

    def remember_greeting(self, key: Key, parameters: Mapping[str, str]) -> None:
        """Keep what the shadow told."""
        if len(self._greetings) >= _MOST_GREETINGS:
            self._greetings.clear()
        self._greetings[key] = dict(parameters)

    async def cancel(self, process: int, key: bytes) -> None:
        """Cancel what a connection runs, if the key is right; nobody is told whether it was."""
        expected, guest = self._guests.get(process, (b"", None))
        if guest is None or not hmac.compare_digest(expected, key):
            return
        working, shadow_key = guest.working, guest.shadow_key
        if working is not None:
            # What stops an engine may take a moment, which is not the event loop's.
            await asyncio.get_running_loop().run_in_executor(None, working.cancel)
        elif shadow_key is not None:
            await self.open_shadow(_Canceller(shadow_key))


class _Canceller(asyncio.Protocol):
    """Sends one cancel request and hangs up."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(cancel_request(self._key))
        transport.write_eof()
