"""The sessions in the shadow, with facts beside PostgreSQL's own: one record for all who begin, count and end them."""

from dataclasses import dataclass, field

from dpsql.shadow.watch.left_behind import LeftBehind
from dpsql.shadow.watch.priorities import Priorities


@dataclass(frozen=True, slots=True)
class ShadowSessions:
    """The sessions of one server's shadow."""

    left: LeftBehind = field(default_factory=LeftBehind)
    """Those that nobody waits for any more, and that have not ended."""
    priorities: Priorities = field(default_factory=Priorities)
    """The sessions that stand back behind others."""
