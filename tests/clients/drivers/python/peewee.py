"""peewee on psycopg 2, with a model of its own; its introspection reads the catalogue."""

from collections.abc import Sequence
from typing import Any

import peewee
from playhouse.postgres_ext import PostgresqlExtDatabase, ServerSide

from tests.clients.matrix.scripted import Steps
from tests.clients.matrix.told import DATABASE, GROUPED, HOST, PASSWORD, PORT, ROOT, SLOW, WHO, code, stopping


def session(**options: object) -> Any:
    return PostgresqlExtDatabase(DATABASE, host=HOST, port=int(PORT), user=WHO, password=PASSWORD, **options)


database = session(sslmode="require", autorollback=True)


class Trip(peewee.Model):
    """A table that is there."""

    trip_id = peewee.BigIntegerField(primary_key=True)
    pickup_zone = peewee.IntegerField()
    payment_type = peewee.TextField(null=True)

    class Meta:
        """Where."""

        database = database
        table_name = "trips"


class Peewee(Steps):
    own = {"uuid": "0e37df36-f698-11e6-8dd4-cb9ced3df976"}

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        rows: list[Any] = database.execute_sql(statement, values or None).fetchall()
        return rows

    def sqlstate(self, failed: Any) -> object:
        return failed.__cause__.pgcode if failed.__cause__ else failed.orig.pgcode

    def tls(self) -> object:
        bound = session(sslmode="verify-full", sslrootcert=ROOT, channel_binding="require")
        bound.execute_sql(GROUPED)
        bound.close()
        return "bound"

    def tables(self) -> object:
        return sorted(database.get_tables())

    def columns(self) -> object:
        return [column.name for column in database.get_columns("trips")]

    def grouped(self) -> object:
        counts = Trip.select(Trip.payment_type, peewee.fn.COUNT(Trip.trip_id)).group_by(Trip.payment_type)
        return [list(row) for row in counts.order_by(Trip.payment_type).tuples()]

    def lists(self) -> object:
        return [Trip.select().where(Trip.pickup_zone << [1, 2]).count(), super().lists()[1]]  # type: ignore[index]

    def cursor(self) -> object:
        counts = Trip.select(Trip.payment_type, peewee.fn.COUNT(Trip.trip_id)).group_by(Trip.payment_type)
        with database.atomic():
            return [list(row) for row in ServerSide(counts.order_by(Trip.payment_type).tuples(), 2)]

    def cancel(self) -> object:
        # peewee would open another connection in another thread.
        driver = database.connection()
        with stopping(driver.cancel):
            return code(lambda: self.ask(SLOW), self.sqlstate)

    def encode(self, name: str) -> None:
        database.connection().set_client_encoding(name)


Peewee().tell()
