"""From facts about columns to facts about expressions."""

import pytest

from dpsql.errors import MissingBounds
from dpsql.policy.interval import Interval
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.analysis.bounds import countable, facts, require_interval
from dpsql.rewrite.ir.expr import Apply, Const, Env, Facts, IntervalValue
from tests.rewrite.refs import BOOL, DOUBLE, ENV, FARE, PICKED, SEATS, TIMESTAMP, apply, column, number
from tests.support.exactness import plans
from tests.support.fix_world import World
from tests.support.memory import Memory

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
        require_interval(quotient, facts(quotient, ENV))
    assert refused.value.because == "values-not-bounded"


def test_countable_numbers_have_63_bits() -> None:
    """Keys are whole numbers of 64 bits on every engine."""
    assert countable(apply("floor", FARE, type_=DOUBLE), ENV)
    assert not countable(apply("mul", FARE, Const(10**18, DOUBLE), type_=DOUBLE), ENV)


_MINUTES = "SELECT extract(epoch FROM dropped - picked) / 60 AS minutes FROM rides"


@pytest.mark.parametrize(
    ("asked", "low", "high"),
    [
        ("sum(least(fare, 20)) FROM rides", 0, 20),
        ("sum(greatest(fare, 140)) FROM rides", 140, 150),
        ("median(least(greatest(fare, 10), 20)) FROM rides", 10, 20),
        (f"median(minutes) FROM ({_MINUTES}) AS t WHERE minutes BETWEEN 0.1 AND 240", 0.1, 240),
        (f"avg(minutes) FROM ({_MINUTES}) AS t WHERE minutes BETWEEN 0.1 AND 240", 0.1, 240),
        ("median(dropped - picked) FROM rides WHERE dropped - picked BETWEEN '6 s' AND '4 h'", 6e6, 144e8),
    ],
)
def test_what_is_asked_is_as_near_as_the_statement_says(
    asked: str, low: float, high: float, policy: Policy, world: World
) -> None:
    """By least and greatest, and by conditions on the very expression: noise is as wide as its interval."""
    (plan,) = plans(f"SELECT {asked}", policy, world, Memory(policy))
    (part,) = plan.parts
    scaled = (
        [part.x]
        if isinstance(part, Histogram)
        else [f.x for f in part.features if f.x]
        if isinstance(part, Sums)
        else []
    )
    assert {(float(x.interval.low), float(x.interval.high)) for x in scaled} == {(low, high)}
