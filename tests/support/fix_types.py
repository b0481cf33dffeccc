"""A world of columns that BI tools rarely meet: UUIDs, texts of a fixed length, times with a zone; on both engines."""

import datetime as dt
import random
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.question import Asker
from tests.support.fix_world import Client, World, noon, running
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Cell, Row
from tests.support.reference import Reference
from tests.support.served import Filled, Served, write_table

_CONFIG = """\
dataset: taxi
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget:
  person: {epsilon: 1e30, delta: 0.5}
  badge: {epsilon: 1e30, delta: 0.5}
roles:
  owner: {protects: person, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}}
  guard: {protects: badge, budget: {epsilon: 1e30}, per_query: {epsilon: 1e12}}
  explorer: {protects: person, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
  watch: {protects: badge, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
users: {}
"""
USERS = {"ana": "owner", "gus": "guard", "eve": "explorer", "wes": "watch"}
_LOW = dt.datetime(2019, 2, 1, tzinfo=dt.UTC)
_HIGH = dt.datetime(2019, 5, 1, tzinfo=dt.UTC) - dt.timedelta(microseconds=1)
VISITS = 1_500


def name_of(kind: str, number: int) -> str:
    """Return the UUID of a door or a person."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind} {number}"))


DOORS: Sequence[Row] = [
    {
        "door": name_of("door", n),
        "kind": ("front", "back", "up")[n % 3],
        "opened": dt.datetime(2019, 1, 1 + n, 23, 30, tzinfo=dt.UTC),
    }
    for n in range(4)
]


def visits() -> list[Row]:
    """Return rows, a few of them beside their bounds and domains, or nobody's."""
    draw = random.Random(7)  # noqa: S311  (synthetic records)
    return [_visit(n, draw) for n in range(VISITS)]


def _visit(n: int, draw: random.Random) -> Row:
    made = _LOW + dt.timedelta(minutes=draw.randrange(88 * 24 * 4) * 15, seconds=draw.randrange(900))
    return {
        "visitor": None if n % 101 == 0 else name_of("person", n // 5),
        "badge": None if n % 97 == 0 else ("a", "a  ", "ab", "c d", "wxyz")[n % 5] if n % 3 else f"b{n % 40}",
        "made": dt.datetime(1999, 1, 1, tzinfo=dt.UTC) if n % 211 == 0 else made,
        "left_at": None if n % 7 == 0 else made + dt.timedelta(minutes=draw.randrange(3 * 24 * 60)),
        "seen": None if n % 5 == 0 else made,
        "at_desk": made.replace(tzinfo=None),
        "door": name_of("door", n % 5),  # one is no door
        "code": ("a", "ab", "xyz", None, "a  ", "b")[n % 6],
        "size": ("small", "large", "medium", None, "huge")[n % 5],
        "mood": ("sad", "glad", None, "fine")[n % 4],
        "opens": dt.time(n % 24, n % 60, n % 59, n * 7),
        "stay": None if n % 9 == 0 else dt.timedelta(minutes=n * 3, seconds=n % 60),
        "hours": n % 11,
    }


def marks(people: int = 60) -> list[Row]:
    """Return rows whose values nothing is declared about: some that many people share, and one person's own each."""
    return [_mark(n, person) for person in range(people) for n in range(8)]


_ZERO = dt.datetime(2019, 3, 31, tzinfo=dt.UTC)


def _mark(n: int, person: int) -> Row:
    own = n == 7
    return {
        "visitor": None if person % 20 == 19 else name_of("person", person),
        "badge": None if person % 15 == 14 else f"{person}" + " " * (n % 2),
        "seen": _ZERO + dt.timedelta(seconds=person)
        if own
        else (None, _ZERO, _ZERO + dt.timedelta(minutes=n * 15))[n % 3],
        "opens": dt.time(1, 2, person)
        if own
        else (None, dt.time(), dt.time(23, 59, 59, 999_999), dt.time(7, n))[n % 4],
        "stay": dt.timedelta(hours=-person) if own else (None, dt.timedelta(-1, 5), dt.timedelta(40, 0, n))[n % 3],
        "ticket": name_of("ticket", person + 9 if own else n % 3),
        "code": f"{person:03}" if own else ("a", "a  ", "", None, "é b")[n % 5],
        "day": None if own else dt.date(1, 1, 1) if n % 2 else dt.date(9999, 12, n + 1),
        "mood": ("sad", "fine", "glad")[n % 3],
        "paid": n % 2 == 0,
        "kept": (0, 1, None, 2, 1)[n % 5],
        "late": (0, 1, 1, -1, 1)[(n + person) % 5],
        "came": dt.datetime(2019, 3, 1 + person % 30, 7 + n % 3, 30, person if own else 0),  # noqa: DTZ001  (no zone)
    }


BEYOND = (
    ("seen", "'infinity'"),
    ("seen", "'-infinity'"),
    ("stay", "INTERVAL '1 month'"),
    ("stay", "INTERVAL '99999999 days'"),
    ("day", "'-infinity'"),
)
"""Columns, and values that the engines have and no answer, which are NULL."""


def clamped_mark(row: Row) -> Row:
    """Return a row as the analyst sees it."""
    return row | {name: None if row[name] not in {0, 1} else row[name] == 1 for name in ("kept", "late")}


def clamped(row: Row) -> Row:
    """Return a row as the analyst sees it."""
    doors = {door["door"] for door in DOORS}
    return row | {
        "made": _within(row["made"], _LOW, _HIGH),
        "left_at": _within(row["left_at"], _LOW, _HIGH),
        "at_desk": _within(row["at_desk"], _LOW.replace(tzinfo=None), _HIGH.replace(tzinfo=None)),
        "door": row["door"] if row["door"] in doors else None,
        "code": row["code"] if row["code"] is None or str(row["code"]).rstrip() in {"a", "ab", "xyz"} else None,
        "size": row["size"] if row["size"] in {"small", "large", "medium"} else None,
        "stay": None if row["stay"] is None else min(row["stay"], dt.timedelta(days=2, hours=12)),
        "hours": min(row["hours"], 10),  # type: ignore[type-var]  # a number
    }


def _within(cell: Cell, low: dt.datetime, high: dt.datetime) -> Cell:
    return min(max(cell, low), high) if isinstance(cell, dt.datetime) else cell


NewTyped = Callable[..., Client]


@pytest.fixture(scope="session")
def typed_policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """The policy of these tables."""
    directory = tmp_path_factory.mktemp("types")
    shutil.copytree(Path(__file__).parent.parent / "schemas" / "types", directory / "schemas")
    (directory / "config.yaml").write_text(_CONFIG, encoding="utf-8")
    return load(directory / "config.yaml").policy


TypedEngines = Mapping[str, Filled]


@pytest.fixture(scope="session")
def typed_world(typed_policy: Policy) -> Iterator[tuple[World, TypedEngines]]:
    """The shadow of these tables, and both engines with their rows."""
    memory = Memory(typed_policy, public={"doors": DOORS})
    memory.fill("visits", visits())
    memory.fill("marks", marks())
    with running(typed_policy, USERS, memory) as world:
        served = Served(world, "typed_records", {"doors": DOORS})
        served.fill("visits", visits())
        served.fill("marks", marks())
        assert read_public(typed_policy, served).rows == world.public.rows
        yield world, {"duckdb": memory, "postgres": served}
        served.close()
        memory.close()


@pytest.fixture(scope="session")
def typed_reference(typed_world: tuple[World, TypedEngines]) -> Iterator[Reference]:
    """PostgreSQL on the clamped form of the same rows."""
    world, _ = typed_world
    world.owner.execute(SQL("CREATE DATABASE {}").format(Identifier("typed_clamped")))
    connection = world.connect("dpsql_owner", "typed_clamped")
    connection.execute("CREATE SCHEMA clamped")
    write_table(connection, "public", world.policy.tables["doors"], DOORS)
    write_table(connection, "clamped", world.policy.tables["visits"], [clamped(row) for row in visits()])
    write_table(connection, "clamped", world.policy.tables["marks"], [clamped_mark(row) for row in marks()])
    yield Reference(world.policy, connection)
    connection.close()


@pytest.fixture(scope="session")
def typed(typed_world: tuple[World, TypedEngines]) -> Iterator[NewTyped]:
    """Give a function that returns a user's client of an engine."""
    world, engines = typed_world
    owner = world.connect("dpsql_owner")
    opened: list[psycopg.Connection] = [owner]
    with ExitStack() as until:
        ledgers = {name: until.enter_context(quick_ledger(noon)) for name in engines}
        gateways = {name: world.gateway(engine, ledgers[name]) for name, engine in engines.items()}

        @cache
        def client(engine: str, user: str = "ana") -> Client:
            opened.append(world.connect(user))
            return Client(gateways[engine], ledgers[engine], opened[-1], owner, Asker(user, USERS[user]))

        yield client
    for connection in opened:
        connection.close()
