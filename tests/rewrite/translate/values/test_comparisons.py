"""Comparisons, logic and CASE."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated

TRANSLATED = {
    "fare = 5": "eq(fare, 5)",
    "shared": "shared",
    "NOT shared": "not(shared)",
    "late IS NOT TRUE": "not(is_true(late))",
    "late IS UNKNOWN": "is_null(late)",
    "tip IS NOT NULL": "not(is_null(tip))",
    "tip IS DISTINCT FROM 3": "not(same(tip, 3))",
    "paid LIKE 'c%'": "map[(True, True, False)](paid, card, cash, it's free)",
    "note LIKE 'c%'": "like(note, c%)",
    "CASE paid WHEN 'cash' THEN 1 END": "case(eq(paid, cash), 1, NULL)",
    "CASE WHEN seats > 2 THEN 'many' ELSE 'few' END": "case(gt(seats, 2), many, few)",
}
REFUSED = {
    "paid LIKE note": "like-literal",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_a_condition_is_made_of_few_operators(sql: str, translator: Translator) -> None:
    """So that intervals and exclusion have few to know."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_other_conditions_are_refused(sql: str, translator: Translator) -> None:
    """By the rule that they break."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]
