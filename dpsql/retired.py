"""Engines that were replaced and are still to be closed: nothing refers to one longer than that."""

import asyncio

from dpsql.engines.base import Engine


class RetiredEngines:
    """Closes each engine after its time, or all with the server."""

    def __init__(self) -> None:
        """Begin without any."""
        self._open: set[Engine] = set()

    def add(self, engine: Engine, seconds: float) -> None:
        """Close an engine in so many seconds; statements that run on it may finish."""
        self._open.add(engine)
        asyncio.get_running_loop().call_later(seconds, self._close, engine)

    def close(self) -> None:
        """Close all that are still open."""
        while self._open:
            self._open.pop().close()

    def _close(self, engine: Engine) -> None:
        if engine in self._open:
            self._open.remove(engine)
            engine.close()
