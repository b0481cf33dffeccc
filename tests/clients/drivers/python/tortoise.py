"""Tortoise ORM on asyncpg, with a model of its own."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any

from tortoise import Tortoise, connections, fields
from tortoise.functions import Count
from tortoise.models import Model
from tortoise.transactions import in_transaction

from tests.clients.matrix.scripted import Steps, none, only_utf8
from tests.clients.matrix.told import DATABASE, HOST, PASSWORD, PORT, ROOT, SLOW, WHERE, WHO, Partly, code

runner = asyncio.Runner()


class Trip(Model):
    """A table that is there."""

    trip_id = fields.BigIntField(primary_key=True)
    pickup_zone = fields.IntField()
    payment_type = fields.TextField(null=True)

    class Meta:
        """Where."""

        table = "trips"


def _database(context: ssl.SSLContext) -> dict[str, object]:
    where = {"host": HOST, "port": int(PORT), "user": WHO, "password": PASSWORD, "database": DATABASE}
    return {"engine": "tortoise.backends.asyncpg", "credentials": {**where, "ssl": context, "max_size": 2}}


async def _start() -> None:
    careless = ssl.create_default_context()
    careless.check_hostname, careless.verify_mode = False, ssl.CERT_NONE
    databases = {"default": _database(careless), "bound": _database(ssl.create_default_context(cafile=ROOT))}
    apps = {"matrix": {"models": ["__main__"], "default_connection": "default"}}
    await Tortoise.init(config={"connections": databases, "apps": apps})


class OnTortoise(Steps):
    cursor = none("has no cursors")
    encodings = only_utf8("asyncpg speaks UTF-8 alone")

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        async def rows() -> Sequence[Any]:
            result: Sequence[Any] = await connections.get("default").execute_query_dict(statement, [*values])
            return result

        return [list(row.values()) for row in runner.run(rows())]

    def sqlstate(self, failed: Any) -> object:
        return (failed.__cause__ or failed).sqlstate

    def tls(self) -> object:
        async def bound() -> None:
            await connections.get("bound").execute_query(WHERE)

        runner.run(bound())
        return Partly("bound", "asyncpg knows no channel binding; checks certificate and name")

    def grouped(self) -> object:
        async def rows() -> object:
            counts = Trip.annotate(n=Count("trip_id")).group_by("payment_type").order_by("payment_type")
            return [[key, n] for key, n in await counts.values_list("payment_type", "n")]

        return runner.run(rows())

    def lists(self) -> object:
        async def within() -> object:
            return await Trip.filter(pickup_zone__in=[1, 2]).count()

        return [runner.run(within()), super().lists()[1]]  # type: ignore[index]

    def timeout(self) -> object:
        # Its pool resets what one statement sets before the next one.
        async def stopped() -> object:
            async with in_transaction("default") as session:
                await session.execute_query("SET LOCAL statement_timeout = '300ms'")
                return await session.execute_query(SLOW)

        return code(lambda: runner.run(stopped()), self.sqlstate)

    def cancel(self) -> object:
        async def stopped() -> object:
            try:
                await asyncio.wait_for(connections.get("default").execute_query(SLOW), 0.4)
            except TimeoutError:
                return "stopped"
            return "answered"

        told = runner.run(stopped())
        self.ask(WHERE)
        return told


runner.run(_start())
OnTortoise().tell()
