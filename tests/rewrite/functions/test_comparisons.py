"""What comparisons say about a column, and how they read."""

from fractions import Fraction

import pytest

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import evaluate
from dpsql.rewrite.functions.logical import equation, number_of
from dpsql.rewrite.functions.table import TABLE
from dpsql.rewrite.ir.expr import Apply, Const, Ref
from tests.rewrite.refs import BOOL, FARE, NUMERIC, PAID, SEATS, TEXT, apply, number

ROWS = [None, *range(-2, 9)]


def compared(op: str, value: int) -> Apply:
    """Return `seats op value`."""
    return apply(op, SEATS, number(value), type_=BOOL)


@pytest.mark.parametrize("value", [-1, 0, 3, 6, 7])
@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_comparison_narrows_to_just_what_it_allows(op: str, value: int, *, turned: bool) -> None:
    """Every whole number that satisfies it is in the interval, and no other; turned around it says as much."""
    expr = apply(op, number(value), SEATS, type_=BOOL) if turned else compared(op, value)
    condition = TABLE[op].condition
    assert condition is not None
    interval = condition.narrows(expr, SEATS)
    assert interval is not None
    for n in range(-2, 9):
        assert (n in interval) == (evaluate(expr, {SEATS: n}) is True)


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_a_denied_comparison_holds_where_it_does_not(op: str) -> None:
    """NULL aside, a value satisfies one or the other."""
    condition = TABLE[op].condition
    assert condition is not None
    denied = condition.denied(compared(op, 3), lambda part: part)
    assert denied is not None
    for n in range(-2, 9):
        assert evaluate(denied, {SEATS: n}) is not evaluate(compared(op, 3), {SEATS: n})
    assert evaluate(denied, {SEATS: None}) is None


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("constant", range(-1, 8))
def test_a_stored_value_is_compared_only_where_clamping_changes_nothing(op: str, constant: int) -> None:
    """Of every value, inside the bounds 0 to 6 or beyond them."""
    condition = TABLE[op].condition
    assert condition is not None
    alike = all(
        evaluate(compared(op, constant), {SEATS: n}) == evaluate(compared(op, constant), {SEATS: min(max(n, 0), 6)})
        for n in range(-20, 20)
    )
    as_stored = condition.as_stored(Interval.of(0, 6), Fraction(constant))
    assert not as_stored or alike


def test_a_list_narrows_to_its_hull() -> None:
    """A list with NULL in it says nothing: whatever is not in it is unknown."""
    condition = TABLE["in"].condition
    assert condition is not None
    assert condition.narrows(apply("in", SEATS, number(5), number(2), type_=BOOL), SEATS) == Interval.of(2, 5)
    null = Const(None, NUMERIC)
    assert condition.narrows(apply("in", SEATS, number(5), null, type_=BOOL), SEATS) is None
    assert evaluate(apply("in", SEATS, number(5), null, type_=BOOL), {SEATS: 2}) is None


@pytest.mark.parametrize(
    ("op", "row", "result"),
    [("is_null", None, True), ("is_null", 1, False), ("same", None, False), ("same", 3, True), ("eq", None, None)],
)
def test_null_is_no_value(op: str, row: int | None, *, result: bool | None) -> None:
    """IS NULL and IS NOT DISTINCT FROM always have an answer."""
    args = (SEATS,) if op == "is_null" else (SEATS, number(3))
    assert evaluate(Apply(op, args, BOOL), {SEATS: row}) is result


def test_both_sides_of_an_equation() -> None:
    """Joins ask for them; other comparisons have none."""
    assert equation(apply("eq", SEATS, FARE, type_=BOOL)) == (SEATS, FARE)
    assert equation(apply("le", SEATS, FARE, type_=BOOL)) is None
    assert equation(SEATS) is None


@pytest.mark.parametrize(("value", "expected"), [(3, Fraction(3)), (None, None)])
def test_only_constants_are_numbers(value: int | None, expected: Fraction | None) -> None:
    """A text or a column is none."""
    assert number_of(Const(value, NUMERIC)) == expected
    assert number_of(Const("3", TEXT)) is None
    assert number_of(PAID) is None


def test_two_variables_are_not_compared_with_constants() -> None:
    """What is tried for exclusion is the one variable of a comparison."""
    condition = TABLE["lt"].condition
    assert condition is not None
    assert condition.compared(apply("lt", SEATS, FARE, type_=BOOL)) is None
    variable = condition.compared(compared("lt", 3))
    assert isinstance(variable, Ref)
