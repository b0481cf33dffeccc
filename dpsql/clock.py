"""The clock that a server goes by: one for its ledger, trail, copies and terms, handed in where it starts.

No configuration names another than the system's. The demo that grows has one of its own, and tests have.
"""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)
