"""What is asked: the 22 questions, and the forms for which there are aims."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.peers.measured import DUCKDB, POSTGRES
from benchmarks.peers.questions import questions

ALONE, BOUNDED, SNAPSHOT = "one row a unit", "bounded", "bounded, snapshot"
WAYS = (ALONE, BOUNDED, SNAPSHOT)
AIMS_ON_POSTGRES = (1.3, 5.0, 0.2)
"""What the ratio of every form is to be at most there, by way."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, as dpsql is asked it and as an engine is asked it plainly."""

    name: str
    about: str
    role: str
    sql: str
    plain: Mapping[str, str] = field(default_factory=dict)
    """By engine, where it has to be written otherwise."""
    aims: tuple[float, ...] = ()
    """What the ratio is to be at most on DuckDB, by way."""

    def aim(self, engine: str, way: str) -> float | None:
        """Return what the ratio is to be at most."""
        aims = AIMS_ON_POSTGRES if engine == POSTGRES and self.aims else self.aims
        return aims[WAYS.index(way)] if aims else None


_FORMS = (
    ("COUNT, SUM, AVG", "SELECT count(*), sum(fare), avg(tip) FROM taxi", (2, 2.8, 1.3)),
    (
        "… by payment",
        "SELECT payment_type, count(*), sum(fare), avg(tip) FROM taxi GROUP BY payment_type",
        (1.6, 2, 1.5),
    ),
    ("… by zone", "SELECT pickup_zone, count(*), sum(fare), avg(tip) FROM taxi GROUP BY pickup_zone", (1.6, 2, 1.5)),
    (
        "… by zone, one month",
        "SELECT pickup_zone, count(*), sum(fare), avg(tip) FROM taxi WHERE pickup_ts < '2013-02-01' GROUP BY pickup_zone",
        (1.3, 1.6, 1.5),
    ),
    (
        "five of four columns, by seats",
        "SELECT passenger_count, count(*), sum(fare), avg(tip), sum(total), avg(trip_distance) FROM taxi GROUP BY 1",
        (2, 2.8, 1.5),
    ),
    (
        "MEDIAN by seats",
        "SELECT passenger_count, percentile_cont(0.5) WITHIN GROUP (ORDER BY fare) FROM taxi GROUP BY passenger_count",
        (0.6, 0.8, 0.6),
    ),
)
"""The forms for which there are aims: what the ratio is to be at most on DuckDB, by way."""
_WITHOUT_WIDTH_BUCKET = (
    "SELECT CASE WHEN fare >= 100 THEN 21 ELSE CAST(floor(fare / 5) AS INTEGER) + 1 END AS b, COUNT(*) AS n"
    " FROM taxi GROUP BY b ORDER BY b"
)


def asked() -> tuple[Asked, ...]:
    """Return the forms and the 22 questions in order."""
    forms = (Asked(f"f{i}", name, "passenger", sql, aims=aims) for i, (name, sql, aims) in enumerate(_FORMS, 1))
    plain = {"q21": {DUCKDB: _WITHOUT_WIDTH_BUCKET}}
    return (*forms, *(Asked(q.name, q.about, q.unit, q.sql, plain.get(q.name, {})) for q in questions()))
