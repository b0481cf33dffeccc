"""Constants: what PostgreSQL makes of them."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

TRANSLATED = {
    "1 + 2": "3",
    "lower('ABC')": "abc",
    "length('abc') + seats": "add(3, seats)",
}
REFUSED = {
    "'P1M'::interval": "interval-as-value",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_a_constant_expression_is_evaluated_before(sql: str, translator: Translator) -> None:
    """Whatever function it has."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_an_interval_alone_is_no_constant(sql: str, translator: Translator) -> None:
    """One with months must be added to something."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]


def test_what_a_clock_says_is_remembered_to_change(translator: Translator) -> None:
    """A plan with it serves once."""
    translator.constants.evaluator.volatile = False
    translated(translator, "picked > timestamp '2019-03-01'")
    assert not translator.constants.evaluator.volatile
    translated(translator, "picked > now() - 'P1D'::interval")
    assert translator.constants.evaluator.volatile
