"""What is known of the sessions in the shadow beside what PostgreSQL knows: one for all who begin, count and end them."""

from dataclasses import dataclass, field

from dpsql.shadow.watch.left_behind import LeftBehind
from dpsql.shadow.watch.priorities import Priorities


@dataclass(frozen=True, slots=True)
class ShadowSessions:
    """The sessions of one server's shadow."""

    left: LeftBehind = field(default_factory=LeftBehind)
    """Those that nobody waits for any more, and that have not ended."""
    priorities: Priorities = field(default_factory=Priorities)
    """Whose stand back behind those of others."""
