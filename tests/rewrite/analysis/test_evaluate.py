"""Exact values of public expressions."""

import pytest

from dpsql.errors import InternalError
from dpsql.rewrite.analysis.bounds import evaluable, evaluate, keeps
from dpsql.rewrite.ir.expr import Expr
from tests.rewrite.refs import BOOL, SEATS, apply, number

SMALL = apply("lt", SEATS, number(3), type_=BOOL)
SUM = apply("lt", apply("add", SEATS, number(1)), number(3), type_=BOOL)


@pytest.mark.parametrize(("expr", "exact"), [(SMALL, True), (SEATS, True), (SUM, False)])
def test_only_what_has_an_exact_rule_is_evaluated(expr: Expr, *, exact: bool) -> None:
    """Arithmetic is the engine's: Python would not round as it does."""
    assert evaluable(expr) is exact


def test_what_can_not_be_evaluated_is_a_mistake_of_ours() -> None:
    """Whoever asks has to ask `evaluable` before."""
    with pytest.raises(InternalError):
        evaluate(SUM, {SEATS: 1})


@pytest.mark.parametrize(
    ("condition", "seats", "kept"), [(SMALL, 2, True), (SMALL, 3, False), (SMALL, None, False), (SUM, 9, True)]
)
def test_where_keeps_what_it_can_not_decide(condition: Expr, seats: int | None, *, kept: bool) -> None:
    """A group must not be missing because a condition is not understood."""
    assert keeps(condition, {SEATS: seats}) is kept
    assert keeps(condition, {}) is True
