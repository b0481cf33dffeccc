"""Functions of whole numbers alone."""

import itertools
import math

import pytest

from dpsql.errors import MissingBounds
from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import evaluate, facts
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.whole_numbers import WHOLE
from dpsql.rewrite.ir.expr import Expr
from tests.rewrite.refs import ENV, SEATS, apply, number

SHIFTS = {"shift_left", "shift_right", "bit_not"}
SHIFTED = apply("sub", SEATS, number(3))
"""From −3 to 3."""


@pytest.mark.parametrize(
    ("a", "b"), list(itertools.product([SEATS, SHIFTED], [number(4), number(0), number(-6), SHIFTED]))
)
@pytest.mark.parametrize("function", [f for f in WHOLE if f.op not in SHIFTS], ids=lambda f: f.op)
def test_interval_and_domain_hold_every_value(function: Function, a: Expr, b: Expr) -> None:
    """What the rules say is what comes out for each value of the column."""
    expr = apply(function.op, a, b)
    rule = function.evaluate
    assert rule is not None
    left, right = (domain(e, ENV, 100) for e in (a, b))
    values = {rule([x, y], expr) for x, y in itertools.product(left, right)}
    interval = facts(expr, ENV).interval
    assert interval is not None
    assert all(isinstance(v, int) and v in interval for v in values)
    assert set(domain(expr, ENV, 100)) == values


def test_divisors_and_multiples() -> None:
    """Neither is negative; the divisor of 0 and 0 is 0."""
    assert facts(apply("gcd", SEATS, number(4)), ENV).interval == Interval.of(1, 6)
    assert list(domain(apply("gcd", SEATS, number(4)), ENV, 100)) == [1, 2, 4]
    assert evaluate(apply("lcm", number(4), number(-6)), {}) == math.lcm(4, 6)
    assert evaluate(apply("gcd", number(0), SEATS), {SEATS: None}) is None


def test_many_values_are_all_that_the_interval_holds() -> None:
    """Trying each combination would take longer than listing the numbers between the ends."""
    assert list(domain(apply("gcd", SEATS, number(4)), ENV, 6)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("op", ["shift_left", "shift_right"])
def test_shifts_multiply_and_divide_by_powers_of_2(op: str, n: int) -> None:
    """Towards less for negative numbers, as PostgreSQL shifts them."""
    expr, power = apply(op, SHIFTED, number(n)), 2**n
    values = sorted({x * power if op == "shift_left" else x // power for x in range(-3, 4)})
    assert facts(expr, ENV).interval == Interval.of(values[0], values[-1])
    assert list(domain(expr, ENV, 100)) == values


def test_no_bit_leaves_the_type() -> None:
    """PostgreSQL would lose it: what is computed may have the 32 bits of `integer`, a stored bigint has 64."""
    assert facts(apply("shift_left", SEATS, number(40)), ENV).interval == Interval.of(0, 6 * 2**40)
    for expr in (apply("shift_left", SHIFTED, number(30)), apply("shift_right", SHIFTED, number(32))):
        with pytest.raises(MissingBounds):
            facts(expr, ENV)
    with pytest.raises(MissingBounds):
        facts(apply("shift_left", SEATS, SEATS), ENV)


def test_the_complement_is_one_less_than_the_negative() -> None:
    """All bits are turned."""
    assert facts(apply("bit_not", SEATS), ENV).interval == Interval.of(-7, -1)
    assert evaluate(apply("bit_not", number(5)), {}) == -6
