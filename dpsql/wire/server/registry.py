"""The state that all connections share: users, the gateway, the shadow's address, and the connections themselves."""

import asyncio
import contextlib
import hmac
import logging
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from dpsql.errors import TooManyClients
from dpsql.gateway.request import Answers, Question, Reply, Request, Unpaid
from dpsql.question import Asker, Cancellation
from dpsql.rate_limited_log import RateLimitedLog
from dpsql.shadow.watch.warden import ShadowSessions
from dpsql.trail.trail import Trail
from dpsql.wire.backend.backend import TypeNames
from dpsql.wire.backend.fair_share import FairShares, Workers
from dpsql.wire.intercept.given_answers import GivenAnswers
from dpsql.wire.intercept.prepared_statements import SharedAllowance
from dpsql.wire.protocol.certificate import Certificate
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.protocol.scram import Verifier
from dpsql.wire.protocol.transport import ClientTransport
from dpsql.wire.server.directory import Directory
from dpsql.wire.server.limits import LoginThrottle, PendingConnections
from dpsql.wire.server.siblings import Canceller, Siblings

# The current gateway, as sessions hold it: those that began before a reload ask the new one too.


class GatewayHandle:
    """`Answers` of the current gateway."""

    def __init__(self, now: Answers) -> None:
        self.now = now
        """May be set at any time; an answer that has begun is finished by the gateway that began it."""

    def recall(self, text: str) -> tuple[Question | None] | None:
        """Find the question in a statement that was read before; see `Answers`."""
        return self.now.recall(text)

    def examine(self, text: str, asker: Asker, cancellation: Cancellation | None = None) -> Question | None:
        """Find the question in a statement; see `Answers`."""
        return self.now.examine(text, asker, cancellation)

    def check_setting(self, name: str, value: str, asker: Asker) -> None:
        """Check a setting of dpsql's own; see `Answers`."""
        self.now.check_setting(name, value, asker)

    def tables(self, asker: Asker) -> Mapping[str, str]:
        """Return what somebody may read; see `Answers`."""
        return self.now.tables(asker)

    def recalled(self, request: Request) -> Reply | None:
        """Answer a request at once; see `Answers`."""
        return self.now.recalled(request)

    def answer(self, request: Request) -> Reply | Unpaid:
        """Answer a request, whose question an earlier gateway may have found; see `Answers`."""
        return self.now.answer(request)


# The users who may log in, and how each is asked for the password: an unknown name is asked as a known one would be.


@dataclass(frozen=True, slots=True)
class UserEntry:
    """A user of the server: the role in the policy, and the verifier of the password."""

    role: str
    verifier: str = field(repr=False)
    """As PostgreSQL spells it: `SCRAM-SHA-256$4096:…`; empty where a directory knows the password."""


class KnownUsers:
    """The users of a server, as they are now."""

    def __init__(self, entries: Mapping[str, UserEntry], secret: bytes, *, has_directory: bool) -> None:
        """`secret` makes what unknown names are asked; were it another after a restart, they could be told from users.

        Raises:
            ValueError: when a verifier is none.
        """
        self.entries = entries
        self._secret, self._has_directory = secret, has_directory
        self._verifiers = {name: Verifier.parse(entry.verifier) for name, entry in entries.items() if entry.verifier}

    def verifier(self, user: str) -> Verifier:
        """Return the verifier of the user's password; for an unknown name one that no password passes."""
        return self._verifiers.get(user) or Verifier.of_nobody(user, self._secret, self._verifiers.values())

    def is_of_directory(self, user: str) -> bool:
        """Return whether the directory is asked about a user; of unknown names about as many as of users."""
        if not self._has_directory:
            return False
        if user in self.entries:
            return user not in self._verifiers
        of_directory = len(self.entries) - len(self._verifiers)
        drawn = int.from_bytes(hmac.digest(self._secret, b"directory:" + user.encode(), "sha256")[:8])
        return drawn * len(self.entries) < of_directory << 64


# The registry of connections.

_RATE_LIMITED = RateLimitedLog(logging.getLogger("dpsql.wire"))
StartupKey = tuple[str, tuple[tuple[str, str], ...]]
"""A user, and the start options that decide which parameters the shadow reports."""

_MOST_STARTUP_PARAMETERS = 1_000  # clients choose the options, so they must not fill the memory
_NO_PROCESS = 2**22  # Linux numbers processes below this
_KEY = 4  # bytes of a cancel key in protocol 3.0
_PAUSE = 0.1  # seconds between two attempts to reach the shadow


@dataclass(frozen=True, slots=True)
class ShadowDoor:
    """How sessions in the shadow begin, and which of them have not ended."""

    open: Callable[[asyncio.Protocol], Awaitable[None]]
    """Connects a protocol to the shadow, or raises OSError."""
    secret: str = field(repr=False)
    """The secret that lets it in."""
    watched: ShadowSessions


class CancelTarget(Protocol):
    """A connection, as a cancel request sees it."""

    @property
    def working(self) -> Cancellation | None:
        """Return what cancels the private statement that is being answered; None when there is none."""

    @property
    def shadow_key(self) -> bytes | None:
        """Return what cancels the session in the shadow; None when there is none."""

    @property
    def in_shadow(self) -> bool:
        """Return whether the shadow has something to do for this connection."""

    @property
    def is_unasked(self) -> bool:
        """Return whether there is a session in the shadow and the client has not used it yet."""

    def release_session(self) -> None:
        """Close that session."""

    def note_cancel(self) -> None:
        """Hear that the shadow was asked to cancel what it works on."""

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

    siblings: Siblings | None = None
    """The other processes that serve the same address."""

    def __init__(
        self,
        answers: Answers,
        users: Mapping[str, UserEntry],
        database: str,
        *,
        shadow: ShadowDoor,
        secret: bytes,
        workers: Workers,
        tls: Certificate | None,
        limits: Limits,
        trail: Trail,
        directory: Directory | None,
    ) -> None:
        """Begin with these users, of whom a `directory` knows some passwords; see `KnownUsers` for the `secret`.

        Raises:
            ValueError: when a verifier is none.
        """
        self.database = database
        self.workers = workers
        self.tls = tls
        self.limits = limits
        self.trail = trail
        self.kept, self.shares = SharedAllowance(limits), FairShares()
        self.pending: PendingConnections[ClientTransport] = PendingConnections(limits.unauthenticated, time.monotonic)
        failures = (limits.failures_per_user, limits.failures_per_address, limits.failure_window)
        self.attempts = LoginThrottle(*failures, time.monotonic)
        self._open_shadow, self.shadow_secret = shadow.open, shadow.secret
        self.left, self.priorities = shadow.watched.left, shadow.watched.priorities
        self._shadow_is_there = asyncio.Event()
        self._beginning = 0
        self._registered: set[RegisteredConnection] = set()
        self._present: Counter[str] = Counter()
        self._secret, self.directory = secret, directory
        self.answers = GatewayHandle(answers)
        self.replace_gateway(answers, users)

    def replace_gateway(self, answers: Answers, users: Mapping[str, UserEntry]) -> None:
        """Use another gateway, from the next statement on, and other users; forget what was remembered of the shadow.

        Raises:
            ValueError: when a verifier is none.
        """
        self.replace_users(users)
        self.answers.now = answers
        self.types = TypeNames()
        self.given = GivenAnswers()
        self._startup_parameters: dict[StartupKey, dict[str, str]] = {}
        self._shadow_is_there.set()

    def replace_users(self, users: Mapping[str, UserEntry]) -> None:
        """Let nobody in but these users.

        Raises:
            ValueError: when a verifier is none.
        """
        self.known_users = KnownUsers(users, self._secret, has_directory=self.directory is not None)

    @property
    def users(self) -> Mapping[str, UserEntry]:
        """Return who may log in."""
        return self.known_users.entries

    def close_shadow(self) -> None:
        """Hold up new sessions in the shadow until `replace_gateway`."""
        self._shadow_is_there.clear()

    async def open_shadow(self, protocol: asyncio.Protocol) -> None:
        """Connect `protocol` to the shadow; wait for it while it is not there."""
        while True:
            await self._shadow_is_there.wait()
            try:
                return await self._open_shadow(protocol)
            except OSError:
                await asyncio.sleep(_PAUSE)

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """Count a session in the shadow while it begins; where there are too many, close one that is not used yet.

        Raises:
            TooManyClients: all are in use.
        """
        held = [registered.target for registered in self._registered if registered.target.shadow_key is not None]
        if len(held) + self._beginning + self.left.number >= self.limits.sessions:
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

    def asker(self, user: str) -> Asker:
        """Return who a known user asks as."""
        return Asker(user, self.users[user].role)

    @contextmanager
    def register(self, user: str, target: CancelTarget) -> Iterator[RegisteredConnection]:
        """Register the user's connection while it lasts; yield it with the key that cancels it, and no number yet.

        Raises:
            TooManyClients: when the user has too many, or all have.
        """
        if len(self._registered) >= self.limits.connections:
            raise TooManyClients("sorry, too many clients already")
        if self._present[user] + self.left.of(user) >= self.limits.connections_per_user:
            hint = f"One user may have {self.limits.connections_per_user}: close some."
            if self.left.of(user):
                hint += " Sessions that were left while they worked count until they have ended."
            raise TooManyClients(f'too many connections for user "{user}"', hint=hint)
        registered = RegisteredConnection(user, secrets.token_bytes(_KEY), target)
        self._registered.add(registered)
        self._present[user] += 1
        try:
            yield registered
        finally:
            self._registered.discard(registered)
            self._present[user] -= 1
            self._present += Counter()  # drops users without a connection

    def startup_parameters(self, key: StartupKey) -> dict[str, str] | None:
        """Return the parameters that the shadow reported for an earlier client like this one."""
        return self._startup_parameters.get(key)

    def keep_startup_parameters(self, key: StartupKey, parameters: Mapping[str, str]) -> None:
        """Remember the parameters that the shadow reported."""
        if len(self._startup_parameters) >= _MOST_STARTUP_PARAMETERS:
            self._startup_parameters.clear()
        self._startup_parameters[key] = dict(parameters)

    @property
    def has_room(self) -> bool:
        """Return whether the shadow is there, and may have one more session that is not used yet."""
        opened = sum(registered.target.shadow_key is not None for registered in self._registered)
        return self._shadow_is_there.is_set() and opened < self.limits.unasked

    def free_number(self) -> int:
        """Return a process number for a session that has not begun: one that no process can have."""
        taken = {registered.process for registered in self._registered}
        while True:
            number = _NO_PROCESS + secrets.randbelow(2**31 - _NO_PROCESS)
            if number not in taken:
                return number

    async def cancel(self, process: int, key: bytes) -> bool:
        """Cancel what a connection runs; return whether the key is right, which nobody may be told."""
        for registered in tuple(self._registered):
            if registered.process == process and hmac.compare_digest(registered.key, key):
                await self.interrupt(registered.target)
                return True
        return False

    async def cancel_anywhere(self, process: int, key: bytes) -> None:
        """Cancel what a connection runs, here or in another process that serves the address; nobody is told whether."""
        if not await self.cancel(process, key) and self.siblings is not None:
            await self.siblings.cancel(process, key)

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
            else:
                registered.target.note_cancel()

    async def interrupt(self, target: CancelTarget) -> None:
        """Cancel what a connection runs, in the gateway or in the shadow; never what it runs after this has returned."""
        working, key, in_shadow = target.working, target.shadow_key, target.in_shadow
        if working is not None:
            # To stop an engine may take a moment, which must not hold up the event loop.
            await asyncio.get_running_loop().run_in_executor(None, working.cancel)
        if key is not None and (in_shadow or working is None):
            with contextlib.suppress(OSError):  # where there is no shadow nothing runs
                async with asyncio.timeout(self.limits.login_timeout):
                    canceller = Canceller(key)
                    await self._open_shadow(canceller)
                    await canceller.over()
            target.note_cancel()
