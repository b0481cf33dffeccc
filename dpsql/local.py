"""`dpsql.connect`: a server inside this process, and an ordinary psycopg connection to it."""

import asyncio
import secrets
import tempfile
import threading
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from dpsql.errors import ConfigError
from dpsql.policy.config import Config, EmbeddedShadow, Listen, User
from dpsql.policy.load import load
from dpsql.server import Server
from dpsql.wire.scram import Verifier

_USER = "dpsql_local"


class LocalConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose server stops when it is closed."""

    _stop: threading.Event | None = None
    _thread: threading.Thread | None = None

    def close(self) -> None:
        """Close the connection, then stop the server."""
        super().close()
        if self._stop is not None and self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._stop = None


def connect(config: str | Path, *, role: str) -> LocalConnection:
    """Start a server for `config` in this process and return a connection of `role` to it.

    The ledger is the configuration's own: what is asked here is paid for there.

    Raises:
        ConfigError: the configuration can't be used, or has no such role.
    """
    loaded = load(Path(config))
    if role not in loaded.policy.roles:
        raise ConfigError(f'{loaded.file.name}: there is no role "{role}"; roles: {", ".join(loaded.policy.roles)}')
    password = secrets.token_urlsafe(18)
    stop, started = threading.Event(), Future[tuple[str, int]]()
    thread = threading.Thread(target=_serve, args=(loaded, role, password, started, stop), name="dpsql", daemon=True)
    thread.start()
    host, port = started.result()
    dataset = loaded.policy.dataset
    connection = LocalConnection.connect(host=host, port=port, user=_USER, password=password, dbname=dataset)
    connection._stop, connection._thread = stop, thread  # noqa: SLF001  # our own subclass
    return connection


def _serve(config: Config, role: str, password: str, started: Future[tuple[str, int]], stop: threading.Event) -> None:
    """Serve until `stop`; the shadow is this thread's child and ends with it."""
    with tempfile.TemporaryDirectory(prefix="dpsql-") as directory:
        Path(directory).chmod(0o711)
        user = User(_USER, role, str(Verifier.of(password)))
        own = replace(
            config,
            users={_USER: user},
            listen=Listen("127.0.0.1", 0),
            web=None,
            shadow=EmbeddedShadow(Path(directory) / "shadow"),
        )
        try:
            asyncio.run(_until(own, started, stop))
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
            else:
                raise


async def _until(config: Config, started: Future[tuple[str, int]], stop: threading.Event) -> None:
    async with Server(config) as server:
        started.set_result(server.address)
        await asyncio.to_thread(stop.wait)
