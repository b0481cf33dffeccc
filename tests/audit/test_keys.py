"""Keys that nobody declared: that one which only one unit has is shown happens with probability δ, whatever the unit does.

Every audit has a fixed seed; with another one it would fail by chance with probability 1e-6.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dpsql.policy.model import Policy, Privacy
from dpsql.privacy.mechanisms import k_norm
from dpsql.privacy.mechanisms.threshold import threshold
from tests.audit.canaries import FALSE_ALARM
from tests.support import mutants
from tests.support.fix_policy import with_rows
from tests.support.fix_world import NewClient
from tests.support.memory import Memory
from tests.support.mutants import Break

UNITS, DELTA = 3_000, Fraction(1, 20)
COUNT = "SELECT number, count(*) FROM rides GROUP BY number"
CUBE = "SELECT number, count(*), sum(fare), avg(tip), sum(seats) FROM rides GROUP BY number"
DISTINCT = "SELECT DISTINCT number FROM rides"
CASES = [(sql, most, keys) for sql in (COUNT, CUBE, DISTINCT) for most, keys in ((1, 1), (3, 3), (3, 20))]
"""Statements, with how many rows a unit may have and in how many keys it is."""
Shown = Callable[..., int]


@pytest.fixture
def shown(policy: Policy, new_client: NewClient, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Give a function that says how many units have some key shown."""

    def shown(sql: str, most: int, keys: int, mutant: Break | None = None) -> int:
        if mutant is not None:
            mutant(monkeypatch)
        role = replace(policy.roles["explorer"], per_query=Privacy(Fraction(1), DELTA))
        bounded = replace(with_rows(policy, "rides", "passenger", most), roles={"explorer": role})
        engine = Memory(bounded)
        rows = f"SELECT u, u * 100 + k, 150, 35, 6 FROM range({UNITS}) AS t (u), range({keys}) AS s (k)"
        engine.execute(f"INSERT INTO rides (rider, number, fare, tip, seats) {rows}")
        client = new_client(engine, "eve", policy=bounded, entropy=np.random.default_rng(3).bytes)
        return len({int(str(row[0])) // 100 for row in client.ask(sql).rows})

    return shown


@pytest.mark.parametrize(("sql", "most", "keys"), CASES)
def test_a_key_of_one_unit_is_hardly_ever_shown(sql: str, most: int, keys: int, shown: Shown) -> None:
    """Of three thousand units with keys of their own, a share δ or less has some of them shown."""
    assert binom.sf(shown(sql, most, keys) - 1, UNITS, float(DELTA)) > FALSE_ALARM


def scalar_threshold(patch: pytest.MonkeyPatch) -> None:
    """Compare a count out of a cube with the threshold of a count alone."""
    patch.setattr(k_norm, "threshold", lambda scale, _, *rest: threshold(scale, 1, *rest))


@pytest.mark.parametrize(("mutant", "sql", "keys"), [(scalar_threshold, CUBE, 1), (mutants.no_selection, COUNT, 20)])
def test_what_is_wrong_is_caught(mutant: Break, sql: str, keys: int, shown: Shown) -> None:
    """The wrong threshold, and a unit in any number of groups, show more."""
    assert binom.sf(shown(sql, 1, keys, mutant) - 1, UNITS, float(DELTA)) < FALSE_ALARM
