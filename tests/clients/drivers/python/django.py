"""Django's ORM on psycopg 3, with USE_TZ: introspection, and a model that Django did not make."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import django
from django.conf import settings

from tests.clients.matrix.scripted import Steps
from tests.clients.matrix.told import (
    DATABASE,
    GROUPED,
    HOST,
    PASSWORD,
    PORT,
    ROOT,
    SERIES,
    SLOW,
    WHO,
    code,
    stopping,
    tell,
)

TLS = {"sslmode": "verify-full", "sslrootcert": ROOT, "channel_binding": "require"}


def database(**options: object) -> dict[str, object]:
    return {
        "ENGINE": "django.db.backends.postgresql", "HOST": HOST, "PORT": PORT, "USER": WHO, "PASSWORD": PASSWORD,
        "NAME": DATABASE, "OPTIONS": options,
    }  # fmt: skip


settings.configure(
    DATABASES={"default": database(sslmode="require"), "bound": database(**TLS)},
    USE_TZ=True,
    TIME_ZONE="America/New_York",
)
django.setup()

from django.db import connection, connections, models, transaction  # noqa: E402  (needs the settings)
from django.db.models.functions import TruncDay, TruncHour, TruncMonth  # noqa: E402
from django.db.models.functions.datetime import TruncBase  # noqa: E402
from psycopg.types.json import Json  # noqa: E402


class Trip(models.Model):  # noqa: DJ008
    """A table that is there."""

    trip_id = models.BigIntegerField(primary_key=True)
    pickup_ts = models.DateTimeField()
    pickup_zone = models.IntegerField()
    payment_type = models.TextField(null=True)  # noqa: DJ001
    fare = models.FloatField()

    class Meta:
        """Where."""

        app_label = "matrix"
        db_table = "trips"
        managed = False


class Django(Steps):
    own = {"jsonb": Json({"a": [1, None]})}

    def ask(self, statement: str, *values: object) -> Sequence[Any]:
        with connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            rows: list[Any] = cursor.fetchall()
            return rows

    def sqlstate(self, failed: Any) -> object:
        return failed.__cause__.sqlstate

    def tls(self) -> object:
        with connections["bound"].cursor() as cursor:
            cursor.execute(GROUPED)
        return "bound"

    def tables(self) -> object:
        return sorted(connection.introspection.table_names())

    def columns(self) -> object:
        with connection.cursor() as cursor:
            return [column.name for column in connection.introspection.get_table_description(cursor, "trips")]

    def grouped(self) -> object:
        counts = Trip.objects.values("payment_type").annotate(n=models.Count("*")).order_by("payment_type")
        return [[row["payment_type"], row["n"]] for row in counts]

    def lists(self) -> object:
        within = Trip.objects.filter(pickup_zone__in=[1, 2]).aggregate(n=models.Count("*"))["n"]
        return [within, super().lists()[1]]  # type: ignore[index]

    def cursor(self) -> object:
        with transaction.atomic(), connection.chunked_cursor() as steps:
            steps.execute(GROUPED)
            return [list(row) for n in range(2) for row in steps.fetchmany(2)]

    def cancel(self) -> object:
        connection.ensure_connection()
        # Django's own wrapper belongs to its thread.
        driver = connection.connection
        with stopping(driver.cancel_safe):
            return code(lambda: self.ask(SLOW), self.sqlstate)

    def encode(self, name: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET client_encoding TO '{name}'")


def both(unit: type[TruncBase], **zone: Any) -> object:
    """Return counts by a unit of time, and what PostgreSQL says of the same statement over the series."""
    counts = Trip.objects.annotate(when=unit("pickup_ts", **zone)).values_list("when").annotate(n=models.Count("*"))
    statement, values = counts.order_by("when").query.sql_with_params()
    series = statement.replace('FROM "trips"', f'FROM {SERIES.replace("%", "%%")} AS "trips"').replace(
        '"trips"', '"series"'
    )
    with connection.cursor() as cursor:
        cursor.execute(series.replace('"trip_id"', '"pickup_ts"'), values)
        plain = cursor.fetchall()
    # Django puts another zone to the same hands of the clock.
    return [[[str(when)[:19], n] for when, n in rows] for rows in (counts.order_by("when"), plain)]


Django().tell()
tell("Django by day", lambda: both(TruncDay))
tell("Django by hour in Los Angeles", lambda: both(TruncHour, tzinfo=ZoneInfo("America/Los_Angeles")))
tell("Django by month", lambda: both(TruncMonth))
