"""Three-valued logic, CASE and its relatives."""

import itertools

import pytest

from dpsql.rewrite.analysis.bounds import evaluate, facts
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.functions.logical import branches, only_branch
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Expr
from tests.rewrite.refs import BIGINT, BOOL, ENV, FARE, PAID, SEATS, TEXT, apply, number

NULL = Const(None, BOOL)
FULL = apply("ge", SEATS, number(4), type_=BOOL)


@pytest.mark.parametrize(("a", "b"), list(itertools.product([TRUE, FALSE, NULL], repeat=2)))
def test_logic_is_three_valued(a: Const, b: Const) -> None:
    """De Morgan's law holds with NULL too."""
    left = Apply("not", (Apply("and", (a, b), BOOL),), BOOL)
    right = Apply("or", (Apply("not", (a,), BOOL), Apply("not", (b,), BOOL)), BOOL)
    assert evaluate(left, {}) is evaluate(right, {})
    assert evaluate(Apply("is_true", (a,), BOOL), {}) is (a is TRUE)
    assert evaluate(Apply("is_false", (a,), BOOL), {}) is (a is FALSE)


@pytest.mark.parametrize(
    ("expr", "values"),
    [
        (apply("case", FULL, number(1), number(0)), [0, 1]),
        (apply("case", FULL, SEATS, number(9)), [4, 5, 6, 9]),
        (apply("nullif", SEATS, number(3)), [0, 1, 2, 4, 5, 6, None]),
        (apply("coalesce", PAID, Const("?", TEXT), type_=TEXT), ["?", "card", "cash"]),
    ],
)
def test_the_values_are_those_of_the_branches(expr: Expr, values: list[object]) -> None:
    """Each result by what its condition leaves of the column."""
    assert list(domain(expr, ENV, 100)) == values


@pytest.mark.parametrize(
    ("expr", "nullable"),
    [
        (apply("case", FULL, number(1), number(0)), False),
        (apply("case", FULL, number(1), Const(None, BIGINT)), True),
        (apply("coalesce", FARE, SEATS), False),
        (apply("coalesce", FARE, FARE), True),
        (apply("nullif", SEATS, number(3)), True),
    ],
)
def test_null_comes_from_results(expr: Expr, *, nullable: bool) -> None:
    """The conditions of a CASE may be NULL; COALESCE is NULL only where all are."""
    assert facts(expr, ENV).nullable is nullable


def test_a_case_of_one_branch() -> None:
    """`sum(CASE WHEN c THEN x END)` is read as a filter."""
    expr = apply("case", FULL, SEATS, number(0))
    assert only_branch(expr) == (FULL, SEATS, number(0))
    assert list(branches(expr)) == [(FULL, SEATS)]
    assert only_branch(apply("case", FULL, SEATS, FULL, SEATS, number(0))) is None
    assert only_branch(SEATS) is None
