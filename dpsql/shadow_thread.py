"""The thread that starts the shadow and speaks with it: it lives as long as the server."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class ShadowThread:
    """Runs slow work, a piece at a time; the kernel ends the shadow with its thread."""

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="dpsql-shadow")

    async def __call__(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what `work` returns."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, partial(work, *args, **kwargs))

    def shutdown(self) -> None:
        """Wait for what runs, and end the thread."""
        self._executor.shutdown()
