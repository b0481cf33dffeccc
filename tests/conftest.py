"""Fixtures that several rooms share; hypothesis draws the same examples every time, but for `make test-all`.

It times none of them: how busy a machine is says nothing about the code.
"""

import atexit
import gc
import os

import pytest
from hypothesis import settings

from dpsql.scratch import Scratch
from tests.support import clusters, parallel, temporary

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("thorough", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

gc.disable()  # until the tests are collected: nothing of what is made till then goes away
atexit.register(gc.unfreeze)  # DuckDB misses what is left

LONG = """
faults/test_chaos properties/test_sensitivity properties/test_shop_generated audit/test_transcripts
queries/test_golden attack/test_statements faults/test_life properties/test_order flights/test_flights
clients/test_matrix lists/test_benchmarks faults/test_strangers audit/test_canaries gateway/test_aiming
faults/test_statement_timeout queries/test_spark attack/test_hidden_statements web/test_visits docs/test_examples
queries/test_types engines/test_total_forms faults/test_stalls audit/test_keys engines/test_snapshot
privacy/mechanisms/test_discrete_laplace properties/test_shop test_local engines/test_spill
privacy/accuracy/test_margin faults/test_cancel queries/test_keys_that_occur wire/test_hostile queries/test_shop
properties/test_mutants wire/test_limits faults/test_outages queries/test_shells clients/test_sqlalchemy
wire/test_timeouts properties/test_types privacy/mechanisms/test_threshold faults/test_reload
engines/test_same_integers test_snapshot_keeper shadow/test_place privacy/mechanisms/test_gaussian_profile
privacy/mechanisms/test_quantile_width faults/test_memory faults/test_process_numbers privacy/accuracy/test_coverage
properties/test_lemma_mutants privacy/mechanisms/test_known_mechanisms faults/test_layout gateway/test_remembered
queries/test_zones engines/test_any_expression properties/test_transcripts
""".split()
"""The files whose tests take longest, which are begun first, so that none is left alone at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    place = {f"tests/{name}.py": rank for rank, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(place)))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let several processes run tests."""
    parallel.add_option(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Look for garbage only among what the tests make; run them in several processes where that is asked for."""
    gc.freeze()
    gc.enable()
    if session.testsfailed or session.config.option.collectonly or parallel.workers(session.config) == 1:
        return None  # as usual
    return parallel.run(session)


FIXTURES = [
    f"tests.support.fix_{name}"
    for name in ("policy", "world", "dirty", "engines", "spark", "wide", "shop", "types", "ledger")
]
pytest.register_assert_rewrite(*FIXTURES)  # which a room's conftest.py may import first
_TEMPORARY = pytest.StashKey[Scratch | None]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Share temporary files' place and clusters among the processes that run tests."""
    for name in FIXTURES:
        config.pluginmanager.import_plugin(name)
    config.stash[_TEMPORARY] = temporary.begin()
    clusters.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove them."""
    clusters.end()
    temporary.end(config.stash[_TEMPORARY])
