"""How many rows one unit may have where only its first ones stay: with more than these it would not be told apart."""

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from tests.support.exactness import measurements
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World

C = 5
_PLACES = "SELECT count(*), sum(seats) FROM (SELECT rider, seats, row_number() OVER ({}) AS n FROM rides) AS t {}"
_OF_RIDERS = "PARTITION BY rider ORDER BY picked"
_FIRST = "SELECT DISTINCT ON (rider) rider, seats FROM rides ORDER BY rider, picked"
_LATERAL = "LATERAL (SELECT fare FROM rides s WHERE s.rider = r.rider ORDER BY fare LIMIT {}) AS l"


def _places(condition: str) -> str:
    return _PLACES.format(_OF_RIDERS, f"WHERE {condition}")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (_places("n = 1"), 1),
        (_places("1 = n"), 1),
        (_places("n = 4"), 1),
        (_places("n <= 2 AND seats > 1"), 2),
        (_places("n < 4"), 3),
        (_places("3 >= n"), 3),
        (_places("n < 2.5"), 2),
        (_places("n <= 2.5 AND n <= 4"), 2),
        (_places("n BETWEEN 2 AND 3"), 2),
        (_places("n IN (1, 2)"), 2),
        (_places("n > 1 AND n <= 3"), 2),
        (_places("n <= 0 OR n <= 2"), C),
        (_places("n = 5"), C),  # which those that are further behind are read as, too
        (_places("n < 6"), C),
        (_places("n >= 2"), C),
        (_places("n <> 1"), C),
        (_places("n = seats"), C),
        (_PLACES.format("PARTITION BY rider, paid ORDER BY picked", "WHERE n = 1"), C),
        (_PLACES.format(_OF_RIDERS, "WHERE n = 1").replace("row_number", "rank"), C),
        (f"SELECT count(*) FROM ({_FIRST}) AS t", 1),
        ("SELECT count(*) FROM (SELECT DISTINCT ON (rider, seats) rider, seats FROM rides ORDER BY rider, seats) AS t", C),
        (f"SELECT sum(l.fare) FROM rides r, {_LATERAL.format(2)}", 2 * C),
        (f"SELECT count(*) FROM ({_FIRST}) AS t JOIN rides r ON r.rider = t.rider", C),
        (f"SELECT count(*) FROM ({_FIRST}) AS t JOIN zones ON zone_id = seats", 1),
        (f"SELECT count(*) FROM (SELECT count(*) AS n FROM ({_FIRST}) AS t GROUP BY seats, rider) AS q", 1),
    ],
)  # fmt: skip
def test_first_rows_are_as_many_as_are_asked_for(
    sql: str, rows: int, engine: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """And no fewer where a condition leaves others as well."""
    parts = measurements(sql, with_rows(policy, "rides", "passenger", C), world, tiny[engine])
    assert {part.bound.rows for part in parts if isinstance(part, Sums)} == {rows}
