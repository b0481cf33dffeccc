"""A connection that hangs up where more is to be read at once than there shall be memory for.

libpq keeps a row of any size, and the statement is a stranger's: an agent's, or one that is typed on a page.
"""

import fcntl
import termios
from array import array
from collections.abc import Generator
from typing import Any

from psycopg import AsyncConnection

MOST_AT_ONCE = 16 << 20
"""Bytes that are waited for at a time: a row of an answer, or all of what we ask ourselves."""


class RowTooLong(Exception):
    """A row of the answer is longer than `MOST_AT_ONCE`; the connection is lost."""

    def __init__(self) -> None:
        super().__init__(f"a row of the answer has more than {MOST_AT_ONCE:,} bytes; ask for less of it: left(x, 1000)")


class BoundedConnection(AsyncConnection[tuple[Any, ...]]):
    """Raises `RowTooLong` from whatever waits for rows."""

    async def wait(self, gen: Generator[Any, Any, Any], *given: Any, **named: Any) -> Any:
        """Wait for a step of the protocol."""
        return await super().wait(self._counted(gen), *given, **named)

    def _counted(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        # A step of the protocol yields what it waits for, and then libpq reads all that the kernel has, into a buffer without
        # a limit. What waits in the kernel is counted just before: a row that never ends is noticed while it is small.
        ready, received, waiting = None, 0, array("i", [0])
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as ended:
                return ended.value
            ready = yield wanted
            fcntl.ioctl(self.pgconn.socket, termios.FIONREAD, waiting)
            received += waiting[0]
            if received > MOST_AT_ONCE:
                # The rest of the row is still on its way. Whoever wanted to keep the connection would have to read all of it.
                self.pgconn.finish()
                raise RowTooLong
