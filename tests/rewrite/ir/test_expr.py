"""Expressions as values."""

import pytest

from dpsql.errors import InternalError
from dpsql.rewrite.ir.expr import (
    FALSE,
    TRUE,
    Digits,
    IntervalValue,
    TimeField,
    both,
    conjuncts,
    factor_out,
    option,
    refs,
    walk,
)
from tests.rewrite.refs import BOOL, FARE, SEATS, apply, number

A, B = apply("lt", SEATS, number(3), type_=BOOL), apply("gt", FARE, number(3), type_=BOOL)


def test_a_conjunction_is_flat_and_says_nothing_twice() -> None:
    """However it was nested; TRUE says nothing."""
    assert conjuncts(both(A, both(B, A), TRUE)) == (A, B)
    assert both(TRUE, A) == A
    assert both() == TRUE
    assert both(A, FALSE) == both(A, FALSE, A)


def test_what_all_sides_share_comes_first() -> None:
    """Joins are looked for among conditions that always hold."""
    c = apply("is_null", FARE, type_=BOOL)
    either = apply("or", both(A, B), both(A, c), type_=BOOL)
    assert factor_out(either) == both(A, apply("or", B, c, type_=BOOL))
    assert factor_out(apply("or", A, both(A, B), type_=BOOL)) == A
    assert factor_out(apply("or", A, B, type_=BOOL)) == apply("or", A, B, type_=BOOL)
    assert factor_out(A) == A


def test_columns_are_found_once_in_order() -> None:
    """The engine reads each once."""
    assert refs(B, A, B) == (FARE, SEATS)
    assert sum(1 for _ in walk(both(A, B))) == 7


def test_an_option_of_another_kind_is_a_mistake_of_ours() -> None:
    """It is never guessed."""
    expr = apply("round", FARE, option=Digits(2))
    assert option(expr, Digits).number == 2
    with pytest.raises(InternalError):
        option(expr, TimeField)
    assert IntervalValue(1, 2, 3).times(-2) == IntervalValue(-2, -4, -6)
