"""Function calls and casts."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

TRANSLATED = {
    "round(fare)": "round(fare)",
    "round(fare, 1)": "round[1](fare)",
    "round(seats, 1)": "seats",
    "round(seats, -1)": "round[-1](to_double(seats))",
    "mod(seats, 2)": "mod[](seats, 2)",
    "floor(seats)": "seats",
    "floor(fare)": "floor(fare)",
    "sqrt(seats)": "sqrt(to_double(seats))",
    "power(fare, 2)": "power(fare, 2)",
    "nullif(seats, 0)": "nullif(seats, 0)",
    "nullif(paid, 'cash')": "case(eq(paid, cash), NULL, paid)",
    "coalesce(age, 0)": "coalesce(age, 0)",
    "greatest(age, seats, 7)": "greatest(age, seats, 7)",
    "width_bucket(fare, 0, 100, 10)": "width_bucket[10](fare, 0, 100)",
    "width_bucket(seats, array[2, 4])": "case(lt(seats, 2), 0, lt(seats, 4), 1, 2)",
    "date_trunc('month', day)": "date_trunc[month](date_to_timestamp(day))",
    "date_part('year', day)": "extract[year](date_to_timestamp(day))",
    "extract(millennia FROM picked)": "extract[millennium](picked)",
    "seats::bigint": "seats",
    "fare::int": "to_integer(fare)",
    "shared::int": "case(shared, 1, is_false(shared), 0, NULL)",
    "day::timestamp": "date_to_timestamp(day)",
    "picked::date": "timestamp_to_date(picked)",
}
REFUSED = {
    "power(fare, 0.5)": "power-small",
    "greatest(paid, 'a')": "greatest-of-numbers",
    "width_bucket(fare, seats, 100, 10)": "width-bucket-arguments",
    "date_trunc('fortnight', picked)": "date-trunc-unit",
    "extract(timezone FROM picked)": "extract-field",
    "note::int": "function-needs-domain",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_a_call_becomes_what_it_means(sql: str, translator: Translator) -> None:
    """Typed as PostgreSQL types it, and nothing of it where it does nothing."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_a_call_of_another_form_is_refused(sql: str, translator: Translator) -> None:
    """By the rule that it breaks."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]
