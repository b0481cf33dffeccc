"""One client's connection from the first byte to the last; after any mistake the client gets an ErrorResponse."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial

from dpsql.errors import AuthFailed, DpsqlError, InternalError, ProtocolError, ShuttingDown, UnknownDatabase
from dpsql.question import Cancellation
from dpsql.rate_limited_log import RateLimitedLog
from dpsql.shadow.watch.warden import SeenProcess, read_process
from dpsql.wire.backend.backend import Backend, ShadowLostError, ShadowRefusedError
from dpsql.wire.intercept.audit_lines import LogInAudit, SessionAudit
from dpsql.wire.intercept.context import SessionContext
from dpsql.wire.intercept.interceptor import Interceptor
from dpsql.wire.intercept.prepared_statements import Allowance
from dpsql.wire.intercept.session import Session
from dpsql.wire.intercept.settings import start_settings
from dpsql.wire.protocol import messages, startup
from dpsql.wire.protocol.certificate import Certificate
from dpsql.wire.protocol.messages import Frames, message, text, uint32
from dpsql.wire.protocol.startup import Start
from dpsql.wire.protocol.transport import ClientTransport
from dpsql.wire.server.directory import Directory
from dpsql.wire.server.registry import ConnectionRegistry, RegisteredConnection, StartupKey, UserEntry

# Log-in: the password, the database, and the start options.

_RATE_LIMITED = RateLimitedLog(logging.getLogger("dpsql.wire"))
_OURS = ("user", "database", "replication")  # start options that the shadow gets from us, or not at all
_NO = ("", "false", "off", "no", "0")


async def log_in(
    registry: ConnectionRegistry,
    transport: ClientTransport,
    incoming: Frames,
    start: Start,
    shown: Certificate | None,
) -> tuple[str, UserEntry | None]:
    """Check the password and that the database is our data set; return the user as the policy has it now.

    The log-in may be bound to the certificate that the client was `shown`.

    Raises:
        AuthFailed: when the password is not the user's, or too many were tried.
        DirectoryAway: when the directory that knows it can't be asked.
        UnknownDatabase: when another data set is wanted.
        ProtocolError: when something else is, or the client sends something else.
        AuditFailed: when the audit trail can't be written.
        EOFError: when it goes.
    """
    user = start.options.get("user", "")
    if not user:
        raise ProtocolError("no user name in the startup packet")
    # NegotiateProtocolVersion comes before the request for the password: the client has to know which messages follow.
    transport.write(startup.negotiation(start))
    _refuse_barred(registry, user, transport.address)
    audit = LogInAudit(registry.trail, user, transport.address, start.options.get("application_name", ""))
    try:
        entry = await _check_password(registry, transport, incoming, user, shown)
        # As PostgreSQL does, and after the password: strangers learn of no data set.
        database = start.options.get("database") or user
        if database != registry.database:
            raise UnknownDatabase(f'database "{database}" does not exist')
        if start.options.get("replication", "").lower() not in _NO:
            raise ProtocolError("replication is not supported")
    except DpsqlError as failed:
        audit.refused(failed)
        raise
    await audit.accepted(None if entry is None else entry.role)
    return user, entry


def _refuse_barred(registry: ConnectionRegistry, user: str, address: str) -> None:
    """Return if a password may be tried; a log-in that is turned away unread has no line, so that nobody fills the disk.

    Raises:
        AuthFailed: too many failed.
    """
    if registry.attempts.barred(user, address):
        _RATE_LIMITED.warning("too many failed log-ins as %r from %s", user, address)
        raise AuthFailed


async def _check_password(
    registry: ConnectionRegistry,
    transport: ClientTransport,
    incoming: Frames,
    user: str,
    shown: Certificate | None,
) -> UserEntry | None:
    barred = partial(registry.attempts.barred, user, transport.address)
    # An unknown user goes all the way to a wrong password: the same messages, the same work, the same error.
    entry = registry.users.get(user)
    try:
        if registry.directory is not None and registry.known_users.is_of_directory(user):
            await _ask_directory(registry, registry.directory, transport, incoming, user)
            return entry
        end_point = shown.end_point if shown is not None and transport.is_encrypted else None
        await startup.authenticate(
            transport, incoming, registry.known_users.verifier(user), registry.limits, barred, end_point
        )
    except AuthFailed:
        registry.attempts.failed(user, transport.address)
        raise
    registry.attempts.succeeded(user, transport.address)
    return entry


async def _ask_directory(
    registry: ConnectionRegistry, directory: Directory, transport: ClientTransport, incoming: Frames, user: str
) -> None:
    password = await startup.password_in_clear(transport, incoming, registry.limits)
    async with directory.turn(user):  # else many would be tried before the first of them has failed
        if registry.attempts.barred(user, transport.address):
            raise AuthFailed
        if not await directory.is_password(user, password, is_user=user in registry.users):
            raise AuthFailed
        registry.attempts.succeeded(user, transport.address)
    startup.confirm_log_in(transport)


async def is_password(registry: ConnectionRegistry, user: str, password: str) -> bool:
    """Return whether a password is a user's, for anybody who knows it.

    Raises:
        DirectoryAway: the directory that knows it can't be asked.
    """
    if registry.directory is not None and registry.known_users.is_of_directory(user):
        return await registry.directory.is_password(user, password, is_user=user in registry.users)
    return await asyncio.to_thread(registry.known_users.verifier(user).is_of, password)


def session_options(start: Start, user: str, database: str) -> dict[str, str]:
    """Return the start options for the shadow."""
    # Everything else goes to the shadow as the client wrote it: application_name, search_path, options=-c …, which
    # PostgreSQL checks by the role's rights.
    kept = {k: v for k, v in start.options.items() if k not in _OURS and not k.startswith("_pq_.")}
    return {"user": user, "database": database, **kept}


# Why dpsql ends a session: the messages for its client.

_CONNECT_AGAIN = "Connect again."


def ended_by_a_user() -> ShuttingDown:
    """Return the error where another session of the same user has ended this one."""
    return ShuttingDown("terminating connection due to administrator command")


def ended_by_stop() -> ShuttingDown:
    """Return the error where the server stops."""
    return ShuttingDown("terminating connection because dpsql stops")


def ended_with_the_shadow() -> ShuttingDown:
    """Return the error where the session in the shadow is gone."""
    return ShuttingDown("terminating connection because its session in the shadow ended", hint=_CONNECT_AGAIN)


def ended_as_deaf() -> ShuttingDown:
    """Return the error where the shadow works on after a cancel."""
    return ShuttingDown("terminating connection because what it runs can't be canceled otherwise", hint=_CONNECT_AGAIN)


def ended_by_reload() -> ShuttingDown:
    """Return the error where the declared tables have changed."""
    return ShuttingDown("terminating connection because the declared tables have changed", hint=_CONNECT_AGAIN)


def ended_by_change() -> ShuttingDown:
    """Return the error where the user was removed, or has another role or password."""
    return ShuttingDown(
        "terminating connection because its user was removed or changed",
        hint="Connect again with the new password or role.",
    )


# Begins a client's session in the shadow, which may be restarting.

_RESTARTING = frozenset({"57P03", "53300"})
"""PostgreSQL's codes while it starts or recovers, and while sessions that have ended are still counted."""
_UNTIL_NEXT_ATTEMPT = 0.1  # seconds until the next attempt


async def open_backend(
    registry: ConnectionRegistry, make: Callable[[], Backend], options: Mapping[str, str]
) -> Backend:
    """Begin a session in the shadow; again, while that is being restarted.

    Raises:
        ShadowRefusedError: when the shadow does not want it.
        ShadowLostError: when it does not come back.
    """
    try:
        async with asyncio.timeout(registry.limits.login_timeout):
            while True:
                backend = make()
                await registry.open_shadow(backend)
                if await _has_begun(backend, options, registry.shadow_secret):
                    return backend
                await asyncio.sleep(_UNTIL_NEXT_ATTEMPT)
    except OSError as failed:
        raise ShadowLostError("the shadow can't be reached") from failed


async def _has_begun(backend: Backend, options: Mapping[str, str], secret: str) -> bool:
    """Return whether the shadow took the session; False if it has just gone, or is not ready."""
    try:
        await backend.start(dict(options), secret)
    except ShadowLostError:
        return False
    except ShadowRefusedError as refused:
        if refused.sqlstate not in _RESTARTING:
            raise
        return False
    return True


# Clients that have closed their sending side: some still wait for an answer, others are gone, and both look the same.

_FIRST_PROBES = (
    0.1,
    0.1,
)  # seconds between probes: a client that is gone resets the connection at the first, which the second finds out
_LATER_PROBES = 2.0


async def probe_client(transport: ClientTransport, harmless: Callable[[], bytes]) -> None:
    """Send what every client ignores, now and then, until the connection is lost; b"" where nothing may be sent now."""
    pauses = iter(_FIRST_PROBES)
    while not transport.is_lost:
        await asyncio.sleep(next(pauses, _LATER_PROBES))
        transport.write(harmless())


# Whether the shadow heard a cancel: some of PostgreSQL's functions don't look.

_UNHEARD_AFTER = 1.0
"""Seconds of the processor that the shadow may work on for after a cancel, and after another one."""


class UnheardCancel:
    """The cancels of one statement that were sent to a session: the first, and another."""

    def __init__(self) -> None:
        self._sent: tuple[float, SeenProcess] | None = None
        self._again = False

    def note(self, backend: Backend | None) -> None:
        """Hear that the shadow was asked to cancel what it works on."""
        if backend is not None and backend.replies.is_working and (seen := read_process(backend.number)) is not None:
            same = self._sent is not None and self._sent[0] == backend.replies.since
            if not (same and self._again):
                self._sent, self._again = (backend.replies.since, seen), same

    def is_of(self, backend: Backend | None) -> bool:
        """Return whether the shadow works on, long after it was asked."""
        if backend is None or self._sent is None or not backend.replies.is_working:
            return False
        (since, seen), now = self._sent, read_process(backend.number)
        return since == backend.replies.since and now is not None and now.worked > seen.worked + _UNHEARD_AFTER

    @property
    def is_sure(self) -> bool:
        """Return whether it was asked more than once: the first may have come before the statement, and so for nothing."""
        return self._again


_LOG = logging.getLogger("dpsql.wire")


# The connection, from its first message on.


class Connection:
    """A client that is connected: it logs in, gets its session, and is served until it leaves."""

    def __init__(self, registry: ConnectionRegistry, transport: ClientTransport) -> None:
        self._registry = registry
        self._transport = transport
        self._incoming = Frames(transport.read)
        self._backend: Backend | None = None
        self._session: Session | None = None
        self._context: SessionContext | None = None
        self._allowance: Allowance | None = None
        self._user: str | None = None
        self._entry: UserEntry | None = None
        self._announced: Mapping[str, str] = {}
        self.unheard = UnheardCancel()
        self.has_asked = False
        """Whether the client has asked anything; until then its session in the shadow may be replaced."""
        # A connection ends in one of these ways: the client says Terminate or hangs up; `end_when_idle` after a reload,
        # behind the statement that runs; `end` by another session of the user, or the operator; the shadow goes; or the
        # shadow does not hear a cancel. What the client is told comes from the functions above.
        self._ending: ShuttingDown | None = None
        self._over = self._gone = False
        self._stopped_at = 0.0
        self._trying: asyncio.Task[None] | None = None
        self._signals: set[asyncio.Task[None]] = set()
        transport.on_lost = self._client_lost
        transport.on_end = self._client_ended

    @property
    def working(self) -> Cancellation | None:
        """Return what cancels the private statement that is being answered; None when there is none."""
        return None if self._context is None else self._context.runner.working

    @property
    def shadow_key(self) -> bytes | None:
        """Return what cancels the session in the shadow; None when there is none."""
        return None if self._backend is None else self._backend.key or None

    @property
    def in_shadow(self) -> bool:
        """Return whether the shadow has something to do for this connection."""
        return self._backend is not None and self._backend.replies.is_working

    async def run(self) -> None:
        """Serve the client; never raises."""
        try:
            await self._serve()
        except (EOFError, TimeoutError):
            pass
        except ShadowRefusedError as refused:
            self._transport.write(message(b"E", refused.body))
        except DpsqlError as failed:
            self._tell(failed)
        except ShadowLostError:
            if not self._gone:  # else it was closed together with the client's connection
                _LOG.warning("a session in the shadow was lost")
            self._tell(InternalError())
        except OSError as failed:
            _LOG.info("a connection broke: %s", failed)
        except Exception:  # noqa: BLE001 # the rim: the log gets it, the client a fixed text
            _LOG.exception("a session failed")
            self._tell(InternalError())
        finally:
            self._over = True
            if self._allowance is not None:
                self._allowance.close()
            self._transport.close()
            self._leave_shadow()
            await asyncio.gather(*self._signals, return_exceptions=True)

    @property
    def is_overdue(self) -> bool:
        """Return, once for each message, whether the shadow works on it for too long, or sends too many bytes."""
        if self._backend is None or not self._backend.replies.is_working:
            return False
        replies, limits = self._backend.replies, self._registry.limits
        late = time.monotonic() - replies.since > limits.statement_time
        if self._stopped_at == replies.since or not (late or replies.passed > limits.result):
            return False
        self._stopped_at = replies.since
        return True

    def note_cancel(self) -> None:
        """Hear that the shadow was asked to cancel what it works on."""
        self.unheard.note(self._backend)

    @property
    def is_deaf(self) -> bool:
        """Return whether the shadow works on, long after a cancel."""
        return self.unheard.is_of(self._backend)

    @property
    def is_outdated(self) -> bool:
        """Return whether the user was removed, or has another role or password now."""
        return self._user is not None and self._registry.users.get(self._user) != self._entry

    def end_when_idle(self, reason: ShuttingDown) -> None:
        """End the connection as soon as nothing runs in it."""
        self._ending = reason
        self._end_if_idle()

    def end(self, reason: ShuttingDown | None = None) -> None:
        """End the connection at once, and tell the client why: because its user says so, unless there is another reason."""
        self._tell(reason or ended_by_a_user())
        self._transport.close()

    def abort(self) -> None:
        """End the connection at once, without a word."""
        self._transport.abort()

    @property
    def is_unasked(self) -> bool:
        """Return whether there is a session in the shadow and the client has not used it yet."""
        return not self.has_asked and self._backend is not None

    def release_session(self) -> None:
        """Close the session in the shadow if the client has not used it yet."""
        if self.is_unasked and self._backend is not None:
            backend, self._backend = self._backend, None
            backend.close()

    async def _serve(self) -> None:
        async with asyncio.timeout(self._registry.limits.login_timeout):
            shown = self._registry.tls  # which a renewal replaces for those who come later
            opened = await startup.read_start_packets(self._transport, self._incoming, shown, self._registry.limits)
            # No answer, whether the key fits or not: PostgreSQL sends none, and one would tell a stranger which keys
            # exist.
            if isinstance(opened, startup.Cancel):
                await self._registry.cancel_anywhere(opened.process, opened.key)
                return
            self._user, self._entry = await log_in(self._registry, self._transport, self._incoming, opened, shown)
        user = self._user
        self._registry.pending.remove(self._transport)
        with self._registry.register(user, self) as registered:
            options = session_options(opened, user, self._registry.database)
            for name, value in start_settings(options):
                self._registry.answers.check_setting(name, value, self._registry.asker(user))
            await self._confirm_login(registered, options)
            # Many log-ins never ask anything: monitors, and connections of a pool that lie ready. Up to the first message
            # their session in the shadow may be closed for somebody who needs one (`release_session`).
            if await self._incoming.first() == b"X":
                return
            session = await self._enter(user, options)
            with contextlib.suppress(EOFError):
                await session.run(self._incoming)
            if self._backend is not None:
                await self._backend.settle()

    async def _confirm_login(self, registered: RegisteredConnection, options: Mapping[str, str]) -> None:
        """Tell the client that it is logged in; begin its session in the shadow, if there is room for an unused one."""
        registry = self._registry
        key: StartupKey = (
            registered.user,
            tuple(sorted((k, v) for k, v in options.items() if k != "application_name")),
        )
        parameters = registry.startup_parameters(key)
        if parameters is None or registry.has_room:
            parameters = await self._prepare(registered.user, options)
            registry.keep_startup_parameters(key, parameters)
        # BackendKeyData has what a cancel request sends back. The number is the session's in the shadow, so that
        # `pg_backend_pid()` tells the same one; the key is ours, since a cancel has to reach the gateway as well.
        number = 0 if self._backend is None else self._backend.number
        registered.process = number or registry.free_number()
        self._announced = parameters | {"application_name": options.get("application_name", "")}
        # ParameterStatus for each, BackendKeyData, ReadyForQuery: with these a log-in ends, and a driver begins to
        # send.
        statuses = b"".join(_status(name, value) for name, value in self._announced.items())
        self._transport.write(
            statuses + message(b"K", uint32(registered.process), registered.key) + message(b"Z", b"I")
        )

    async def _prepare(self, user: str, options: Mapping[str, str]) -> dict[str, str]:
        """Begin the session in the shadow; return its parameters, which the client is not told yet."""
        registry = self._registry

        def make() -> Backend:
            share, tables = registry.shares.of(user), partial(registry.answers.tables, registry.asker(user))
            return Backend(self._deliver, self._ready, self._shadow_lost, self._signal, share, tables)

        with registry.beginning():
            self._backend = backend = await open_backend(registry, make, options)
            registry.priorities.begin(backend.number, user, time.monotonic())
        if self.is_outdated:
            raise ended_by_change()
        self._allowance = self._allowance or Allowance(registry.kept, user)
        asker = registry.asker(user)
        audit = SessionAudit(registry.trail, asker, self._transport.address, backend.replies.parameters)
        interceptor = Interceptor(registry.answers, asker, registry.workers, registry.types, registry.given)
        write = self._transport.write
        self._context = SessionContext(backend, interceptor, registry.answers, audit, write, self._allowance)
        self._context.check()
        return dict(backend.replies.parameters)

    async def _enter(self, user: str, options: Mapping[str, str]) -> Session:
        """Begin to use the session in the shadow; send the client the parameters that have changed since its log-in."""
        if self._backend is None:
            await self._prepare(user, options)
        backend, context = self._backend, self._context
        if backend is None or context is None:
            raise ShadowLostError("the session in the shadow ended when it began")
        self.has_asked = True
        if self.is_outdated:
            raise ended_by_change()
        self._transport.on_full, self._transport.on_free = backend.pause, backend.resume
        changed = {k: v for k, v in backend.replies.parameters.items() if self._announced.get(k) != v}
        self._transport.write(b"".join(_status(name, value) for name, value in changed.items()))
        session = self._session = Session(context, self._registry.limits, self._registry.shares.of(user))
        return session

    def _deliver(self, data: bytes) -> None:
        """Pass on what the shadow says, once the client has asked something."""
        if self.has_asked:
            self._transport.write(data)

    def _ready(self, in_transaction: bool) -> None:
        if self._session is not None:
            self._session.ready(in_transaction)
        if self._ending is not None:
            # The client gets this ReadyForQuery first.
            asyncio.get_running_loop().call_soon(self._end_if_idle)

    def _signal(self, number: int, end: bool) -> None:
        """Stop a session of the same user, as a statement has asked the shadow to."""
        if self._user is not None:
            self._send_signal(self._registry.stop(self._user, number, end=end))

    def _send_signal(self, signal: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(signal)
        self._signals.add(task)
        task.add_done_callback(self._signals.discard)

    def _client_ended(self) -> None:
        """Find out whether a client that sends nothing more still waits for answers."""
        self._trying = asyncio.get_running_loop().create_task(probe_client(self._transport, self._harmless))

    def _harmless(self) -> bytes:
        """Return a message without effect on a client; b"" while another message is being sent."""
        if not self.has_asked or self._backend is None or not self._backend.replies.is_between:
            return b""
        return _status("server_version", self._backend.replies.parameters.get("server_version", ""))

    def _client_lost(self) -> None:
        """Cancel what the client no longer waits for."""
        self._gone = True
        if self._trying is not None:
            self._trying.cancel()
        self._registry.pending.remove(self._transport)
        if not self._over and (self.working is not None or self.in_shadow):
            self._send_signal(self._registry.interrupt(self))
        self._leave_shadow()

    def _leave_shadow(self) -> None:
        """Close the session in the shadow; one that works counts as its user's until it has ended."""
        if self._backend is None:
            return
        if self.in_shadow and self.shadow_key and self._user is not None:
            self._registry.left.add(self._backend.number, self._user)
        self._backend.close()

    def _shadow_lost(self) -> None:
        if self._backend is None or self._over or self._gone:
            return
        if not self.has_asked:
            self._backend = None
            return
        if not self._backend.replies.ended:
            _LOG.warning("a session in the shadow was lost")
            self._tell(ended_with_the_shadow())
        self._transport.close()

    def _end_if_idle(self) -> None:
        if self._ending is not None and self.working is None and not self.in_shadow:
            self._tell(self._ending)
            self._transport.close()

    def _tell(self, failed: DpsqlError) -> None:
        self._transport.write(messages.error(failed, "FATAL"))


def _status(name: str, value: str) -> bytes:
    return message(b"S", text(name), text(value))
