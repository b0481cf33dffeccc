"""The types that expressions may have, by PostgreSQL's names."""

import psycopg
import pytest

from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.literal import TYPES
from dpsql.shadow.contents.role import ORACLE
from tests.support.fix_world import World

FOREIGN = {"character": SqlType.CHARACTER, "character varying": SqlType.TEXT, "name": SqlType.TEXT}
FOREIGN |= {"timestamp with time zone": SqlType.TIMESTAMPTZ, "timestamp without time zone": SqlType.TIMESTAMP}
"""What PostgreSQL calls otherwise, or keeps apart where expressions over private rows do not."""


@pytest.mark.parametrize("name", sorted(TYPES.keys() - {"unknown"}))
def test_a_name_means_the_type_that_postgresql_means(name: str, world: World) -> None:
    """Two lists of names would disagree sooner or later; this one is asked of PostgreSQL itself."""
    with psycopg.connect(world.server.dsn("taxi", ORACLE)) as postgres:
        row = postgres.execute(f"SELECT pg_typeof(NULL::{name})::text".encode()).fetchone()
    assert row is not None
    assert TYPES[name] == FOREIGN.get(row[0], row[0])
