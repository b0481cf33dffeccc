"""Serving until a signal says stop."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Self

_STOP = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """The operator's signals to the process, caught from the start: `with Signals() as signals: …`, in a running loop."""

    def __init__(self) -> None:
        self._stopped, self._hung_up = asyncio.Event(), asyncio.Event()

    def __enter__(self) -> Self:
        """Catch signals; without this a SIGHUP during the start would end the process."""
        loop = asyncio.get_running_loop()
        for wanted in _STOP:
            loop.add_signal_handler(wanted, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self._hung_up.set)
        return self

    def __exit__(self, *error: object) -> None:
        """Give signals their usual meaning back."""
        loop = asyncio.get_running_loop()
        for wanted in (*_STOP, signal.SIGHUP):
            loop.remove_signal_handler(wanted)

    def stop(self) -> None:
        """Do as at a request to terminate."""
        self._stopped.set()

    async def until_stopped(self, reload: Callable[[], Awaitable[object]] | None = None) -> None:
        """Return at an interrupt or a request to terminate; call `reload` at each hang-up until then."""
        reloading = None if reload is None else asyncio.get_running_loop().create_task(self._reload(reload))
        try:
            await self._stopped.wait()
        finally:
            if reloading is not None:
                reloading.cancel()

    async def _reload(self, reload: Callable[[], Awaitable[object]]) -> None:
        while True:
            await self._hung_up.wait()
            self._hung_up.clear()
            await reload()
