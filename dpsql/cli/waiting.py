"""Serving until somebody says stop."""

import asyncio
import signal


async def until_interrupted() -> None:
    """Return at the first interrupt or request to terminate."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for wanted in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(wanted, stopped.set)
    try:
        await stopped.wait()
    finally:
        for wanted in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(wanted)
