"""A small policy and a shadow made from it, for the tests of `shadow` and `wire`."""

import shutil
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import (
    Column,
    DatasetBudget,
    Policy,
    Privacy,
    Reference,
    Role,
    RoleBudget,
    SqlType,
    Table,
    UnitBound,
)
from dpsql.shadow.contents.build import ensure_shadow
from dpsql.shadow.contents.schema import PublicRow
from dpsql.shadow.server.postgres import Postgres
from tests.support import clusters

MARCH = Interval.of(1551398400 * 10**6, 1554076800 * 10**6 - 1)


def _columns(*columns: Column) -> dict[str, Column]:
    return {column.name: column for column in columns}


TRIPS = Table(
    "trips",
    _columns(
        Column("trip_id", SqlType.BIGINT, "bigint"),
        Column("passenger_id", SqlType.INTEGER, "integer"),
        Column("pickup_ts", SqlType.TIMESTAMP, "timestamp", bounds=MARCH),
        Column("pickup_zone", SqlType.INTEGER, "integer", references=Reference("zones", "zone_id"), nullable=True),
        Column("payment_type", SqlType.TEXT, "text", values=("cash", "credit card"), nullable=True),
        Column("fare", SqlType.NUMERIC, "numeric(10,2)", bounds=Interval.of(0, 150), description="metered fare"),
        Column("distance", SqlType.DOUBLE, "double precision", bounds=Interval.of(0, 30)),
    ),
    {"passenger": UnitBound("passenger_id", 20)},
    key="trip_id",
    description="one row per ride",
)
ZONES = Table(
    "zones",
    _columns(Column("zone_id", SqlType.INTEGER, "integer"), Column("zone", SqlType.TEXT, "text")),
    {},
    public=True,
    key="zone_id",
)
SECRETS = Table(
    "secrets",
    _columns(Column("person", SqlType.INTEGER, "integer"), Column("kept", SqlType.BOOLEAN, "boolean")),
    {"passenger": UnitBound("person", 1)},
)
ANALYST = Role("analyst", "passenger", RoleBudget(Privacy(Fraction(10))), Privacy(Fraction(1)))
GUEST = Role("guest", "passenger", RoleBudget(Privacy(Fraction(1))), Privacy(Fraction(1)), tables=frozenset({"trips"}))
POLICY = Policy(
    "taxi",
    {"trips": TRIPS, "zones": ZONES, "secrets": SECRETS},
    {"analyst": ANALYST, "guest": GUEST},
    {"passenger": DatasetBudget(Privacy(Fraction(10)))},
    "a fingerprint",
)
USERS = {"ana": "analyst", "gus": "guest"}


def zone_rows(table: Table) -> list[PublicRow]:
    """Return the rows of the only public table."""
    assert table.name == "zones"
    return [(number, f"Zone {number}") for number in range(1, 11)]


@pytest.fixture(scope="session")
def shadow_directory() -> Iterator[Path]:
    """Give a directory that the server's account can enter, whoever runs the tests."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-test-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def shadow(shadow_directory: Path) -> Iterator[Postgres]:
    """Give a server with the database of `POLICY`."""
    server = clusters.start(shadow_directory / "shadow")
    ensure_shadow(server, POLICY, USERS, zone_rows)
    yield server
    server.stop()
