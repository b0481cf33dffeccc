"""Some thousand dirty records: every kind of dirt, duplicates, rows of nobody; no unit has more rows than it may.

Every hour of March, zone, payment and number of passengers occurs, so that few groups are empty.
"""

import datetime as dt
from collections.abc import Iterable, Sequence

from dpsql.policy.model import Policy
from tests.support.records import Cell, Maker, Row
from tests.support.schema import of

TRIPS, RIDES = 6_000, 2_500
_MARCH = dt.datetime(2019, 3, 1)  # noqa: DTZ001  (timestamps without time zone)
_QUARTERS = 31 * 24 * 4


def trips(policy: Policy) -> list[Row]:
    """Return rows of the demo's table."""
    maker, table = Maker(11, dirt=0.004), policy.tables[of("trips")]
    rows = [maker.row(table) | {"passenger_id": n // 12, "driver_id": n % 41} for n in range(TRIPS)]
    for n, row in enumerate(rows):
        if n % 97:
            row["pickup_ts"] = _MARCH + dt.timedelta(minutes=15 * (n % _QUARTERS), seconds=n % 900)
        row["payment_type"] = _paid(n)
    return _with_nobody(rows, "passenger_id", "driver_id")


def rides(policy: Policy) -> list[Row]:
    """Return rows of the table with every type."""
    maker, table = Maker(12, dirt=0.01), policy.tables[of("rides")]
    rows = [maker.row(table) | {"rider": n // 8, "driver": f"d{n % 17}"} for n in range(RIDES)]
    return _with_nobody(rows, "rider", "driver")


def heavy(rows: Iterable[Row], unit: str, share: int) -> list[Row]:
    """Return the rows with one in `share` given to one of three units, who then have many more than they may."""
    return [row | {unit: -(n // share % 3 + 1)} if n % share == 0 else row for n, row in enumerate(rows)]


def _paid(n: int) -> Cell:
    """Return a payment: declared ones, none, and one that is not declared."""
    return ("cash", "credit card", "credit card", None, "cash", "credit card", "dispute")[n % 7]


def _with_nobody(rows: Sequence[Row], *units: str) -> list[Row]:
    """Return the rows with some of them twice, and some of nobody's."""
    twice = [dict(row) for row in rows[:: len(rows) // 50]]
    nobody = [row | {unit: None} for unit in units for row in rows[5 :: len(rows) // 40]]
    return [*rows, *twice, *nobody]
