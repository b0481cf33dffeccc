"""Records that are as they are declared to be, as constraints see to, behind gateways without noise, and the reference."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.engines.base import Engine
from dpsql.policy.model import Policy, Table
from tests.support.dialects import DIALECTS, DUCKDB
from tests.support.dirt import rides, trips
from tests.support.fix_dirty import Records
from tests.support.fix_world import World
from tests.support.memory import Memory, constraints_of
from tests.support.records import Row, clamped
from tests.support.reference import Reference
from tests.support.served import Served


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
    engine, directory = Memory(policy, enforced=True), Path(tmp_path_factory.mktemp("tidy"))
    for table, rows in tidy.items():
        engine.load(table, rows, directory)
    yield engine
    engine.close()


@pytest.fixture(scope="package")
def tidy_postgres(world: World, tidy: Records) -> Iterator[Served]:
    """PostgreSQL as the engine, with them."""
    engine = Served(world, "constrained")
    for table, rows in tidy.items():
        engine.fill(table, rows)
        for column, constraints in constraints_of(world.policy.tables[table]).items():
            engine.execute(f"ALTER TABLE {table} ALTER {column} SET NOT NULL")
            check, target = constraints.partition(" CHECK ")[2], constraints.partition(" REFERENCES ")[2]
            if check:
                engine.execute(f"ALTER TABLE {table} ADD CHECK {check}")
            if target:
                engine.execute(f"ALTER TABLE {table} ADD FOREIGN KEY ({column}) REFERENCES {target}")
    yield engine
    engine.close()


@pytest.fixture(params=DIALECTS, ids=[dialect.name for dialect in DIALECTS])
def soiled(request: pytest.FixtureRequest, dirty: Memory, dirty_postgres: Served) -> Engine:
    """Each engine with records that lack what is declared, and no constraints."""
    return dirty if request.param is DUCKDB else dirty_postgres


@pytest.fixture(params=DIALECTS, ids=[dialect.name for dialect in DIALECTS])
def enforcing(request: pytest.FixtureRequest, engine: Memory, tidy_postgres: Served) -> Engine:
    """Each engine, whose constraints keep rows as they are declared."""
    return engine if request.param is DUCKDB else tidy_postgres


@pytest.fixture(scope="package")
def soiled_reference(world: World, records: Records) -> Iterator[Reference]:
    """PostgreSQL on records that lack what is declared."""
    made = Reference.of(world, records, "soiled")
    yield made
    made.connection.close()


@pytest.fixture(scope="package")
def reference(world: World, tidy: Records) -> Iterator[Reference]:
    """PostgreSQL on the same records."""
    made = Reference.of(world, tidy, "tidy")
    yield made
    made.connection.close()
