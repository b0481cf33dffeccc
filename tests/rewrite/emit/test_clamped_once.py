"""Columns that are clamped once: in long statements alone, and read by no other name."""

from collections.abc import Callable

import duckdb
import psycopg
import pytest

from dpsql.policy.model import Policy
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.clamped_once import with_columns_clamped_once
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.ir.relation import ref
from tests.support.fix_world import World


@pytest.fixture
def fare(policy: Policy) -> Ref:
    """Give a column with bounds."""
    return ref(0, policy.tables["rides"], "fare")


@pytest.fixture
def emitter() -> Emitter:
    """Give what writes for DuckDB."""
    return Emitter(DUCKDB, Declared({}))


def _times(fare: Ref, number: int) -> Callable[[Emitter], str]:
    return lambda emitter: " + ".join([emitter.sql(fare)] * number)


def test_a_short_statement_stays_as_it_is(fare: Ref, emitter: Emitter) -> None:
    """It is read by people, and proved as it is."""
    assert with_columns_clamped_once(_times(fare, 4), [fare], emitter) == _times(fare, 4)(emitter)


def test_a_long_one_has_a_name_for_it(fare: Ref, emitter: Emitter) -> None:
    """And beside the table's columns stands what that is."""
    assert with_columns_clamped_once(_times(fare, 90), [fare], emitter) == " + ".join(['s0."dpsql fare"'] * 90)
    once = emitter.clamping_once([fare])
    assert once.beside([fare]) == [f'{emitter.sql(fare)} AS "dpsql fare"']
    assert once.beside([]) == emitter.beside([fare]) == []


def test_a_column_of_the_same_name_is_not_read(world: World) -> None:
    """Of two DuckDB reads the first, which is ours; PostgreSQL takes no such statement."""
    sql = 'SELECT s0."dpsql fare" FROM (SELECT 1 AS "dpsql fare", s0.* FROM t AS s0) AS s0'
    with duckdb.connect() as own:
        own.execute('CREATE TABLE t AS SELECT 7 AS fare, 9 AS "dpsql fare"')
        assert own.execute(sql).fetchall() == [(1,)]
        assert own.execute(sql.replace('"dpsql fare" FROM (', '"DPSQL fare" FROM (')).fetchall() == [(1,)]
    with psycopg.connect(world.server.dsn("postgres")) as other:
        other.execute('CREATE TEMP TABLE t AS SELECT 7 AS fare, 9 AS "dpsql fare"')
        with pytest.raises(psycopg.errors.AmbiguousColumn):
            other.execute(sql.encode())
