"""What all connections share: who may come in, the gateway, the way to the shadow, and who is there."""

import asyncio
import contextlib
import hmac
import logging
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from dpsql.errors import TooManyClients
from dpsql.gateway.request import Answers
from dpsql.question import Asker, Cancellation
from dpsql.rate_limited_log import RateLimitedLog
from dpsql.wire.backend.type_names import TypeNames
from dpsql.wire.intercept.allowance import Kept
from dpsql.wire.intercept.workers import Workers
from dpsql.wire.protocol.certificate import Certificate
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.protocol.scram import Verifier
from dpsql.wire.protocol.transport import ClientTransport
from dpsql.wire.server.canceller import Canceller
from dpsql.wire.server.gateway_handle import GatewayHandle
from dpsql.wire.server.login_throttle import LoginThrottle
from dpsql.wire.server.pending_connections import PendingConnections

_RATE_LIMITED = RateLimitedLog(logging.getLogger("dpsql.wire"))
StartupKey = tuple[str, tuple[tuple[str, str], ...]]
"""A user and the start options on which the shadow's greeting depends."""

_MOST_STARTUP_PARAMETERS = 1_000  # clients choose the options, so they must not fill the memory
_SHARE = 4  # statements of one user that the gateway works on at a time
_NO_PROCESS = 2**22  # Linux numbers processes below this
_KEY = 4  # bytes of a cancel key in protocol 3.0
_PAUSE = 0.1  # seconds between two attempts to reach the shadow


@dataclass(frozen=True, slots=True)
class UserEntry:
    """A user of the server: the policy's role that they ask as, and what checks their password."""

    role: str
    verifier: str = field(repr=False)
    """As PostgreSQL spells it: `SCRAM-SHA-256$4096:…`."""


class CancelTarget(Protocol):
    """A connection, as a cancel request sees it."""

    @property
    def working(self) -> Cancellation | None:
        """Return what interrupts the private statement that is being answered; None when there is none."""

    @property
    def shadow_key(self) -> bytes | None:
        """Return what cancels the session in the shadow; None when there is none."""

    @property
    def in_shadow(self) -> bool:
        """Return whether the shadow has something to do for this connection."""

    @property
    def is_unasked(self) -> bool:
        """Return whether there is a session in the shadow that was asked nothing yet."""

    def release_session(self) -> None:
        """Give that session up."""

    def end(self) -> None:
        """End the connection at once, and tell the client why."""


@dataclass(eq=False, slots=True)
class RegisteredConnection:
    """A connection that is logged in, and what cancels it."""

    user: str
    key: bytes = field(repr=False)
    target: CancelTarget
    process: int = 0
    """The number that the client was told; no secret."""


class ConnectionRegistry:
    """The shared state of one listener's connections."""

    def __init__(
        self,
        answers: Answers,
        users: Mapping[str, UserEntry],
        database: str,
        *,
        open_shadow: Callable[[asyncio.Protocol], Awaitable[None]],
        shadow_secret: str,
        secret: bytes,
        planning: Executor,
        measuring: Executor,
        tls: Certificate | None,
        limits: Limits,
    ) -> None:
        """`open_shadow` connects a protocol to the shadow, or raises OSError; `shadow_secret` lets it in.

        `secret` makes the salts of names that nobody has; the same after a restart, or these could be told apart.

        Raises:
            ValueError: when a verifier is none.
        """
        self.database = database
        self.shadow_secret = shadow_secret
        # On the first statements are understood, and answered from what is stored; the second wait for engines and noise.
        self.planning, self.measuring = Workers(planning, _SHARE), Workers(measuring, _SHARE)
        self.tls = tls
        self.limits = limits
        self.kept = Kept(limits)
        self.pending: PendingConnections[ClientTransport] = PendingConnections(limits.unauthenticated, time.monotonic)
        failures = (limits.failures_per_user, limits.failures_per_address, limits.failure_window)
        self.attempts = LoginThrottle(*failures, time.monotonic)
        self._open_shadow = open_shadow
        self._shadow_is_there = asyncio.Event()
        self._beginning = 0
        self._registered: set[RegisteredConnection] = set()
        self._present: Counter[str] = Counter()
        self._secret = secret
        self.answers = GatewayHandle(answers)
        self.replace_gateway(answers, users)

    def replace_gateway(self, answers: Answers, users: Mapping[str, UserEntry]) -> None:
        """Take a gateway, from the next statement on, and users; whatever was learnt from the old one is forgotten.

        Raises:
            ValueError: when a verifier is none.
        """
        self._verifiers = {name: Verifier.parse(entry.verifier) for name, entry in users.items()}
        self.answers.now = answers
        self.users = users
        self.types = TypeNames()
        self._startup_parameters: dict[StartupKey, dict[str, str]] = {}
        self._shadow_is_there.set()

    def close_shadow(self) -> None:
        """Let whoever wants a session in the shadow wait until `replace_gateway`."""
        self._shadow_is_there.clear()

    async def open_shadow(self, protocol: asyncio.Protocol) -> None:
        """Connect `protocol` to the shadow, when it is there again if it is not."""
        while True:
            await self._shadow_is_there.wait()
            try:
                return await self._open_shadow(protocol)
            except OSError:
                await asyncio.sleep(_PAUSE)

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """Count a session in the shadow while it begins; where there are too many, one goes that was asked nothing yet.

        Raises:
            TooManyClients: all have been asked something.
        """
        held = [registered.target for registered in self._registered if registered.target.shadow_key is not None]
        if len(held) + self._beginning >= self.limits.sessions:
            unasked = next((target for target in held if target.is_unasked), None)
            if unasked is None:
                _RATE_LIMITED.warning("all %d sessions of the shadow are in use", self.limits.sessions)
                raise TooManyClients("too many sessions are in use", hint="Close some, or try again later.")
            unasked.release_session()
        self._beginning += 1
        try:
            yield
        finally:
            self._beginning -= 1

    def verifier(self, user: str) -> Verifier:
        """Return what checks the user's password; for a name that is not known, something that nothing passes."""
        return self._verifiers.get(user) or Verifier.of_nobody(user, self._secret, self._verifiers.values())

    def asker(self, user: str) -> Asker:
        """Return who a known user asks as."""
        return Asker(user, self.users[user].role)

    @contextmanager
    def register(self, user: str, target: CancelTarget) -> Iterator[RegisteredConnection]:
        """Count the user's connection while it lasts; gives the key that cancels it, and has no number yet.

        Raises:
            TooManyClients: when the user has too many, or all have.
        """
        if len(self._registered) >= self.limits.connections:
            raise TooManyClients("sorry, too many clients already")
        if self._present[user] >= self.limits.connections_per_user:
            raise TooManyClients(f'too many connections for user "{user}"')
        registered = RegisteredConnection(user, secrets.token_bytes(_KEY), target)
        self._registered.add(registered)
        self._present[user] += 1
        try:
            yield registered
        finally:
            self._registered.discard(registered)
            self._present[user] -= 1
            self._present += Counter()  # forget who has left

    def startup_parameters(self, key: StartupKey) -> dict[str, str] | None:
        """Return the parameters that the shadow told a client like this before."""
        return self._startup_parameters.get(key)

    def keep_startup_parameters(self, key: StartupKey, parameters: Mapping[str, str]) -> None:
        """Keep what the shadow told."""
        if len(self._startup_parameters) >= _MOST_STARTUP_PARAMETERS:
            self._startup_parameters.clear()
        self._startup_parameters[key] = dict(parameters)

    @property
    def has_room(self) -> bool:
        """Return whether the shadow is there, and may have one more session that is asked nothing yet."""
        opened = sum(registered.target.shadow_key is not None for registered in self._registered)
        return self._shadow_is_there.is_set() and opened < self.limits.unasked

    def free_number(self) -> int:
        """Return a number for a session that is not there yet: one that no process can have."""
        taken = {registered.process for registered in self._registered}
        while True:
            number = _NO_PROCESS + secrets.randbelow(2**31 - _NO_PROCESS)
            if number not in taken:
                return number

    async def cancel(self, process: int, key: bytes) -> None:
        """Cancel what a connection runs, if the key is right; nobody is told whether it was."""
        for registered in tuple(self._registered):
            if registered.process == process and hmac.compare_digest(registered.key, key):
                await self.interrupt(registered.target)

    async def stop(self, user: str, number: int, *, end: bool) -> None:
        """Cancel what a session of `user` runs, or end the session, named by its number in the shadow or what it was told.

        The shadow is asked the same, and does its own part.
        """
        for registered in tuple(self._registered):
            shown = int.from_bytes((registered.target.shadow_key or b"")[:4], "big")
            if registered.user != user or number not in (shown, registered.process):
                continue
            if end:
                registered.target.end()
            elif registered.target.working is not None or number != shown:
                await self.interrupt(registered.target)

    async def interrupt(self, target: CancelTarget) -> None:
        """Cancel what a connection runs, in the gateway or in the shadow; what it runs after this returned is not meant."""
        working, key, in_shadow = target.working, target.shadow_key, target.in_shadow
        if working is not None:
            # What stops an engine may take a moment, which is not the event loop's.
            await asyncio.get_running_loop().run_in_executor(None, working.cancel)
        if key is not None and (in_shadow or working is None):
            with contextlib.suppress(OSError):  # where there is no shadow nothing runs
                async with asyncio.timeout(self.limits.login_timeout):
                    canceller = Canceller(key)
                    await self._open_shadow(canceller)
                    await canceller.over()
