"""Both engines over small tables, which tests fill again and again; one pair serves them all."""

from collections.abc import Iterator, Mapping

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.served import Filled, Served

ENGINES = ("duckdb", "postgres")
Engines = Mapping[str, Filled]


@pytest.fixture(scope="session")
def tiny(policy: Policy, world: World) -> Iterator[Engines]:
    """DuckDB and PostgreSQL with the policy's tables; what they hold is the last test's."""
    memory, served = Memory(policy), Served(world, "tiny")
    yield {"duckdb": memory, "postgres": served}
    memory.close()
    served.close()
