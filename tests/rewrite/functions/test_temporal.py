"""Dates and timestamps: fields, truncation, moving."""

import pytest

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.functions.temporal import is_midnight
from dpsql.rewrite.ir.expr import Expr, IntervalValue, TimeField, Unit
from tests.rewrite.refs import DATE, DAY, DAY_OF, ENV, HOUR, NUMERIC, PICKED, SEATS, TIMESTAMP, apply, number

MIDNIGHT = apply("date_to_timestamp", DAY_OF, type_=TIMESTAMP)


@pytest.mark.parametrize(
    ("field", "of", "low", "high"),
    [
        ("year", MIDNIGHT, 1970, 1970),
        ("month", MIDNIGHT, 1, 2),
        ("day", PICKED, 1, 3),
        ("day", MIDNIGHT, 1, 31),
        ("hour", PICKED, 0, 23),
        ("second", PICKED, 0, "59.999999"),
        ("quarter", MIDNIGHT, 1, 1),
        ("century", MIDNIGHT, 20, 20),
        ("julian", MIDNIGHT, 2_440_588, 2_440_646),
    ],
)
def test_a_field_is_as_narrow_as_the_calendar_makes_it(field: str, of: Expr, low: int, high: int | str) -> None:
    """Within one month the days are few, within one year the months."""
    assert facts(apply("extract", of, type_=NUMERIC, option=TimeField(field)), ENV).interval == Interval.of(low, high)


def test_every_unit_of_time_is_a_group() -> None:
    """Also one in which no row lies; the limit is told with the unit."""
    days = apply("date_trunc", PICKED, type_=TIMESTAMP, option=Unit("day"))
    assert list(domain(days, ENV, 3)) == [0, DAY, 2 * DAY]
    hours = apply("date_trunc", PICKED, type_=TIMESTAMP, option=Unit("hour"))
    assert len(domain(hours, ENV, 72)) == 72
    with pytest.raises(Unsupported, match=r"hour.*more than 71 groups") as refused:
        domain(hours, ENV, 71)
    assert refused.value.because == "too-many-groups"


def test_a_time_is_moved_by_each_number_of_steps() -> None:
    """The values are sums; an interval with months has no length."""
    days = apply("date_trunc", PICKED, type_=TIMESTAMP, option=Unit("day"))
    moved = apply("shift_by", days, SEATS, type_=TIMESTAMP, option=IntervalValue(0, 1, HOUR))
    assert list(domain(moved, ENV, 100)) == sorted({d * DAY + n * (DAY + HOUR) for d in range(3) for n in range(7)})
    assert facts(moved, ENV).interval == Interval.of(0, 2 * DAY + 6 * (DAY + HOUR))


@pytest.mark.parametrize(
    ("expr", "midnight"),
    [
        (MIDNIGHT, True),
        (apply("date_trunc", PICKED, type_=TIMESTAMP, option=Unit("week")), True),
        (apply("date_trunc", PICKED, type_=TIMESTAMP, option=Unit("hour")), False),
        (apply("shift", MIDNIGHT, type_=TIMESTAMP, option=IntervalValue(1, 2, 0)), True),
        (apply("shift", MIDNIGHT, type_=TIMESTAMP, option=IntervalValue(0, 0, HOUR)), False),
        (PICKED, False),
    ],
)
def test_a_day_decides_only_its_midnight(expr: Expr, *, midnight: bool) -> None:
    """Then a timestamp cast to its date is grouped by as it is."""
    assert is_midnight(expr) is midnight


def test_dates_are_counted_in_days() -> None:
    """A date and a number is a date, two dates are a number."""
    assert facts(apply("date_add", DAY_OF, number(-1), type_=DATE), ENV).interval == Interval.of(-1, 57)
    assert facts(apply("date_diff", DAY_OF, DAY_OF), ENV).interval == Interval.of(-58, 58)
