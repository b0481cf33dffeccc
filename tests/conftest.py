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
faults/test_chaos properties/test_shop_generated queries/test_golden properties/test_sensitivity
attack/test_hidden_statements audit/test_transcripts queries/test_spark queries/test_types clients/test_matrix
audit/test_canaries faults/test_life engines/test_total_forms properties/test_prepared
faults/test_statement_timeout lists/test_benchmarks docs/test_examples flights/test_flights faults/test_stalls
properties/test_shop engines/test_snapshot attack/test_statements properties/test_order web/test_visits
faults/test_strangers audit/test_keys gateway/test_aiming properties/test_shop_transcripts
faults/test_processes privacy/mechanisms/test_discrete_laplace test_layers test_local
queries/test_keys_that_occur engines/test_same_integers privacy/accuracy/test_margin engines/test_spill
policy/test_load_mistakes clients/test_not_for_nothing gateway/test_kill properties/test_mutants
queries/test_shop test_parallel privacy/mechanisms/test_gaussian_selection wire/server/test_login_throttle
faults/test_cancel wire/test_hostile queries/test_shells properties/test_weighed shadow/test_place
test_snapshot_keeper properties/test_lemma_mutants rewrite/translate/test_every_class wire/test_limits
shadow/test_nothing_fails privacy/mechanisms/test_extreme queries/test_any_statement_means web/test_login
faults/test_certificates faults/test_reload_under_load queries/test_rights
faults/test_process_numbers plots/test_gallery wire/test_timeouts faults/test_outages
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
    gc.set_threshold(50_000)  # most of what they make goes without its help: looking for more took a tenth of the time
    gc.enable()
    if session.testsfailed or session.config.option.collectonly or parallel.workers(session.config) == 1:
        return None  # as usual
    return parallel.run(session)


FIXTURES = [
    f"tests.support.fix_{name}"
    for name in (
        "policy",
        "world",
        "rights",
        "dirty",
        "engines",
        "spark",
        "wide",
        "shop",
        "types",
        "ledger",
        "ledger_server",
    )
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
