"""One running dpsql: engine, ledger, shadow, gateway, listener and pages, started in order and stopped in reverse."""

import logging
import os
import ssl
import time
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from dpsql.engines.open import open_engine
from dpsql.errors import ConfigError
from dpsql.gateway import Deps, Gateway
from dpsql.policy.config import Config, EmbeddedShadow, Ledger, Listen, PostgresServer, SqliteFile, Tls
from dpsql.policy.model import Table
from dpsql.privacy.sqlite_ledger import SqliteLedger
from dpsql.public import Public, read_public
from dpsql.question import Settings
from dpsql.rewrite.literal import format_value
from dpsql.rewrite.oracle import Oracle
from dpsql.shadow import build
from dpsql.shadow.oracle import OracleSession, ShadowOracle
from dpsql.shadow.postgres import Postgres
from dpsql.shadow.role import ORACLE
from dpsql.web.client import Address
from dpsql.web.serving import Pages
from dpsql.web.site import Site
from dpsql.wire.house import UserEntry
from dpsql.wire.listener import Listener

_LOG = logging.getLogger("dpsql.server")
_TIMEOUT = 300.0
"""Seconds a measurement may take."""


class Server:
    """Serves one configuration: `async with Server(config) as server: …`."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._stack = AsyncExitStack()
        self._listener: Listener | None = None
        self._pages: Pages | None = None

    @property
    def pages(self) -> str | None:
        """Return the address of the pages; None if there are none."""
        return None if self._pages is None else self._pages.url

    @property
    def address(self) -> tuple[str, int]:
        """Return the host and port that clients connect to."""
        if self._listener is None:
            raise RuntimeError("the server has not started")
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

    async def _start(self) -> None:
        config, policy = self._config, self._config.policy
        engine = open_engine(config)
        self._stack.callback(engine.close)
        public = read_public(policy, engine)
        ledger = open_ledger(config.ledger)
        self._stack.callback(ledger.close)
        epoch = ledger.epoch(config.refresh)
        shadow = _start_shadow(config)
        self._stack.callback(shadow.stop)
        users = {user.name: user.role for user in config.users.values()}
        build.ensure(shadow, policy, users, _rows(public), epoch=str(epoch))
        session = OracleSession(shadow.dsn(policy.dataset, ORACLE))
        self._stack.callback(session.close)

        def oracle(settings: Settings) -> Oracle:
            return ShadowOracle(session, settings)

        gateway = Gateway(
            Deps(policy, engine, ledger, oracle, public.declared, public.rows, os.urandom, config.refresh, _TIMEOUT)
        )
        self._listener = await self._listen(gateway, shadow)
        if config.web is not None:
            self._pages = await self._open_pages(config.web, users, ledger)

    async def _listen(self, gateway: Gateway, shadow: Postgres) -> Listener:
        config = self._config
        entries = {user.name: UserEntry(user.role, user.verifier) for user in config.users.values()}
        listener = Listener(
            gateway,
            shadow.address,
            entries,
            config.policy.dataset,
            config.listen.host,
            config.listen.port,
            tls=_tls(config.listen.tls),
        )
        await listener.start()
        self._stack.push_async_callback(listener.stop)
        return listener

    async def _open_pages(self, listen: Listen, users: Mapping[str, str], ledger: SqliteLedger) -> Pages:
        config = self._config
        server = Address(*self.address, config.policy.dataset, tls=config.listen.tls is not None)
        pages = Pages(listen, Site(config.policy, users, server.connect, ledger, os.urandom, time.monotonic))
        await pages.start()
        self._stack.push_async_callback(pages.stop)
        return pages


def open_ledger(ledger: Ledger) -> SqliteLedger:
    """Return the ledger, made if there is none.

    Raises:
        ConfigError: it can't be used.
    """
    match ledger:
        case SqliteFile(path=path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return SqliteLedger(path, lambda: datetime.now(UTC))
        case PostgresServer():
            raise ConfigError("a ledger on PostgreSQL is not supported yet; use sqlite:///…")


def _start_shadow(config: Config) -> Postgres:
    match config.shadow:
        case EmbeddedShadow(directory=directory):
            return Postgres.start(directory)
        case PostgresServer():
            raise ConfigError("a shadow on another server is not supported yet; use shadow: {directory: …}")


def _rows(public: Public) -> build.Rows:
    def rows(table: Table) -> Iterable[tuple[str | None, ...]]:
        columns: Mapping[str, Iterable[str | None]] = {
            name: [None if v is None else format_value(v, table.columns[name].type) for v in values]
            for name, values in public.rows[table.name].items()
        }
        return zip(*columns.values(), strict=True)

    return rows


def _tls(files: Tls | None) -> ssl.SSLContext | None:
    if files is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"{files.certificate}: can't be used as the server's certificate: {error}") from error
    return context
