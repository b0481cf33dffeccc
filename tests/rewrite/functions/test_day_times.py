"""Times of the day: where they lie, and which of them there are."""

import pytest

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.functions.temporal import moment_of
from dpsql.rewrite.ir.expr import Expr, Facts, Unit
from tests.rewrite.refs import DAY, ENV, HOUR, PICKED, TIMESTAMP, apply


def _time_of(moment: Expr) -> Expr:
    return apply("time_of_day", moment, type_=SqlType.TIME)


def test_a_day_has_so_many_microseconds() -> None:
    """Within one day the times are those between its ends."""
    assert facts(_time_of(PICKED), ENV).interval == Interval.of(0, DAY - 1)
    within = {**ENV, PICKED: Facts(nullable=False, interval=Interval.of(DAY + HOUR, DAY + 3 * HOUR))}
    assert facts(_time_of(PICKED), within).interval == Interval.of(HOUR, 3 * HOUR)


def test_each_hour_of_a_day_is_a_group() -> None:
    """However many days there are; of a few hours, those."""
    hours = _time_of(apply("date_trunc", PICKED, type_=TIMESTAMP, option=Unit("hour")))
    assert list(domain(hours, ENV, 24)) == [n * HOUR for n in range(24)]
    with pytest.raises(Unsupported) as refused:
        domain(hours, ENV, 23)
    assert refused.value.because == "too-many-groups"
    evening = {**ENV, PICKED: Facts(nullable=False, interval=Interval.of(22 * HOUR + 5, DAY + HOUR - 1))}
    assert list(domain(hours, evening, 24)) == [0, 22 * HOUR, 23 * HOUR]


def test_whose_time_it_is() -> None:
    """Of other times that is not known."""
    assert moment_of(_time_of(PICKED)) == PICKED
    assert moment_of(PICKED) is None
