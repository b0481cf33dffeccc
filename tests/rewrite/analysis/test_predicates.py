"""What WHERE says about columns: smaller intervals, fewer values, no NULL."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts_where, has_inexact_constants
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.ir.expr import FALSE, Const, Expr, Ref, both
from tests.rewrite.refs import BOOL, DOUBLE, ENV, FARE, NUMERIC, PAID, SEATS, TEXT, apply, number

DECLARED = DeclaredFacts({("t", ref.name): facts for ref, facts in ENV.items() if isinstance(ref, Ref)})


def compared(op: str, value: int) -> Expr:
    """Return `seats op value`."""
    return apply(op, SEATS, number(value), type_=BOOL)


@pytest.mark.parametrize(
    ("condition", "interval"),
    [
        (compared("lt", 3), Interval.of(0, 2)),
        (both(compared("ge", 2), compared("le", 9)), Interval.of(2, 6)),
        (compared("ne", 6), Interval.of(0, 5)),
        (compared("ne", 3), Interval.of(0, 6)),
        (apply("in", SEATS, number(5), number(2), type_=BOOL), Interval.of(2, 5)),
        (apply("or", compared("lt", 3), compared("gt", 3), type_=BOOL), Interval.of(0, 6)),
    ],
)
def test_conjuncts_narrow_a_column(condition: Expr, interval: Interval) -> None:
    """What is not understood says nothing."""
    narrowed_env = refine_by_predicate([SEATS], condition, DECLARED)
    assert narrowed_env is not None
    assert narrowed_env[SEATS].interval == interval


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        (apply("lt", apply("abs", FARE, type_=DOUBLE), number(3), type_=BOOL), -3, 3),
        (apply("gt", apply("neg", FARE, type_=DOUBLE), number(-5), type_=BOOL), -5, 5),
        (apply("le", apply("neg", apply("abs", FARE, type_=DOUBLE), type_=DOUBLE), number(-7), type_=BOOL), 7, 150),
        (apply("gt", apply("abs", FARE, type_=DOUBLE), number(5), type_=BOOL), -5, 150),
    ],
)
def test_conditions_reach_through_signs(condition: Expr, low: int, high: int) -> None:
    """What only takes a sign away, or turns it, is computed without rounding."""
    narrowed_env = refine_by_predicate([FARE], condition, DECLARED)
    assert narrowed_env is not None
    assert narrowed_env[FARE].interval == Interval.of(low, high)


@pytest.mark.parametrize(
    "condition",
    [
        compared("gt", 6),
        apply("lt", apply("abs", FARE, type_=DOUBLE), number(-1), type_=BOOL),
        apply("lt", apply("abs", FARE, type_=DOUBLE), number(0), type_=BOOL),
        FALSE,
        both(compared("lt", 2), compared("gt", 3)),
    ],
)
def test_what_no_row_can_satisfy_is_known(condition: Expr) -> None:
    """The answer is then a public zero."""
    assert refine_by_predicate([SEATS], condition, DECLARED) is None


def test_a_condition_leaves_some_values_of_a_domain() -> None:
    """NULL stays out of every comparison."""
    narrowed_env = refine_by_predicate([PAID], apply("eq", PAID, Const("card", TEXT), type_=BOOL), DECLARED)
    assert narrowed_env is not None
    assert narrowed_env[PAID].values == ("card",)
    assert not narrowed_env[PAID].nullable


@pytest.mark.parametrize(("holds", "interval"), [(True, Interval.of(0, 1)), (False, Interval.of(2, 6))])
def test_branches_know_their_conditions(*, holds: bool, interval: Interval) -> None:
    """Where one does not hold, its opposite does, or it is NULL."""
    assert facts_where(compared("lt", 2), ENV, holds=holds)[SEATS].interval == interval
    either = apply("or", compared("lt", 2), compared("eq", 6), type_=BOOL)
    assert facts_where(either, ENV, holds=False)[SEATS].interval == Interval.of(2, 5)


@pytest.mark.parametrize(
    ("value", "blur"), [(Const(3, DOUBLE), False), (Const(2**53, NUMERIC), True), (Const(2**53, SEATS.type), False)]
)
def test_constants_that_double_precision_changes_decide_nothing(value: Const, *, blur: bool) -> None:
    """From 2^53 on a number may equal its neighbour, for the engine."""
    assert has_inexact_constants(apply("eq", FARE, value, type_=BOOL)) is blur


@given(st.fractions(max_denominator=10**8) | st.decimals(-(10**17), 10**17, places=7).map(Fraction) | st.integers())
def test_a_number_is_exact_if_its_double_is_written_so(value: Fraction) -> None:
    """Of most it is known by how few digits they have."""
    exact = abs(value) < 2**53 and Fraction(repr(float(value))) == value
    assert has_inexact_constants(Const(value, NUMERIC)) is not exact
