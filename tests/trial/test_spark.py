"""Statements for Spark are tried in a session of their own, over rows that it brings along."""

from pathlib import Path

import pytest

from dpsql.errors import TrialFailed
from dpsql.policy.model import Policy
from dpsql.question import Cancellation
from tests.properties import test_mutants as of_the_heart
from tests.support import mutants
from tests.support.fix_policy import with_rows
from tests.support.fix_shop import PUBLIC, USERS, read_shop
from tests.support.fix_world import World, running
from tests.support.memory import Memory
from tests.support.mutants import C
from tests.support.sailing import Sailing
from tests.support.tried import court

STATEMENTS = (of_the_heart.COUNTS, of_the_heart.MEANS, of_the_heart.MEDIAN, of_the_heart.JOINED)


def test_statements_for_spark(policy: Policy, world: World, spark_server: str) -> None:
    """What is right passes, and what is wrong does not."""
    engine = Sailing(spark_server, policy)
    trial_court = court(with_rows(policy, "rides", "passenger", C), world, engine)
    for sql in STATEMENTS:
        assert trial_court.tried(sql, "owner").new
    with pytest.MonkeyPatch.context() as patch:
        mutants.half(patch)
        for sql in STATEMENTS[:2]:
            with pytest.raises(TrialFailed):
                trial_court.tried(sql, "owner")
    engine.close()


def test_spans_are_made_up_as_such(tmp_path: Path, spark_server: str) -> None:
    """Sail reads no text as one: whatever was asked of a table with intervals failed its trial by the order of its work."""
    policy = read_shop(tmp_path)
    memory = Memory(policy, public=PUBLIC)
    with running(policy, USERS, memory) as world:
        engine = Sailing(spark_server, policy, PUBLIC)
        trial_court = court(policy, world, engine)
        assert trial_court.tried("SELECT avg(minutes) FROM calls", "owner").new
        trial_engine = trial_court.trial._ready()
        text = trial_engine.names.split(f"SELECT count(waited) FROM {engine.named('calls')}").at("w0")
        assert int(str(trial_engine.run(text, Cancellation(), 60.0)[0][0])) > 0
        engine.close()
