"""What a gateway gives away about one unit, measured by guessing; each bound is put under stress by itself.

Every audit has a fixed seed; with another one it would fail by chance with probability 1e-6.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.policy.model import Mechanism, Policy
from dpsql.privacy import release
from dpsql.privacy.bounding import Bound
from dpsql.privacy.noise import discrete_laplace
from dpsql.privacy.sums import Sums
from dpsql.rewrite.emit import Emitter
from tests.audit.canaries import FALSE_ALARM, Attack, Audit, Recorder
from tests.fix_world import NewClient, World, noon
from tests.properties.test_mutants import Break, _cap_off_by_one, _no_cap, _no_clamp

BY_MINUTE = "SELECT date_trunc('minute', picked), {} FROM rides GROUP BY 1"
COUNT = BY_MINUTE.format("count(*)")
MEDIAN = BY_MINUTE.format("median(fare)")
CUBE = BY_MINUTE.format("count(*), sum(fare), avg(tip), avg(age)")
HIGH = {"fare": "150", "tip": "35", "age": "100"}
LOW = {"fare": "75", "tip": "15", "age": "48"}

ATTACKS = {
    "one row": Attack(COUNT),
    "as many rows as allowed": Attack(COUNT, most=3, rows=3),
    "too many rows": Attack(COUNT, most=3, rows=18),
    "one row too many": Attack(COUNT, most=3, rows=4),
    "as many groups as allowed": Attack(COUNT, most=3, groups=3),
    "too many groups": Attack(COUNT, most=3, groups=12),
    "a sum": Attack(BY_MINUTE.format("sum(fare)"), values={"fare": "150"}, others={"fare": "75"}),
    "too large a value": Attack(BY_MINUTE.format("sum(fare)"), values={"fare": "1e6"}, others={"fare": "75"}),
    "a cube": Attack(CUBE, values=HIGH, others=LOW),
    "a cube of squares": Attack(BY_MINUTE.format("variance(fare), corr(fare, tip)"), values=HIGH, others=LOW),
    "a sure answer": Attack(COUNT, epsilon=Fraction(2)),
}


@pytest.fixture
def ledger(tmp_path: Path) -> Recorder:
    """A ledger that remembers what was released."""
    return Recorder(tmp_path / "recorder.db", noon)


@pytest.mark.parametrize("name", ATTACKS)
def test_no_guess_is_better_than_epsilon_allows(
    name: str, policy: Policy, world: World, new_client: NewClient, ledger: Recorder
) -> None:
    """Guesses about ten thousand canaries are right no more often than e^ε/(1 + e^ε)."""
    result = Audit.of(ATTACKS[name], policy, world).run(new_client, ledger, seed=1)
    print(name, result, result.p_value)
    assert result.p_value > FALSE_ALARM
