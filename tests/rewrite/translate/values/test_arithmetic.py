"""Arithmetic over numbers, dates, timestamps and intervals."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

TRANSLATED = {
    "seats + 1": "add(seats, 1)",
    "seats + '2'": "add(seats, 2)",
    "age / 2": "div(age, 2)",
    "seats % 2": "mod[](seats, 2)",
    "-tip": "neg(tip)",
    "fare ^ 2": "power(fare, 2)",
    "day + 1": "date_add(day, 1)",
    "day - date '2019-03-01'": "date_diff(day, 17956)",
    "day + 'P1M'::interval": "shift[1, 0, 0](date_to_timestamp(day))",
    "day - 'P1D'::interval * seats": "shift_by[0, -1, 0](date_to_timestamp(day), seats)",
    "picked - 'PT1H30M'::interval": "shift[0, 0, -5400000000](picked)",
}
REFUSED = {
    "seats + picked": "time-plus-interval",
    "'P1D'::interval * fare": "interval-times-number",
    "'P1M'::interval": "interval-as-value",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_an_operator_means_what_its_operands_are(sql: str, translator: Translator) -> None:
    """A date moves by days, a timestamp by an interval; a literal takes the type beside it."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_has_no_bounded_meaning_is_refused(sql: str, translator: Translator) -> None:
    """What PostgreSQL may compute, and we do not."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]
