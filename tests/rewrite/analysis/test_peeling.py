"""What rows are grouped by in the place of a key."""

from fractions import Fraction

import pytest

from dpsql.rewrite.analysis.keys import injective_core, is_rounded, shown_as
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import shown, tree

CORES = {
    "seats * 2 + 1": "add(mul(seats, 2), 1)",
    "price": "to_integer(mul(price, 10000))",
    "-(weight / 2)": "neg(div(weight, 2))",
    "refund * 3 - 1": "to_integer(mul(refund, 16))",
    "round(fare::numeric, 2)": "to_integer(mul(to_double(fare), 100))",
    "floor(fare / 5) * 5 + 2.5": "mul(floor(div(fare, 5)), 5)",
    "sqrt(seats)": "seats",
    "sqrt(fare)": "sqrt(fare)",
    "fare * 2": "mul(fare, 2)",
    "extract(epoch FROM picked)": "picked",
    "extract(second FROM picked)": "extract[second](picked)",
    "note": "note",
}


@pytest.mark.parametrize("sql", CORES)
def test_rows_are_grouped_by_what_decides_a_key(sql: str, translator: Translator) -> None:
    """Down to whole numbers, times and texts, whose values are equal or not on every engine; further is not needed."""
    expr = translator.expression(tree(sql))
    assert shown(injective_core(expr)) == CORES[sql]


@pytest.mark.parametrize(
    ("sql", "value", "key"),
    [
        ("refund * 3 - 1", -4, Fraction(-7, 4)),
        ("price", 12_345, Fraction(12_345, 10_000)),
        ("extract(epoch FROM picked) + 1", 500_000, Fraction(3, 2)),
        ("sqrt(seats)", 4, 2),
        ("ln(seats)", 0, None),
        ("price", None, None),
    ],
)
def test_a_group_is_shown_as_its_key(sql: str, value: int | None, key: Fraction | None, translator: Translator) -> None:
    """Which is computed of the group's own value, exactly; NULL is NULL."""
    expr = translator.expression(tree(sql))
    assert shown_as(expr, injective_core(expr), value) == key


def test_logarithms_are_an_engines_own(translator: Translator) -> None:
    """Their last digit is not decided by a rule that all follow, so no group may depend on it."""
    assert is_rounded(translator.expression(tree("ln(seats) + 1")))
    assert not is_rounded(translator.expression(tree("fare * 2 + 1")))
