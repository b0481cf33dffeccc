"""One running dpsql: engine, ledger, shadow, gateway, listener and pages, started in order and stopped in reverse."""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

import psycopg

from dpsql.accounting.ledger import AHEAD, OpeningWay
from dpsql.accounting.privacy_loss import first_day
from dpsql.accounting.sliding import ReadDays
from dpsql.assembly import (
    contents_of,
    drop_roles,
    entries_of,
    gateway_of,
    listener_of,
    roles_of,
    servable,
    start_shadow,
)
from dpsql.clock import Clock, system_clock
from dpsql.engines.base import Engine, NoEngine, SnapshotVersion
from dpsql.engines.open import is_altered, open_altered, open_engine, read_kept
from dpsql.engines.snapshot.directory import SnapshotBusy
from dpsql.engines.snapshot.open import current_snapshot
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.errors import ConfigError, DpsqlError, QueryCanceled
from dpsql.gateway.catalogue.public_tables import Public, read_public
from dpsql.gateway.gateway import Gateway
from dpsql.gateway.readiness import Readiness
from dpsql.metrics.sources import Sources
from dpsql.open_ledger import OpenBooks, future_lines_notice, open_books, require_fitting_budgets
from dpsql.policy.config import Config, Listen, User
from dpsql.policy.model import Period
from dpsql.policy.users_file import remaining_users
from dpsql.question import Cancellation
from dpsql.rewrite.syntax.read.dialect import require_faithful_parser
from dpsql.shadow.contents import build
from dpsql.shadow.contents.role import ORACLE
from dpsql.shadow.questions.oracle import OracleSession
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch.warden import ShadowSessions, Warden
from dpsql.side_services import ServedPages, served_metrics
from dpsql.system_limits import Shares, raise_limits, require_memory
from dpsql.web.client import Address
from dpsql.web.site import Site
from dpsql.wire.protocol.certificate import Certificate, certificate_of
from dpsql.wire.server.connection import ended_by_reload, ended_with_the_shadow
from dpsql.wire.server.listener import Listener
from dpsql.wire.server.siblings import ProcessSlot

# The files that are read again while the server runs, and the parts that count when something in them is wrong.

Show = Callable[[Certificate | None], None]
"""Shows a certificate to those who connect from now on."""


def reload_config(old: Config) -> Config:
    """Return what the configuration's file says now.

    Raises:
        ConfigError: it can't be served, or something changed that can't be reloaded.
    """
    new = servable(old.file, old.policy)
    # What may change is put back, so that whatever differs now is something that may not.
    kept = replace(new, policy=old.policy, users=old.users, refresh=old.refresh)
    changed = [part.name for part in fields(old) if getattr(kept, part.name) != getattr(old, part.name)]
    changed += ["dataset"] if new.policy.dataset != old.policy.dataset else []
    if changed:
        raise ConfigError(
            f"{new.file}: {' and '.join(changed)} changed, which needs a restart: policy, roles and users can be reloaded",
            hint="Restart dpsql; or write what was there before, and reload again.",
        )
    return new


def show_certificates(addresses: Iterable[tuple[Listen | None, Show]]) -> Sequence[str]:
    """Show the certificates that are in the files now; return the mistakes of those whose place the ones before keep."""
    wrong: dict[str, None] = {}
    for listen, show in addresses:
        try:
            show(None if listen is None else certificate_of(listen.tls))
        except ConfigError as error:
            wrong[error.message] = None
    return list(wrong)


def users_left(config: Config) -> Mapping[str, User] | None:
    """Return the users whom the file still has, even if it has another mistake; None if that can't be read."""
    return remaining_users(config.file, config.users, config.policy.roles)


def not_reloaded(
    failed: DpsqlError | None, before: Mapping[str, User], left: Mapping[str, User] | None, kept: Sequence[str]
) -> ConfigError:
    """Return what the operator has to know: the mistake, and the parts that count nevertheless."""
    lines = [] if failed is None else [failed.message]
    lines += [f"{wrong}; the certificate before is shown" for wrong in kept]
    if failed is None:
        lines.append("everything else was read again")
    elif left is None:
        lines.append("users can't be read either: removed users still come in until the file is corrected")
    elif gone := sorted(set(before) - set(left)):
        lines.append(f"all else goes on as before, but these users are gone: {', '.join(gone)}")
    elif changed := sorted(name for name in left if left[name] != before[name]):
        lines.append(f"all else goes on as before, but these users have another password or role: {', '.join(changed)}")
    else:
        lines.append("everything goes on as before")
    return ConfigError("\n".join(lines), hint=None if failed is None else failed.hint)


# Engines that were replaced and are still to be closed: nothing refers to one longer than that.


class RetiredEngines:
    """Closes each engine after its time, or all with the server."""

    def __init__(self) -> None:
        """Begin without any."""
        self._open: set[Engine] = set()

    def add(self, engine: Engine, seconds: float) -> None:
        """Close an engine in so many seconds; statements that run on it may finish."""
        self._open.add(engine)
        asyncio.get_running_loop().call_later(seconds, self._close, engine)

    def close(self) -> None:
        """Close all that are still open."""
        while self._open:
            self._open.pop().close()

    def _close(self, engine: Engine) -> None:
        if engine in self._open:
            # It may have been closed with the server before its time came.
            self._open.remove(engine)
            engine.close()


# The thread that starts the shadow and speaks with it: it lives as long as the server.

_P = ParamSpec("_P")
_T = TypeVar("_T")


class ShadowThread:
    """Runs slow work, a piece at a time; the kernel ends the shadow with its thread."""

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="dpsql-shadow")

    async def __call__(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what `work` returns."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, partial(work, *args, **kwargs))

    def shutdown(self) -> None:
        """Wait for what runs, and end the thread."""
        self._executor.shutdown()


# Sees to it that a running server answers from the newest copy of the records, and that each epoch has one.
#
# When there is a new one is told by the clock and by `dpsql refresh` alone, never by the records: whether they changed is a
# fact about people. An epoch begins with its copy: while one is written the earlier one answers, and what was stored of it
# stays free.

_LOG = logging.getLogger("dpsql.server")
_KEEPER_LOOKS = 1.0
"""Seconds between two looks."""
_KEEPER_PAUSES = 60.0
"""Seconds until what could not be written is tried again."""


class SnapshotKeeper:
    """Looks again and again, until it is stopped."""

    def __init__(
        self,
        serving: Callable[[], tuple[Config, Engine]],
        serve_newest: Callable[[], Awaitable[None]],
        clock: Clock = system_clock,
    ) -> None:
        """`serving` returns what is served now; `serve_newest` lets the newest copy answer."""
        self._clock = clock
        self._serving, self._serve_newest = serving, serve_newest
        self._cancellation = Cancellation()
        self._not_before, self._looking = 0.0, asyncio.Lock()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Stop, also what is being written."""
        self._cancellation.cancel()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_KEEPER_LOOKS)
            try:
                if time.monotonic() >= self._not_before:
                    await self.look()
            except QueryCanceled:
                return
            except DpsqlError as failed:
                self._not_before = time.monotonic() + _KEEPER_PAUSES
                _LOG.warning("no newer snapshot is served, which is tried again: %s", failed.message)
            except Exception:  # noqa: BLE001 # it is logged, and tried again
                self._not_before = time.monotonic() + _KEEPER_PAUSES
                _LOG.exception("no newer snapshot is served, which is tried again")

    async def look(self) -> None:
        """Serve the newest copy, or write one if that is due."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        config, engine = self._serving()
        if engine.edition is None:
            return
        manifest = await asyncio.to_thread(current_snapshot, config)
        # Where somebody has read another policy already, the copy is not for us: it is when we have read it too.
        if manifest is not None and manifest.name != engine.edition.name:
            await self._serve_newest()
        elif is_due(engine.edition, config, self._clock()):
            with contextlib.suppress(SnapshotBusy):
                await asyncio.to_thread(write_snapshot, config, _LOG.info, self._cancellation, self._clock)


def is_due(edition: SnapshotVersion, config: Config, now: datetime) -> bool:
    """Return whether the period in which a copy was made is over, or has not begun: then the clock was wrong."""
    # A copy of next year, made while the clock was wrong, would be the newest one until then.
    ahead = config.refresh is not Period.NEVER and edition.taken > now + AHEAD
    return ahead or first_day(config.refresh, now) > edition.taken.date()


# The server.

_TIMEOUT = 300.0
"""Seconds a measurement may take."""
_LOOK = 0.5
"""Seconds between two checks that the shadow runs, and that the tables are what they were."""
_ATTEMPTS = 3
"""How often a new configuration is tried when the shadow dies meanwhile."""
_PAUSE = 5.0
"""Seconds before the next attempt to start it."""


class Server:
    """Serves one configuration: `async with Server(config) as server: …`."""

    def __init__(
        self,
        config: Config,
        ledger: OpeningWay = OpeningWay.AS_IT_IS,
        post: ProcessSlot | None = None,
        read_after: float = 0,
        clock: Clock = system_clock,
    ) -> None:
        """Serve `config`, at a `post` among several processes; `ledger` is how its owner allows it to be opened.

        After so many seconds the engine reads what it keeps in memory, which takes longer than a few questions. By `clock`
        charges are dated, copies are made and terms end.
        """
        self._clock = clock
        self._config, self._way, self._post, self._read_after = config, ledger, post, read_after
        self._stack = AsyncExitStack()
        self._pages = ServedPages()
        self._on_shadow_thread = ShadowThread()
        self._complete = True
        self._changing = asyncio.Lock()
        """Held while the configuration or the engine is replaced."""
        self._rebuilding = asyncio.Lock()
        """Held while the shadow's database is made."""
        self._public: Public
        self._contents: str
        self._engine: Engine
        self._retired = RetiredEngines()
        self._watched = ShadowSessions()
        self._books: OpenBooks
        self._shadow: Postgres
        self._oracle: OracleSession
        self._listener: Listener
        self._shares: Shares
        self._keeper: SnapshotKeeper | None = None

    @property
    def pages(self) -> str | None:
        """Return the address of the pages; None if there are none."""
        return self._pages.url

    @property
    def address(self) -> tuple[str, int]:
        """Return the host and port that clients connect to."""
        return self._listener.host, self._listener.port

    async def __aenter__(self) -> Self:
        """Start everything.

        Raises:
            ConfigError: something that the configuration names can't be used.
            OSError: the address can't be listened on.
        """
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything, running statements first."""
        await self._stack.aclose()

    async def serve_newest(self) -> None:
        """Answer from the newest copy of the records from now on, if there is one.

        Raises:
            DpsqlError: it can't be served.
        """
        if self._keeper is not None:
            await self._keeper.look()

    async def reload(self) -> None:
        """Read the certificates and the configuration's file again, and apply its policy, roles and users.

        Sessions end where tables have changed, and those of users who were removed or have another role or password; a client
        that has asked nothing yet stays. Replaced data files are opened anew.

        Raises:
            ConfigError: the configuration can't be used, but whom it lacks is gone; or a certificate, and the old one stays.
        """
        async with self._changing:
            before = self._config
            kept = show_certificates(((before.listen, self._listener.show), (before.web, self._pages.show)))
            try:
                await self._reload()
            except DpsqlError as failed:
                raise not_reloaded(failed, before.users, await self._let_go(), kept) from failed
            except Exception:
                await self._let_go()
                raise
            if kept:
                raise not_reloaded(None, {}, {}, kept)

    async def _let_go(self) -> Mapping[str, User] | None:
        """Take away the users whom the file has no more, even if it has another mistake; return those who are left."""
        # A configuration with a mistake keeps what is served as it is, but for one thing: who was taken out of the file
        # comes in no more. To lock somebody out must not wait until a policy is mended.
        users = await asyncio.to_thread(users_left, self._config)
        if users is not None and users != self._config.users:
            self._config = new = replace(self._config, users=users)
            await self._listener.let_in(entries_of(new))  # also if the shadow fails
            async with self._rebuilding:
                await self._rebuild(new, self._engine, self._public, self._contents)
            await self._tell_those_concerned()
        return users

    async def _reload(self) -> None:
        old, engine = self._config, self._engine
        new = await asyncio.to_thread(reload_config, old)
        if new.policy.tables != old.policy.tables or not await asyncio.to_thread(engine.is_current):
            engine = await asyncio.to_thread(open_engine, new, clock=self._clock)
        await self._change(new, engine)

    async def _serve_copy(self) -> None:
        """Answer from the newest copy of the records."""
        async with self._changing:
            await self._change(self._config, await asyncio.to_thread(open_engine, self._config, clock=self._clock))

    async def _watch_tables(self) -> None:
        """Take what is altered in the engine's tables, for as long as the policy fits."""
        while True:
            await asyncio.sleep(_LOOK)
            try:
                if await asyncio.to_thread(is_altered, self._engine):
                    await self._take_altered_tables()
            except NoEngine:  # statements tell
                continue
            except DpsqlError as failed:
                _LOG.error("what is altered in the engine's tables is not taken: %s", failed.message)
            except Exception:  # noqa: BLE001 # it is logged, and tried again
                _LOG.exception("what is altered in the engine's tables is not taken")

    async def _take_altered_tables(self) -> None:
        async with self._changing:
            engine = await asyncio.to_thread(open_altered, self._config, self._engine)
            await self._change(self._config, engine, self._public)
        _LOG.warning("the engine's tables were altered, and are served as they are now")

    async def _change(self, new: Config, engine: Engine, public: Public | None = None) -> None:
        """Serve by another configuration, or from another engine, and tell those whom it concerns."""
        old_engine = self._engine
        try:
            await self._serve_config(new, engine, public)
        except BaseException:
            # It may have failed behind the point from which on the new engine answers.
            if engine is not self._engine:
                engine.close()
            raise
        if engine is not old_engine:
            # A copy goes on for those that wait for their turn.
            self._retired.add(old_engine, 0 if old_engine.edition is None else _TIMEOUT)
        await self._tell_those_concerned()

    async def _tell_those_concerned(self) -> None:
        await self._listener.drain_outdated()
        await self._on_shadow_thread(drop_roles, self._shadow, self._config)
        await self._pages.change(self._site())

    async def _serve_config(self, new: Config, engine: Engine, known: Public | None) -> None:
        """Serve by the new configuration; where that fails, the shadow is made again by the old one."""
        await asyncio.to_thread(require_fitting_budgets, self._books.ledger, new.policy)
        # The work that may take long comes before the lock: the shadow can be restarted meanwhile.
        public = await asyncio.to_thread(read_public, new.policy, engine) if known is None else known
        contents = await asyncio.to_thread(self._contents_of, new, public, engine)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                async with self._rebuilding:
                    await self._rebuild(new, engine, public, contents)
                break
            except psycopg.OperationalError as failed:
                # Of a server that was killed a connection may know before its parent does. What PostgreSQL itself refuses has
                # a code, but for the codes of its end, and comes again.
                ended = failed.sqlstate is None or failed.sqlstate.startswith("57P")
                if attempt == _ATTEMPTS or (self._shadow.alive and not ended):
                    raise
                _LOG.warning("the shadow died while the configuration was read, which is tried again: %s", failed)
                await asyncio.sleep(_PAUSE)

    async def _rebuild(self, new: Config, engine: Engine, public: Public, contents: str) -> None:
        # Three cases: nothing is to be done; words, rights or public rows change under sessions that go on; or tables change,
        # and then all sessions end, since they hold on to the old ones.
        needed = await self._on_shadow_thread(
            build.needed_change, self._shadow, new.policy, roles_of(new), epoch=contents
        )
        if needed is build.Change.ANEW:
            self._complete = False
            await self._listener.suspend(ended_by_reload())
        gateway = await self._on_shadow_thread(self._build_gateway, new, public, engine, contents)
        self._config, self._public, self._engine, self._contents = new, public, engine, contents
        self._listener.resume(gateway, entries_of(new))
        self._complete = True

    async def _start(self) -> None:
        # Before anything is opened: what fails here has changed nothing.
        require_memory()
        require_faithful_parser()
        self._shares = Shares.of(raise_limits())
        config = self._config
        # First what the rest can't do without: records, ledger, shadow; last who lets clients in. The stack stops them in
        # reverse.
        self._engine = open_engine(config, ahead=False, clock=self._clock)
        self._stack.callback(lambda: self._engine.close())  # noqa: PLW0108  (which it is then)
        self._stack.callback(self._retired.close)
        self._public = read_public(config.policy, self._engine)
        self._books = self._stack.enter_context(open_books(config, self._way, self._clock))
        if (ahead := self._books.ledger.ahead(config.asked_anew)) is not None:
            _LOG.error("the ledger has lines of %s, which is to come: %s", *future_lines_notice(ahead))
        self._stack.callback(self._on_shadow_thread.shutdown)
        self._shadow = await self._on_shadow_thread(start_shadow, config, self._post)
        self._stack.callback(self._shadow.stop)
        # The order of the stack is the order of the stop, in reverse: first nobody comes in, then what runs ends, then
        # the shadow, the ledger's books last but the engine.
        self._stack.callback(Warden(self._shadow.dsn("postgres"), self._watched).close)
        self._oracle = OracleSession(self._shadow.dsn(config.policy.dataset, ORACLE), self._watched.left)
        self._stack.callback(self._oracle.close)
        self._contents = self._contents_of(config, self._public, self._engine)
        parts = (config, self._public, self._engine, self._contents)
        self._listener = await self._listen(await self._on_shadow_thread(self._build_gateway, *parts))
        for watching in (self._watch_shadow(), self._watch_tables()):
            self._stack.callback(asyncio.get_running_loop().create_task(watching).cancel)
        self._stack.push_async_callback(self._pages.stop)
        serving, number = lambda: (self._config, self._engine), 0 if self._post is None else self._post.number
        if not number:
            await self._pages.open(config, self._site(), self._shares.pages)
        sources = Sources(serving, *self._books.each, self._listener, self._site().ready, self._pages.ends)
        self._stack.enter_context(served_metrics(config.metrics, number, sources))
        if config.snapshot is not None:
            self._keeper = SnapshotKeeper(serving, self._serve_copy, self._clock)
            self._stack.push_async_callback(self._keeper.stop)
        reading = asyncio.get_running_loop().call_later(self._read_after, self._read_kept, self._engine)
        self._stack.callback(reading.cancel)

    def _read_kept(self, engine: Engine) -> None:
        """Read what the engine keeps, while it answers from the records."""
        asyncio.get_running_loop().run_in_executor(None, read_kept, engine)

    def _contents_of(self, config: Config, public: Public, engine: Engine) -> str:
        """Return what the shadow's tables depend on beside the policy; each copy of the records begins an epoch."""
        if engine.edition is not None:
            self._books.ledger.begin(engine.edition.epoch)
        return contents_of(self._books.ledger.epoch(config.asked_anew), public)

    def _build_gateway(self, config: Config, public: Public, engine: Engine, contents: str) -> Gateway:
        """Make the shadow's database, if it is not there, and return a gateway for it."""
        parts, books = (config, public, engine, self._books.ledger), self._books.for_gateway
        return gateway_of(
            self._shadow,
            self._oracle,
            *parts,
            beside=books,
            # Where noise comes from is handed in here and nowhere else; tests hand in bytes of their own.
            entropy=os.urandom,
            epoch=contents,
            timeout=_TIMEOUT,
            clock=self._clock,
        )

    async def _listen(self, gateway: Gateway) -> Listener:
        processes = 1 if self._post is None else len(self._post.doors)
        watched = (self._watched, self._books.trail)
        listener = listener_of(self._config, gateway, self._shadow, watched, self._shares, processes)
        await listener.start(self._post)
        self._stack.push_async_callback(listener.stop)
        return listener

    async def _watch_shadow(self) -> None:
        """Restart the shadow whenever it dies; sessions that were in it are lost, the others wait."""
        while True:
            await asyncio.sleep(_LOOK)
            if self._complete and self._shadow.alive:
                continue
            try:
                async with self._rebuilding:
                    await self._restore_shadow()
            except psycopg.OperationalError as failed:  # killed once more, say
                _LOG.error("the shadow could not be started; it is tried again in %g seconds: %s", _PAUSE, failed)
                await asyncio.sleep(_PAUSE)
            except Exception:  # noqa: BLE001 # it is logged, and tried again
                _LOG.exception("the shadow could not be started; it is tried again in %g seconds", _PAUSE)
                await asyncio.sleep(_PAUSE)

    async def _restore_shadow(self) -> None:
        if self._complete and self._shadow.alive:  # after a reload that we waited for
            return
        _LOG.error("the shadow died or was left half made, and is made again")
        self._complete = False
        # Sessions in the shadow are gone with it. New ones wait at log-in until `resume`, up to their time limit.
        await self._listener.suspend(ended_with_the_shadow(), 0)
        if not self._shadow.alive:
            await self._on_shadow_thread(self._shadow.restart)
        # With the public rows and the epoch as they were read: the engine may be away, and the ledger locked.
        parts = (self._config, self._public, self._engine, self._contents)
        gateway = await self._on_shadow_thread(self._build_gateway, *parts)
        self._listener.resume(gateway, entries_of(self._config))
        self._complete = True
        _LOG.warning("the shadow serves again")

    def _site(self) -> Site:
        """Return what the pages are made from."""
        config, clock = self._config, time.monotonic
        vouch = self._listener.vouch
        server = Address(*self.address, config.policy.dataset, tls=config.listen.tls is not None, vouch=vouch)
        ledger = self._books.ledger
        see_books = self._books.require_writable_books
        ready = Readiness(lambda: (self._engine, self._config.policy), see_books, clock).state
        return Site(
            config.policy,
            roles_of(config),
            server.connect,
            ledger,
            os.urandom,
            clock,
            ready,
            play=config.play,
            read=self._days_of_copy,
            verifiers={user.name: user.verifier for user in config.users.values()},
        )

    def _days_of_copy(self) -> ReadDays | None:
        """Return the days on which the copy was made that answers now; None: the records themselves do."""
        edition = self._engine.edition
        return None if edition is None else edition.read
