"""Fixtures that several rooms share; hypothesis draws the same examples every time, but for `make test-all`.

It times none of them: how busy a machine is says nothing about the code.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import clusters, temporary

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("thorough", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

LONG = """
faults/test_chaos properties/test_sensitivity queries/test_golden clients/test_matrix audit/test_canaries faults/test_life
audit/test_transcripts properties/test_mutants faults/test_outages properties/test_shop properties/test_any_statement
properties/test_shop_generated
flights/test_flights faults/test_stalls properties/test_lemma_mutants privacy/mechanisms/test_discrete_laplace
faults/test_memory faults/test_reload gateway/test_kill faults/test_strangers epsilon/test_advice_by_brute_force
privacy/accuracy/test_margin
attack/test_hidden_statements attack/test_statements test_local properties/test_weighed shadow/test_place
faults/test_statement_timeout faults/test_layout queries/test_zones properties/test_order engines/test_same_integers
docs/test_examples web/test_visits attack/test_zeros_and_scales faults/test_starved engines/test_any_expression
queries/test_any_statement_means engines/test_spill faults/test_process_numbers queries/test_any_meaning properties/test_wide
properties/test_transcripts attack/test_superuser
""".split()
"""The files whose tests take longest, which are begun first, so that none is left alone at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    place = {f"tests/{name}.py": rank for rank, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(place)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return three processes for two cores: a sixth of the time is spent waiting, for servers and for time limits."""
    return (os.cpu_count() or 1) * 3 // 2


_TEMPORARY = pytest.StashKey[Path | None]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Share temporary files' place and clusters among the processes that run tests."""
    if not hasattr(config, "workerinput"):
        config.stash[_TEMPORARY] = temporary.begin()
        clusters.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove them."""
    if not hasattr(config, "workerinput"):
        clusters.end()
        temporary.end(config.stash[_TEMPORARY])


pytest_plugins = (
    "tests.support.fix_policy",
    "tests.support.fix_world",
    "tests.support.fix_dirty",
    "tests.support.fix_engines",
    "tests.support.fix_wide",
    "tests.support.fix_shop",
    "tests.support.fix_types",
    "tests.support.fix_ledger",
)
