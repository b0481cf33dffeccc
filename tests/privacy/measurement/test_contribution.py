"""What keeps a unit to its bound, as DuckDB and PostgreSQL compute it."""

import duckdb
import psycopg
import pytest

from dpsql.policy.model import Column, SqlType
from dpsql.privacy.measurement.contribution import WEIGHT, ContributionBound, Form, rows_within_bound
from dpsql.rewrite.ir.expr import Ref
from dpsql.shadow.contents.role import ORACLE
from tests.support.dialects import DUCKDB, POSTGRES
from tests.support.fix_world import World

UNIT = Ref(0, "t", "u", Column("u", SqlType.INTEGER, "integer"))
ROWS = (
    [(1, v) for v in range(2)] + [(2, v) for v in range(5)] + [(3, v) for v in range(6)] + [(4, v) for v in range(500)]
)
VALUES = ", ".join(map(str, ROWS))
TABLE = f"(VALUES {VALUES}) AS t (u, v)"


def on_both(duckdb_sql: str, postgres_sql: str, world: World) -> list[tuple[int, int]]:
    """Return the rows that both engines answer with."""
    groups = sorted(duckdb.execute(duckdb_sql).fetchall())
    with psycopg.connect(world.server.dsn("taxi", ORACLE)) as postgres:
        assert sorted(postgres.execute(postgres_sql.encode()).fetchall()) == groups
    return groups


def test_weights_of_a_unit_add_up_to_its_bound_at_most(world: World) -> None:
    """And to its rows exactly, as long as there are no more than C of them."""
    bound = ContributionBound(UNIT, 5, Form.REWEIGHT)
    texts = [f"WITH {bound.weights('u', f'FROM {TABLE}', d)} SELECT hu, w FROM h" for d in (DUCKDB, POSTGRES)]
    weights = dict(on_both(texts[0], texts[1], world))
    assert weights == {1: WEIGHT, 2: WEIGHT, 3: 5 * WEIGHT // 6, 4: 5 * WEIGHT // 500}
    assert all(sum(weights[u] for u, _ in ROWS if u == unit) <= bound.mass for unit in weights)


@pytest.mark.parametrize("form", [Form.UNIQUE, Form.TRUNCATE])
def test_only_reweighted_rows_weigh_more_than_one(form: Form) -> None:
    """Whole rows are counted as they are."""
    assert ContributionBound(UNIT, 5, form).weight == 1
    assert ContributionBound(UNIT, 5, form).mass == 5


def test_of_each_unit_as_many_rows_stay_as_it_may_have(world: World) -> None:
    """Both engines choose the same."""
    text = rows_within_bound(f"SELECT u, v FROM {TABLE}", ["v"], 5)
    kept = on_both(f"SELECT u, v FROM ({text})", f"SELECT u, v FROM ({text}) AS kept", world)
    assert [sum(1 for u, _ in kept if u == unit) for unit in (1, 2, 3, 4)] == [2, 5, 5, 5]


def test_which_rows_stay_does_not_follow_their_values(world: World) -> None:
    """The order is each unit's own: else the smallest values of all would be the ones that stay."""
    text = rows_within_bound(f"SELECT u, v FROM {TABLE}", ["v"], 5)
    assert (
        max(v for u, v in on_both(f"SELECT u, v FROM ({text})", f"SELECT u, v FROM ({text}) AS k", world) if u == 4) > 4
    )
