"""Margins of medians, extremes and distinct counts, as a client asks for them."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.privacy.accuracy.computed_margin import point_half_width
from dpsql.privacy.measurement.histogram import Histogram
from tests.support.exactness import measurements
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import NewClient, World
from tests.support.memory import Memory
from tests.support.records import Maker

ROWS = 2_000


def _asked(
    select: str, new_client: NewClient, policy: Policy, epsilon: Fraction = Fraction(1)
) -> Sequence[float | None]:
    """Return the answer over fares from 0 to 99.5, each from a rider of its own."""
    policy = with_epsilon(with_rows(policy, "rides", "passenger", 1), epsilon)
    engine, maker = Memory(policy), Maker(3)
    rows = [maker.row(policy.tables["rides"]) for _ in range(20)]
    engine.fill("rides", [rows[n % 20] | {"rider": n, "fare": n % 200 / 2, "number": n % 50} for n in range(ROWS)])
    entropy = np.random.default_rng(7).bytes
    (row,) = new_client(engine, policy=policy, entropy=entropy).ask(f"SELECT {select} FROM rides").rows
    return [None if cell is None else float(str(cell)) for cell in row]


def test_a_median_has_a_margin(new_client: NewClient, policy: Policy) -> None:
    """It covers, and is a little of the bounds only; whatever lies between the two rows in the middle is a median."""
    median, margin = _asked("median(fare), dpsql.margin(median(fare))", new_client, policy)
    assert median is not None
    assert margin is not None
    assert abs(median - 49.75) <= margin + 0.25
    assert margin <= 10


def test_a_margin_is_asked_by_itself(new_client: NewClient, policy: Policy) -> None:
    """It is of the percentile that would be released with it."""
    (margin,) = _asked(
        "dpsql.margin(percentile_cont(0.9) WITHIN GROUP (ORDER BY fare) FILTER (WHERE fare >= 0))", new_client, policy
    )
    assert margin is not None
    assert 0 < margin <= 20


def test_an_extreme_may_be_anywhere_to_its_bound(new_client: NewClient, policy: Policy) -> None:
    """A margin of MAX is what lies between it and the upper bound, of MIN the lower; ten buckets at least."""
    low, below, high, above = _asked(
        "min(fare), dpsql.margin(min(fare)), max(fare), dpsql.margin(max(fare))", new_client, policy
    )
    bounds = policy.tables["rides"].columns["fare"].bounds
    assert bounds is not None
    assert None not in {low, below, high, above}
    least = 10.5 * float(bounds.width) / 1024
    assert below == pytest.approx(max((low or 0) - float(bounds.low), least), rel=0.02)
    assert above == pytest.approx(max(float(bounds.high) - (high or 0), least), rel=0.02)


def test_a_distinct_count_has_a_margin(new_client: NewClient, policy: Policy) -> None:
    """It is that of a count: ln 20 with ε = 1, and a half for being a whole number."""
    (_, margin) = _asked("count(DISTINCT number), dpsql.margin(count(DISTINCT number))", new_client, policy)
    assert margin == pytest.approx(3.4957, abs=0.01)


def test_a_few_rows_have_the_bounds_for_a_margin(new_client: NewClient, policy: Policy) -> None:
    """With too little ε nothing is said, or that the median may be anywhere, up to the further end of its bounds."""
    median, margin = _asked("median(fare), dpsql.margin(median(fare))", new_client, policy, Fraction(1, 60))
    bounds = policy.tables["rides"].columns["fare"].bounds
    assert bounds is not None
    if median is not None and margin is not None:
        assert margin == pytest.approx(max(median - float(bounds.low), float(bounds.high) - median), rel=0.05)


@pytest.mark.parametrize(
    "of", ["mode() WITHIN GROUP (ORDER BY paid)", "percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY fare)"]
)
def test_what_is_no_number_has_no_margin(of: str, policy: Policy, world: World) -> None:
    """An array, or a value that is voted for, is refused."""
    with pytest.raises(Unsupported, match="takes one number"):
        measurements(f"SELECT dpsql.margin({of}) FROM rides", policy, world, Memory(policy))


def test_a_margin_changes_what_is_measured(policy: Policy, world: World) -> None:
    """One choice serves the median and its margin; another median of the statement stays as it is."""
    asked = "SELECT median(fare), dpsql.margin(median(fare)), median(tip) FROM rides"
    parts = measurements(asked, policy, world, Memory(policy))
    assert [isinstance(part, Histogram) and part.margin for part in parts] == [True, False]


def test_explain_says_by_how_many_ranks_a_median_is_off(new_client: NewClient, policy: Policy) -> None:
    """How much that is in value depends on where values lie."""
    client = new_client(Memory(policy), policy=with_epsilon(policy, Fraction(1)))
    lines = [str(line) for (line,) in client.ask("EXPLAIN SELECT median(fare) FROM rides").rows]
    assert any("Output median(fare): ±" in line and "ranks with 95 %" in line for line in lines)


def test_a_median_may_be_off_by_what_is_cut_off(policy: Policy, world: World) -> None:
    """As many rows as noise may reach, all on one side, are half as many ranks."""
    engine = Memory(policy)
    (part,) = measurements("SELECT median(fare), dpsql.margin(median(fare)) FROM rides", policy, world, engine)
    assert isinstance(part, Histogram)
    priced = part.paying(Fraction(1))
    ranks, alone = priced.ranks(Fraction(1, 2)), point_half_width(priced, (500, 3))
    assert ranks is not None
    assert alone is not None
    assert point_half_width(priced, (500, 3), ranks) == pytest.approx(alone * math.hypot(1, 0.5))
