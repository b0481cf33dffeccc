"""A PostgreSQL with the records, which all systems ask: a cluster as dpsql's shadow makes it, on a port of this machine."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from benchmarks.peers.records import write_postgres
from dpsql.shadow.server import directory as server_directory
from dpsql.shadow.server.directory import SystemAccount, home_of
from dpsql.shadow.server.postgres import Postgres

_DATABASE = "records"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "512MB",
    "work_mem": "64MB",
    "jit": "off",
    "log_min_messages": "log",
}
_PATIENCE = 30.0  # seconds to stop


@contextmanager
def serving(directory: Path, records: Path) -> Iterator[str]:
    """Serve the tables of a DuckDB file; yield how a role that may only read connects."""
    made = Postgres.start(directory)
    with psycopg.connect(made.dsn("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {_DATABASE}".encode())
        connection.execute("CREATE ROLE reader LOGIN")
    write_postgres(made.dsn(_DATABASE), records)
    made.stop()
    with _on_port(directory) as port:
        yield f"host=127.0.0.1 port={port} user=reader dbname={_DATABASE}"


@contextmanager
def _on_port(directory: Path) -> Iterator[int]:
    """Run the server again, listening on a port, where anybody of this machine may read: the records are made up."""
    account = SystemAccount.for_server()
    home = home_of(directory, account)
    program = server_directory.executable_for(account, server_directory.find_binaries(), home).directory / "postgres"
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = int(found.getsockname()[1])
    (home / "data" / "pg_hba.conf").write_text(f"host {_DATABASE} reader 127.0.0.1/32 trust\n")
    options = [part for name, value in {**_SETTINGS, "port": str(port)}.items() for part in ("-c", f"{name}={value}")]
    child = subprocess.Popen(  # noqa: S603 # PostgreSQL's own program
        [program, "-D", home / "data", *options],
        cwd="/",
        stderr=subprocess.PIPE,
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
    )
    try:
        assert child.stderr is not None
        next(line for line in child.stderr if b"ready to accept connections" in line)
        yield port
    finally:
        child.terminate()
        child.communicate(timeout=_PATIENCE)
