"""Synthetic databases that are gone are made anew, and nobody is refused for it."""

import pytest

from dpsql.errors import QueryCanceled
from dpsql.policy.model import Policy
from dpsql.question import Cancellation
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
from dpsql.trial.engine import TrialEngineLate
from dpsql.trial.running_trial import RunningTrial
from tests.support.fix_engines import Engines
from tests.support.fix_world import World
from tests.support.tried import court

COUNT = "SELECT count(*) FROM rides"


def test_databases_in_duckdb_are_made_anew(policy: Policy, world: World, tiny: Engines) -> None:
    """As after a mistake of DuckDB's own, which closes them."""
    trial_court = court(policy, world, tiny["duckdb"])
    assert trial_court.tried(COUNT, "owner").new
    trial_engine = trial_court.trial._ready()
    assert isinstance(trial_engine, DuckDbTrialEngine)
    trial_engine._connection.close()
    assert trial_court.tried(COUNT, "owner").new
    assert trial_court.trial._ready() is not trial_engine


def test_databases_in_postgresql_are_made_anew(policy: Policy, world: World, tiny: Engines) -> None:
    """As after the shadow was emptied; and what ends connections alone is not even noticed."""
    trial_court = court(policy, world, tiny["postgres"])
    assert trial_court.tried(COUNT, "owner").new
    trial_engine = trial_court.trial._ready()
    world.owner.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres' AND pid <> pg_backend_pid()"
    )
    assert trial_court.tried(COUNT, "owner").new
    assert trial_court.trial._ready() is trial_engine
    for (schema,) in world.owner.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'trial%'").fetchall():
        world.owner.execute(f'DROP SCHEMA "{schema}" CASCADE')
    assert trial_court.tried(COUNT, "owner").new
    assert trial_court.trial._ready() is not trial_engine


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_who_cancels_is_told_so(engine: str, policy: Policy, world: World, tiny: Engines) -> None:
    """A trial that somebody cancels is no failure of the statement."""
    trial_court, cancellation = court(policy, world, tiny[engine]), Cancellation()
    parts = trial_court.priced(f"{COUNT} a JOIN rides b USING (rider) JOIN rides c USING (rider)", "owner").measurements
    RunningTrial(trial_court.trial, "passenger", Cancellation()).see(parts)
    cancellation.cancel()
    with pytest.raises(QueryCanceled):
        RunningTrial(trial_court.trial, "passenger", cancellation).see(parts)


def test_what_has_no_room_is_late(policy: Policy, world: World, tiny: Engines) -> None:
    """A product of a table with itself uses up DuckDB's memory before its time: that was called a mistake of dpsql's."""
    trial_court = court(policy, world, tiny["duckdb"])
    trial_engine = trial_court.trial._ready()
    assert isinstance(trial_engine, DuckDbTrialEngine)
    kept = "SELECT list(repeat('x', 1000) || i ORDER BY i) FROM range(3000000) AS t (i)"
    with pytest.raises(TrialEngineLate):
        trial_engine.run(kept, Cancellation(), 60)
    assert trial_court.tried(COUNT, "owner").new
