"""Pony: what it makes of generators, aggregates, groups and existence; entities of tables that are there."""

# mypy: ignore-errors
# ruff: noqa: A004  (Pony has names of Python's own)

from datetime import datetime

from pony.orm import (
    Database,
    Optional,
    PrimaryKey,
    Required,
    Set,
    avg,
    between,
    count,
    db_session,
    desc,
    exists,
    max,
    min,
    select,
    sum,
)  # fmt: skip
from told import DATABASE, HOST, PASSWORD, PORT, USER, tried

db = Database()


class Zone(db.Entity):
    """A public table."""

    _table_ = "zones"
    zone_id = PrimaryKey(int)
    zone = Required(str)
    borough = Required(str)
    trips = Set("Trip")


class Trip(db.Entity):
    """A protected table."""

    _table_ = "trips"
    trip_id = PrimaryKey(int, size=64)
    passenger_id = Required(int)
    pickup_ts = Required(datetime)
    pickup_zone = Required(Zone, column="pickup_zone")
    payment_type = Optional(str, nullable=True)
    passenger_count = Required(int)
    fare = Required(float)
    tip = Required(float)


def bound() -> object:
    db.bind(provider="postgres", host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE)
    return db.provider.dialect


def mapped() -> object:
    db.generate_mapping(create_tables=False, check_tables=True)
    return sorted(db.entities)


def flat(query: object) -> object:
    return sorted((list(row) if isinstance(row, tuple) else [row] for row in query), key=str)


AGGREGATES = {
    "count": lambda: count(t for t in Trip),
    "count, if": lambda: count(t for t in Trip if t.fare > 20 and t.payment_type == "cash"),
    "count of a value": lambda: count(t.payment_type for t in Trip),
    "select().count()": lambda: select(t for t in Trip if t.fare > 20).count(),
    "filter().count()": lambda: Trip.select().filter(lambda t: t.fare > 20).count(),
    "sum, avg": lambda: [sum(t.fare for t in Trip), avg(t.tip for t in Trip)],
    "min, max": lambda: len([min(t.fare for t in Trip), max(t.fare for t in Trip)]),
    "in": lambda: count(t for t in Trip if t.payment_type in ("cash", "credit card")),
    "is None": lambda: count(t for t in Trip if t.payment_type is None),
    "startswith": lambda: count(t for t in Trip if t.payment_type.startswith("ca")),
    "between": lambda: count(t for t in Trip if between(t.fare, 10, 20)),
    "across a join": lambda: count(t for t in Trip if t.pickup_zone.borough == "Queens"),
    "of a month": lambda: count(t for t in Trip if t.pickup_ts.month == 3),
}
GROUPS = {
    "a value and count()": lambda: flat(select((t.payment_type, count()) for t in Trip)),
    "a value, count and avg": lambda: flat(select((t.payment_type, count(t), avg(t.fare)) for t in Trip)),
    "of a condition": lambda: flat(select((t.payment_type, count()) for t in Trip if count() > 10)),
    "order_by, limit": lambda: flat(
        select((t.payment_type, count()) for t in Trip).order_by(lambda: desc(t.payment_type)).limit(2)  # noqa: F821
    ),
    "across a join": lambda: flat(select((t.pickup_zone.borough, count(t), avg(t.fare)) for t in Trip)),
    "an expression": lambda: flat(select((t.fare > 30, count()) for t in Trip)),
    "upper": lambda: flat(select((t.payment_type.upper(), count()) for t in Trip)),
    "hour": lambda: flat(select((t.pickup_ts.hour, count()) for t in Trip))[:3],
    "distinct values": lambda: flat(select(t.payment_type for t in Trip)),
    "count of an attribute": lambda: flat(select((z.zone_id, count(z.trips)) for z in Zone)),
}
EXISTENCE = {
    "exists": lambda: exists(t for t in Trip),
    "exists, if": lambda: exists(t for t in Trip if t.fare > 50),
    "exists, of none": lambda: exists(t for t in Trip if t.fare < 0),
    "Trip.exists": lambda: Trip.exists(lambda t: t.fare > 20),
    "select().exists()": lambda: select(t for t in Trip if t.pickup_zone.borough == "Queens").exists(),
    "Trip.exists(name=value)": lambda: Trip.exists(payment_type="cash"),
    "inner exists": lambda: count(t for t in Trip if exists(z for z in Zone if z == t.pickup_zone and z.borough == "Queens")),
    "inner in": lambda: count(t for t in Trip if t.pickup_zone in select(z for z in Zone if z.borough == "Queens")),
    "public rows with inner exists": lambda: flat(
        select(z.zone_id for z in Zone if exists(t for t in Trip if t.pickup_zone == z and t.fare > 20))
    ),
    "public rows with an attribute's count": lambda: flat(select(z.zone_id for z in Zone if count(z.trips) > 10)),
    "Zone.exists": lambda: Zone.exists(borough="Queens"),
}  # fmt: skip


def tried_in_session(part: str, name: str, work: object) -> None:
    tried(part, name, db_session(work))


tried("connection", "bind", bound)
tried("connection", "generate_mapping(check_tables=True)", mapped)
for part, works in (("aggregates", AGGREGATES), ("groups", GROUPS), ("existence", EXISTENCE)):
    for name, work in works.items():
        tried_in_session(part, name, work)
tried_in_session("rows", "select().limit", lambda: len(select(t for t in Trip).limit(3)[:]))
tried_in_session("rows", "first()", lambda: Trip.select().first() is not None)
tried_in_session("rows", "random", lambda: len(Trip.select_random(2)))
tried_in_session("rows", "Trip[id]", lambda: Trip[7].trip_id)
tried_in_session("rows", "Trip.get", lambda: Trip.get(trip_id=7).trip_id)
tried_in_session("rows", "of a public table", lambda: flat((z.zone_id, z.zone) for z in Zone.select()))
tried_in_session("raw", "db.select", lambda: flat(db.select("SELECT payment_type, count(*) FROM trips GROUP BY 1")))
