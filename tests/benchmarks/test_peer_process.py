"""A peer in a process of its own: what it answers, refuses, and does not answer in time."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import inside
from benchmarks.peers.asked import Peer, Task
from benchmarks.peers.questions import Question

_TASK = Task(epsilon=1.0, delta=1e-6, repetitions=3, seconds=30.0, limit=60.0)
_SCRIPT = f"""
import sys, time
sys.path.insert(0, {str(Path(inside.__file__).parent)!r})
from answering import serve

class Panic(BaseException): pass

def prepare(request):
    def run():
        if request["sql"] == "sleep": time.sleep(600)
        if request["sql"] == "panic": raise Panic("not yet\\n  implemented")
        print("what a library prints")
        return ["k", "n"], [(complex(1), request["epsilon"]), ("b", None)]
    return run

def start(opening):
    if "failure" in opening: raise ValueError("no such table")
    return prepare

serve(start)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script as the peers' are."""
    path = tmp_path / "ask.py"
    path.write_text(_SCRIPT)
    return path


@pytest.fixture
def peer(script: Path) -> Iterator[Peer]:
    """A peer that answers."""
    peer = Peer(Path(sys.executable), str(script), {"dsn": ""})
    yield peer
    peer.close()


def _question(sql: str) -> Question:
    return Question("q01", "count", "passenger", sql)


def test_a_peer_answers_as_often_as_it_is_asked(peer: Peer) -> None:
    """Whatever it prints besides, and values that JSON does not know come as text."""
    answer = peer.ask(_question("SELECT 1"), _TASK)
    assert [(run.columns, run.rows) for run in answer.runs] == [(["k", "n"], [["(1+0j)", 1.0], ["b", None]])] * 3


def test_a_peer_that_has_no_time_left_answers_once(peer: Peer) -> None:
    """A slow question is answered, if only once."""
    assert len(peer.ask(_question("SELECT 1"), replace(_TASK, seconds=0.0)).runs) == 1


def test_a_panic_is_a_refusal_and_the_peer_goes_on(peer: Peer) -> None:
    """Its words come on one line."""
    assert peer.ask(_question("panic"), _TASK).refused == "Panic: not yet implemented"
    assert peer.ask(_question("SELECT 1"), _TASK).runs


def test_a_peer_that_takes_too_long_is_ended_and_started_again(peer: Peer) -> None:
    """The next question is answered by another process."""
    assert peer.ask(_question("sleep"), replace(_TASK, limit=0.2)).refused == "no answer within 0.2 s"
    assert peer.ask(_question("SELECT 1"), _TASK).runs


def test_a_peer_that_does_not_start_refuses_with_the_reason(script: Path) -> None:
    """Each question says why."""
    peer = Peer(Path(sys.executable), str(script), {"failure": True})
    assert peer.ask(_question("SELECT 1"), _TASK).refused == "ValueError: no such table"


def test_without_peers_the_benchmark_ends_with_a_reason(tmp_path: Path) -> None:
    """It does not compare dpsql with nobody."""
    done = subprocess.run(  # noqa: S603 # ourselves
        [sys.executable, "-m", "benchmarks.peers", "--peers", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("smartnoise-sql is not installed in ")
