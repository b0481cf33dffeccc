"""Engines that were replaced: each is closed in its time or with the server, once, and then forgotten."""

import asyncio
import gc
import weakref
from typing import cast

from dpsql.engines.base import Engine
from dpsql.server import RetiredEngines


class _Engine:
    """What is closed, and counts it."""

    def __init__(self, closed: list[str], name: str) -> None:
        self._closed, self._name = closed, name

    def close(self) -> None:
        """Note it."""
        self._closed.append(self._name)


def test_an_engine_is_closed_once_and_forgotten() -> None:
    """A server that reloads for months keeps none of those that it has replaced."""
    closed: list[str] = []

    async def live() -> weakref.ref[Engine]:
        retired, engine = RetiredEngines(), cast("Engine", _Engine(closed, "soon"))
        retired.add(engine, 0)
        retired.add(cast("Engine", _Engine(closed, "later")), 3600)
        await asyncio.sleep(0.01)
        assert closed == ["soon"]
        retired.close()
        retired.close()
        return weakref.ref(engine)

    forgotten = asyncio.run(live())
    gc.collect()
    assert closed == ["soon", "later"]
    assert forgotten() is None
