"""The processes in which tests run the command."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.support.forked import Forked, Mother, started


def test_process_that_ends_by_itself_can_be_signalled() -> None:
    """Between its end and the news of it, nothing has its number any more."""
    for _ in range(20):
        ended = Forked(["--version"])
        assert ended.stdout is not None
        with ended.stdout as said:
            said.read()
        ended.send_signal(signal.SIGTERM)
        assert ended.wait(10) in (0, -signal.SIGTERM)


def test_who_forks_for_a_run_ends_with_it(tmp_path: Path) -> None:
    """All who ask have processes of their own, which end with them; nobody is let in after the run."""
    place = str(tmp_path / "mother")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as owner:  # noqa: S607
        with _socket() as listener:
            listener.bind(place)
            listener.listen()
            unimported = "_imported = lambda: None; mother.shared"
            started(sys.executable, None, listener, f"{unimported}({listener.fileno()}, {owner.pid})").wait(30)
        first, another = _connected(place), _connected(place)
        ended, stays = _forked(first), _forked(another)
        first.end()
        assert select.select([ended], [], [], 30)[0]
        assert not select.select([stays], [], [], 0)[0]
    until = time.monotonic() + 30
    while _is_let_in(place):
        assert time.monotonic() < until
        time.sleep(0.01)
    another.end()
    assert select.select([stays], [], [], 30)[0]
    os.close(ended)
    os.close(stays)


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _connected(place: str) -> Mother:
    talk = _socket()
    talk.connect(place)
    return Mother(talk)


def _forked(mother: Mother) -> int:
    """Begin a process that waits for ever, and return a descriptor of it."""
    return os.pidfd_open(mother.fork([], "import signal; signal.pause()", [], [1, 2]))


def _is_let_in(place: str) -> bool:
    with _socket() as talk:
        return talk.connect_ex(place) == 0
