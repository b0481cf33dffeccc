"""One dirty data set for many tests: behind gateways without noise, and with the reference evaluator."""

from collections.abc import Callable, Iterator
from functools import cache

import psycopg
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.sqlite_ledger import SqliteLedger
from dpsql.question import Asker
from tests.dirt import rides, trips
from tests.fix_world import USERS, Client, World, noon
from tests.memory import Memory
from tests.reference import Reference


@pytest.fixture(scope="session")
def dirty(policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """An engine with the dirty records."""
    engine, directory = Memory(policy), tmp_path_factory.mktemp("dirty")
    engine.load("trips", trips(policy), directory)
    engine.load("rides", rides(policy), directory)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def reference(world: World) -> Iterator[Reference]:
    """PostgreSQL on the clamped form of the same records."""
    made = Reference.of(world, {"trips": trips(world.policy), "rides": rides(world.policy)})
    yield made
    made.connection.close()


@pytest.fixture(scope="session")
def user(world: World, dirty: Memory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Client]]:
    """Give a function that returns a user's client; all of them share a gateway and a ledger."""
    ledger = SqliteLedger(tmp_path_factory.mktemp("ledger") / "ledger.db", noon)
    gateway, owner = world.gateway(dirty, ledger), world.connect("dpsql_owner")
    opened: list[psycopg.Connection] = [owner]

    @cache
    def user(name: str) -> Client:
        opened.append(world.connect(name))
        return Client(gateway, ledger, opened[-1], owner, Asker(name, USERS[name]))

    yield user
    for connection in opened:
        connection.close()
    ledger.close()
