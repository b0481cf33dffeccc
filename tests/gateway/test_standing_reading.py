"""Statements that are read off standing questions, free: over real copies, by a clock that is set by hand."""

from datetime import UTC, date, datetime

import pytest

from dpsql.errors import EngineFailed
from dpsql.question import Settings
from tests.gateway.growing_ward import DAILY, FIRST, FOURTH, MORE, TABLE, Visit, Ward

SO_FAR = "SELECT count(*) FROM visits WHERE admitted_at >= '2026-03-01'"
BY_WARD = DAILY.replace("AS day,", "AS day, ward,").replace("BY 1 ORDER BY 1", "BY 1, 2 ORDER BY 1, 2")
NULLABLE = TABLE.replace("values: [a, b]", "values: [a, b], nullable: true")
"""Else a row without a ward would be in what names none, and not in what does."""


MONTHS = DAILY.replace("admitted_at::date AS day", "date_trunc('month', admitted_at)::date")
WEEKS = DAILY.replace("admitted_at::date", "date_trunc('week', admitted_at)::date")
WARDS = SO_FAR.replace("count(*)", "ward, count(*)") + " GROUP BY ward ORDER BY ward"
Rows = list[tuple[object, ...]]


def _days(**counts: int) -> Rows:
    return [(date(2026, int(day[1:-2]), int(day[-2:])), number) for day, number in counts.items()]


@pytest.mark.parametrize(
    ("sql", "first", "later"),
    [
        (SO_FAR, [(3,)], [(7,)]),
        (SO_FAR.replace("'2026-03-01'", "date_trunc('month', '2026-03-20'::date)"), [(3,)], [(7,)]),
        (MONTHS, _days(d301=3), _days(d301=7)),
        (WEEKS, _days(d223=2, d302=1), _days(d223=2, d302=5)),
        (WARDS, [("a", 2), ("b", 1), (None, 0)], [("a", 4), ("b", 3), (None, 0)]),
        (SO_FAR + " AND ward = 'a'", [(2,)], [(4,)]),
        (
            DAILY.replace("count(*)", "count(*) FILTER (WHERE ward = 'b')"),
            _days(d301=1, d302=0),
            _days(d301=1, d302=0, d303=1, d304=1),
        ),
        (SO_FAR.replace("03-01", "03-02"), [(1,)], [(5,)]),
    ],
)
def test_what_follows_is_free(ward: Ward, sql: str, first: Rows, later: Rows) -> None:
    """Weeks, months, the term so far, keys: also of what has closed since, which is measured for it."""
    ward.declare(NULLABLE)
    ward.copy(FIRST)
    ward.ask(BY_WARD)
    assert ward.ask(sql) == first
    assert any(said.startswith("free: computed from the standing question SELECT") for said in ward.said)
    assert any("what came before 2026-03-03" in said for said in ward.said)
    assert any(str(row[0]).startswith("Standing: free, computed from") for row in ward.ask(f"EXPLAIN {sql}"))
    ward.copy(MORE, FOURTH)
    assert ward.ask(sql) == later
    assert ward.ask(sql) == later
    assert any("what came before 2026-03-05" in said for said in ward.said)
    assert ward.charges == 1


def test_groups_of_which_a_sum_is_nothing_are_told_as_well(ward: Ward) -> None:
    """A count of wards has none of those without one, on days that were measured as on those that are asked afresh."""
    ward.declare(NULLABLE)
    ward.copy(FIRST)
    ward.ask(BY_WARD)
    wards = BY_WARD.replace(" ward,", " ward IS NULL,").replace("count(*)", "count(ward)")
    of_b = BY_WARD.replace("count(*)", "count(*) FILTER (WHERE ward = 'b')")
    free = [ward.ask(sql) for sql in (wards, of_b)]
    assert ward.charges == 1
    assert free == [ward.ask(sql, settings=Settings(reuse="off")) for sql in (wards, of_b)]
    assert [len(rows) for rows in free] == [4, 6]
    assert ward.ask(SO_FAR.replace("count(*)", "count(ward)") + " AND ward IS NULL") == [(0,)]
    later = "count(*) FILTER (WHERE ward = 'a' OR admitted_at >= '2026-03-20')"
    assert ward.ask(WARDS.replace("count(*)", later)) == [("a", 2)]
    assert not any("no standing" in said for said in ward.said)


def test_more_and_other_sums_are_paid_for(ward: Ward) -> None:
    """What nobody has measured is a question of its own; so is what is to have less noise, or to be asked afresh."""
    ward.ask(settings=Settings(epsilon="5000"))
    assert ward.ask(SO_FAR, settings=Settings(epsilon="5000")) == [(3,)]
    assert ward.charges == 1
    ward.ask(SO_FAR)
    assert ward.charges == 2
    ward.ask(SO_FAR, settings=Settings(epsilon="2000"))
    ward.ask(SO_FAR.replace("count(*)", "sum(cost)"), settings=Settings(epsilon="5000"))
    assert ward.charges == 3
    for charges, reuse in enumerate(("all", "exact", "off"), 3):
        ward.ask(SO_FAR.replace("03-01", "03-02"), settings=Settings(epsilon="5000", reuse=reuse))
        assert ward.charges == min(charges, 4)
    ward.ask(DAILY.replace("03-01", "03-02"), settings=Settings(epsilon="2000", reuse="exact"))
    assert not any("for 2026-03" in said for said in ward.said)


def test_another_role_reads_nothing_that_it_has_not_paid_for(ward: Ward) -> None:
    """Its questions are ordinary ones until it has."""
    ward.ask()
    ward.ask(SO_FAR, "bob")
    assert not any("read off the standing" in said for said in ward.said)
    assert ward.charges == 2


@pytest.mark.parametrize(
    "sql",
    [
        SO_FAR.replace("'2026-03-01'", "'2026-02-01'"),
        "SELECT count(*) FROM visits",
        SO_FAR.replace("'2026-03-01'", "'2026-03-01 12:00'"),
        DAILY.replace("admitted_at::date", "extract(hour FROM admitted_at)"),
        DAILY.replace("admitted_at::date", "admitted_at::date").replace("BY 1 O", "BY 1, cost > 5 O"),
        SO_FAR.replace("count(*)", "count(DISTINCT patient)"),
    ],
)
def test_what_days_do_not_say_is_measured(ward: Ward, sql: str) -> None:
    """Hours, other keys, days before those that were paid for, all rows of the table."""
    ward.ask()
    charges = ward.charges
    ward.ask(sql)
    assert not any("read off the standing" in said for said in ward.said)
    assert ward.charges > charges


def test_two_terms_stand_beside_each_other(ward: Ward) -> None:
    """Days and months of both, and what PostgreSQL makes of them: the month before, by lag."""
    ward.ask(DAILY.replace("'2026-03-01'", "date_trunc('month', '2026-03-04'::date)"))
    ward.copy(MORE, datetime(2026, 4, 1, 12, tzinfo=UTC))
    april: list[Visit] = [*MORE, ("p", 32, "a", 1.0), ("q", 33, "a", 1.0), ("q", 34, "b", 1.0)]
    ward.copy(april, datetime(2026, 4, 4, 12, tzinfo=UTC))
    ward.ask(DAILY.replace("'2026-04-01'", "'2026-05-01'").replace("'2026-03-01'", "'2026-04-01'"))
    assert ward.charges == 2
    both = "SELECT date_trunc('month', admitted_at)::date AS m, count(*) AS n FROM visits WHERE admitted_at >= '2026-03-01'"
    both += " GROUP BY 1"
    assert ward.ask(f"{both} ORDER BY 1") == [(date(2026, 3, 1), 7), (date(2026, 4, 1), 2)]
    lag = f"SELECT m, n - lag(n) OVER (ORDER BY m) FROM ({both}) AS t ORDER BY m"
    assert ward.ask(lag) == [(date(2026, 3, 1), None), (date(2026, 4, 1), -5)]
    across = DAILY.replace("03-01", "03-31").replace("2026-04-01", "2026-04-03")
    assert [row[1] for row in ward.ask(across)] == [0, 1, 1]
    assert ward.charges == 2
    ward.ask(f"{both} ORDER BY 1".replace("03-01", "02-01"))
    assert ward.charges == 3


def test_a_lost_day_leaves_no_hole_in_a_sum(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be told in full is measured anew, at its price."""
    ward.ask(DAILY.replace("'2026-03-01'", "'2026-03-02'"))
    with monkeypatch.context() as patch:
        patch.setattr("dpsql.standing.measuring.release_sums", _broken)
        with pytest.raises(EngineFailed):
            ward.ask()
    charges = ward.charges
    ward.ask(SO_FAR)
    assert not any("read off the standing" in said for said in ward.said)
    assert ward.charges == charges + 1
    assert ward.ask(SO_FAR.replace("03-01", "03-02")) == [(1,)]
    assert ward.charges == charges + 1


def _broken(*_: object) -> object:
    raise RuntimeError


def test_after_the_term_what_was_not_measured_is_missing_in_no_sum(ward: Ward) -> None:
    """The days that were measured go on to be told."""
    ward.ask()
    ward.copy(MORE, datetime(2026, 4, 12, tzinfo=UTC))
    ward.ask(SO_FAR + " AND admitted_at < '2026-04-01'")
    assert ward.charges == 2
    assert ward.ask(SO_FAR + " AND admitted_at < '2026-03-03'") == [(3,)]
    assert ward.charges == 2


def test_nothing_is_read_before_a_day_has_closed(ward: Ward) -> None:
    """No group by days, one row of all as PostgreSQL has it of no rows, and a notice until when the table tells."""
    of_all = "count(*), count(*) FILTER (WHERE ward = 'a'), sum(cost), avg(cost), dpsql.margin(count(*))"
    ward.declare(NULLABLE)
    ward.copy(FIRST)
    ward.ask(BY_WARD)
    ward.ask(BY_WARD.replace("count(*)", "count(*), sum(cost)"))
    for day, closes in (
        ("03-03", "from then on closes on 2026-03-05"),
        ("03-05", "from 2026-03-05 on closes on 2026-03-07"),
    ):
        later = SO_FAR.replace("03-01", day)
        assert ward.ask(later) == [(0,)]
        assert any("what came before 2026-03-03" in said and closes in said for said in ward.said)
        assert ward.ask(later.replace("count(*)", of_all)) == [(0, 0, None, None, 0)]
        assert ward.ask(later.replace("count(*)", "coalesce(sum(cost), 0), count(*)")) == [(0, 0)]
        assert ward.ask(later.replace("count(*)", "ward, count(*)") + " GROUP BY ward") == []
        assert ward.ask(f"SELECT n + 1 FROM ({later}) AS t (n)") == [(1,)]
    assert ward.charges == 2


def test_what_has_closed_is_told_beside_what_has_not(ward: Ward) -> None:
    """In one row: a count of days that are not measured is 0, a sum NULL; of each scope and condition by itself."""
    ward.declare(NULLABLE)
    ward.copy(FIRST)
    ward.ask(BY_WARD)
    ward.ask(BY_WARD.replace("count(*)", "count(*), sum(cost)"))
    later = "FILTER (WHERE admitted_at >= '2026-03-03')"
    sql = SO_FAR.replace("count(*)", f"count(*), count(*) {later}, sum(cost) {later}")
    assert ward.ask(sql) == [(3, 0, None)]
    assert ward.ask(f"SELECT ({SO_FAR}), ({SO_FAR.replace('03-01', '03-03')})") == [(3, 0)]
    assert ward.charges == 2


def test_two_days_differ_by_a_number_with_its_margin(ward: Ward) -> None:
    """Free, as what they were: between √2 times a day's, and twice that."""
    few = Settings(epsilon="1000")
    margin = "dpsql.margin(count(*))"
    days = ward.ask(DAILY.replace("count(*)", f"count(*), {margin}"), settings=few)
    of_one = max(float(str(day[2])) for day in days)
    difference = " - ".join(f"count(*) FILTER (WHERE admitted_at {how} '2026-03-02')" for how in (">=", "<"))
    sql = f"SELECT {difference}, dpsql.margin({difference}) FROM visits "
    ((number, of_both),) = ward.ask(
        f"{sql} WHERE admitted_at >= '2026-03-01' AND admitted_at < '2026-03-03'", settings=few
    )
    assert number == -1
    assert 1.4 * of_one <= float(str(of_both)) <= 2.01 * of_one
    assert any(said.startswith("free: computed from the standing question") for said in ward.said)
    assert ward.charges == 1


def test_margins_are_those_of_all_days_together(ward: Ward) -> None:
    """√2 times a day's for two days: noise is drawn for each."""
    few = Settings(epsilon="1000")
    margin = "dpsql.margin(count(*))"
    days = ward.ask(DAILY.replace("count(*)", f"count(*), {margin}"), settings=few)
    ((number, of_both),) = ward.ask(SO_FAR.replace("count(*)", f"count(*), {margin}"), settings=few)
    of_one = [float(str(day[2])) for day in days]
    assert (len(of_one), number) == (2, 3)
    assert of_one[0] < float(str(of_both)) < 2 * of_one[0]
