"""From facts about columns to facts about expressions."""

import pytest

from dpsql.errors import MissingBounds
from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import bounded, countable, facts
from dpsql.rewrite.ir.expr import Apply, Const, IntervalValue
from dpsql.rewrite.ir.facts import Env, Facts
from tests.rewrite.refs import BOOL, DOUBLE, ENV, FARE, PICKED, SEATS, TIMESTAMP, apply, column, number

FREE = column("free", DOUBLE)
UNBOUNDED: Env = {**ENV, FREE: Facts(nullable=True)}


def test_arithmetic_needs_bounds_and_comparing_does_not() -> None:
    """A sum could overflow, a comparison can't."""
    assert facts(apply("lt", FREE, number(3), type_=BOOL), UNBOUNDED).values == (False, True)
    with pytest.raises(MissingBounds, match='column "free" has no declared bounds') as refused:
        facts(apply("add", FREE, number(3), type_=DOUBLE), UNBOUNDED)
    assert refused.value.because == "column-without-bounds"


@pytest.mark.parametrize(
    "expr",
    [
        apply("mul", SEATS, number(2**60)),
        apply("shift", PICKED, type_=TIMESTAMP, option=IntervalValue(12 * 9000, 0, 0)),
        apply("mul", FARE, Const(10**139, DOUBLE), type_=DOUBLE),
    ],
)
def test_what_could_overflow_is_refused(expr: Apply) -> None:
    """Beyond 62 bits, the calendar, or what products in double precision may have."""
    with pytest.raises(MissingBounds) as refused:
        facts(expr, ENV)
    assert refused.value.because == "may-overflow"


def test_a_branch_is_bounded_by_its_condition() -> None:
    """Dividing by a whole number is fine where the condition excludes 0."""
    quotient = apply("div", number(60), SEATS)
    guarded = apply("case", apply("gt", SEATS, number(0), type_=BOOL), quotient, number(0))
    assert facts(quotient, ENV).interval is None
    assert facts(guarded, ENV).interval == Interval.of(0, 60)


def test_what_is_not_bounded_says_how_it_could_be() -> None:
    """A divisor that can be 0 is kept away from it in WHERE."""
    quotient = apply("div", number(60), SEATS)
    with pytest.raises(MissingBounds, match="the possible values of 60 / seats are not bounded") as refused:
        bounded(quotient, facts(quotient, ENV))
    assert refused.value.because == "values-not-bounded"


def test_countable_numbers_have_63_bits() -> None:
    """Keys are whole numbers of 64 bits on every engine."""
    assert countable(apply("floor", FARE, type_=DOUBLE), ENV)
    assert not countable(apply("mul", FARE, Const(10**18, DOUBLE), type_=DOUBLE), ENV)
