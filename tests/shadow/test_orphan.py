"""Root looks whether an earlier server left something; only the server's own account ends it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dpsql.shadow.server import orphan
from dpsql.shadow.server.directory import SystemAccount

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="root looks into /proc")


@pytest.fixture
def account() -> SystemAccount:
    """Return the account of servers."""
    system_account = SystemAccount.for_server()
    assert system_account is not None
    return system_account


@pytest.fixture
def data(account: SystemAccount) -> Iterator[Path]:
    """Give the directory of a server that does not run."""
    with TemporaryDirectory(prefix="dpsql-orphan-") as made:
        place = Path(made).resolve()
        place.chmod(0o711)
        (place / "data").mkdir()
        os.chown(place / "data", account.uid, account.gid)
        yield place / "data"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Give the programs that are started from now on, all of which do nothing."""
    programs: list[Sequence[str]] = []

    def run(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        programs.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return programs


@contextmanager
def _process_of(account: SystemAccount, place: Path) -> Iterator[None]:
    """Run a process of the account, which is no server, in a directory."""
    who = {"user": account.uid, "group": account.gid, "extra_groups": []}
    with subprocess.Popen(["/bin/cat"], cwd=place, stdin=subprocess.PIPE, **who) as process:  # type: ignore[call-overload]
        yield
        process.communicate()


def test_where_nothing_is_left_no_program_is_started(
    data: Path, account: SystemAccount, started: list[Sequence[str]]
) -> None:
    """Each start and each stop would wait for it."""
    orphan.stop(data, account.uid, account.gid)
    assert started == []


def test_a_process_in_the_directory_is_judged_by_the_account(
    data: Path, account: SystemAccount, started: list[Sequence[str]]
) -> None:
    """Whatever it is."""
    with _process_of(account, data):
        orphan.stop(data, account.uid, account.gid)
    assert [command[-1] for command in started] == [str(data)]


def test_whoever_may_not_look_leaves_it_to_the_account(
    data: Path, account: SystemAccount, started: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose root may not see what other accounts' processes do."""

    def refuse(*_: object) -> str:
        raise PermissionError

    with _process_of(account, Path("/")), monkeypatch.context() as refused:
        refused.setattr(os, "readlink", refuse)
        orphan.stop(data, account.uid, account.gid)
    assert len(started) == 1


def test_a_server_s_file_is_removed_by_the_account(data: Path, account: SystemAccount) -> None:
    """Also where it is a link to nothing."""
    (data / "postmaster.pid").symlink_to("nothing")
    orphan.stop(data, account.uid, account.gid)
    assert list(data.iterdir()) == []
