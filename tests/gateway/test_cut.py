"""`dpsql.cut`: which share of a count or a sum is missing, as its chosen C takes it off; from noisy numbers alone."""

from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from tests.gateway.test_chosen_bounds import auto, filled, rides
from tests.gateway.test_profile import TAKE, told, with_profile
from tests.support.fix_policy import with_epsilon, without_reuse
from tests.support.fix_world import NewClient
from tests.support.memory import Memory
from tests.support.records import Maker

__all__ = ["auto", "rides"]


def test_it_is_a_share(rides: Memory, auto: Policy, new_client: NewClient) -> None:  # the same fixtures
    """Small, and free beside what it is the share of."""
    client = new_client(rides, policy=auto)
    count, cut = client.ask("SELECT count(*), dpsql.cut(count(*)) FROM rides").rows[0]
    assert 0 <= float(str(cut)) < 0.4
    assert client.ask("SELECT count(*) FROM rides").rows == [(count,)]
    assert len(client.ledger.entries(None, 10)) == 2


def test_all_groups_have_the_same(rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """Nothing says in which of them more is missing."""
    rows = new_client(rides, policy=auto).ask("SELECT paid, dpsql.cut(sum(fare)) FROM rides GROUP BY paid").rows
    assert len({row[1] for row in rows}) == 1


def test_a_group_that_has_all_rows_lacks_all_that_is_cut_off(
    auto: Policy, policy: Policy, new_client: NewClient
) -> None:
    """Of 151 groups one has rows: its margin holds what C takes off everybody, and not a part of that as for many groups."""
    row = Maker(3).row(policy.tables["rides"])
    engine = filled(policy, [row | {"rider": n // 40, "fare": 10.5} for n in range(8_000)])
    client, missed, epochs = new_client(engine, policy=with_epsilon(auto, Fraction(1))), 0, 20
    asked = "SELECT floor(fare) AS f, count(*), dpsql.margin(count(*)) FROM rides GROUP BY 1"
    for epoch in range(epochs):
        client.ledger.advance(f"epoch {epoch}")
        ((count, margin),) = [row[1:] for row in client.ask(asked).rows if row[0] == 10]
        missed += abs(float(str(count)) - 8_000) > float(str(margin))
    assert missed <= epochs // 5


def test_of_a_declared_bound_nobody_says(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """It is NULL."""
    assert new_client(rides, policy=policy).ask("SELECT dpsql.cut(count(*)) FROM rides").rows == [(None,)]


@pytest.mark.parametrize("of", ["avg(fare)", "median(fare)", "variance(fare)", "count(DISTINCT rider)", "max(fare)"])
def test_of_others_there_is_none(of: str, rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """No share is missing of a mean."""
    with pytest.raises(Unsupported, match="count or a sum"):
        new_client(rides, policy=auto).ask(f"SELECT dpsql.cut({of}) FROM rides")


_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_EACH = 5
"""How many riders have so many rides: few of each, so that noise hides all of them, and nine rides of ten are cut off."""


@pytest.fixture(scope="module")
def spread(policy: Policy) -> Memory:
    """1,100 rides of sixty riders."""
    row, sizes = Maker(7).row(policy.tables["rides"]), [size for size in _SIZES for _ in range(_EACH)]
    return filled(policy, [row | {"rider": n} for n, size in enumerate(sizes) for _ in range(size)])


@pytest.mark.parametrize("profiled", [False, True])
def test_who_is_not_seen_is_not_forgotten(profiled: bool, spread: Memory, auto: Policy, new_client: NewClient) -> None:
    """A profile widens the margin; without one a NOTICE says that it does not hold what is cut off."""
    declared = with_profile(with_epsilon(auto, Fraction(1, 2)))
    client = new_client(spread, policy=without_reuse(declared), entropy=np.random.default_rng(3).bytes)
    rides, covered, said = sum(_SIZES) * _EACH, 0, 0
    for _ in range(20):
        client.ledger.advance("another")
        if profiled:
            client.ask(TAKE)
        ((count, margin),) = client.ask("SELECT count(*), dpsql.margin(count(*)) FROM rides").rows
        within = abs(float(str(count)) - rides) <= float(str(margin))
        covered += within
        said += not within and any("too few units" in text for text in told(client, "SELECT count(*) FROM rides"))
    assert covered >= 17 if profiled else covered + said >= 17
