"""`statement_timeout` while the gateway works on a private statement, of which the shadow knows nothing."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager

from dpsql.errors import QueryCanceled, StatementTimeout
from dpsql.question import Cancellation

LONGEST_TIMEOUT = 300.0
"""Seconds that a measurement may take, for any setting of a session; one that takes longer is stored as failed."""
_SHOWN = re.compile(r"(\d+)(ms|s|min|h|d)?")
_UNITS = {None: 0.001, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(shown: str) -> float | None:
    """Return how long a statement may take, as PostgreSQL shows the setting; None if it makes no difference."""
    match = _SHOWN.fullmatch(shown)
    if match is None:
        return None
    limit = int(match[1]) * _UNITS[match[2]]
    return limit if 0 < limit < LONGEST_TIMEOUT else None


@contextmanager
def kept(limit: float | None, since: float, cancellation: Cancellation) -> Iterator[None]:
    """Cancel the work of the block `limit` seconds after `since` on the loop's clock.

    Raises:
        StatementTimeout: instead of QueryCanceled, when the limit was the cause.
    """
    loop = asyncio.get_running_loop()

    def expire() -> None:
        # To stop an engine may take a moment, which must not hold up the event loop.
        loop.run_in_executor(None, cancellation.expire)

    timer = None if limit is None else loop.call_at(since + limit, expire)
    try:
        yield
    except QueryCanceled:
        raise stopped(cancellation) from None
    finally:
        if timer is not None:
            timer.cancel()


def stopped(cancellation: Cancellation) -> QueryCanceled:
    """Return the error for a statement that was stopped, by a cancel request or by the time limit."""
    return StatementTimeout() if cancellation.late else QueryCanceled()
