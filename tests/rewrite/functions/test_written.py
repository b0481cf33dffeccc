"""How many digits PostgreSQL writes; that it does is tried by the golden statements of `arithmetic.sql`."""

import pytest

from dpsql.rewrite.functions.table import digits_written
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import tree

DIGITS = {
    "seats": 0,
    "price": 4,
    "refund": None,
    "price * price": 8,
    "price + seats": 4,
    "price + 1.50": None,
    "price / 2": None,
    "round(price, 2) * 3": 2,
    "round(price, -2)": 0,
    "floor(price)": 0,
    "-abs(trunc(price))": 0,
    "mod(price, seats)": 4,
    "fare": None,
    "extract(hour FROM picked)": 0,
    "extract(second FROM picked)": 6,
    "extract(epoch FROM picked)": 6,
    "extract(milliseconds FROM picked)": 3,
    "extract(julian FROM picked)": None,
}


@pytest.mark.parametrize("sql", DIGITS)
def test_digits_follow_from_those_of_the_arguments(sql: str, translator: Translator) -> None:
    """A constant's are not kept, a quotient's depend on its value, and floating point has none."""
    assert digits_written(translator.expression(tree(sql))) == DIGITS[sql]
