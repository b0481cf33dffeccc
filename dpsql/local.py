"""`dpsql.connect`: a server of our own, and an ordinary psycopg connection to it.

The server is a process of its own: a driver that waits while it holds the interpreter's lock would otherwise wait for
a server that can't run. Nothing of the server is imported here; it would be imported twice.
"""

import json
import secrets
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from dpsql.errors import ConfigError
from dpsql.libpq import OWN
from dpsql.system_limits import import_without_collecting
from dpsql.wire.protocol.scram import Verifier

if TYPE_CHECKING:
    from dpsql.frames import AnswerFrame

_USER = "dpsql_local"
_SERVER = "from dpsql.local import serve; serve()"
_PATIENCE = 60.0  # seconds for the server to stop


class LocalConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose server stops when it is closed."""

    _server: subprocess.Popen[str] | None = None

    def frame(self, statement: str, parameters: Sequence[object] | None = None) -> "AnswerFrame":
        """Ask a statement and return its answer with margins beside the aggregates, wherever they cost nothing."""
        from dpsql.frames import AnswerFrame  # noqa: PLC0415  (a parser of SQL, which a connection can do without)

        return AnswerFrame.of(self, statement, parameters)

    def close(self) -> None:
        """Close the connection, then stop the server."""
        # In this order: a server that stops waits for its clients' statements.
        super().close()
        server, self._server = self._server, None
        if server is not None:
            # It closes standard input, at whose end the server stops, and reads on, so that no full pipe holds it up.
            server.communicate(timeout=_PATIENCE)


def connect(config: str | Path, *, role: str) -> LocalConnection:
    """Start a server for `config` and return a connection of `role` to it.

    The ledger is the configuration's own: questions here are paid for there.

    Raises:
        ConfigError: the configuration can't be used, or has no such role.
    """
    server = subprocess.Popen(  # noqa: S603 # ourselves
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        # The password stays here. The verifier goes through the pipe: arguments and environment can be read by others (ps).
        password = secrets.token_urlsafe(18)
        wanted = {"config": str(Path(config)), "role": role, "user": _USER, "verifier": str(Verifier.of(password))}
        where = _address(server, wanted)
        connection = LocalConnection.connect(make_conninfo("", user=_USER, password=password, **where, **OWN))
    except BaseException:
        server.communicate(timeout=_PATIENCE)
        raise
    connection._server = server  # noqa: SLF001 # our own subclass
    return connection


def _address(server: subprocess.Popen[str], wanted: dict[str, str]) -> dict[str, Any]:
    """Send a new server its configuration and role; return its address as libpq's key words."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(wanted) + "\n")
    server.stdin.flush()
    # A process that died before its first word has closed the pipe: the line is empty.
    said = json.loads(server.stdout.readline() or '{"failed": "the server did not start", "hint": null}')
    if "failed" in said:
        raise ConfigError(said["failed"], hint=said["hint"])
    return {key: said[key] for key in ("host", "port", "dbname")}


def serve() -> None:
    """Be the process of such a server, which alone imports it; say so where it can't be imported, or does not start."""
    try:
        import_without_collecting("dpsql.local_server").main()
    except ConfigError as failed:
        sys.stdout.write(json.dumps({"failed": failed.message, "hint": failed.hint}) + "\n")
