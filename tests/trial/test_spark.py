"""Statements for Spark are tried in a session of their own, over rows that it brings along."""

import pytest

from dpsql.errors import TrialFailed
from dpsql.policy.model import Policy
from tests.properties import test_mutants as of_the_heart
from tests.support import mutants
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.mutants import C
from tests.support.sailing import Sailing
from tests.support.tried import court

STATEMENTS = (of_the_heart.COUNTS, of_the_heart.MEANS, of_the_heart.MEDIAN, of_the_heart.JOINED)


def test_statements_for_spark(policy: Policy, world: World, spark_server: str) -> None:
    """What is right passes, and what is wrong does not."""
    engine = Sailing(spark_server, policy)
    one = court(with_rows(policy, "rides", "passenger", C), world, engine)
    for sql in STATEMENTS:
        assert one.tried(sql, "owner").new
    with pytest.MonkeyPatch.context() as patch:
        mutants.half(patch)
        for sql in STATEMENTS[:2]:
            with pytest.raises(TrialFailed):
                one.tried(sql, "owner")
    engine.close()
