"""An optimizer that is wrong is caught: with all that DuckDB has, it reads a column of the wrong side of a join."""

import logging
from collections.abc import Mapping
from functools import partial

import duckdb
import pytest

from dpsql.engines.duckdb.opening import other_optimizers
from dpsql.errors import TrialFailed
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
from tests.support.tried import Court, court

STATEMENT = """
SELECT a.grade, count(*) FROM notes a LEFT JOIN notes b ON a.about = b.about AND b.grade IN ('xyz', 'ab')
  JOIN items ON a.about = item JOIN orders ON of_order = order_id GROUP BY 1
"""


def test_a_wrong_optimizer_is_caught(shop_courts: Mapping[str, Court], caplog: pytest.LogCaptureFixture) -> None:
    """The statement is refused with a number under which the log says why; no record was there to be read."""
    trial_court = shop_courts["duckdb"]
    assert trial_court.tried(STATEMENT, "owner").new == 1
    with duckdb.connect() as connection:
        wrong = set(other_optimizers(connection, {"projection_placement"}).split(","))
    other = court(
        trial_court.policy, trial_court.world, trial_court.engine, prepare=partial(DuckDbTrialEngine, optimizers=wrong)
    )
    with caplog.at_level(logging.ERROR, "dpsql.trial"), pytest.raises(TrialFailed) as failed:
        other.tried(STATEMENT, "owner")
    number = failed.value.message.split("trial ")[2].partition(")")[0]
    assert f"trial {number}: the engine's optimizer changes the measured numbers" in caplog.text
