"""The order in which the files of tests are begun."""

from pathlib import Path

import pytest

from tests.conftest import LONG


@pytest.mark.parametrize("name", LONG)
def test_what_is_begun_first_is_there(name: str) -> None:
    """A file that was moved is named by where it is now."""
    assert (Path(__file__).parent / f"{name}.py").exists()
