"""One client's connection from the first byte to the last; whatever goes wrong, the client hears it in the protocol."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from functools import partial

from dpsql.errors import AuthFailed, DpsqlError, InternalError, ProtocolError, ShuttingDown, UnknownDatabase
from dpsql.question import Cancellation
from dpsql.seldom import Seldom
from dpsql.wire.backend.backend import Backend, ShadowLostError, ShadowRefusedError
from dpsql.wire.intercept.context import Desk
from dpsql.wire.intercept.interceptor import Asking
from dpsql.wire.intercept.session import Session
from dpsql.wire.protocol import messages, startup
from dpsql.wire.protocol.messages import Frames, message, text, uint32
from dpsql.wire.protocol.startup import Cancel, Start
from dpsql.wire.protocol.transport import Pipe
from dpsql.wire.server import farewell
from dpsql.wire.server.registry import House, Key, UserEntry

_LOG = logging.getLogger("dpsql.wire")
_SELDOM = Seldom(_LOG)
_OURS = ("user", "database", "replication")  # start options that the shadow gets from us, or not at all
_STARTING = "57P03"  # what PostgreSQL says while it starts or recovers
_PAUSE = 0.1  # seconds until the next attempt
_NO = ("", "false", "off", "no", "0")


class Connection:
    """A guest of the house."""

    def __init__(self, house: House, pipe: Pipe) -> None:
        self._house = house
        self._pipe = pipe
        self._incoming = Frames(pipe.read)
        self._backend: Backend | None = None
        self._session: Session | None = None
        self._desk: Desk | None = None
        self._user: str | None = None
        self._entry: UserEntry | None = None
        self._leaving: ShuttingDown | None = None
        self._over = False
        self._stopped_at = 0.0
        self._signals: set[asyncio.Task[None]] = set()
        pipe.on_lost = self._client_lost

    @property
    def working(self) -> Cancellation | None:
        """Return what interrupts the private statement that is being answered; None when there is none."""
        return None if self._desk is None else self._desk.runner.working

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
            self._pipe.write(message(b"E", refused.body))
        except DpsqlError as failed:
            self._tell(failed)
        except ShadowLostError:
            _LOG.warning("a session in the shadow was lost")
            self._tell(InternalError())
        except OSError as failed:
            _LOG.info("a connection broke: %s", failed)
        except Exception:  # noqa: BLE001 # the rim: the log gets it, the client a fixed text
            _LOG.exception("a session failed")
            self._tell(InternalError())
        finally:
            self._over = True
            self._pipe.close()
            if self._backend is not None:
                self._backend.close()

    @property
    def has_shadow(self) -> bool:
        """Say whether a session in the shadow has begun for this connection."""
        return self._backend is not None

    @property
    def is_overdue(self) -> bool:
        """Say, once for each message, whether the shadow works on it for too long, or has too much to say."""
        if self._backend is None or not self._backend.replies.is_working:
            return False
        replies, limits = self._backend.replies, self._house.limits
        late = time.monotonic() - replies.since > limits.statement_time
        if self._stopped_at == replies.since or not (late or replies.passed > limits.result):
            return False
        self._stopped_at = replies.since
        return True

    @property
    def is_outdated(self) -> bool:
        """Return whether the user who logged in is no more, or has another role or password now."""
        return self._user is not None and self._house.users.get(self._user) != self._entry

    def leave(self, reason: ShuttingDown) -> None:
        """End the connection as soon as nothing runs in it."""
        self._leaving = reason
        self._leave_if_idle()

    def abort(self) -> None:
        """End the connection at once."""
        self._pipe.abort()

    async def _serve(self) -> None:
        async with asyncio.timeout(self._house.limits.patience):
            opened = await startup.open_with(self._pipe, self._incoming, self._house.tls, self._house.limits)
            if isinstance(opened, Cancel):
                await self._house.cancel(opened.process, opened.key)
                return
            user = await self._log_in(opened)
        self._house.lobby.leave(self._pipe)
        with self._house.seat(user, self) as (process, key):
            options = self._options(opened, user)
            greeted = await self._greet(user, options, process, key)
            if await self._incoming.first() == b"X":
                return
            await self._enter(user, options, greeted)
            assert self._session is not None
            await self._session.run(self._incoming)

    async def _log_in(self, start: Start) -> str:
        """Check who it is and what is wanted; return the user."""
        user = start.options.get("user", "")
        if not user:
            raise ProtocolError("no user name in the startup packet")
        self._pipe.write(startup.negotiation(start))
        await self._check_password(user)
        database = start.options.get("database") or user
        if database != self._house.database:
            raise UnknownDatabase(f'database "{database}" does not exist')
        if start.options.get("replication", "").lower() not in _NO:
            raise ProtocolError("replication is not supported")
        return user

    async def _check_password(self, user: str) -> None:
        house, address = self._house, self._pipe.address
        barred = partial(house.attempts.barred, user, address)
        entry = house.users.get(user)
        if barred():
            _SELDOM.warning("too many failed log-ins as %r from %s", user, address)
            raise AuthFailed
        try:
            end_point = house.tls.end_point if house.tls is not None and self._pipe.is_encrypted else None
            await startup.log_in(self._pipe, self._incoming, house.verifier(user), house.limits, barred, end_point)
        except AuthFailed:
            house.attempts.failed(user, address)
            raise
        house.attempts.succeeded(user, address)
        self._user, self._entry = user, entry

    def _options(self, start: Start, user: str) -> dict[str, str]:
        """Return the start options for the shadow."""
        kept = {k: v for k, v in start.options.items() if k not in _OURS and not k.startswith("_pq_.")}
        return {"user": user, "database": self._house.database, **kept}

    async def _greet(self, user: str, options: Mapping[str, str], process: int, key: bytes) -> dict[str, str]:
        """Tell the client that it is in; return the parameters that it was told."""
        known: Key = (user, tuple(sorted((k, v) for k, v in options.items() if k != "application_name")))
        parameters = self._house.greeting(known)
        if parameters is None:
            await self._enter(user, options, {})
            assert self._backend is not None
            parameters = dict(self._backend.replies.parameters)
            self._house.remember_greeting(known, parameters)
        told = parameters | {"application_name": options.get("application_name", "")}
        statuses = b"".join(_status(name, value) for name, value in told.items())
        self._pipe.write(statuses + message(b"K", uint32(process), key) + message(b"Z", b"I"))
        return told

    async def _enter(self, user: str, options: Mapping[str, str], greeted: Mapping[str, str]) -> None:
        """Begin the session in the shadow, if it has not begun, and tell the client what is not as it was greeted."""
        if self._backend is not None:
            return
        backend = self._backend = await self._open_backend(options)
        self._pipe.on_full, self._pipe.on_free = backend.pause, backend.resume
        house = self._house
        if self.is_outdated:
            raise farewell.user_changed()
        asker = house.asker(user)
        asking = Asking(house.answers, asker, house.planning, house.measuring, house.types)
        desk = self._desk = Desk(backend, asking, house.answers, asker, self._pipe.write, partial(self._signal, user))
        desk.check()
        self._session = Session(desk, house.limits)
        if greeted:
            changed = {k: v for k, v in backend.replies.parameters.items() if greeted.get(k) != v}
            self._pipe.write(b"".join(_status(name, value) for name, value in changed.items()))

    async def _open_backend(self, options: Mapping[str, str]) -> Backend:
        """Begin a session in the shadow; again, while it is being restarted."""
        try:
            async with asyncio.timeout(self._house.limits.patience):
                while True:
                    backend = Backend(self._pipe.write, self._ready, self._shadow_lost)
                    await self._house.open_shadow(backend)
                    if await _has_begun(backend, options, self._house.shadow_secret):
                        return backend
                    await asyncio.sleep(_PAUSE)
        except OSError as failed:
            raise ShadowLostError("the shadow can't be reached") from failed

    def _ready(self, in_transaction: bool) -> None:
        if self._session is not None:
            self._session.ready(in_transaction)
        if self._leaving is not None:
            # The client gets this ReadyForQuery first.
            asyncio.get_running_loop().call_soon(self._leave_if_idle)

    def _signal(self, user: str, process: int) -> None:
        """Cancel what the gateway does for another session of this user; the shadow signals only its own."""
        self._send_signal(self._house.cancel_shown(user, process))

    def _send_signal(self, signal: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(signal)
        self._signals.add(task)
        task.add_done_callback(self._signals.discard)

    def _client_lost(self) -> None:
        """Stop what nobody waits for any more."""
        self._house.lobby.leave(self._pipe)
        if self.working is not None or self.in_shadow:
            self._send_signal(self._house.interrupt(self))
        if self._backend is not None:
            self._backend.close()

    def _shadow_lost(self) -> None:
        if self._backend is None or self._over:
            return
        if not self._backend.replies.ended:
            self._tell(farewell.shadow_ended())
        self._pipe.close()

    def _leave_if_idle(self) -> None:
        if self._leaving is not None and self.working is None and not self.in_shadow:
            self._tell(self._leaving)
            self._pipe.close()

    def _tell(self, failed: DpsqlError) -> None:
        self._pipe.write(messages.error(failed, "FATAL"))


async def _has_begun(backend: Backend, options: Mapping[str, str], secret: str) -> bool:
    """Say whether the shadow took the session; False if it has just gone, or is not ready."""
    try:
        await backend.start(dict(options), secret)
    except ShadowLostError:
        return False
    except ShadowRefusedError as refused:
        if refused.sqlstate != _STARTING:
            raise
        return False
    return True


def _status(name: str, value: str) -> bytes:
    return message(b"S", text(name), text(value))
