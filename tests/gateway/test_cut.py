"""`dpsql.cut`: which share of a count or a sum is missing, as its chosen C takes it off; from noisy numbers alone."""

import pytest

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from tests.gateway.test_chosen_bounds import auto, rides
from tests.support.fix_world import NewClient
from tests.support.memory import Memory

__all__ = ["auto", "rides"]


def test_it_is_a_share(rides: Memory, auto: Policy, new_client: NewClient) -> None:  # the same fixtures
    """Small, and free beside what it is the share of; a little wider is what a margin allows for it."""
    client = new_client(rides, policy=auto)
    count, cut = client.ask("SELECT count(*), dpsql.cut(count(*)) FROM rides").rows[0]
    assert 0 < float(str(cut)) < 0.4
    assert client.ask("SELECT count(*) FROM rides").rows == [(count,)]
    assert len(client.ledger.entries(None, 10)) == 2


def test_all_groups_have_the_same(rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """Nothing says in which of them more is missing."""
    rows = new_client(rides, policy=auto).ask("SELECT paid, dpsql.cut(sum(fare)) FROM rides GROUP BY paid").rows
    assert len({row[1] for row in rows}) == 1


def test_of_a_declared_bound_nobody_says(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """It is NULL."""
    assert new_client(rides, policy=policy).ask("SELECT dpsql.cut(count(*)) FROM rides").rows == [(None,)]


@pytest.mark.parametrize("of", ["avg(fare)", "median(fare)", "variance(fare)", "count(DISTINCT rider)", "max(fare)"])
def test_of_others_there_is_none(of: str, rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """No share is missing of a mean."""
    with pytest.raises(Unsupported, match="count or a sum"):
        new_client(rides, policy=auto).ask(f"SELECT dpsql.cut({of}) FROM rides")
