"""An engine that hangs is left behind: nobody waits for it for good, and what it held is let go of when it can be."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines import apart
from dpsql.engines.apart import ready_apart
from dpsql.engines.base import Engine
from dpsql.errors import EngineAway, EngineFailed, QueryCanceled
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation

CHARGE = cast("Charge", None)


@dataclass(slots=True)
class Hanging:
    """An engine that stands still in `ready`, in `run` or at the end, until it may go on."""

    where: str
    go: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def ready(self, statements: Sequence[str], *, timeout: float, cancellation: Cancellation) -> Iterator["Hanging"]:
        """Make nothing ready."""
        _ = statements, timeout, cancellation
        self._wait("ready")
        yield self
        self._wait("end")
        self.let_go.set()

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return a row, or fail."""
        _ = charge
        self._wait("run")
        if sql == "broken":
            raise EngineFailed
        return [(1,)]

    def _wait(self, where: str) -> None:
        if self.where == where:
            self.go.wait()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for moments."""
    monkeypatch.setattr(apart, "_AFTER_CANCEL", 0.2)
    monkeypatch.setattr(apart, "_AFTER_TIME", 0.2)


def _asked(engine: Hanging, cancellation: Cancellation, sql: str = "") -> Sequence[EngineRow]:
    with ready_apart(cast("Engine", engine), [sql], timeout=0.1, cancellation=cancellation) as prepared:
        return prepared.run(sql, CHARGE)


@pytest.mark.parametrize("where", ["ready", "run"])
def test_a_cancel_ends_the_wait(where: str) -> None:
    """Whatever the engine does; it lets go of what it holds when it goes on."""
    engine, cancellation = Hanging(where), Cancellation()
    threading.Timer(0.05, cancellation.cancel).start()
    with pytest.raises(QueryCanceled):
        _asked(engine, cancellation)
    assert not engine.let_go.is_set()
    engine.go.set()
    assert engine.let_go.wait(5)


def test_time_ends_the_wait() -> None:
    """Before anything is paid the engine is away; afterwards the measurement is late, as one is that could be stopped."""
    with pytest.raises(EngineAway):
        _asked(Hanging("ready"), Cancellation())
    with pytest.raises(QueryCanceled):
        _asked(Hanging("run"), Cancellation())


def test_the_end_is_not_waited_for() -> None:
    """What was measured counts, though the engine does not take back what it lent."""
    assert _asked(Hanging("end"), Cancellation()) == [(1,)]


def test_what_may_be_exact_is_not_shown() -> None:
    """Neither in a log nor in a traceback that shows values."""
    answer: apart._Answer[int] = apart._Answer()
    answer.make(lambda: 987654321)
    assert answer.returned == [987654321]
    assert "987654321" not in repr(answer)


def test_others_are_as_before() -> None:
    """Rows and errors come through, and what was held is let go of before whoever asked goes on."""
    engine = Hanging("nowhere")
    assert _asked(engine, Cancellation()) == [(1,)]
    assert engine.let_go.is_set()
    with pytest.raises(EngineFailed):
        _asked(Hanging("nowhere"), Cancellation(), "broken")
