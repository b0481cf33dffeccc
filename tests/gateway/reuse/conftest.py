"""Records that are as they are declared to be, behind a gateway without noise, and with the reference evaluator."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.policy.model import Policy, Table
from tests.support.dirt import rides, trips
from tests.support.fix_dirty import Records
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import Row, clamped
from tests.support.reference import Reference


@pytest.fixture(scope="package")
def tidy(policy: Policy) -> Records:
    """Give records with a value wherever one is declared."""
    return {
        name: [row for row in rows if _is_whole(row, policy.tables[name])]
        for name, rows in {"trips": trips(policy), "rides": rides(policy)}.items()
    }


def _is_whole(row: Row, table: Table) -> bool:
    seen = clamped(row, table)
    return all(seen[name] is not None for name, column in table.columns.items() if not column.nullable)


@pytest.fixture(scope="package")
def engine(policy: Policy, tidy: Records, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """An engine with them."""
    engine, directory = Memory(policy), Path(tmp_path_factory.mktemp("tidy"))
    for table, rows in tidy.items():
        engine.load(table, rows, directory)
    yield engine
    engine.close()


@pytest.fixture(scope="package")
def reference(world: World, tidy: Records) -> Iterator[Reference]:
    """PostgreSQL on the same records."""
    made = Reference.of(world, tidy, "tidy")
    yield made
    made.connection.close()
