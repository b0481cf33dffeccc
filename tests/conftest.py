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
