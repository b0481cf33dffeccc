"""A listener over a shadow and an exact gateway, and a plain database with the rows to compare with."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.server.listener import Listener
from tests.support.fix_shadow import shadow, shadow_directory  # noqa: F401
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening

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
    """Give a listener for well-behaved and other clients."""
    limits = Limits(connections_per_user=400, login_timeout=5.0, failures_per_user=1_000, failures_per_address=1_000)
    with listening(answers, shadow, limits) as (served, _):
        yield served


@pytest.fixture
def connect(listener: Listener) -> Iterator[Callable[..., psycopg.Connection]]:
    """Give a function that connects as ana, in autocommit unless told otherwise."""
    opened: list[psycopg.Connection] = []

    def connect(user: str = "ana", *, autocommit: bool = True, options: str = "") -> psycopg.Connection:
        connection = psycopg.connect(f"{dsn(listener, user)} password=pw", autocommit=autocommit, options=options)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()
