"""Fixtures that several rooms share; hypothesis draws the same examples every time, but for `make test-all`.

It times none of them: how busy a machine is says nothing about the code.
"""

import atexit
import gc
import os

import pytest
from hypothesis import settings

from dpsql.private_files import Scratch
from tests import suites
from tests.support import clusters, parallel, temporary

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("thorough", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

gc.disable()  # until the tests are collected: nothing of what is made till then goes away
atexit.register(gc.unfreeze)  # DuckDB misses what is left


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-long` has, and begin with what takes longest."""
    for item in items:
        if suites.is_long(item.nodeid):
            item.add_marker("long")
    items.sort(key=lambda item: suites.rank(item.nodeid))


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
        "json",
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
