"""Functions of whole numbers alone."""

import itertools
import math

import pytest

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.evaluate import evaluate
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.whole import WHOLE
from dpsql.rewrite.ir.expr import Expr
from tests.rewrite.refs import ENV, SEATS, apply, number

SHIFTED = apply("sub", SEATS, number(3))
"""From −3 to 3."""


@pytest.mark.parametrize(
    ("a", "b"), list(itertools.product([SEATS, SHIFTED], [number(4), number(0), number(-6), SHIFTED]))
)
@pytest.mark.parametrize("function", [f for f in WHOLE if f.call is not None and f.call.arity == 2], ids=lambda f: f.op)
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
