"""Conditions that there are rows of other tables: what they cost to plan; what they mean, golden statements say."""

import pytest

from dpsql.policy.model import Policy
from dpsql.rewrite.translate.rows import relations
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

DEEP = 7


def test_each_test_in_a_test_is_followed_once(policy: Policy, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were each followed twice, that of the innermost of thirty would not end."""
    followed = 0
    follow = relations._followed

    def counted(*args: object) -> object:
        nonlocal followed
        followed += 1
        return follow(*args)  # type: ignore[arg-type]  # what it is given

    monkeypatch.setattr(relations, "_followed", counted)
    condition = "true"
    for depth in range(DEEP, 0, -1):
        outer = "pickup_zone" if depth == 1 else f"z{depth - 1}.zone_id"
        condition = f"EXISTS (SELECT 1 FROM zones AS z{depth} WHERE z{depth}.zone_id = {outer} AND {condition})"
    assert measurements(f"SELECT count(*) FROM trips WHERE {condition}", policy, world, Memory(policy))
    assert followed == DEEP
