"""Keys that are found out: whatever stands in a column, each unit counts once and every answer can be written."""

from dataclasses import replace

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from tests.support.exactness import Measured, measurements
from tests.support.fix_world import NewClient, World
from tests.support.memory import Memory
from tests.support.records import Maker, Row
from tests.support.schema import of


def _rows(policy: Policy, number: int, **cells: object) -> list[Row]:
    maker = Maker(1, dirt=0)
    return [{**maker.row(policy.tables[of("rides")]), "rider": i, **cells} for i in range(number)]  # type: ignore[dict-item]


def _unbounded(policy: Policy, table: str, column: str) -> Policy:
    old = policy.tables[of(table)]
    columns = {**old.columns, column: replace(old.columns[column], bounds=None)}
    return replace(policy, tables={**policy.tables, old.name: replace(old, columns=columns)})


def test_keys_that_come_back_as_one_are_one(policy: Policy, world: World) -> None:
    """A unit with many times beyond what can be shown has one key, not many that are counted together."""
    engine, free = Memory(policy), _unbounded(policy, "rides", "dropped")
    engine.fill("rides", _rows(policy, 1, dropped=None))
    rides = engine.named(of("rides"))
    for moment in ("infinity", "-infinity", "20000-01-01", "20001-01-01"):
        engine.execute(
            f"INSERT INTO {rides} SELECT * REPLACE (TIMESTAMP '{moment}' AS dropped) FROM {rides} WHERE dropped IS NULL"
        )
    keys, *_ = measurements("SELECT DISTINCT dropped FROM rides", free, world, engine, "explorer")
    assert isinstance(keys, Sums)
    assert [list(units) for units in Measured.of(keys, engine, world).exact().values()] == [[keys.row_norm]]


@pytest.mark.parametrize("sql", ["SELECT note, count(*) FROM rides GROUP BY note", "SELECT DISTINCT note FROM rides"])
def test_a_text_that_postgresql_does_not_have_spoils_no_answer(sql: str, new_client: NewClient, policy: Policy) -> None:
    """DuckDB stores zero bytes; such a key stays hidden, and the others are shown."""
    engine = Memory(policy)
    engine.fill("rides", _rows(policy, 1000))
    engine.execute(
        f"UPDATE {engine.named(of('rides'))} "
        "SET note = CASE WHEN rider % 2 = 0 THEN 'a' || chr(0) || 'b' ELSE 'it''s \\ {\",}' END"
    )
    assert [row[0] for row in new_client(engine, "eve").ask(sql).rows] == ["it's \\ {\",}"]
