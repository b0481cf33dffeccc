"""Two places that clients are sent to: dpsql as a user runs it, and a plain PostgreSQL with the same empty tables."""

import base64
import contextlib
import hashlib
import hmac
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

import psycopg
from psycopg import pq

from dpsql.shadow.server import directory as server_place
from dpsql.shadow.server.directory import SystemAccount
from dpsql.wire.protocol.scram import Verifier
from tests.clients.data import write
from tests.support import clusters
from tests.support.demo_schemas import copy_with_numbers
from tests.support.forked import Forked, Running
from tests.support.schema import configured, put_apart

_PASSWORD = "a pass:word"  # noqa: S105 # of a server that lives for one test
_HERE = "127.0.0.1"
_WITH_KEYS = 180_000
"""The first libpq that takes keys instead of passwords."""

_CONFIG = """\
dataset: taxi
engine: {{kind: duckdb, database: taxi.duckdb}}
schemas: {schemas}
listen: {{host: 127.0.0.1, port: 0{tls}}}
shadow: {{directory: shadow}}
ledger: sqlite:///ledger.db
budget: {{passenger: {{epsilon: 10000000}}}}
roles:
  # So much ε that counts come out exact but once in 10^10 statements.
  analyst: {{protects: passenger, budget: {{epsilon: 10000000}}, per_query: {{epsilon: 1000}}}}
users:
  ana: {{role: analyst, password: "{verifier}"}}
"""
_TABLES = """
CREATE ROLE ana LOGIN;
GRANT pg_read_all_data TO ana;
CREATE TABLE zones (zone_id integer PRIMARY KEY, zone text NOT NULL, borough text NOT NULL);
CREATE TABLE trips (
  trip_id bigint NOT NULL, driver_id integer NOT NULL, passenger_id integer NOT NULL, pickup_ts timestamp NOT NULL,
  pickup_zone integer NOT NULL REFERENCES zones, payment_type text, passenger_count integer NOT NULL,
  trip_distance double precision NOT NULL, fare double precision NOT NULL, tip double precision NOT NULL,
  total double precision NOT NULL);
COMMENT ON TABLE zones IS 'the taxi zones of New York';
COMMENT ON COLUMN zones.zone IS 'name of the zone';
COMMENT ON COLUMN zones.borough IS 'borough of the zone';
COMMENT ON TABLE trips IS 'one row per taxi ride in New York in March 2019';
COMMENT ON COLUMN trips.pickup_ts IS 'when the ride began';
COMMENT ON COLUMN trips.pickup_zone IS 'where the ride began';
COMMENT ON COLUMN trips.trip_distance IS 'in miles';
COMMENT ON COLUMN trips.fare IS 'metered fare in dollars';
COMMENT ON COLUMN trips.tip IS 'tip in dollars; cash tips are not recorded';
COMMENT ON COLUMN trips.total IS 'everything paid in dollars';
"""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a server listens, and who logs in."""

    port: int
    process: Running | None = field(default=None, repr=False)
    """The process of `dpsql serve`."""
    host: str = "127.0.0.1"
    user: str = "ana"
    password: str = field(default=_PASSWORD, repr=False)
    database: str = "taxi"
    pages: str = ""
    """The address of the pages."""

    @property
    def dsn(self) -> str:
        """Return libpq's key words, for psycopg.

        With what is made of the password, where its libpq takes that: making it takes longer than most of what tests ask.
        """
        return self.words + (_keys() if pq.version() >= _WITH_KEYS else "")

    @property
    def words(self) -> str:
        """Return the key words that every libpq takes."""
        return (
            f"host={self.host} port={self.port} user={self.user} password='{self.password}' dbname={self.database}"
            " sslmode=disable"
        )

    def url(self, scheme: str = "postgresql") -> str:
        """Return the same as an address."""
        password = self.password.replace(" ", "%20").replace(":", "%3A")
        return f"{scheme}://{self.user}:{password}@{self.host}:{self.port}/{self.database}"


def configure(directory: Path, *, tls: str = "", schemas: Path | None = None) -> Path:
    """Write a configuration, schemas and a few trips; return the configuration's file."""
    write(directory / "taxi.duckdb")
    if schemas is None:
        schemas = copy_with_numbers(directory / "declared")
        put_apart(schemas)
    config = directory / "config.yaml"
    text = _CONFIG.format(schemas=schemas, verifier=_verifier(), tls=tls)
    config.write_text(configured(text) if schemas == directory / "declared" else text)
    return config


@cache
def _verifier() -> Verifier:
    return Verifier.of(_PASSWORD)


@cache
def _keys() -> str:
    """Return RFC 5802's ClientKey and ServerKey as libpq's key words."""
    verifier = _verifier()
    salted = hashlib.pbkdf2_hmac("sha256", _PASSWORD.encode(), verifier.salt, verifier.iterations)
    client, server = (
        base64.b64encode(key).decode() for key in (hmac.digest(salted, b"Client Key", "sha256"), verifier.server_key)
    )
    return f" scram_client_key={client} scram_server_key={server}"


@contextmanager
def serving(
    config: Path,
    *,
    python: str = sys.executable,
    uid: int | None = None,
    at_once: signal.Signals | None = None,
    before: str = "",
    executed: bool = False,
    log: IO[str] | None = None,
) -> Iterator[Site]:
    """Run `dpsql serve` in a process of its own; as user `uid` of this machine, if that is given.

    `at_once` is sent when the shadow's directory is there, before anybody is served; `before` is run before dpsql is,
    in a Python that has not imported it where it is to be `executed`; what it says on standard error goes to `log`, if that
    is given.
    """
    if uid is None and at_once is None:
        with_shadow(config)
    arguments = ["serve", "--config", str(config)]
    if executed:
        served: Running = _executed([python, "-c", f"{before}\nfrom dpsql.cli.main import app; app()", *arguments], log)
    else:
        served = Forked(arguments, log, before, python=python, uid=uid)
    assert served.stdout is not None
    try:
        if at_once is not None:
            while not (config.parent / "shadow").exists() and served.poll() is None:
                time.sleep(0.001)
            served.send_signal(at_once)
        said = re.match(r"serving \S+ on \S+:(\d+)(?:, pages at (\S+))?; ", served.stdout.readline())
        assert said, "the server did not start"
        yield Site(int(said[1]), served, pages=said[2] or "")
    finally:
        served.send_signal(signal.SIGTERM)
        served.wait(30)
        served.stdout.close()


def _executed(command: list[str], log: IO[str] | None) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        command,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def with_shadow(config: Path) -> Path:
    """Give a configuration the shadow that `configure` needs, made already; return it."""
    clusters.prepare(config.parent / "shadow", _served)
    return config


def _served(place: Path) -> Path:
    """Make the shadow of what `configure` writes; who serves something else changes what differs."""
    clusters.prepare(place / "shadow")
    with serving(configure(place)):
        return place / "shadow"


@contextmanager
def plain_site(directory: Path) -> Iterator[Site]:
    """Run a PostgreSQL of the shadow's own version, on a port, with the tables as a DBA would create them."""
    clusters.prepare(directory / "plain", _plain)
    if not (directory / "plain").exists():  # outside of tests
        _plain(directory)
    with _on_port(directory / "plain") as port:
        yield Site(port)


def _plain(place: Path) -> Path:
    server = clusters.start(place / "plain")
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE taxi")
    with psycopg.connect(server.dsn("taxi")) as connection:
        connection.execute(_TABLES)
    server.stop()
    return place / "plain"


@contextmanager
def _on_port(home: Path) -> Iterator[int]:
    """Run the server again, listening on a port; only for tests, since it lets everybody in."""
    account = SystemAccount.for_server()
    program = server_place.executable_for(account, server_place.find_binaries(), home).directory / "postgres"
    port = free_port()
    (home / "data" / "pg_hba.conf").write_text("host all all 127.0.0.1/32 trust\n")
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "log_min_messages": "log",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    child = subprocess.Popen(  # noqa: S603
        [program, "-D", home / "data", *options],
        cwd="/",
        stderr=subprocess.PIPE,
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
    )
    try:
        assert child.stderr is not None
        # Its last line when it starts; it says nothing more until it stops.
        next(line for line in child.stderr if b"ready to accept connections" in line)
        yield port
    finally:
        child.terminate()
        child.communicate(timeout=30)


def free_port() -> int:
    """Return a port on which nobody listens, nor on the next: not one that a system gives to whoever asks for any."""
    while True:
        port = 15_000 + secrets.randbelow(15_000)
        here, following = (_HERE, port), (_HERE, port + 1)
        with contextlib.suppress(OSError), socket.create_server(here), socket.create_server(following):
            return port
