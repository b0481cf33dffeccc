"""Rounding of values is invisible in sums, also of a table that has far more rows than its owner expects."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.contribution import USUAL_ROWS, least_points
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import NewClient
from tests.support.memory import Memory
from tests.support.records import Maker

FARE = 2.75


@pytest.mark.parametrize("rows", [None, 1, 1_000, 10**6, 10**8])
def test_what_is_expected_is_no_most(rows: int | None) -> None:
    """A million rows that are all off to the same side are off by a tenth of the margin: three halves of C/ε."""
    for mass, epsilon in ((1, Fraction(1)), (20, Fraction(1, 10))):
        points = least_points(rows, mass, epsilon)
        assert Fraction(max(rows or 0, USUAL_ROWS), 2 * points) <= Fraction(3, 20) * mass / epsilon


@pytest.mark.parametrize(
    ("number", "answers", "least"), [(300_000, 20, 17), pytest.param(10**6, 200, 187, marks=pytest.mark.slow)]
)
def test_a_sum_of_more_rows_than_expected_has_a_margin_that_covers(
    number: int, answers: int, least: int, policy: Policy, new_client: NewClient
) -> None:
    """A lone sum of so many equal fares, of a table that was declared to have 1,000 rows: it covered in no answer."""
    policy = with_epsilon(with_rows(policy, "rides", "passenger", 1), Fraction(1))
    declared = {**policy.tables, "rides": replace(policy.tables["rides"], expected_rows=1_000)}
    policy = replace(policy, tables=declared)
    engine = Memory(policy)
    engine.fill("rides", [Maker(3).row(policy.tables["rides"]) | {"fare": FARE}])
    engine.execute(f"INSERT INTO rides SELECT rides.* REPLACE (t.i AS rider) FROM rides, range({number - 1}) t(i)")
    client = new_client(engine, policy=policy, entropy=np.random.default_rng(7).bytes)
    covered = 0
    for _ in range(answers):
        client.ledger.advance("another")
        ((total, margin),) = client.ask("SELECT sum(fare), dpsql.margin(sum(fare)) FROM rides").rows
        covered += abs(float(str(total)) - number * FARE) <= float(str(margin)) <= 600
    assert covered >= least
