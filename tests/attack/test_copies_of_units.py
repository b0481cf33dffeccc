"""Whoever can't group by persons can't group by a public list of them either."""

import pytest

from dpsql.errors import AccessDenied
from tests.support.exactness import measurements
from tests.support.fix_wide import Engines

_JOINED = "FROM visits v JOIN people p ON p.person = v.person"
SINGLE = (
    f"SELECT p.person, count(*) {_JOINED} GROUP BY 1",
    f"SELECT p.name, count(*) {_JOINED} GROUP BY 1",
    f"SELECT p.person % 2, count(*) {_JOINED} GROUP BY 1",
    f"SELECT CASE WHEN p.name = 'n1' THEN 1 ELSE 2 END, count(*) {_JOINED} GROUP BY 1",
    f"SELECT count(*) FILTER (WHERE iv > 0), p.country, p.name {_JOINED} GROUP BY p.country, p.name",
    "SELECT person, count(*) FROM visits JOIN people USING (person) GROUP BY 1",
    "SELECT p.name, median(iv) FROM visits v LEFT JOIN people p ON v.person = p.person GROUP BY 1",
    f"SELECT q.name, count(*) {_JOINED} JOIN people q ON q.person = p.person GROUP BY 1",
    f"SELECT b.key, count(*) {_JOINED} JOIN by_big b ON b.key = p.person GROUP BY 1",
    "SELECT b.key, count(*) FROM visits v JOIN by_big b ON b.key = place WHERE b.key = v.person GROUP BY 1",
    f"SELECT DISTINCT p.person {_JOINED}",
)
SHARED = (
    f"SELECT p.country, count(*) {_JOINED} GROUP BY 1",
    "SELECT p.name, count(*) FROM visits v JOIN people p ON p.person = v.place GROUP BY 1",
    f"SELECT b.label, p.country, count(*) {_JOINED} JOIN by_big b ON b.key = place GROUP BY 1, 2",
)


@pytest.mark.parametrize("role", ["owner", "explorer"])
@pytest.mark.parametrize("sql", SINGLE)
def test_a_public_copy_of_units_is_no_key(sql: str, role: str, wide: Engines) -> None:
    """The column that a join equates with the unit, and every other that names each of its rows, is refused."""
    duck = wide["duckdb"]
    with pytest.raises(AccessDenied, match="would show single individuals"):
        measurements(sql, duck.policy, duck.world, duck.engine, role)


@pytest.mark.parametrize("sql", SHARED)
def test_what_units_share_is_a_key(sql: str, wide: Engines) -> None:
    """An attribute of a unit that many have is a key, and so is the name of what is no unit."""
    duck = wide["duckdb"]
    assert measurements(sql, duck.policy, duck.world, duck.engine)
