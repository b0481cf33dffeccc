"""Serving until somebody says stop."""

import asyncio
import signal
from collections.abc import Awaitable, Callable

_STOP = (signal.SIGINT, signal.SIGTERM)


async def until_interrupted(reload: Callable[[], Awaitable[None]] | None = None) -> None:
    """Return at the first interrupt or request to terminate; call `reload` at each hang-up in between."""
    stopped, hung_up = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    handled = {**dict.fromkeys(_STOP, stopped.set), **({signal.SIGHUP: hung_up.set} if reload is not None else {})}
    for wanted, handle in handled.items():
        loop.add_signal_handler(wanted, handle)
    reloading = None if reload is None else loop.create_task(_reload_at(hung_up, reload))
    try:
        await stopped.wait()
    finally:
        for wanted in handled:
            loop.remove_signal_handler(wanted)
        if reloading is not None:
            reloading.cancel()


async def _reload_at(hung_up: asyncio.Event, reload: Callable[[], Awaitable[None]]) -> None:
    while True:
        await hung_up.wait()
        hung_up.clear()
        await reload()
