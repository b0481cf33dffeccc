"""The time of the day; what it means is tried by `clock.sql`."""

import pytest

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated, tree

_ZONED = "picked"
_SINCE_ZONED = f"lt(micros(time_of_day({_ZONED})), 43200000000)"
_SINCE = "micros(time_of_day(picked))"
TRANSLATED = {
    "picked::time < '00:00:01'": f"lt({_SINCE}, 1000000)",
    "time '12:00' = cast(picked AS time)": f"eq(43200000000, {_SINCE})",
    "picked::timestamptz::time < '12:00'": _SINCE_ZONED,
    "picked::time > NULL": f"gt({_SINCE}, NULL)",
    "extract(hour FROM picked::time)": "extract[hour](picked)",
    "extract(epoch FROM picked::time)": f"div(to_double({_SINCE}), 1000000)",
    "picked::time": "time_of_day(picked)",
    "picked::time::time": "time_of_day(picked)",
}
REFUSED = {
    "day::time": "cast-to-time",
    "picked::time - dropped::time": "interval-arithmetic",
    "picked::time + 'PT1H'::interval": "interval-arithmetic",
    "'PT1H'::interval + picked::time": "interval-arithmetic",
    "day + picked::time": "interval-arithmetic",
    "picked::time < seats": "compared-with-time",
    "avg(picked::time)": "function-not-known",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_a_time_of_the_day_is_counted_from_midnight(sql: str, translator: Translator) -> None:
    """In microseconds."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_is_added_to_a_time_of_the_day(sql: str, translator: Translator) -> None:
    """Nor is there one of what has none, or of a time whose clock may be another."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]


def test_a_day_has_so_many_microseconds(translator: Translator) -> None:
    """Whatever the bounds of the time are."""
    assert translator.facts_of(translator.expression(tree("picked::time"))).interval == Interval.of(0, DAY - 1)
