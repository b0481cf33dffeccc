"""A unit with one row by a constraint may still be joined to many: where nothing is weighed the join compares exactly."""

import pytest

from dpsql.privacy.measurement.contribution import Form
from tests.support.exactness import Measured, measurements
from tests.support.fix_engines import ENGINES
from tests.support.fix_wide import KEYS, LARGE, Engines, plain

SMALL = "SELECT count(*), sum(iv) FROM members m "
ONCE = (
    SMALL,
    SMALL + "JOIN by_big p ON p.key = place",
    SMALL + "LEFT JOIN by_big p ON m.place = p.key AND iv > 1",
    SMALL + "JOIN by_txt p ON p.key = m.txt",
    SMALL + "JOIN by_big p ON p.key = place JOIN by_txt q ON q.key = m.txt",
    "SELECT q.label, count(*) FROM members m JOIN by_big p ON p.key = place LEFT JOIN by_big q ON q.key = p.big GROUP BY 1",
)
"""Joins that compare whole numbers with whole numbers, or texts with texts."""
MANY = (
    SMALL + "JOIN by_big p ON p.key = fav::double precision",
    SMALL + "JOIN by_big p ON p.key = fav * 1.0",
    SMALL + "JOIN by_big p ON p.key = m.dbl",
    SMALL + "LEFT JOIN by_big p ON p.key = m.num",
    SMALL + "JOIN by_num p ON p.key = m.num",
    SMALL + "LEFT JOIN by_num p ON p.key = place",
    SMALL + "JOIN by_big p ON p.key = place JOIN by_num q ON q.key = place",
    "SELECT p.label, count(*) FROM members m JOIN by_num p ON p.key = m.num GROUP BY 1",
    "SELECT median(iv) FROM members m JOIN by_num p ON p.key = m.num",
    "SELECT count(DISTINCT p.label) FROM members m JOIN by_num p ON p.key = m.num",
    "SELECT p.label, count(DISTINCT member) FROM members m JOIN by_num p ON p.key = m.num GROUP BY 1",
)
"""Joins that compare in double precision, which takes several keys for one."""
ALSO = (SMALL + "JOIN by_dbl p ON p.key = m.dbl", SMALL + "JOIN by_moment p ON p.key = m.moment")
"""Joins that happen to match once, of which nothing is assumed."""


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", ONCE + MANY + ALSO, ids=range(len(ONCE + MANY + ALSO)))
def test_no_unit_counts_more_often_than_claimed(sql: str, dialect: str, wide: Engines) -> None:
    """One row of one person, whatever it is joined with, moves nothing further than is claimed."""
    setting = wide[dialect]
    rows = [
        plain("member", n, place=place, fav=place, num=num, dbl=float(LARGE), txt=KEYS["txt"][n], iv=3)
        for n, (place, num) in enumerate(zip(KEYS["big"], KEYS["num"], strict=True))
    ]
    (part,) = measurements(sql, setting.policy, setting.world, setting.engine)
    measured = Measured.of(part, setting.engine, setting.world)
    assert 0 < max(measured.moves("members", rows, "member")) <= measured.claim


@pytest.mark.parametrize("dialect", ENGINES)
def test_what_matches_once_is_not_weighed(dialect: str, wide: Engines) -> None:
    """Nothing is lost where the comparison is exact; elsewhere the joined rows are weighed."""
    setting = wide[dialect]

    def form(sql: str) -> Form:
        (part,) = measurements(sql, setting.policy, setting.world, setting.engine)
        return part.bound.form

    assert {form(sql) for sql in ONCE} == {Form.UNIQUE}
    assert Form.UNIQUE not in {form(sql) for sql in (*MANY, *ALSO)}
