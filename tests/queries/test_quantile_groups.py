"""Groups that are cut at quantiles have as many rows each, and those with the least values first."""

import pytest

from dpsql.rewrite.dialects.base import Dialect
from tests.support.dialects import DIALECTS, NAMES
from tests.support.fix_dirty import NewUser

_NEAR = 0.02
_BY_FARE = """
SELECT q, count(*), min(fare), max(fare) FROM (SELECT fare, ntile(4) OVER (ORDER BY fare{down}) AS q FROM trips) AS t
GROUP BY 1 ORDER BY 1
"""


def _number(cell: object) -> float:
    return float(str(cell))


@pytest.mark.parametrize("dialect", DIALECTS, ids=NAMES)
@pytest.mark.parametrize("down", ["", " DESC"])
def test_each_group_has_as_many_rows(down: str, dialect: Dialect, user: NewUser) -> None:
    """In either order, and nothing of one group is beyond what the next one begins with."""
    client = user("ana", dialect)
    rows = [tuple(map(_number, row)) for row in client.ask(_BY_FARE.format(down=down)).rows]
    assert [place for place, *_ in rows] == [1, 2, 3, 4]
    total = _number(client.ask("SELECT count(*) FROM trips WHERE fare > -1").rows[0][0])
    assert [count / total for _, count, *_ in rows] == pytest.approx([0.25] * 4, abs=_NEAR)
    ordered = rows if not down else rows[::-1]
    ends = [end for _, _, *ends in ordered for end in ends]
    assert ends == pytest.approx(sorted(ends), abs=1)


def test_units_are_cut_by_what_they_come_to(user: NewUser) -> None:
    """Recency, frequency, money: each by itself, and all units are in one group of each."""
    client = user("ana")
    asked = client.ask(
        "SELECT f, m, count(*) FROM (SELECT ntile(2) OVER (ORDER BY count(*)) AS f, ntile(3) OVER (ORDER BY sum(price)) AS m"
        " FROM rides GROUP BY rider) AS t GROUP BY 1, 2"
    ).rows
    rows = [tuple(map(_number, row)) for row in asked]
    units = _number(client.ask("SELECT count(DISTINCT rider) FROM rides WHERE price >= 0").rows[0][0])
    assert {(f, m) for f, m, _ in rows} == {(f, m) for f in (1, 2) for m in (1, 2, 3)}
    assert sum(count for *_, count in rows) == pytest.approx(units, rel=_NEAR)
    of_money = [sum(count for _, m, count in rows if m == part) for part in (1, 2, 3)]
    assert [count / units for count in of_money] == pytest.approx([1 / 3] * 3, abs=0.05)
