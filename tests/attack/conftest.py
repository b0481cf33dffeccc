"""A directory for what is served, for each test its own."""

from tests.faults.conftest import directory

__all__ = ["directory"]
