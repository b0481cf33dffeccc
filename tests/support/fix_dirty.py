"""One dirty data set for many tests: behind gateways without noise, and with the reference evaluator."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache

import psycopg
import pytest

from dpsql.engines.base import Engine
from dpsql.policy.model import Policy
from dpsql.question import Asker
from dpsql.rewrite.dialects.base import Dialect
from tests.support.dialects import DIALECTS, DUCKDB, POSTGRES
from tests.support.dirt import rides, trips
from tests.support.fix_policy import without_reuse
from tests.support.fix_world import USERS, Client, World, noon
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Row
from tests.support.reference import Reference
from tests.support.served import Served

Records = Mapping[str, Sequence[Row]]
"""Rows by their table."""


@pytest.fixture(scope="session")
def records(policy: Policy) -> Records:
    """Give the dirty records, which nobody changes."""
    return {"trips": trips(policy), "rides": rides(policy)}


@pytest.fixture(scope="session")
def dirty(policy: Policy, records: Records, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """An engine with the dirty records."""
    engine, directory = Memory(policy), tmp_path_factory.mktemp("dirty")
    for table, rows in records.items():
        engine.load(table, rows, directory)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def reference(world: World, records: Records) -> Iterator[Reference]:
    """PostgreSQL on the clamped form of the same records."""
    made = Reference.of(world, records)
    yield made
    made.connection.close()


@pytest.fixture(scope="session")
def dirty_postgres(world: World, records: Records) -> Iterator[Served]:
    """PostgreSQL as the engine, with the dirty records as they are."""
    engine = Served(world, "records")
    for table, rows in records.items():
        engine.fill(table, rows)
    yield engine
    engine.close()


NewUser = Callable[..., Client]


@pytest.fixture(scope="session")
def user(world: World, dirty: Memory, dirty_postgres: Served) -> Iterator[NewUser]:
    """Give a function that returns a user's client; all users of an engine share a gateway and a ledger."""
    owner = world.connect("dpsql_owner")
    opened: list[psycopg.Connection] = [owner]
    until = ExitStack()
    ledgers = {d: until.enter_context(quick_ledger(noon)) for d in DIALECTS}
    engines: dict[Dialect, Engine] = {DUCKDB: dirty, POSTGRES: dirty_postgres}
    # Rows lack values that are declared to be there: of such an answer another one's rows are not the same.
    policy = without_reuse(world.policy)
    gateways = {dialect: world.gateway(engines[dialect], ledger, policy=policy) for dialect, ledger in ledgers.items()}

    @cache
    def user(name: str, dialect: Dialect = DUCKDB) -> Client:
        opened.append(world.connect(name))
        return Client(gateways[dialect], ledgers[dialect], opened[-1], owner, Asker(name, USERS[name]))

    yield user
    for connection in opened:
        connection.close()
    until.close()
