"""The server that clients connect to: the only place that opens sockets."""

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from dpsql.question import Answers
from dpsql.shadow.postgres import ShadowAddress
from dpsql.wire.connection import Connection
from dpsql.wire.frames import Limits
from dpsql.wire.house import House, UserEntry
from dpsql.wire.pipe import Pipe

_BACKLOG = 1024
_WORKERS = 16


class Listener:
    """Accepts clients on one address until it is stopped."""

    def __init__(
        self,
        answers: Answers,
        shadow: ShadowAddress,
        users: Mapping[str, UserEntry],
        database: str,
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Port 0 lets the system choose one; `port` tells which."""
        self.host = host
        self.port = port
        self._shadow = shadow
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="dpsql-answer")
        self._house = House(
            answers,
            users,
            database,
            open_shadow=self._open_shadow,
            workers=self._workers,
            tls=tls,
            limits=limits or Limits(),
        )
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], Connection] = {}

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: when the address can't be had.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Pipe(self._accept), self.host, self.port, backlog=_BACKLOG)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self, grace: float = 10.0) -> None:
        """Accept nobody more, let running statements end within `grace` seconds, then hang up."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._open.values()):
            connection.leave()
        await self._wait(grace)
        for connection in tuple(self._open.values()):
            connection.abort()
        await self._wait(grace)
        self._workers.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, seconds: float) -> None:
        if self._open:
            await asyncio.wait(tuple(self._open), timeout=seconds)

    def _accept(self, pipe: Pipe) -> None:
        connection = Connection(self._house, pipe)
        task = asyncio.get_running_loop().create_task(connection.run())
        self._open[task] = connection
        task.add_done_callback(self._closed)

    def _closed(self, task: asyncio.Task[None]) -> None:
        del self._open[task]
        with contextlib.suppress(asyncio.CancelledError):
            task.result()

    async def _open_shadow(self, protocol: asyncio.Protocol) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: protocol, self._shadow.path)
