"""Django's ORM: aggregates, groups, existence, subqueries, and what inspectdb and migrate find."""

# mypy: ignore-errors

import io
import sys
from pathlib import Path

import django
from django.conf import settings
from told import DATABASE, HOME, HOST, PASSWORD, PORT, USER, tried

(Path(HOME) / "taxi").mkdir()
(Path(HOME) / "taxi" / "__init__.py").touch()
sys.path.insert(0, HOME)
settings.configure(
    INSTALLED_APPS=["taxi"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql", "HOST": HOST, "PORT": PORT, "USER": USER, "PASSWORD": PASSWORD,
            "NAME": DATABASE,
        },
    },
)  # fmt: skip
django.setup()

from django.core.management import call_command  # noqa: E402  (needs the settings)
from django.core.paginator import Paginator  # noqa: E402
from django.db import connection, models, transaction  # noqa: E402
from django.db.models import (  # noqa: E402
    Avg,
    Case,
    Count,
    Exists,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    StdDev,
    Subquery,
    Sum,
    Value,
    When,
)  # fmt: skip
from django.db.models.functions import Coalesce, Concat, ExtractHour, Floor, Length, TruncDay, Upper  # noqa: E402


class Zone(models.Model):  # noqa: DJ008
    """A public table."""

    zone_id = models.IntegerField(primary_key=True)
    zone = models.TextField()
    borough = models.TextField()

    class Meta:
        """Where."""

        app_label, managed, db_table = "taxi", False, "zones"


class Trip(models.Model):  # noqa: DJ008
    """A protected table."""

    trip_id = models.BigIntegerField(primary_key=True)
    driver_id = models.IntegerField()
    passenger_id = models.IntegerField()
    pickup_ts = models.DateTimeField()
    pickup_zone = models.ForeignKey(Zone, models.DO_NOTHING, db_column="pickup_zone")
    payment_type = models.TextField(null=True)  # noqa: DJ001  it is so
    passenger_count = models.IntegerField()
    trip_distance = models.FloatField()
    fare = models.FloatField()
    tip = models.FloatField()
    total = models.FloatField()

    class Meta:
        """Where."""

        app_label, managed, db_table = "taxi", False, "trips"


trips, zones = Trip.objects, Zone.objects
dear = trips.filter(fare__gt=50)


def flat(query: object) -> object:
    return sorted((list(row) for row in query), key=str)


AGGREGATES = {
    "count()": trips.count,
    "filter().count()": lambda: trips.filter(fare__gt=20).count(),
    "exclude().count()": lambda: trips.exclude(payment_type="cash").count(),
    "Q": lambda: trips.filter(Q(fare__gt=20) | ~Q(payment_type="cash")).count(),
    "F": lambda: trips.filter(fare__gt=F("tip") * 3 + 1).count(),
    "filter(in)": lambda: trips.filter(payment_type__in=["cash", "credit card"]).count(),
    "filter(isnull)": lambda: trips.filter(payment_type__isnull=True).count(),
    "filter(icontains)": lambda: trips.filter(payment_type__icontains="CA").count(),
    "filter(date)": lambda: trips.filter(pickup_ts__date="2019-03-02").count(),
    "filter(range)": lambda: trips.filter(fare__range=(10, 20)).count(),
    "aggregate(Count, Sum, Avg)": lambda: trips.aggregate(n=Count("*"), s=Sum("fare"), a=Avg("tip")),
    "aggregate(Min, Max)": lambda: trips.aggregate(a=Min("fare"), b=Max("fare")).keys() == {"a", "b"},
    "aggregate(StdDev)": lambda: trips.aggregate(d=StdDev("fare")),
    "aggregate(Count, filter)": lambda: trips.aggregate(n=Count("trip_id", filter=Q(fare__gt=20))),
    "aggregate(Count, distinct)": lambda: trips.aggregate(n=Count("pickup_zone", distinct=True)),
    "aggregate(Coalesce(Sum))": lambda: trips.filter(fare__lt=0).aggregate(s=Coalesce(Sum("fare"), Value(0.0))),
    "aggregate over an expression": lambda: trips.aggregate(share=Avg(F("tip") / (F("fare") + 1))),
    "annotate().aggregate()": lambda: trips.annotate(both=F("fare") + F("tip")).aggregate(s=Avg("both")),
    "aggregate over groups": lambda: trips.values("payment_type").annotate(n=Count("*")).aggregate(m=Avg("n")),
    "values().distinct().count()": lambda: trips.values("payment_type").distinct().count(),
    "filter across a join": lambda: trips.filter(pickup_zone__borough="Queens").count(),
    "a slice's count()": trips.order_by("fare")[:5].count,
    "Paginator.count": lambda: Paginator(trips.order_by("trip_id"), 100).count,
}
GROUPS = {
    "values().annotate(Count)": lambda: flat(trips.values_list("payment_type").annotate(n=Count("*"))),
    "values().annotate(Count of the key)": lambda: flat(trips.values_list("payment_type").annotate(n=Count("trip_id"))),
    "order_by the count": lambda: flat(
        trips.values_list("payment_type").annotate(n=Count("*")).order_by("-n", "payment_type")[:5]
    ),
    "having": lambda: flat(trips.values_list("pickup_zone").annotate(n=Count("*")).filter(n__gt=10)),
    "across a join": lambda: flat(trips.values_list("pickup_zone__borough").annotate(n=Count("*"), m=Avg("fare"))),
    "by TruncDay": lambda: [
        str(row)
        for row in trips.annotate(d=TruncDay("pickup_ts")).values_list("d").annotate(n=Count("*")).order_by("d")[:2]
    ],
    "by ExtractHour": lambda: flat(trips.annotate(h=ExtractHour("pickup_ts")).values_list("h").annotate(n=Count("*")))[
        :3
    ],
    "by Case": lambda: flat(
        trips.annotate(c=Case(When(fare__gt=30, then=Value("dear")), default=Value("cheap")))
        .values_list("c")
        .annotate(n=Count("*"))
    ),
    "by Upper": lambda: flat(trips.annotate(p=Upper("payment_type")).values_list("p").annotate(n=Count("*"))),
    "by Concat": lambda: flat(
        trips.annotate(p=Concat("payment_type", Value("!"), output_field=models.TextField()))
        .values_list("p")
        .annotate(n=Count("*"))
    ),
    "by Length": lambda: flat(trips.annotate(p=Length("payment_type")).values_list("p").annotate(n=Count("*"))),
    "by Floor": lambda: flat(trips.annotate(b=Floor(F("fare") / 10.0)).values_list("b").annotate(n=Count("*"))),
    "values_list().distinct()": lambda: flat(trips.values_list("payment_type").distinct()),
    "union": lambda: flat(
        trips.filter(fare__gt=20)
        .values_list("payment_type")
        .annotate(n=Count("*"))
        .union(trips.filter(fare__lte=20).values_list("payment_type").annotate(n=Count("*")))
    ),
}
EXISTENCE = {
    "exists()": trips.exists,
    "filter().exists()": dear.exists,
    "filter().exists(), of none": lambda: trips.filter(fare__lt=0).exists(),
    "order_by().exists()": lambda: trips.order_by("-fare").exists(),
    "exists() across a join": lambda: trips.filter(pickup_zone__borough="Queens").exists(),
    "values().annotate().exists()": lambda: (
        trips.values("payment_type").annotate(n=Count("*")).filter(n__gt=5).exists()
    ),
    "distinct().exists()": lambda: trips.values("payment_type").distinct().exists(),
    "filter(Exists) of a public table": lambda: trips.filter(
        Exists(zones.filter(zone_id=OuterRef("pickup_zone"), borough="Queens"))
    ).count(),
    "filter(~Exists) of a public table": lambda: trips.filter(
        ~Exists(zones.filter(zone_id=OuterRef("pickup_zone"), borough="Queens"))
    ).count(),
    "filter(Exists) of the same person": lambda: trips.filter(
        Exists(trips.filter(passenger_id=OuterRef("passenger_id"), fare__gt=50))
    ).count(),
    "annotate(Exists), grouped by it": lambda: flat(
        trips.annotate(q=Exists(zones.filter(zone_id=OuterRef("pickup_zone"), borough="Queens")))
        .values_list("q")
        .annotate(n=Count("*"))
    ),
    "filter(in a subquery)": lambda: trips.filter(pickup_zone__in=zones.filter(borough="Queens")).count(),
    "public rows with Exists": lambda: flat(
        zones.filter(Exists(trips.filter(pickup_zone=OuterRef("pk"), fare__gt=20))).values_list("zone_id")
    ),
    "public rows annotated with Exists": lambda: flat(
        zones.annotate(q=Exists(trips.filter(pickup_zone=OuterRef("pk"), fare__gt=20))).values_list("zone_id", "q")
    ),
    "public rows with Count across a join": lambda: flat(zones.annotate(n=Count("trip")).values_list("zone_id", "n")),
    "public rows with Subquery": lambda: flat(
        zones.annotate(
            n=Subquery(
                trips.filter(pickup_zone=OuterRef("pk"))
                .order_by()
                .values("pickup_zone")
                .annotate(n=Count("*"))
                .values("n")
            )
        ).values_list("zone_id", "n")
    ),
    "contains()": lambda: zones.contains(Zone(zone_id=1)),
}


def _inspected(table: str) -> list[str]:
    out = io.StringIO()
    call_command("inspectdb", table, stdout=out)
    told = out.getvalue()
    if "Unable to inspect" in told or "error" in told:
        raise RuntimeError(told)
    return [line.strip() for line in told.splitlines() if "models." in line]


def _in_atomic() -> object:
    with transaction.atomic():
        first = trips.count()
        with transaction.atomic():  # a savepoint
            second = dear.count()
    return [first, second]


tried("inspectdb", "trips", lambda: _inspected("trips"))
tried("inspectdb", "zones", lambda: _inspected("zones"))
tried("inspectdb", "table_names", lambda: sorted(connection.introspection.table_names()))
for part, works in (("aggregates", AGGREGATES), ("groups", GROUPS), ("existence", EXISTENCE)):
    for name, work in works.items():
        tried(part, name, work)
tried("transactions", "atomic, in another", _in_atomic)
tried("transactions", "explain()", lambda: bool(zones.all().explain()))
tried("rows", "a slice", lambda: len(trips.all()[:3]))
tried("rows", "values()", lambda: len(trips.values("fare")[:3]))
tried("rows", "first()", lambda: trips.first() is not None)
tried("rows", "get()", lambda: trips.get(trip_id=7).trip_id)
tried("rows", "iterator()", lambda: len(next(iter(trips.iterator(chunk_size=10)))._meta.fields))
tried("rows", "of a public table", lambda: flat(zones.values_list("zone_id", "zone")))
