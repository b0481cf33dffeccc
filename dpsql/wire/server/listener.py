"""The server that clients connect to; with the acceptor, the only place that opens sockets."""

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from dpsql.errors import AuthFailed, ShuttingDown, TooManyClients
from dpsql.gateway.request import Answers
from dpsql.shadow.server.postgres import ShadowAddress
from dpsql.shadow.watch.warden import ShadowSessions
from dpsql.trail.trail import Trail
from dpsql.wire.backend.fair_share import Workers
from dpsql.wire.intercept.audit_lines import LogInAudit
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.certificate import Certificate
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.protocol.transport import ClientTransport
from dpsql.wire.server.acceptor import Acceptor, Silence
from dpsql.wire.server.connection import Connection, ended_as_deaf, ended_by_change, ended_by_stop, is_password
from dpsql.wire.server.directory import Directory
from dpsql.wire.server.registry import ConnectionRegistry, ShadowDoor, UserEntry
from dpsql.wire.server.siblings import ProcessSlot, Siblings

_POOLS = (("plan", 16), ("try", 2), ("measure", 16))
"""The work that is done on threads, and how many statements at once: planned, tried on synthetic people, measured."""
_EVERY = 1.0  # seconds between two checks for overdue statements
_LAST_TURNS = 0.02  # seconds
_LAST_WORDS = 2.0  # seconds for cancelled statements to report it


@dataclass(frozen=True, slots=True)
class Traffic:
    """How many clients there are, and how many statements wait."""

    unauthenticated: int
    sessions: int
    in_shadow: int
    waiting: Mapping[str, int]
    """By what they wait for."""


class Listener:
    """Accepts clients on one address until it is stopped."""

    def __init__(
        self,
        answers: Answers,
        shadow: ShadowAddress,
        users: Mapping[str, UserEntry],
        database: str,
        host: str,
        port: int,
        *,
        watched: ShadowSessions,
        secret: bytes,
        trail: Trail,
        tls: Certificate | None = None,
        limits: Limits = Limits(),  # noqa: B008 # a frozen value
        silence: Silence = Silence(),  # noqa: B008
        directory: Directory | None = None,
    ) -> None:
        """Port 0 lets the system choose one; `port` tells which. `secret` is the same after a restart."""
        self.host, self.port, self._shadow = host, port, shadow
        self._threads = [ThreadPoolExecutor(number, f"dpsql-{work}") for work, number in _POOLS]
        self._registry = ConnectionRegistry(
            answers,
            users,
            database,
            shadow=ShadowDoor(self._open_shadow, shadow.secret, watched),
            secret=secret,
            workers=Workers(*self._threads),
            tls=tls,
            limits=limits,
            trail=trail,
            directory=directory,
        )
        self._acceptor = Acceptor(
            self._registry.pending,
            lambda: ClientTransport(self._accept),
            silence=silence,
            refusal=messages.error(TooManyClients("too many connections are logging in"), "FATAL"),
        )
        self._watch: asyncio.Task[None] | None = None
        self._open: dict[asyncio.Task[None], Connection] = {}

    def traffic(self) -> Traffic:
        """Return what goes on; from any thread."""
        there, pending = tuple(self._open.values()), len(self._registry.pending)
        in_shadow = sum(connection.shadow_key is not None for connection in there)
        return Traffic(pending, max(len(there) - pending, 0), in_shadow, self._registry.workers.waiting)

    @property
    def certificate_ends(self) -> datetime | None:
        """Return when the certificate that is shown ends; None where there is none."""
        return None if self._registry.tls is None else self._registry.tls.ends

    async def vouch(self, user: str, password: str, address: str, application: str) -> bool:
        """Return whether a password is a user's; if it is, earlier failures as that user from `address` count no more.

        The pages ask, and log in from there themselves: for a guesser on them no log-in fails here, where all that use
        them have one address.
        """
        right = await is_password(self._registry, user, password)
        if right:
            self._registry.attempts.succeeded(user, address)
        else:
            LogInAudit(self._registry.trail, user, address, application).refused(AuthFailed())
        return right

    async def start(self, post: ProcessSlot | None = None) -> None:
        """Listen; where several processes serve the address, at this one's `post`, which has what listens on it.

        Raises:
            OSError: when the address is not free.
        """
        loop = asyncio.get_running_loop()
        if post is None:
            self.port = self._acceptor.open(self.host, self.port)
        else:
            self._registry.siblings = siblings = Siblings(post, self._registry.cancel)
            await siblings.open()
            self.port = self._acceptor.accept_from(post.sockets)
        self._watch = loop.create_task(self._interrupt_overdue())

    async def stop(self, grace: float = 10.0) -> None:
        """Stop accepting, let running statements end within `grace` seconds, then cancel them and hang up."""
        self._acceptor.close()
        if (siblings := self._registry.siblings) is not None:
            siblings.close()
        await self._drain(tuple(self._open.values()), ended_by_stop(), grace)
        if self._watch is not None:
            self._watch.cancel()
        await asyncio.sleep(_LAST_TURNS)  # in which closed connections are cleaned up
        for threads in self._threads:
            threads.shutdown(wait=False, cancel_futures=True)

    async def suspend(self, reason: ShuttingDown, grace: float = 10.0) -> None:
        """Let the sessions in the shadow end as `stop` does, and hold up new ones; clients without one notice nothing."""
        self._registry.close_shadow()
        for connection in self._open.values():
            connection.release_session()
        await self._drain([connection for connection in self._open.values() if connection.has_asked], reason, grace)

    def resume(self, answers: Answers, users: Mapping[str, UserEntry]) -> None:
        """Let sessions begin again, with this gateway and these users.

        Raises:
            ValueError: when a verifier is none.
        """
        self._registry.replace_gateway(answers, users)

    async def let_in(self, users: Mapping[str, UserEntry]) -> None:
        """Let nobody log in but these users, and let the sessions of the others end as `drain_outdated` does.

        Raises:
            ValueError: when a verifier is none.
        """
        self._registry.replace_users(users)
        await self.drain_outdated()

    def show(self, tls: Certificate | None) -> None:
        """Show another certificate to those who connect from now on."""
        self._registry.tls = tls

    async def drain_outdated(self, grace: float = 10.0) -> None:
        """Let the sessions of users end as `stop` does who were removed, or have another role or password."""
        gone = [connection for connection in self._open.values() if connection.is_outdated]
        await self._drain(gone, ended_by_change(), grace)

    async def _drain(self, connections: Collection[Connection], reason: ShuttingDown, grace: float) -> None:
        for connection in connections:
            connection.end_when_idle(reason)
        await self._wait(connections, grace)
        # All at once: an engine that does not react holds each up for seconds.
        await asyncio.gather(*map(self._registry.interrupt, self._still(connections)))
        await self._wait(connections, _LAST_WORDS)
        for connection in self._still(connections):
            connection.abort()
        await self._wait(connections, _LAST_WORDS)

    def _still(self, connections: Collection[Connection]) -> list[Connection]:
        there = set(self._open.values())
        return [connection for connection in connections if connection in there]

    async def _wait(self, connections: Collection[Connection], seconds: float) -> None:
        awaited = set(connections)
        tasks = [task for task, connection in self._open.items() if connection in awaited]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def _interrupt_overdue(self) -> None:
        """Cancel statements past their limit, for which the session may have turned off the shadow's own.

        Sessions that do not hear a cancel are ended.
        """
        while True:
            await asyncio.sleep(_EVERY)
            for connection in tuple(self._open.values()):
                if connection.is_deaf and connection.unheard.is_sure:
                    connection.end(ended_as_deaf())
                elif connection.is_overdue or connection.is_deaf:
                    await self._registry.interrupt(connection)

    def _accept(self, transport: ClientTransport) -> None:
        connection = Connection(self._registry, transport)
        task = asyncio.get_running_loop().create_task(connection.run())
        self._open[task] = connection
        task.add_done_callback(self._closed)

    def _closed(self, task: asyncio.Task[None]) -> None:
        del self._open[task]
        with contextlib.suppress(asyncio.CancelledError):
            task.result()

    async def _open_shadow(self, protocol: asyncio.Protocol) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: protocol, self._shadow.path)
