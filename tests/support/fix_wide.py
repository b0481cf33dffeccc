"""A wider world: keys of every type that double precision, a collation or a zero could confuse, on both engines.

The public tables `by_…` have a key of one type each, with near-equal values; whoever writes statements may join any of them
through any comparison.
"""

import datetime as dt
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from dpsql.accounting.ledger import Ledger
from dpsql.engines.base import Engine
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.gateway.gateway import Gateway
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.question import Asker
from tests.support.fix_world import Client, World, running
from tests.support.memory import Memory
from tests.support.records import Cell, Row
from tests.support.schema import configured, of, put_apart
from tests.support.served import Filled, Served

_CONFIG = """\
dataset: wide
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
refresh: daily
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget:
  passenger: {epsilon: 1e30, delta: 0.5}
roles:
  owner: {protects: passenger, budget: {epsilon: 1e30}, per_query: {epsilon: 1}}
  explorer: {protects: passenger, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1, delta: 0.01}}
users: {}
"""
USERS = {"ana": "owner", "eve": "explorer"}
LARGE = 2**53
"""From here on double precision has no odd numbers."""
FINE = Decimal("0.100000000000000000001")
_TYPES = {
    "key": "DECIMAL(19, 0)",
    "num": "DECIMAL(19, 0)",
    "share": "DECIMAL(22, 21)",
    "payers.payer": "DECIMAL(22, 3)",
}
_LATE = [dt.datetime(2300, 1, 1, microsecond=n) for n in (2, 3, 4)]  # noqa: DTZ001  (timestamps without time zone)
"""Microseconds that double precision can't tell apart."""
_DAYS = [dt.datetime(2019, 3, d) for d in (1, 2, 3)]  # noqa: DTZ001
_TWICE = "UPDATE {} SET moment = 'infinity' WHERE key = 2"
"""A second group that comes back as NULL."""
KEYS: Mapping[str, Sequence[Cell]] = {
    "big": [1, 2, 3, LARGE, LARGE + 1, LARGE + 2],
    "num": [Decimal(1), Decimal(2), Decimal(LARGE), Decimal(LARGE + 1), Decimal(10**18), Decimal(10**18 + 1)],
    "dbl": [0.0, 1.0, 0.1, math.nextafter(0.1, 1), float(LARGE), float(LARGE + 2)],
    "txt": ["a", "A", "a ", "b", "", "ä"],
    "moment": [*_LATE, *_DAYS],
    "day": [dt.date(1, 1, 1), dt.date(9999, 12, 31), *(dt.date(2019, 3, d) for d in (1, 2, 3, 4))],
    "flag": [False, True],
}
"""The key of each `by_…`."""
_ATTRIBUTES: Mapping[str, Sequence[Cell]] = {
    "num": [Decimal(LARGE), Decimal(LARGE + 1), None, Decimal(1), Decimal(LARGE + 2), Decimal(2)],
    "share": [FINE, Decimal("0.1"), Decimal("0.5"), None, FINE, Decimal("0.5")],
    "dbl": [-0.0, 0.0, math.nan, math.inf, 0.1, math.nextafter(0.1, 1)],
    "moment": [*_LATE[:2], None, *_DAYS],
    "day": [
        dt.date(2019, 3, 1),
        None,
        dt.date(2019, 3, 2),
        dt.date(1, 1, 1),
        dt.date(9999, 12, 31),
        dt.date(2019, 3, 1),
    ],
    "flag": [True, False, None, True, False, None],
    "big": [LARGE, LARGE + 1, -(2**63) + 1, None, 0, 1],
    "label": ["a", "A", "a ", None, "", "a"],
}
PUBLIC: Mapping[str, Sequence[Row]] = {
    **{
        f"by_{name}": [
            {"key": key, **{column: cells[n] for column, cells in _ATTRIBUTES.items()}} for n, key in enumerate(keys)
        ]
        for name, keys in KEYS.items()
    },
    "people": [{"person": n, "name": f"n{n}", "country": "xy"[n % 2]} for n in range(1, 7)],
}


def plain(unit: str, name: Cell, **cells: Cell) -> Row:
    """Return a row of `visits` (or of its kin, by their unit's column) that holds nothing strange."""
    row: Row = {
        unit: name,
        "place": 1,
        "big": 1,
        "num": Decimal(1),
        "dbl": 1.0,
        "txt": "a",
        "flag": True,
        "iv": 1,
        "fav": 1,
        "g": 0.5,
    }
    return row | {"moment": dt.datetime(2019, 3, 1), "day": dt.date(2019, 3, 1)} | cells  # noqa: DTZ001


@dataclass(frozen=True, slots=True)
class Wide:
    """One engine with the wide tables, and what is public as that engine has it."""

    world: World
    engine: Filled

    @property
    def policy(self) -> Policy:
        """Return the policy."""
        return self.world.policy

    def gateway(
        self,
        ledger: Ledger,
        entropy: Entropy,
        seen: Callable[[Engine], Engine] = lambda engine: engine,
        *,
        policy: Policy | None = None,
    ) -> Gateway:
        """Return a gateway to the engine, or to what `seen` makes of it."""
        return self.world.gateway(seen(self.engine), ledger, policy=policy, entropy=entropy)


Engines = Mapping[str, Wide]


def read_wide(directory: Path) -> Policy:
    """Return the policy of the wide tables; its files are put together in `directory`."""
    shutil.copytree(Path(__file__).parent.parent / "schemas" / "wide", directory / "schemas")
    put_apart(directory / "schemas")
    (directory / "config.yaml").write_text(configured(_CONFIG), encoding="utf-8")
    return load(directory / "config.yaml").policy


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """DuckDB and PostgreSQL with the wide tables; what they hold is the last test's."""
    policy = read_wide(tmp_path_factory.mktemp("wide"))
    memory = Memory(policy, public=PUBLIC, types=_TYPES)
    memory.execute(_TWICE.format(memory.named(of("by_big"))))
    with running(policy, USERS, memory) as world:
        served = Served(world, "records", PUBLIC)
        served.execute(_TWICE.format(served.named(of("by_big"))))
        engines: Mapping[str, Filled] = {"duckdb": memory, "postgres": served}
        yield {name: Wide(replace(world, public=read_public(policy, e)), e) for name, e in engines.items()}
        served.close()
        memory.close()


PLANS = ("duckdb", "duckdb, threads", "postgres", "postgres, sorted", "postgres, parallel")
"""Engines, and how they go about it."""
_BY_SORT = {"enable_hashagg": "off", "enable_hashjoin": "off"}
_PARALLEL = {
    "work_mem": "64kB",
    "max_parallel_workers_per_gather": "2",
    "min_parallel_table_scan_size": "0",
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
}


@pytest.fixture(scope="session")
def plans(wide: Engines) -> Iterator[Engines]:
    """The wide tables on one thread and on several, by hash and by sort, and with parallel workers and little memory."""
    world = wide["postgres"].world
    threads = Memory(world.policy, public=PUBLIC, types=_TYPES)
    threads.execute("SET threads = 4")
    by_sort, parallel = (Served(world, n, PUBLIC, **s) for n, s in (("by_sort", _BY_SORT), ("parallel", _PARALLEL)))
    for engine in (threads, by_sort, parallel):
        engine.execute(_TWICE.format(engine.named(of("by_big"))))
    yield {
        **wide,
        "duckdb, threads": replace(wide["duckdb"], engine=threads),
        "postgres, sorted": replace(wide["postgres"], engine=by_sort),
        "postgres, parallel": replace(wide["postgres"], engine=parallel),
    }
    for engine in (threads, by_sort, parallel):
        engine.close()


NewWide = Callable[..., Client]


@pytest.fixture
def ask_wide(wide: Engines) -> Iterator[NewWide]:
    """Give a function that makes a client of one of the wide engines."""
    opened: list[psycopg.Connection] = []

    def make(dialect: str, ledger: Ledger, entropy: Entropy, user: str = "ana", policy: Policy | None = None) -> Client:
        world = wide[dialect].world
        gateway = wide[dialect].gateway(ledger, entropy, policy=policy)
        opened.extend((world.connect(user, "wide"), world.connect("dpsql_owner", "wide")))
        return Client(gateway, ledger, opened[-2], opened[-1], Asker(user, USERS[user]))

    yield make
    for connection in opened:
        connection.close()
