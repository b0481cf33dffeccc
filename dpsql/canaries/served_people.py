"""A server of its own over synthetic people: with one of them, or without."""

import asyncio
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import psycopg

from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.canaries.made_up_source import MadeUpPeople, made_up_source
from dpsql.open_ledger import open_ledger
from dpsql.policy.config import Config, EmbeddedShadow, Listen, SqliteLedgerConfig, User
from dpsql.policy.model import DatasetBudget, Privacy, Reuse, Role, RoleBudget, RoleLimits, TrialMode
from dpsql.rewrite.analysis.joined import PublicRows
from dpsql.server import Server
from dpsql.trial.records import MadeUpRecords
from dpsql.wire.protocol.scram import Verifier

_USER = "dpsql_auditor"
_MUCH = Privacy(Fraction(10**15))
_PATIENCE = 120.0
"""Seconds for a server to start."""


@dataclass(frozen=True, slots=True)
class Side:
    """A server, a session with it, and its ledger."""

    session: psycopg.Connection
    ledger: SqlLedger
    role: str

    def asked_anew(self, statements: Sequence[str]) -> list[list[tuple[object, ...]]]:
        """Return what statements answer in an epoch of their own; of one that fails no rows."""
        self.ledger.advance("audit")
        return [self._asked(sql) for sql in statements]

    def paid(self) -> float:
        """Return what the role has spent so far."""
        row = self.session.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone()
        assert row is not None
        return float(row[0])

    def _asked(self, sql: str) -> list[tuple[object, ...]]:
        try:
            return self.session.execute(sql.encode()).fetchall()
        except psycopg.Error:
            return []


@contextmanager
def served_people(
    config: Config, role: Role, public: PublicRows, records: MadeUpRecords, without: int | None, directory: Path
) -> Iterator[Side]:
    """Serve synthetic people to a role that has all the budget it needs, in a directory; `without` one unit, if given.

    Raises:
        ConfigError: the server can't be started.
    """
    directory.mkdir(mode=0o711)
    policy, password = config.policy, secrets.token_urlsafe(18)
    asking = replace(role, budget=RoleBudget(_MUCH), limits=RoleLimits(10**12, 10**12), shares={}, reuse=Reuse.OFF)
    policy = replace(policy, roles={role.name: asking}, budgets={k: DatasetBudget(_MUCH) for k in policy.budgets})
    own = replace(
        config,
        policy=policy,
        listen=Listen("127.0.0.1", 0),
        shadow=EmbeddedShadow(directory / "shadow"),
        ledger=SqliteLedgerConfig(directory / "ledger.db"),
        users={_USER: User(_USER, role.name, str(Verifier.of(password)))},
        web=None,
        metrics=None,
        audit=directory / "trail",
        snapshot=None,
        trial=TrialMode.OFF,
    )
    people = MadeUpPeople(config.policy, public, records, without)
    with made_up_source(people, config.engine, directory) as engine:
        served = replace(own, engine=engine)
        with _serving(served) as address, open_ledger(served) as ledger:
            yield from _asking(address, password, ledger, served)


def _asking(address: tuple[str, int], password: str, ledger: SqlLedger, config: Config) -> Iterator[Side]:
    host, port = address
    words = {"host": host, "port": port, "user": _USER, "password": password, "dbname": config.policy.dataset}
    with psycopg.connect(**words, autocommit=True) as session:  # type: ignore[arg-type]  # words of libpq
        yield Side(session, ledger, config.users[_USER].role)


@contextmanager
def _serving(config: Config) -> Iterator[tuple[str, int]]:
    """Run a server in a thread; give its address."""
    started, failed = threading.Event(), list[BaseException]()
    address, stop = list[tuple[str, int]](), list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()

    async def serve() -> None:
        async with Server(config) as server:
            end = asyncio.Event()
            address.append(server.address)
            stop.append((asyncio.get_running_loop(), end))
            started.set()
            await end.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:  # noqa: BLE001  (whoever waits is told)
            failed.append(error)
            started.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait(_PATIENCE)
    if failed:
        raise failed[0]
    try:
        yield address[0]
    finally:
        loop, end = stop[0]
        loop.call_soon_threadsafe(end.set)
        thread.join(_PATIENCE)
