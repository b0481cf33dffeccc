"""What lies between two times, and bins of time."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

TRANSLATED = {
    "extract(epoch FROM dropped - picked)": "div(to_double(elapsed(dropped, picked)), 1000000)",
    "extract(hour FROM dropped - picked)": "to_double(mod(div(elapsed(dropped, picked), 3600000000), 24))",
    "dropped - picked > 'PT1H'::interval": "gt(elapsed(dropped, picked), 3600000000)",
    "dropped - picked": "micros(elapsed(dropped, picked))",
    "coalesce(dropped - picked, 'P1D'::interval)": "coalesce(micros(elapsed(dropped, picked)), micros(86400000000))",
    "extract(year FROM age(dropped, picked))": "age[year](dropped, picked)",
    "date_bin('15 minutes', picked, timestamp '2019-01-01')": "date_bin[900000000, 1546300800000000](picked)",
}
REFUSED = {
    "age(dropped, picked)": "interval-as-value",
    "date_bin('1 month', picked, timestamp '2019-01-01')": "date-bin-arguments",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_an_interval_becomes_a_number(sql: str, translator: Translator) -> None:
    """Microseconds, alone or as a value of the type; or a field of what AGE counts."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_has_months_is_no_value(sql: str, translator: Translator) -> None:
    """Nothing bounded is left of it."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]
