"""Connections to a configuration's roles, as `dpsql.connect` gives them, but all of one server that starts sooner."""

import asyncio
import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest

from dpsql.cli.commands.serve import Signals
from dpsql.local import LocalConnection
from dpsql.policy.config import Config, EmbeddedShadow, Listen, User
from dpsql.policy.load import load
from dpsql.server import Server
from dpsql.wire.protocol.scram import Verifier
from tests.support import clusters
from tests.support.forked import Forked

Connect = Callable[[str], psycopg.Connection[tuple[Any, ...]]]
"""Connects as a role, in autocommit."""


@contextmanager
def connections(config: Path) -> Iterator[Connect]:
    """Serve a configuration to a user of each role, and give what connects as one."""
    with addresses(config) as address, ExitStack() as opened:

        def connect(role: str) -> psycopg.Connection[tuple[Any, ...]]:
            return opened.enter_context(LocalConnection.connect(address(role), autocommit=True))

        yield connect


@contextmanager
def addresses(config: Path) -> Iterator[Callable[[str], str]]:
    """Serve a configuration to a user of each role, and give what returns the address of one, as libpq reads it."""
    password = secrets.token_urlsafe(18)
    with TemporaryDirectory(prefix="dpsql-connected-") as place:
        Path(place).chmod(0o711)
        with _served(config, Path(place) / "shadow", str(Verifier.of(password, iterations=1))) as where:
            yield lambda role: f"{where} user={role} password={password}"


@contextmanager
def as_own(config: Path, connect: Connect) -> Iterator[None]:
    """Let `dpsql.connect` give connections to the server of a configuration that runs already, and start none."""

    def connected(asked: str | Path, *, role: str) -> psycopg.Connection[tuple[Any, ...]]:
        assert Path(asked).resolve() == config.resolve()
        connection = connect(role)
        connection.autocommit = False
        return connection

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dpsql.connect", connected)
        yield


@contextmanager
def _served(config: Path, shadow: Path, verifier: str) -> Iterator[str]:
    """Serve in a process of its own; give the place."""
    clusters.prepare(shadow)
    wanted = (str(config), str(shadow), verifier)
    served = Forked([], before=f"from {__name__} import serve; serve{wanted!r}; raise SystemExit")
    assert served.stdout is not None
    try:
        where = served.stdout.readline().strip()
        assert where, f"the server did not start, and ended with {served.wait(30)}"
        yield where
    finally:
        served.send_signal(signal.SIGTERM)
        served.wait(30)
        served.stdout.close()


def serve(config: str, shadow: str, verifier: str) -> None:
    """Serve a configuration to users who are named like its roles, until the process is told to stop."""
    loaded = load(Path(config))
    users = {role: User(role, role, verifier) for role in loaded.policy.roles}
    own = replace(loaded, users=users, listen=Listen("127.0.0.1", 0), web=None, shadow=EmbeddedShadow(Path(shadow)))
    asyncio.run(_serve(own))


async def _serve(config: Config) -> None:
    with Signals() as signals:
        async with Server(config) as server:
            host, port = server.address
            sys.stdout.write(f"host={host} port={port} dbname={config.policy.dataset}\n")
            sys.stdout.flush()
            await signals.until_stopped()
