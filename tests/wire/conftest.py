"""A listener over a shadow and an exact gateway, and a plain database with the rows to compare with."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from dpsql.shadow.postgres import Postgres
from dpsql.wire.frames import Limits
from dpsql.wire.house import UserEntry
from dpsql.wire.listener import Listener
from dpsql.wire.scram import Verifier
from tests.fix_shadow import USERS, shadow, shadow_directory  # noqa: F401
from tests.wire.exact import Exact

_PLAIN = """
CREATE TABLE zones (zone_id integer PRIMARY KEY, zone text);
CREATE TABLE trips (
  trip_id bigint PRIMARY KEY, passenger_id integer NOT NULL, pickup_ts timestamp NOT NULL,
  pickup_zone integer REFERENCES zones, payment_type text, fare numeric(10,2) NOT NULL, distance float8 NOT NULL);
INSERT INTO zones SELECT n, 'Zone ' || n FROM generate_series(1, 10) n;
INSERT INTO trips SELECT n, n % 50, timestamp '2019-03-01' + n * interval '37 min', 1 + n % 10,
  CASE n % 3 WHEN 0 THEN 'cash' WHEN 1 THEN 'credit card' END, 3 + n % 50, (n % 97) / 4.0
  FROM generate_series(1, 1000) n;
"""


@pytest.fixture(scope="session")
def plain(shadow: Postgres) -> str:  # noqa: F811
    """Return how to connect to the database with rows."""
    with psycopg.connect(shadow.dsn("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE plain")
    with psycopg.connect(shadow.dsn("plain")) as connection:
        connection.execute(_PLAIN)
    return shadow.dsn("plain")


@pytest.fixture(scope="session")
def answers(plain: str) -> Exact:
    """Return the gateway's double."""
    return Exact(plain)


@pytest.fixture(scope="session")
def listener(shadow: Postgres, answers: Exact) -> Iterator[Listener]:  # noqa: F811
    """Give a listener that serves on a thread of its own."""
    users = {name: UserEntry(role, str(Verifier.of("pw"))) for name, role in USERS.items()}
    served = Listener(
        answers, shadow.address, users, "taxi", "127.0.0.1", 0, limits=Limits(connections_per_user=400, patience=5.0)
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(served.start(), loop).result(10)
    yield served
    asyncio.run_coroutine_threadsafe(served.stop(2.0), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def connect(listener: Listener) -> Iterator[Callable[..., psycopg.Connection]]:
    """Give a function that connects as ana, in autocommit unless told otherwise."""
    opened: list[psycopg.Connection] = []

    def connect(user: str = "ana", *, autocommit: bool = True, options: str = "") -> psycopg.Connection:
        dsn = f"host=127.0.0.1 port={listener.port} user={user} password=pw dbname=taxi sslmode=disable"
        connection = psycopg.connect(dsn, autocommit=autocommit, options=options)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()
