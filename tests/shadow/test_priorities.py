"""Sessions of a user who keeps the processors busy stand back, and nobody else's."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dpsql.shadow.watch.priorities import Priorities

BUSY, IDLE = "while True: pass", "import sys; sys.stdin.read()"


@pytest.fixture
def sessions() -> Iterator[dict[int, str]]:
    """Give processes that stand for sessions, with their users: two of ana's compute, one of hers and one of bob's wait."""
    with ExitStack() as stack:
        found = {}
        for program, user in ((BUSY, "ana"), (BUSY, "ana"), (IDLE, "ana"), (IDLE, "bob")):
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603
            )
            stack.callback(process.kill)
            found[process.pid] = user
        yield found


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
    for process, user in sessions.items():
        group = Path(f"/proc/{process}/autogroup")
        if group.exists():
            assert group.read_text().rstrip().endswith("nice 19") == (user == "ana")


def test_a_session_that_has_ended_is_no_trouble() -> None:
    """Between the list and the look it may go."""
    assert Priorities().look([(2**22 - 1, "ana")], 1.0) == frozenset()
