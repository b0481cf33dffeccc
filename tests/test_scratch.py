"""Directories that do not outlive their process for long, and the directories of others, which are left alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpsql.private_files import Scratch

PREFIX = "dpsql-try-"
CHILD = """
import sys
from pathlib import Path
from dpsql.private_files import Scratch
with Scratch(sys.argv[1], Path(sys.argv[2])) as scratch:
    (scratch.path / "inside").mkdir()
    print(scratch.path, flush=True)
    sys.stdin.read()
"""


@contextmanager
def _child(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run a process with a directory; gives it, and where that is."""
    command = [sys.executable, "-c", CHILD, PREFIX, str(place)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        assert child.stdout is not None
        yield child, Path(child.stdout.readline().strip())


def test_it_goes_with_its_process(tmp_path: Path) -> None:
    """Where that ends in order."""
    with _child(tmp_path) as (child, path):
        assert (path / "inside").is_dir()
        child.communicate("", timeout=30)
    assert list(tmp_path.iterdir()) == []


def test_what_the_killed_left_goes_with_the_next(tmp_path: Path) -> None:
    """And what is used stays."""
    with _child(tmp_path) as (_, living), _child(tmp_path) as (killed, left):
        killed.kill()
        killed.wait(30)
        assert left.is_dir()
        with Scratch(PREFIX, tmp_path, 0o711) as own:
            assert sorted(tmp_path.iterdir()) == sorted((living, own.path))
            assert own.path.stat().st_mode & 0o777 == 0o711


def test_others_directories_are_left_alone(tmp_path: Path) -> None:
    """Links, directories that are not locked in our way, and those of other accounts."""
    with _child(tmp_path) as (killed, left):
        killed.kill()
        killed.wait(30)
    kept = left.rename(tmp_path / "elsewhere")
    (tmp_path / f"{PREFIX}link").symlink_to(kept)
    (tmp_path / f"{PREFIX}plain").mkdir()
    (tmp_path / f"{PREFIX}file").touch()
    Scratch(PREFIX, tmp_path).remove()
    names = [f"{PREFIX}file", f"{PREFIX}link", f"{PREFIX}plain", "elsewhere"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert (kept / "inside").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_directories_of_other_accounts_are_left_alone(tmp_path: Path) -> None:
    """Even by root, who could remove them."""
    with _child(tmp_path) as (killed, left):
        killed.kill()
        killed.wait(30)
    os.chown(left, 12345, 12345)
    Scratch(PREFIX, tmp_path).remove()
    assert left.is_dir()
