"""What WHERE says about a column through whatever is computed of it."""

from fractions import Fraction

import pytest

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.ir.expr import FALSE, NULL, TRUE, Const, Expr, Ref, Unit, both
from tests.rewrite.refs import BOOL, DAY, DOUBLE, ENV, FARE, NUMERIC, PICKED, SEATS, TIMESTAMP, apply, number

DECLARED = DeclaredFacts({("t", ref.name): facts for ref, facts in ENV.items() if isinstance(ref, Ref)})
TWICE = apply("mul", FARE, number(2), type_=DOUBLE)
LEAST = apply("least", FARE, number(30), type_=DOUBLE)
GREATEST = apply("greatest", FARE, number(30), type_=DOUBLE)
PRESENT = apply("coalesce", FARE, number(0), type_=DOUBLE)
CAPPED = apply("case", apply("gt", FARE, number(20), type_=BOOL), number(20), FARE, type_=DOUBLE)
TENTH = apply("mul", FARE, Const(Fraction("0.1"), NUMERIC), type_=DOUBLE)
TO_DAY = apply("date_trunc", PICKED, type_=TIMESTAMP, option=Unit("day"))


def condition(op: str, a: Expr, b: Expr | int) -> Expr:
    """Return `a op b`."""
    return apply(op, a, number(b) if isinstance(b, int) else b, type_=BOOL)


def case(when: Expr, then: Expr, other: Expr) -> Expr:
    """Return CASE WHEN … THEN … ELSE … END."""
    return apply("case", when, then, other, type_=BOOL)


@pytest.mark.parametrize(
    ("where", "low", "high"),
    [
        (condition("ge", LEAST, 10), 10, 150),
        (condition("lt", LEAST, 10), -5, 10),
        (condition("le", GREATEST, 60), -5, 60),
        (condition("gt", GREATEST, 60), 60, 150),
        (condition("le", apply("greatest", LEAST, number(-1), type_=DOUBLE), 7), -5, 7),
        (both(condition("ge", TWICE, 10), condition("le", TWICE, 60)), 5, 30),
        (condition("lt", apply("neg", FARE, type_=DOUBLE), -5), 5, 150),
        (condition("ge", apply("abs", FARE, type_=DOUBLE), 7), 7, 150),
        (condition("gt", PRESENT, 3), 3, 150),
        (both(condition("ge", CAPPED, 10), condition("lt", CAPPED, 20)), 10, 20),
        (condition("le", apply("sub", number(100), FARE, type_=DOUBLE), 40), 60, 150),
        (condition("le", apply("div", TWICE, number(4), type_=DOUBLE), 40), -5, 80),
        (condition("eq", apply("floor", apply("div", FARE, number(10), type_=DOUBLE), type_=DOUBLE), 2), 20, 30),
        (condition("gt", apply("add", FARE, SEATS, type_=DOUBLE), 100), 94, 150),
        (condition("le", FARE, SEATS), -5, 6),
        (apply("in", TWICE, number(6), number(8), type_=BOOL), 3, 4),
        (apply("or", condition("lt", TWICE, 6), condition("le", FARE, 5), type_=BOOL), -5, 5),
        (apply("or", condition("lt", TWICE, 6), condition("gt", SEATS, 5), type_=BOOL), -5, 150),
        (condition("ge", TENTH, 2), 20, 150),
        (case(condition("ge", FARE, 10), TRUE, FALSE), 10, 150),
        (condition("ge", apply("div", number(1), FARE, type_=DOUBLE), 1), 0, 1),
    ],
)
def test_a_condition_narrows_what_is_computed_with(where: Expr, low: int, high: int) -> None:
    """No row that passes has a value beyond, as both engines compute it."""
    narrowed_env = refine_by_predicate([FARE], where, DECLARED)
    assert narrowed_env is not None
    interval = narrowed_env[FARE].interval
    assert interval is not None
    assert (round(float(interval.low), 12), round(float(interval.high), 12)) == (low, high)


def test_whole_numbers_are_narrowed_to_the_last_that_passes() -> None:
    """Times are counted in microseconds."""
    seats = refine_by_predicate([SEATS], condition("lt", apply("mul", SEATS, number(2)), 9), DECLARED)
    picked = refine_by_predicate([PICKED], condition("eq", TO_DAY, Const(DAY, TIMESTAMP)), DECLARED)
    assert seats is not None
    assert seats[SEATS].interval == Interval.of(0, 4)
    assert picked is not None
    assert picked[PICKED].interval == Interval.of(DAY, 2 * DAY - 1)


@pytest.mark.parametrize(
    ("where", "nullable"),
    [
        (condition("ge", TWICE, 10), False),
        (both(condition("ge", TWICE, 10), condition("ge", SEATS, 1)), False),
        (condition("ge", LEAST, 10), True),
        (condition("ge", PRESENT, 0), True),
        (apply("or", condition("ge", TWICE, 10), condition("ge", SEATS, 1), type_=BOOL), True),
        (apply("or", condition("ge", TWICE, 10), condition("lt", TWICE, 3), type_=BOOL), False),
    ],
)
def test_null_stays_where_a_condition_can_hold_of_it(where: Expr, *, nullable: bool) -> None:
    """`least(NULL, 30)` is 30."""
    narrowed_env = refine_by_predicate([FARE], where, DECLARED)
    assert narrowed_env is not None
    assert narrowed_env[FARE].nullable is nullable


@pytest.mark.parametrize(
    "where",
    [
        condition("gt", LEAST, 30),
        condition("lt", GREATEST, 30),
        condition("gt", TWICE, 300),
        condition("lt", apply("add", FARE, SEATS, type_=DOUBLE), -5),
        apply("or", condition("gt", TWICE, 300), condition("lt", TWICE, -10), type_=BOOL),
    ],
)
def test_what_no_row_can_satisfy_is_known(where: Expr) -> None:
    """The answer is then a public zero."""
    assert refine_by_predicate([FARE], where, DECLARED) is None


@pytest.mark.parametrize(
    "where",
    [
        condition("ge", apply("mul", FARE, NULL, type_=DOUBLE), 1),
        condition("ge", TWICE, Const(Fraction(2**60 + 1), NUMERIC)),
    ],
)
def test_what_is_not_understood_says_nothing(where: Expr) -> None:
    """Nor does a constant that is another in double precision."""
    narrowed_env = refine_by_predicate([FARE], where, DECLARED)
    assert narrowed_env is not None
    assert narrowed_env[FARE].interval == Interval.of(-5, 150)
