"""Begins a client's session in the shadow, which may be restarting."""

import asyncio
from collections.abc import Callable, Mapping

from dpsql.wire.backend.backend import Backend, ShadowLostError, ShadowRefusedError
from dpsql.wire.server.registry import ConnectionRegistry

_PASSING = frozenset({"57P03", "53300"})
"""PostgreSQL's codes while it starts or recovers, and while sessions that have ended are still counted."""
_PAUSE = 0.1  # seconds until the next attempt


async def open_backend(
    registry: ConnectionRegistry, make: Callable[[], Backend], options: Mapping[str, str]
) -> Backend:
    """Begin a session in the shadow; again, while that is being restarted.

    Raises:
        ShadowRefusedError: when the shadow does not want it.
        ShadowLostError: when it does not come back.
    """
    try:
        async with asyncio.timeout(registry.limits.login_timeout):
            while True:
                backend = make()
                await registry.open_shadow(backend)
                if await _has_begun(backend, options, registry.shadow_secret):
                    return backend
                await asyncio.sleep(_PAUSE)
    except OSError as failed:
        raise ShadowLostError("the shadow can't be reached") from failed


async def _has_begun(backend: Backend, options: Mapping[str, str], secret: str) -> bool:
    """Return whether the shadow took the session; False if it has just gone, or is not ready."""
    try:
        await backend.start(dict(options), secret)
    except ShadowLostError:
        return False
    except ShadowRefusedError as refused:
        if refused.sqlstate not in _PASSING:
            raise
        return False
    return True
