"""Tests that run in several processes: all of them run, and none fails unnoticed."""

import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """
import pytest
from tests.support import parallel

pytest_addoption = parallel.add_option


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    return parallel.run(session)
"""
TESTS = {
    "test_good.py": """
import os, pytest

@pytest.fixture(scope="module")
def shared():
    return os.getpid()

@pytest.mark.parametrize("n", range(20))
def test_together(n, shared):
    assert os.getpid() == shared
    print("unseen")
""",
    "test_bad.py": """
import pytest

def test_wrong():
    print("what it said")
    assert 1 == 2

@pytest.fixture
def broken():
    raise OSError("no such thing")

def test_unready(broken): ...

@pytest.fixture
def left():
    yield
    raise OSError("not put away")

def test_untidy(left): ...

def test_skipped():
    pytest.skip("on purpose")
""",
    "test_dead.py": """
import os

def test_alive(): ...

def test_killed():
    os.kill(os.getpid(), 9)

def test_after(): ...
""",
}


def _run(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (directory / "plugin.py").write_text(PLUGIN)
    for name, text in TESTS.items():
        (directory / name).write_text(text)
    paths = {"PYTHONPATH": f"{Path(__file__).parents[1]}:{directory}", "PATH": ""}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "plugin",
        "-p",
        "no:cacheprovider",
        "-rA",
        "--workers",
        "3",
        *options,
    ]
    return subprocess.run(command, cwd=directory, env=paths, capture_output=True, text=True, check=False)  # noqa: S603


@pytest.fixture
def ran(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run them all."""
    return _run(tmp_path)


def test_all_is_told(ran: subprocess.CompletedProcess[str]) -> None:
    """What fails, what can't be set up or put away, what is skipped, and what was said meanwhile."""
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
    assert "FAILED test_bad.py::test_wrong - assert 1 == 2" in ran.stdout
    assert "what it said" in ran.stdout
    assert "ERROR test_bad.py::test_unready - OSError: no such thing" in ran.stdout
    assert "ERROR test_bad.py::test_untidy - OSError: not put away" in ran.stdout
    assert "on purpose" in ran.stdout
    assert ran.stdout.count("PASSED test_good.py") == 20


def test_a_process_that_dies_is_a_failure(ran: subprocess.CompletedProcess[str]) -> None:
    """Of the test that it ran, whatever it had told before."""
    assert "FAILED test_dead.py::test_killed" in ran.stdout
    assert "the process ended with -9" in ran.stdout
    assert "PASSED test_dead.py::test_alive" in ran.stdout


def test_a_run_stops_where_it_is_asked_to(tmp_path: Path) -> None:
    """With the first failure."""
    ran = _run(tmp_path, "-x", "test_bad.py", "test_good.py")
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
    assert "stopping after 1 failures" in ran.stdout


def test_all_pass(tmp_path: Path) -> None:
    """Then the run has passed."""
    ran = _run(tmp_path, "test_good.py")
    assert ran.returncode == pytest.ExitCode.OK
    assert "20 passed" in ran.stdout
