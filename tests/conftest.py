"""Fixtures that several rooms share; hypothesis draws the same examples every time, but for `make test-all`.

It times none of them: how busy a machine is says nothing about the code.
"""

import os

import pytest
from hypothesis import settings

from tests.support import clusters

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("thorough", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

LONG = """
faults/test_chaos audit/test_transcripts queries/test_golden audit/test_canaries faults/test_outages
properties/test_sensitivity faults/test_life faults/test_reload faults/test_stalls faults/test_strangers flights/test_flights
properties/test_mutants properties/test_lemma_mutants attack/test_zeros_and_scales engines/test_spill queries/test_any_meaning
attack/test_statements attack/test_hidden_statements properties/test_order properties/test_wide docs/test_examples
shadow/test_place properties/test_any_statement engines/test_same_integers queries/test_any_statement_means
properties/test_transcripts gateway/test_kill attack/test_superuser
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


def pytest_configure(config: pytest.Config) -> None:
    """Share one cluster among the processes that run tests."""
    if not hasattr(config, "workerinput"):
        clusters.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove it."""
    if not hasattr(config, "workerinput"):
        clusters.end()


pytest_plugins = (
    "tests.support.fix_policy",
    "tests.support.fix_world",
    "tests.support.fix_dirty",
    "tests.support.fix_engines",
    "tests.support.fix_wide",
    "tests.support.fix_ledger",
)
