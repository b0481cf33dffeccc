"""`dpsql.connect`: a server of our own, and an ordinary psycopg connection to it.

The server is a process of its own: a driver that waits while it holds the interpreter's lock would otherwise wait for
a server that can't run. Run as a program, this module is that server; it stops when its standard input ends.
"""

import asyncio
import json
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from dpsql.collector import collect_seldom
from dpsql.errors import ConfigError
from dpsql.frames import AnswerFrame
from dpsql.libpq import OWN
from dpsql.policy.config import Config, EmbeddedShadow, Listen, Shadow, User
from dpsql.policy.load import load
from dpsql.scratch import Scratch
from dpsql.server import Server
from dpsql.wire.protocol.scram import Verifier

_USER = "dpsql_local"
_PATIENCE = 60.0  # seconds for the server to stop


class LocalConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose server stops when it is closed."""

    _server: subprocess.Popen[str] | None = None

    def frame(self, statement: str, parameters: Sequence[object] | None = None) -> AnswerFrame:
        """Ask a statement and return its answer with margins beside the aggregates, wherever they cost nothing."""
        return AnswerFrame.of(self, statement, parameters)

    def close(self) -> None:
        """Close the connection, then stop the server."""
        super().close()
        server, self._server = self._server, None
        if server is not None:
            server.communicate(timeout=_PATIENCE)


def connect(config: str | Path, *, role: str) -> LocalConnection:
    """Start a server for `config` and return a connection of `role` to it.

    The ledger is the configuration's own: questions here are paid for there.

    Raises:
        ConfigError: the configuration can't be used, or has no such role.
    """
    loaded = load(Path(config))
    if role not in loaded.policy.roles:
        raise ConfigError(f'{loaded.file.name}: there is no role "{role}"; roles: {", ".join(loaded.policy.roles)}')
    password = secrets.token_urlsafe(18)
    server = subprocess.Popen(  # noqa: S603 # ourselves
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        host, port = _address(server, {"config": str(loaded.file), "role": role, "user": str(Verifier.of(password))})
        dataset = loaded.policy.dataset
        words = make_conninfo("", host=host, port=port, user=_USER, password=password, dbname=dataset, **OWN)
        connection = LocalConnection.connect(words)
    except BaseException:
        server.communicate(timeout=_PATIENCE)
        raise
    connection._server = server  # noqa: SLF001 # our own subclass
    return connection


def _address(server: subprocess.Popen[str], wanted: dict[str, str]) -> tuple[str, int]:
    """Send a new server its configuration and role; return its address."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(wanted) + "\n")
    server.stdin.flush()
    said = json.loads(server.stdout.readline() or '{"failed": "the server did not start", "hint": null}')
    if "failed" in said:
        raise ConfigError(said["failed"], hint=said["hint"])
    return said["host"], said["port"]


def _main() -> None:
    """Serve until standard input ends."""
    wanted = json.loads(sys.stdin.readline())
    # The shadow may run as another user, who has to pass through.
    with Scratch("dpsql-local-", mode=0o711) as scratch:
        loaded = load(Path(wanted["config"]))
        own = replace(
            loaded,
            users={_USER: User(_USER, wanted["role"], wanted["user"])},
            listen=Listen("127.0.0.1", 0),
            web=None,
            shadow=_moved(loaded.shadow, scratch.path / "shadow"),
        )
        try:
            asyncio.run(_serve(own))
        except ConfigError as failed:
            _say({"failed": failed.message, "hint": failed.hint})


def _moved(shadow: Shadow, directory: Path) -> Shadow:
    return replace(shadow, directory=directory) if isinstance(shadow, EmbeddedShadow) else EmbeddedShadow(directory)


async def _serve(config: Config) -> None:
    async with Server(config) as server:
        collect_seldom()
        host, port = server.address
        _say({"host": host, "port": port})
        await asyncio.to_thread(sys.stdin.read)


def _say(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
