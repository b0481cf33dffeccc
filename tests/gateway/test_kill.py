"""A real process is killed between charge and answer: the charge stays, and the ledger answers the next process."""

from contextlib import closing
from pathlib import Path

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from tests.support.fix_world import noon
from tests.support.forked import Forked

CHILD = """
from pathlib import Path
from dpsql.accounting.sqlite.ledger import SqliteLedger
from tests.support.fix_world import noon
from tests.gateway.child import answer
with SqliteLedger(Path({ledger!r}), noon) as ledger:
    answer(Path({directory!r}), ledger, {stop!r})
"""


def start(tmp_path: Path, name: str, stop: str) -> Forked:
    """Start a process that asks questions, and stops where `stop` says."""
    directory = tmp_path / name
    directory.mkdir()
    source = CHILD.format(ledger=str(tmp_path / "ledger.db"), directory=str(directory), stop=stop)
    return Forked([], before=source, modules=["tests.gateway.child"])


def killed(child: Forked, lines: int) -> list[str]:
    """Kill the process after it has written so many lines; return all that it wrote."""
    assert child.stdout
    heard = [child.stdout.readline().strip() for _ in range(lines)]
    child.kill()
    with child.stdout:
        heard += child.stdout.read().split()
    assert child.wait() == -9
    return heard


def charged(tmp_path: Path) -> int:
    """Return how many measurements were charged."""
    with closing(SqliteLedger(tmp_path / "ledger.db", noon)) as ledger:
        return len(ledger.entries(None, 10**6))


def test_a_kill_while_the_engine_works_leaves_the_charge(tmp_path: Path) -> None:
    """The charge was durable before the engine was asked; the same question is paid again, for nothing was released."""
    assert killed(start(tmp_path, "a", "in the engine"), 1) == ["working"]
    assert charged(tmp_path) == 1
    assert killed(start(tmp_path, "b", "after the first answer"), 1) == ["answered"]
    assert charged(tmp_path) == 2


def test_a_kill_after_the_answer_leaves_the_release(tmp_path: Path) -> None:
    """What was answered once is free for the next process."""
    for name in "ab":
        assert killed(start(tmp_path, name, "after the first answer"), 1) == ["answered"]
    assert charged(tmp_path) == 1


@pytest.mark.parametrize("lines", [1, 7])
def test_no_answer_without_a_charge(tmp_path: Path, lines: int) -> None:
    """At whatever moment it is killed, every answer that got out was charged; at most one charge has no answer."""
    answers = len(killed(start(tmp_path, "a", "never"), lines))
    assert answers <= charged(tmp_path) <= answers + 1
