"""A plugin of pytest: `--mistake NAME` puts a mistake into the code before any test is collected."""

import pytest

from tests.mutants.catalogue import MISTAKES

_OWN = ("caught", "mistake", "would", "wrong")
"""What is in the names of tests that put mistakes in themselves."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run name a mistake."""
    parser.addoption("--mistake", help="the name of a mistake, as tests/mutants/catalogue.py has it")


def pytest_configure(config: pytest.Config) -> None:
    """Put it in."""
    name = config.getoption("--mistake")
    if name:
        MISTAKES[name].put_in(pytest.MonkeyPatch())


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave out the tests that put mistakes in themselves: they pass where a mistake is caught."""
    fixtures = getattr(item, "fixturenames", ())
    if "mutant" in fixtures or any(word in item.name for word in _OWN):
        item.add_marker(pytest.mark.skip(reason="it puts a mistake in by itself"))
