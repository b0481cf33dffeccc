"""An inner answer that is computed with among private rows lies within the policy's bounds, whatever its noise says."""

from fractions import Fraction

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.constant_table import AnswerForm, deferred_table

_ROWS = ((Fraction(-400), 7), (Fraction(20), 7), (Fraction(10**9), None), (None, -3))


@pytest.mark.parametrize("form", [AnswerForm.ROWS, AnswerForm.SCALAR, AnswerForm.VALUES])
def test_values_are_clamped_before_anything_is_computed_of_them(form: AnswerForm) -> None:
    """Beyond an end it is the end; NULL stays, and what has no bounds is as it was released."""
    names, types = ("m", "n"), (SqlType.NUMERIC, SqlType.BIGINT)
    bounds = {"m": Interval.of(0, 150)}
    if form is AnswerForm.ROWS:
        table = deferred_table(0, "", names, types, several=True, bounds=bounds)
        told = table.answered(_ROWS).rows
        assert told == ((0, 7), (20, 7), (150, None), (None, -3))
        return
    table = deferred_table(0, "", names[:1], types[:1], several=False, bounds=bounds).as_form(form)
    for (value, _), expected in zip(_ROWS[:3], (0, 20, 150), strict=True):
        assert table.answered(((value,),)).rows == ((expected,),)


def test_a_whole_number_stays_one() -> None:
    """The least and the greatest of whole numbers have bounds that may be none."""
    table = deferred_table(0, "", ("n",), (SqlType.INTEGER,), several=True, bounds={"n": Interval.of(1, 6)})
    rows = table.answered(((-5,), (3,), (9,))).rows
    assert rows == ((1,), (3,), (6,))
    assert all(isinstance(value, int) for (value,) in rows)
