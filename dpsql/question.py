"""What passes between a client's session and the gateway: values only."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: a user of the server, and the role whose ledger pays."""

    user: str
    role: str


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a row description, as the shadow gave it."""

    name: str
    oid: int
    typmod: int
    type: str
    """PostgreSQL's own spelling, as `format_type(oid, typmod)` gives it: `numeric(10,2)`."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One bound parameter: its value as text (None is NULL) and its type's spelling."""

    text: str | None
    type: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the client's session in the shadow that an answer depends on."""

    epsilon: str | None = None
    """`dpsql.epsilon`, where the session has set it."""
    empty_groups: str | None = None
    """`dpsql.empty_groups`, where the session has set it."""
    time_zone: str = "UTC"
    search_path: str = '"$user", public'
    date_order: str = "MDY"
    """How `01-02-2020` is read: MDY, DMY or YMD."""


@dataclass(slots=True)
class Cancellation:
    """A way to stop an answer from another thread; once set it stays set."""

    _event: threading.Event = field(default_factory=threading.Event)
    _stops: list[Callable[[], None]] = field(default_factory=list)
    late: bool = False
    """Whether it was time that asked, as the session has set it."""

    @property
    def requested(self) -> bool:
        """Say whether somebody asked to stop."""
        return self._event.is_set()

    def on_cancel(self, stop: Callable[[], None]) -> None:
        """Call `stop` when a cancel comes; at once if it came already."""
        self._stops.append(stop)
        if self.requested:
            stop()

    def wait(self, seconds: float) -> None:
        """Return when somebody asks to stop, or after so many seconds."""
        self._event.wait(seconds)

    def expire(self) -> None:
        """Ask the same because the session's time is up, unless somebody has asked before."""
        self.late = self.late or not self.requested
        self.cancel()

    def cancel(self) -> None:
        """Ask whoever works on the answer to stop."""
        self._event.set()
        for stop in tuple(self._stops):
            stop()


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What the session tries before the answer: what PostgreSQL does not let it do then costs nothing."""

    text: str
    undone: str = ""
    """What takes it back, if it leaves anything behind."""


@dataclass(frozen=True, slots=True)
class Question:
    """One statement that reads a protected table (or a `dpsql.*` table), parsed but not yet resolved."""

    text: str
    """The statement as the client sent it."""
    probes: tuple[str, ...]
    """Statements to be described (Parse and Describe, never run) in the client's session before the answer.

    Each query of the statement, followed by those about it. Their errors are the client's errors: they come from PostgreSQL.
    """
    plan: object = None
    """The gateway's own."""
    rehearsal: Rehearsal | None = None


Work = Callable[[], T]
"""What is left to do, and may keep a thread busy for long."""


class Answers(Protocol):
    """What a session needs of the gateway."""

    def examine(self, text: str, asker: Asker) -> Question | None:
        """Return the question in one statement, or None if it is none of the gateway's business. Pure and quick."""

    def begin(
        self,
        question: Question,
        described: tuple[tuple[Field, ...], ...],
        arguments: tuple[Argument, ...],
        settings: Settings,
        asker: Asker,
        cancellation: Cancellation,
    ) -> str | Work[str]:
        """Return the statement to run in the shadow instead of `question.text`, parameters kept as `$n`.

        Where something has to be measured or paid for, return what does that and then returns the statement: what is
        stored need not wait for it. Both block; call them on a worker thread. `described` has one row description a probe.

        Raises:
            DpsqlError: whatever the client is to be told instead of an answer.
        """
