"""Once the engine has answered nothing heavy is left to do: how much would tell whether there are rows."""

from time import thread_time

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement import plan
from dpsql.privacy.mechanisms import gaussian_selection, k_norm, partition_selection, threshold
from dpsql.question import Settings
from tests.gateway.engines import Rows, Watched
from tests.support.fix_policy import with_rows
from tests.support.fix_wide import Engines, NewWide, plain
from tests.support.fix_world import noon
from tests.support.quick_ledger import quick_ledger

FOUND = (
    "SELECT txt, count(*), sum(iv) FROM visits GROUP BY txt",
    "SELECT DISTINCT txt FROM visits",
    "SELECT DISTINCT big, day FROM visits WHERE iv > 0",
    "SELECT moment, median(iv), count(DISTINCT person) FROM visits GROUP BY moment",
)
HEAVY = (
    (threshold, "_least_excess"),
    (threshold, "per_key"),
    (partition_selection, "_chances"),
    (k_norm, "threshold"),
    (k_norm, "threshold"),
    (gaussian_selection, "selection"),
    (gaussian_selection, "least_sigma"),
    (gaussian_selection, "tail_at_most"),
    (plan, "selection"),
)
SECONDS = 5.0
"""Of the processor, however busy it is with others: far more than planning needs.

Tables for so little ε took as long as a minute, and gigabytes.
"""


def _fail(*_: object) -> object:
    raise AssertionError("computed after the engine was asked")


@pytest.mark.parametrize("rows", [0, 12])
@pytest.mark.parametrize("sql", FOUND)
def test_thresholds_and_chances_are_ready_before(
    sql: str, rows: int, wide: Engines, ask_wide: NewWide, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With groups and without, what decides which of them are shown was computed when the statement was priced."""

    def forbid(rows: Rows) -> Rows:
        for module, name in HEAVY:
            monkeypatch.setattr(module, name, _fail)
        return rows

    wide["duckdb"].engine.fill("visits", [plain("person", n) for n in range(rows)])
    with quick_ledger(noon) as ledger:
        client = ask_wide("duckdb", ledger, np.random.default_rng(1).bytes, "eve")
        entropy = np.random.default_rng(1).bytes
        client.gateway = wide["duckdb"].gateway(ledger, entropy, lambda e: Watched(e, after=forbid))
        client.ask(sql)


@pytest.mark.parametrize("sql", FOUND)
def test_little_epsilon_is_planned_quickly(sql: str, wide: Engines, ask_wide: NewWide) -> None:
    """At the least ε there is, spread over many keys, planning stays short."""
    policy: Policy = with_rows(wide["duckdb"].policy, "visits", "passenger", 4000)
    wide["duckdb"].engine.fill("visits", [plain("person", 1)])
    with quick_ledger(noon) as ledger:
        client = ask_wide("duckdb", ledger, np.random.default_rng(1).bytes, "eve", policy)
        start = thread_time()
        client.ask(sql, Settings(epsilon="4e-3"))
        assert thread_time() - start < SECONDS
