"""asyncpg: always binary, named statements, and UTF-8."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any

import asyncpg

from tests.clients.matrix.scripted import Steps, only_utf8
from tests.clients.matrix.told import GROUPED, ROOT, SLOW, WHERE, Partly, url

runner = asyncio.Runner()


class Asyncpg(Steps):
    session = runner.run(asyncpg.connect(url(sslmode="require")))
    encodings = only_utf8("speaks UTF-8 alone")

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        rows: list[Any] = runner.run(self.session.fetch(statement, *values))
        return rows

    def tls(self) -> object:
        async def bound() -> object:
            session = await asyncpg.connect(url(), ssl=ssl.create_default_context(cafile=ROOT))
            await session.fetch(WHERE)
            return await session.close()

        runner.run(bound())
        return Partly("bound", "knows no channel binding; checks certificate and name")

    def cursor(self) -> object:
        async def steps() -> object:
            async with self.session.transaction():
                return [list(row) async for row in self.session.cursor(GROUPED, prefetch=2)]

        return runner.run(steps())

    def cancel(self) -> object:
        try:
            runner.run(self.session.fetch(SLOW, timeout=0.4))
        except TimeoutError:
            self.ask(WHERE)
            return "stopped"
        return "answered"


Asyncpg().tell()
