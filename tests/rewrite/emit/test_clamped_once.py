"""Columns that are clamped once: in long statements alone, and read by no other name."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import duckdb
import psycopg
import pytest

from dpsql.policy.model import Policy
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.dialects.duckdb import DUCKDB
from dpsql.rewrite.emit.emitter import Emitter, with_columns_clamped_once
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.ir.relation import Relation, ref, scan
from tests.support.fix_world import World


@pytest.fixture
def fare(policy: Policy) -> Ref:
    """Give a column with bounds."""
    return ref(0, policy.tables["rides"], "fare")


@pytest.fixture
def rides(policy: Policy) -> Relation:
    """Give the rows of its table."""
    return scan(policy.tables["rides"])


@pytest.fixture
def emitter() -> Emitter:
    """Give what writes for DuckDB."""
    return Emitter(DUCKDB, DeclaredFacts({}))


def _times(fare: Ref, number: int) -> Callable[[Emitter], str]:
    return lambda emitter: " + ".join([emitter.sql(fare)] * number)


def test_a_short_statement_stays_as_it_is(fare: Ref, rides: Relation, emitter: Emitter) -> None:
    """It is read by people, and proved as it is."""
    assert with_columns_clamped_once(_times(fare, 4), rides, [fare], emitter) == _times(fare, 4)(emitter)


def test_a_long_one_has_a_name_for_it(fare: Ref, rides: Relation, emitter: Emitter) -> None:
    """And beside the table's columns stands what that is."""
    assert with_columns_clamped_once(_times(fare, 90), rides, [fare], emitter) == " + ".join(['s0."dpsql fare"'] * 90)
    once = emitter.clamping_once([fare])
    assert once.beside([fare]) == [f'{emitter.sql(fare)} AS "dpsql fare"']
    assert once.beside([]) == emitter.beside([fare]) == []


@pytest.mark.parametrize(
    ("names", "named"),
    [
        (["fare", "tip"], ["fare", "tip"]),
        (["fare", "tip", "dpsql fare"], ["tip", "dpsql fare"]),
        (["fare", "tip", "DPSQL Fare"], ["tip", "DPSQL Fare"]),
        (["fare", "FARE", "tip"], ["tip"]),
        (["1", "a1"], ["a1"]),
        (["a" * 57, "b" * 58, "\N{GREEK SMALL LETTER ALPHA}" * 29], ["a" * 57]),
    ],
    ids=["others", "one of the name", "in capitals", "but for capitals", "a number", "too long"],
)
def test_no_name_is_anothers(names: Sequence[str], named: Sequence[str], rides: Relation, emitter: Emitter) -> None:
    """Of a column that has the name, or is read under it, no other is read: it may be the unit, or be kept by the engine."""
    fare = rides.protected.columns["fare"]
    table = replace(rides.protected, columns={name: replace(fare, name=name) for name in names})
    every = [ref(0, table, name) for name in names]
    written = with_columns_clamped_once(
        lambda emitter: " + ".join(emitter.sql(each) for each in every * 90), scan(table), every, emitter
    )
    assert [name for name in names if f's0."dpsql {name}" +' in f"{written} +"] == named


def test_a_column_of_the_same_name_is_not_read(world: World) -> None:
    """Of two DuckDB reads the first, which is ours; PostgreSQL takes no such statement."""
    sql = 'SELECT s0."dpsql fare" FROM (SELECT 1 AS "dpsql fare", s0.* FROM t AS s0) AS s0'
    with duckdb.connect() as own:
        own.execute('CREATE TABLE t AS SELECT 7 AS fare, 9 AS "dpsql fare"')
        assert own.execute(sql).fetchall() == [(1,)]
        assert own.execute(sql.replace('"dpsql fare" FROM (', '"DPSQL fare" FROM (')).fetchall() == [(1,)]
        two = 'SELECT s0.a, s0."A" FROM (SELECT 1 AS a, 2 AS "A", s0.* FROM t AS s0) AS s0'
        assert own.execute(two).fetchall() == [(1, 1)]  # so that no two names may differ by capitals alone
    with psycopg.connect(world.server.dsn("postgres")) as other:
        other.execute('CREATE TEMP TABLE t AS SELECT 7 AS fare, 9 AS "dpsql fare"')
        with pytest.raises(psycopg.errors.AmbiguousColumn):
            other.execute(sql.encode())
