"""What is long, and what is begun first, is named by where it is now."""

from pathlib import Path

import pytest

from tests.suites import FIRST, LONG, SHORT, is_long

HERE = Path(__file__).parent


def _is_there(name: str) -> bool:
    """Return whether a test, a file or a room begins with a name."""
    path, _, function = name.partition("::")
    files = [*HERE.glob(f"{path}*.py"), *(HERE / path).glob("**/test_*.py")]
    return any(f"def {function.partition('[')[0]}" in file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("name", [*LONG, *SHORT, *(f"{name}::" for name in FIRST)])
def test_suites_are_there(name: str) -> None:
    """A suite that was moved would be run by the wrong command, or by none first."""
    assert _is_there(name)


def test_a_suite_that_is_gone_would_be_seen() -> None:
    """Files, rooms and tests alike."""
    assert not any(map(_is_there, ("queries/test_nothing", "nothing", "queries/test_golden::test_nothing")))


def test_a_part_of_a_file_may_be_long() -> None:
    """And a part of what is long may not be."""
    assert is_long("tests/clients/test_matrix.py::test_driver_does_what_the_page_says[asyncpg]")
    assert not is_long("tests/clients/test_matrix.py::test_driver_does_what_the_page_says[psycopg 3]")
    assert is_long("tests/attack/test_statements.py::test_rows_that_fail_where_make_nothing_overflow[0]")
    assert not is_long("tests/attack/test_statements.py::test_another")
