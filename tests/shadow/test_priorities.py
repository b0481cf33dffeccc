"""Sessions of a user who keeps the processors busy stand back, and nobody else's."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from dpsql.shadow.watch.warden import Priorities, read_process

BUSY, IDLE = "while True: pass", "import sys; sys.stdin.read()"


@pytest.fixture
def sessions() -> Iterator[dict[int, str]]:
    """Give processes that stand for sessions, with their users: two of ana's compute, one of hers and one of bob's wait."""
    with ExitStack() as stack:
        users = {}
        for program, user in ((BUSY, "ana"), (BUSY, "ana"), (IDLE, "ana"), (IDLE, "bob")):
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603
            )
            stack.callback(process.kill)
            users[process.pid] = user
        yield users


def _priorities(sessions: dict[int, str]) -> list[int]:
    return [os.getpriority(os.PRIO_PROCESS, process) for process in sessions]


def test_who_computes_stands_back(sessions: dict[int, str]) -> None:
    """With all sessions; at the first look nobody has worked yet."""
    usual, looks = os.getpriority(os.PRIO_PROCESS, 0), Priorities()
    assert looks.look(sessions.items(), time.monotonic()) == frozenset()
    assert _priorities(sessions) == [usual] * 4
    until = time.monotonic() + 30
    while "ana" not in looks.look(sessions.items(), time.monotonic()):
        assert time.monotonic() < until
        time.sleep(0.5)
    assert _priorities(sessions) == [19, 19, 19, usual]
    _begins_back(looks)
    for process, user in sessions.items():
        group = Path(f"/proc/{process}/autogroup")
        if group.exists():
            assert group.read_text().rstrip().endswith("nice 19") == (user == "ana")


@contextmanager
def _process(program: str) -> Iterator[int]:
    """Give the number of one process more."""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, start_new_session=True) as process:  # noqa: S603
        try:
            yield process.pid
        finally:
            process.kill()


def _begins_back(looks: Priorities) -> None:
    """A new session of hers stands back before anybody looks, and one of his does not."""
    usual, soon, later = os.getpriority(os.PRIO_PROCESS, 0), time.monotonic(), time.monotonic() + 60
    for user, now, expected in (("ana", later, usual), ("ana", soon, 19), ("bob", soon, usual)):
        with _process(IDLE) as process:
            looks.begin(process, user, now)
            assert os.getpriority(os.PRIO_PROCESS, process) == expected
            left = os.sched_getaffinity(process)
            assert (
                left == os.sched_getaffinity(0)
                if expected == usual
                else len(left) == max(len(os.sched_getaffinity(0)), 2) - 1
            )


def test_what_a_session_did_since_it_began_counts() -> None:
    """It may have begun after the last look."""
    looks, since = Priorities(), time.monotonic()
    looks.look([], since)
    with _process(BUSY) as process:
        while (seen := read_process(process)) is None or seen.worked < 1:
            time.sleep(0.05)
        assert looks.look([(process, "ana")], since + 1) == frozenset({"ana"})


def test_a_session_that_has_ended_is_no_trouble() -> None:
    """Between the list and the look it may go."""
    assert Priorities().look([(2**22 - 1, "ana")], 1.0) == frozenset()
