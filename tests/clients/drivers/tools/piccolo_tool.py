"""Piccolo: counts, groups, existence, joins by foreign keys, transactions with savepoints, and classes made of a database."""

# mypy: ignore-errors

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

from told import HOME, tried

(Path(HOME) / "piccolo_conf.py").write_text(
    "import os\n"
    "from piccolo.conf.apps import AppRegistry\n"
    "from piccolo.engine.postgres import PostgresEngine\n"
    "config = {word: os.environ[f'ASK_{word.upper()}'] for word in ('host', 'user', 'password', 'database')}\n"
    "DB = PostgresEngine(config | {'port': int(os.environ['ASK_PORT']), 'ssl': False})\n"
    "APP_REGISTRY = AppRegistry(apps=[])\n"
)
os.chdir(HOME)
sys.path.insert(0, HOME)

from piccolo.apps.schema.commands.generate import get_output_schema  # noqa: E402  (reads the file above)
from piccolo.columns import BigInt, DoublePrecision, ForeignKey, Integer, Text, Timestamp  # noqa: E402
from piccolo.query.functions import Avg, Count, Extract, Max, Min, Round, Sum, Upper  # noqa: E402
from piccolo.table import Table  # noqa: E402
from piccolo_conf import DB  # noqa: E402


class Zone(Table, tablename="zones", db=DB):
    """A public table."""

    zone_id = Integer(primary_key=True)
    zone = Text()
    borough = Text()


class Trip(Table, tablename="trips", db=DB):
    """A protected table."""

    trip_id = BigInt(primary_key=True)
    passenger_id = Integer()
    pickup_ts = Timestamp()
    pickup_zone = ForeignKey(Zone)
    payment_type = Text(null=True)
    fare = DoublePrecision()
    tip = DoublePrecision()


def now(query: Callable[[], Coroutine]) -> object:
    async def run() -> object:
        return await query()

    return asyncio.run(run())


def flat(query: object) -> object:
    async def run() -> object:
        return await query.run()

    return sorted((list(row.values()) for row in asyncio.run(run())), key=str)


dear = Trip.fare > 20
QUERIES = {
    "count": lambda: now(lambda: Trip.count().run()),
    "count().where": lambda: now(lambda: Trip.count().where(dear & (Trip.payment_type == "cash")).run()),
    "count().where(is_in)": lambda: now(lambda: Trip.count().where(Trip.payment_type.is_in(["cash"])).run()),
    "count().where(is_null)": lambda: now(lambda: Trip.count().where(Trip.payment_type.is_null()).run()),
    "count().where(ilike)": lambda: now(lambda: Trip.count().where(Trip.payment_type.ilike("CA%")).run()),
    "count().where(between)": lambda: now(lambda: Trip.count().where((Trip.fare >= 10) & (Trip.fare <= 20)).run()),
    "count(distinct)": lambda: now(lambda: Trip.count(distinct=[Trip.pickup_zone]).run()),
    "count().where across a join": lambda: now(lambda: Trip.count().where(Trip.pickup_zone.borough == "Queens").run()),
    "Avg, Sum": lambda: flat(Trip.select(Avg(Trip.fare), Sum(Trip.tip))),
    "Min, Max": lambda: len(flat(Trip.select(Min(Trip.fare), Max(Trip.fare)))[0]),
    "select().group_by": lambda: flat(Trip.select(Trip.payment_type, Count()).group_by(Trip.payment_type)),
    "group_by, order_by, limit": lambda: flat(
        Trip.select(Trip.payment_type, Count(Trip.trip_id, alias="n"))
        .group_by(Trip.payment_type)
        .order_by(Trip.payment_type)
        .limit(2)
    ),
    "group_by across a join": lambda: flat(
        Trip.select(Trip.pickup_zone.borough, Count(), Avg(Trip.fare)).group_by(Trip.pickup_zone.borough)
    ),
    "distinct": lambda: flat(Trip.select(Trip.payment_type).distinct()),
    "Upper": lambda: flat(Trip.select(Upper(Trip.payment_type), Count()).group_by(Upper(Trip.payment_type))),
    "Extract": lambda: flat(
        Trip.select(Extract(Trip.pickup_ts, "hour"), Count()).group_by(Extract(Trip.pickup_ts, "hour"))
    )[:3],
    "Round": lambda: flat(Trip.select(Round(Trip.fare), Count()).group_by(Round(Trip.fare)))[:3],
    "raw": lambda: flat(Trip.raw("SELECT payment_type, count(*) FROM trips WHERE fare > {} GROUP BY 1", 20)),
}  # fmt: skip
EXISTENCE = {
    "exists": lambda: now(lambda: Trip.exists().run()),
    "exists().where": lambda: now(lambda: Trip.exists().where(dear).run()),
    "exists().where, of none": lambda: now(lambda: Trip.exists().where(Trip.fare < 0).run()),
    "exists().where across a join": lambda: now(
        lambda: Trip.exists().where(Trip.pickup_zone.borough == "Queens").run()
    ),
    "exists of a public table": lambda: now(lambda: Zone.exists().where(Zone.zone_id == 1).run()),
    "table_exists": lambda: now(lambda: Trip.table_exists().run()),
    "where(is_in a subquery)": lambda: now(
        lambda: Trip.count().where(Trip.pickup_zone.is_in(Zone.select(Zone.zone_id).where(Zone.borough == "Queens"))).run()
    ),
}  # fmt: skip


async def _in_transaction() -> object:
    async with DB.transaction() as transaction:
        first = await Trip.count().run()
        point = await transaction.savepoint()
        second = await Trip.count().where(dear).run()
        await point.rollback_to()
        return [first, second, await Zone.count().run()]


async def _pooled() -> object:
    await DB.start_connection_pool()
    try:
        return await asyncio.gather(Trip.count().run(), Zone.count().run())
    finally:
        await DB.close_connection_pool()


async def _batches() -> object:
    async with await Trip.select(Trip.fare).batch(batch_size=10) as batches:
        async for batch in batches:
            return len(batch)
    return None


def _schema() -> list[str]:
    schema = now(lambda: get_output_schema(schema_name="public", engine=DB))
    return sorted(f"{table}" for table in schema.tables) + schema.warnings


tried("schema", "generate", _schema)
for part, works in (("queries", QUERIES), ("existence", EXISTENCE)):
    for name, work in works.items():
        tried(part, name, work)
tried("transactions", "with a savepoint", lambda: now(_in_transaction))
tried("transactions", "a pool", lambda: now(_pooled))
tried("rows", "select().limit", lambda: len(flat(Trip.select(Trip.fare).limit(3))))
tried("rows", "objects().first", lambda: now(lambda: Trip.objects().first().run()) is not None)
tried("rows", "batch", lambda: now(_batches))
tried("rows", "of a public table", lambda: flat(Zone.select()))
