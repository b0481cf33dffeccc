"""Clients that pip can't install: only `make test-clients` runs them, after it has installed them."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them."""
    for item in items:
        if "tests/clients/installed/" in item.nodeid:
            item.add_marker(pytest.mark.clients)
