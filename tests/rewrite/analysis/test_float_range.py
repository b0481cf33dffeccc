"""Where numbers are that an engine computes in double precision."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import as_read, computed_range
from dpsql.rewrite.ir.expr import Apply
from tests.rewrite.refs import BIGINT, DOUBLE, FARE, NUMERIC, SEATS, apply, number

NUMBERS = st.floats(-1e60, 1e60, allow_nan=False)
PYTHON = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}


@given(st.sampled_from(sorted(PYTHON)), st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS))
def test_what_is_computed_at_the_ends_is_within(op: str, a: tuple[float, float], b: tuple[float, float]) -> None:
    """A single operation keeps the order of its arguments, so that holds for every value between."""
    intervals = [Interval(Fraction(min(x)), Fraction(max(x))) for x in (a, b)]
    enclosing = computed_range(Apply(op, (FARE, FARE), DOUBLE), intervals, (False, False))
    assert enclosing is not None
    assert all(PYTHON[op](x, y) in enclosing for x in a for y in b)


def test_a_tenth_is_read_beside_itself() -> None:
    """As a decimal it is no number in double precision; whole numbers are what they are."""
    tenth = Interval.of("0.1", "0.1")
    assert as_read(tenth, NUMERIC) != tenth
    assert as_read(Interval.of(1, 3), BIGINT) == Interval.of(1, 3)
    assert as_read(None, DOUBLE) is None


def test_constants_of_a_product_may_come_together() -> None:
    """0·a·b has to fit as 1·a·b: DuckDB multiplies constants first."""
    zero = Interval.of(0, 0)
    assert computed_range(apply("mul", SEATS, number(9)), [zero, Interval.of(9, 9)], (False, False)) == Interval.of(
        0, 9
    )


def test_a_small_base_may_have_the_power_0() -> None:
    """What would underflow is 0 instead."""
    tiny = Interval(Fraction(1, 10**20), Fraction(1, 10**20))
    enclosing = computed_range(Apply("power", (FARE, number(2)), DOUBLE), [tiny, Interval.of(2, 2)], (False, False))
    assert enclosing is not None
    assert 0 in enclosing


def test_the_least_of_some_is_at_most_what_is_never_null() -> None:
    """NULL is left out, so that what can be NULL bounds nothing by itself."""
    expr, given_ = apply("least", FARE, number(30), type_=DOUBLE), [Interval.of(-5, 10), Interval.of(30, 30)]
    assert computed_range(expr, given_, (False, False)) == Interval.of(-5, 10)
    assert computed_range(expr, given_, (True, False)) == Interval.of(-5, 30)
