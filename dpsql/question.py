"""The asker and the settings: all that an answer depends on beside its statement; values only."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

PREFIX = "dpsql."
"""The beginning of the names of dpsql's own settings."""
OWN_SETTINGS: Mapping[str, str] = {
    "dpsql.epsilon": r"(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,2})?",
    "dpsql.error": r"(\d{1,9}(\.\d{0,9})?|\.\d{1,9})\s*%?",
    "dpsql.clamp": "[Oo][Nn]|[Oo][Ff][Ff]",
    "dpsql.empty_groups": "[Aa][Uu][Tt][Oo]|[Ss][Hh][Oo][Ww]|[Hh][Ii][Dd][Ee]",
    "dpsql.reuse": "[Oo][Ff][Ff]|[Ee][Xx][Aa][Cc][Tt]|[Aa][Ll][Ll]",
    "dpsql.digits": "[Aa][Uu][Tt][Oo]|[Aa][Ll][Ll]",
    "dpsql.renew": "[Oo][Nn]|[Oo][Ff][Ff]",
}
"""dpsql's own settings, and how their values are written: by regular expressions that PostgreSQL reads as Python does.

No number is so large or small that calculating with it takes long.
"""


USUAL_STYLE = "ISO"
"""How dates are written in PostgreSQL unless something else is set."""
USUAL_INTERVALS = "postgres"
"""How intervals are written likewise."""


@dataclass(frozen=True, slots=True)
class TemporaryTable:
    """A temporary table of the client's: its columns by their names and types, in order."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...] = ()
    """The columns of its primary key: grouped by these, it is grouped by all."""
    stores: bool = True
    """Whether it stores its rows: a view does not."""
    rows: tuple[tuple[str | None, ...], ...] | None = None
    """The texts of its rows, where these are few and it may stand as a list beside private rows."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the client's session in the shadow that an answer depends on."""

    epsilon: str | None = None
    """`dpsql.epsilon`, where the session has set it."""
    empty_groups: str | None = None
    """`dpsql.empty_groups`, where the session has set it."""
    error: str | None = None
    """`dpsql.error`, where the session has set it."""
    clamp: str | None = None
    """`dpsql.clamp`, where the session has set it."""
    reuse: str | None = None
    """`dpsql.reuse`, where the session has set it."""
    digits: str | None = None
    """`dpsql.digits`, where the session has set it."""
    renew: str | None = None
    """`dpsql.renew`, where the session has set it."""
    time_zone: str = "UTC"
    search_path: str = '"$user", public'
    date_order: str = "MDY"
    """How `01-02-2020` is read: MDY, DMY or YMD."""
    date_style: str = USUAL_STYLE
    """How dates are written: ISO, German, SQL or Postgres."""
    interval_style: str = USUAL_INTERVALS
    """How intervals are written: postgres, postgres_verbose or iso_8601."""
    temporary: tuple[TemporaryTable, ...] = ()
    """The session's temporary tables that the statement may name."""
    estimates: bool = False
    """Whether another PostgreSQL plans by what EXPLAIN says, as postgres_fdw does with `use_remote_estimate`."""


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column of a row description, as the shadow gave it."""

    name: str
    oid: int
    typmod: int
    """PostgreSQL's words on the type beyond its number: a length, a precision; -1 for nothing."""
    type: str
    """PostgreSQL's own spelling, as `format_type(oid, typmod)` gives it: `numeric(10,2)`."""


@dataclass(slots=True)
class Cancellation:
    """A way to stop an answer from another thread; once set it stays set."""

    _event: threading.Event = field(default_factory=threading.Event)
    _stops: list[Callable[[], None]] = field(default_factory=list)
    late: bool = False
    """Whether the session's own time limit asked for it."""

    @property
    def requested(self) -> bool:
        """Return whether somebody asked to stop."""
        return self._event.is_set()

    def on_cancel(self, stop: Callable[[], None]) -> None:
        """Call `stop` when a cancel comes; at once if it came already."""
        # First remembered, then asked, as `cancel` first sets and then calls: whichever thread is faster, `stop` is called.
        # It may be called twice.
        self._stops.append(stop)
        if self.requested:
            stop()

    def wait(self, seconds: float) -> None:
        """Return when somebody asks to stop, or after so many seconds."""
        self._event.wait(seconds)

    def expire(self) -> None:
        """Ask the same because the session's time is up, unless somebody has asked before."""
        # Who was first decides which of two errors with SQLSTATE 57014 the client reads: user request, or statement timeout.
        self.late = self.late or not self.requested
        self.cancel()

    def cancel(self) -> None:
        """Ask the thread that works on the answer to stop."""
        self._event.set()
        for stop in tuple(self._stops):
            stop()


@dataclass(frozen=True, slots=True)
class Asker:
    """The asker."""

    user: str
    role: str
    """The role whose budget pays."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One bound parameter."""

    text: str | None
    """Its value; None is NULL."""
    type: str
    """As `format_type` spells it."""
