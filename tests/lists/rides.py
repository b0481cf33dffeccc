"""Synthetic riders, their visits, trips, ratings and wallets, the same each time, as semantic layers model them."""

import datetime as dt
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tests.support.records import Row

RIDERS, MOST = 160, 60
"""How many riders there are, and how many trips, and visits, one has at most."""
_BOROUGHS = ("Queens", "Brooklyn", "Bronx", "Manhattan")
_ZONES = (
    "Airport",
    "Harbour",
    "Zoo",
    "Plaza",
    "Station",
    "Market",
    "Park",
    "Mill",
    "Bridge",
    "Tower",
    "Garden",
    "Fair",
)
_SEASONS = ("winter", "spring", "summer", "autumn")
_START, _DAYS = dt.datetime(2019, 1, 1), 181  # noqa: DTZ001  (timestamps without time zone)
_PAGES = ("/", "/", "/fares", "/map", "/help")


@dataclass(frozen=True, slots=True)
class _Rider:
    number: int
    joined: dt.date
    plan: str | None


def rides(seed: int = 7) -> Mapping[str, Sequence[Row]]:
    """Return the rows of all tables."""
    draw = random.Random(seed)  # noqa: S311  (synthetic records)
    riders = [
        _Rider(
            n, dt.date(2018, 1, 1) + dt.timedelta(draw.randrange(500)), draw.choice(("basic", "plus", "family", None))
        )
        for n in range(1, RIDERS + 1)
    ]
    visits, trips = zip(*(_of(rider, draw) for rider in riders), strict=True)
    booked: list[Row] = [{"trip_id": n, **row} for n, row in enumerate((r for rows in trips for r in rows), 1)]
    return {
        "zones": [{"zone_id": n, "zone": zone, "borough": _BOROUGHS[n % 4]} for n, zone in enumerate(_ZONES, 1)],
        "calendar": list(_calendar()),
        "riders": [
            {
                "rider_id": rider.number,
                "plan": rider.plan,
                "home_zone": draw.randint(1, len(_ZONES)),
                "age": draw.randint(16, 90),
                "joined_on": rider.joined,
            }
            for rider in riders
        ],
        "visits": [{"visit_id": n, **row} for n, row in enumerate((r for rows in visits for r in rows), 1)],
        "trips": booked,
        "ratings": [{"rating_id": n, **row} for n, row in enumerate(_ratings(booked, draw), 1)],
        "wallets": [
            {"rider_id": rider.number, "month_end": end, "balance": draw.randint(0, 200)}
            for rider in riders
            for end in (dt.date(2019, n + 1, 1) - dt.timedelta(1) for n in range(1, 7))
            if draw.random() < 0.9
        ],
    }


def _calendar() -> Iterator[Row]:
    day = dt.date(2016, 1, 1)
    while day.year < 2021:
        yield {"day": day, "season": _SEASONS[day.month % 12 // 3]}
        day += dt.timedelta(1)


def _of(rider: _Rider, draw: random.Random) -> tuple[list[Row], list[Row]]:
    """Return the visits and the trips of a rider: a few have many, most have few, and some trips follow no visit."""
    visits: list[Row] = []
    trips: list[Row] = []
    for _ in range(min(MOST, 2 + int(draw.paretovariate(0.8) * 5))):
        at = _START + dt.timedelta(seconds=draw.randrange(_DAYS * 86_400))
        visits.append(
            {
                "rider_id": rider.number,
                "visited_at": at,
                "channel": draw.choice(("app", "app", "web", "partner")),
                "page": draw.choice(_PAGES),
            }
        )
        if draw.random() < 0.85:
            started = at + dt.timedelta(minutes=draw.choice((5, 20, 90, 2_000, 20_000)))
            if started < _START + dt.timedelta(_DAYS):
                trips.append(_trip(rider, started, draw))
    return visits, trips


def _trip(rider: _Rider, at: dt.datetime, draw: random.Random) -> Row:
    distance = round(min(30.0, draw.expovariate(0.2) + 0.3), 1)
    payment = draw.choice(("cash", "card", "card", None))
    return {
        "rider_id": rider.number,
        "zone_id": draw.choice((1, 1, 2, 3, *range(1, len(_ZONES) + 1))),
        "started_at": at,
        "status": draw.choice(("done", "done", "done", "cancelled")),
        "payment": payment,
        "shared": draw.random() < 0.3,
        "seats": draw.choice((1, 1, 1, 2, 3, 4)),
        "distance": distance,
        "fare": Decimal(round(300 + 250 * distance) + draw.randrange(100)) / 100,
        "tip": round(distance * draw.choice((0.2, 0.5)), 2) if payment == "card" else None,
    }


def _ratings(trips: Sequence[Row], draw: random.Random) -> Iterator[Row]:
    for trip in trips:
        if draw.random() < 0.5:
            at = trip["started_at"]
            assert isinstance(at, dt.datetime)
            yield {
                "trip_id": trip["trip_id"],
                "stars": draw.choice((5, 5, 4, 3, 1)),
                "rated_at": at + dt.timedelta(hours=draw.randrange(72)),
            }
