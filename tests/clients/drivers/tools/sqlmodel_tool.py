"""SQLModel: statements in a session, existence, subqueries, relationships, savepoints."""

# mypy: ignore-errors

from datetime import datetime

from sqlalchemy import inspect
from sqlalchemy.orm import aliased
from sqlmodel import (
    Field,
    Relationship,
    Session,
    SQLModel,
    and_,
    case,
    col,
    create_engine,
    distinct,
    exists,
    func,
    select,
)
from told import tried, url

engine = create_engine(url())


class Zone(SQLModel, table=True):
    """A public table."""

    __tablename__ = "zones"
    zone_id: int | None = Field(default=None, primary_key=True)
    zone: str
    borough: str
    trips: list["Trip"] = Relationship(back_populates="where")


class Trip(SQLModel, table=True):
    """A protected table."""

    __tablename__ = "trips"
    trip_id: int | None = Field(default=None, primary_key=True)
    passenger_id: int
    pickup_ts: datetime
    pickup_zone: int = Field(foreign_key="zones.zone_id")
    payment_type: str | None = None
    fare: float
    tip: float
    where: Zone = Relationship(back_populates="trips")


other = aliased(Trip)
dear = col(Trip.fare) > 20
everything = func.count()
WEEK = func.date_trunc("week", Trip.pickup_ts)
OF_QUEENS = and_(Zone.zone_id == Trip.pickup_zone, Zone.borough == "Queens")


def one(statement: object) -> object:
    with Session(engine) as session:
        return session.exec(statement).one()


def flat(statement: object) -> object:
    with Session(engine) as session:
        return sorted(([*row] if hasattr(row, "_mapping") else [row] for row in session.exec(statement).all()), key=str)


STATEMENTS = {
    "count": lambda: one(select(everything).select_from(Trip)),
    "count of a subquery": lambda: one(select(everything).select_from(select(Trip).where(dear).subquery())),
    "where": lambda: one(select(everything).where(dear, Trip.payment_type == "cash")),
    "in_": lambda: one(select(everything).where(col(Trip.payment_type).in_(["cash"]))),
    "is_(None)": lambda: one(select(everything).select_from(Trip).where(col(Trip.payment_type).is_(None))),
    "between": lambda: one(select(everything).where(col(Trip.fare).between(10, 20))),
    "avg and sum": lambda: [*one(select(func.avg(Trip.fare), func.sum(Trip.tip)))],
    "count(distinct)": lambda: one(select(func.count(distinct(Trip.pickup_zone)))),
    "count().filter": lambda: one(select(everything.filter(dear)).select_from(Trip)),
    "group_by": lambda: flat(select(Trip.payment_type, everything).group_by(Trip.payment_type)),
    "group_by, order_by, limit": lambda: flat(
        select(Trip.payment_type, everything).group_by(Trip.payment_type).order_by(Trip.payment_type).limit(2)
    ),
    "group_by, having": lambda: flat(
        select(Trip.pickup_zone, everything).group_by(Trip.pickup_zone).having(everything > 10)
    ),
    "join": lambda: flat(select(Zone.borough, everything).join(Trip).group_by(Zone.borough)),
    "outer join": lambda: flat(
        select(Zone.zone_id, func.count(Trip.trip_id)).join(Trip, isouter=True).group_by(Zone.zone_id)
    ),
    "case": lambda: flat(
        select(case((dear, "dear"), else_="cheap").label("c"), everything).group_by("c")
    ),
    "date_trunc": lambda: len(flat(select(WEEK, everything).group_by(WEEK))),
    "distinct": lambda: flat(select(Trip.payment_type).distinct()),
    "a CTE": lambda: one(
        select(func.sum(select(everything.label("n")).select_from(Trip).group_by(Trip.payment_type).cte("c").c.n))
    ),
    "relationship.has": lambda: one(select(everything).select_from(Trip).where(Trip.where.has(Zone.borough == "Queens"))),
}  # fmt: skip
OF_ZONE = select(everything).where(Trip.pickup_zone == Zone.zone_id)
EXISTENCE = {
    "select(exists())": lambda: one(select(select(Trip).where(dear).exists())),
    "select(exists()), of none": lambda: one(select(select(Trip).where(Trip.fare < 0).exists())),
    "select(1).limit(1)": lambda: one(select(1).select_from(Trip).where(dear).limit(1)),
    "select(literal).limit(1), of none": lambda: flat(select(1).select_from(Trip).where(Trip.fare < 0).limit(1)),
    "where(exists)": lambda: one(
        select(everything).select_from(Trip).where(exists().where(OF_QUEENS))
    ),
    "where(exists) of the same person": lambda: one(
        select(everything).select_from(Trip).where(exists().where(other.passenger_id == Trip.passenger_id, other.fare > 50))
    ),
    "relationship.any": lambda: flat(select(Zone.zone_id).where(Zone.trips.any(dear))),
    "~relationship.any": lambda: flat(select(Zone.zone_id).where(~Zone.trips.any(dear))),
    "scalar_subquery": lambda: flat(select(Zone.zone_id, OF_ZONE.correlate(Zone).scalar_subquery())),
    "in_ a subquery": lambda: one(
        select(everything).where(col(Trip.pickup_zone).in_(select(Zone.zone_id).where(Zone.borough == "Queens")))
    ),
}  # fmt: skip


def _nested() -> object:
    with Session(engine) as session:
        first = session.exec(select(everything).select_from(Trip)).one()
        with session.begin_nested():
            second = session.exec(select(everything).where(dear)).one()
        session.commit()
        return [first, second]


def _isolated() -> object:
    with engine.connect().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True) as held:
        return held.execute(select(everything).select_from(Trip)).scalar_one()


def _inspected() -> object:
    seen = inspect(engine)
    return [
        sorted(seen.get_table_names()),
        [column["name"] for column in seen.get_columns("trips")],
        seen.get_pk_constraint("trips")["constrained_columns"],
        [key["referred_table"] for key in seen.get_foreign_keys("trips")],
    ]


def first(entity: object) -> object:
    with Session(engine) as session:
        return session.exec(select(entity)).first() is not None


def got(entity: object, key: int) -> object:
    with Session(engine) as session:
        return session.get(entity, key) is not None


tried("inspection", "inspect", _inspected)
tried("inspection", "create_all where all is there", lambda: SQLModel.metadata.create_all(engine))
for part, works in (("statements", STATEMENTS), ("existence", EXISTENCE)):
    for name, work in works.items():
        tried(part, name, work)
tried("transactions", "begin_nested", _nested)
tried("transactions", "REPEATABLE READ, read only", _isolated)
tried("rows", "select().limit", lambda: len(flat(select(Trip.fare, Trip.tip).limit(3))))
tried("rows", "select().first", lambda: first(Trip))
tried("rows", "get", lambda: got(Trip, 7))
tried("rows", "get of a public table", lambda: got(Zone, 1))
