"""Fixtures that several rooms share; hypothesis draws the same examples every time, but for `make test-all`.

It times none of them: how busy a machine is says nothing about the code.
"""

import atexit
import gc
import os

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from dpsql.scratch import Scratch
from tests.support import clusters, temporary

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


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Look for garbage only among what the tests make."""
    gc.freeze()
    gc.enable()


SOON = 0.01
"""Seconds; what takes longer is among the slowest that `--durations` names."""


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Tell the process that hands out tests only once of each that passes: six messages take longer than most tests."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > SOON:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return three processes for two cores: a sixth of the time is spent waiting, for servers and for time limits."""
    return (os.cpu_count() or 1) * 3 // 2


FIXTURES = [
    f"tests.support.fix_{name}"
    for name in ("policy", "world", "dirty", "engines", "spark", "wide", "shop", "types", "ledger")
]
pytest.register_assert_rewrite(*FIXTURES)  # which a room's conftest.py may import first
_TEMPORARY = pytest.StashKey[Scratch | None]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Share temporary files' place and clusters among the processes that run tests, which alone import fixtures."""
    tests = hasattr(config, "workerinput") or config.getoption("dist", "no") == "no"
    for name in FIXTURES if tests else ():
        config.pluginmanager.import_plugin(name)
    if not hasattr(config, "workerinput"):
        config.stash[_TEMPORARY] = temporary.begin()
        clusters.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove them."""
    if not hasattr(config, "workerinput"):
        clusters.end()
        temporary.end(config.stash[_TEMPORARY])
