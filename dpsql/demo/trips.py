"""A million synthetic taxi trips with the distributions of real ones: New York, March 2019, as the TLC publishes them."""

import csv
import os
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from dpsql.epsilon.databases.statistic import Floats
from dpsql.private_files import make_directory

Integers = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]

_SEED = 20190301
_RIDES_PER_PASSENGER = 8
_TRIPS_PER_DRIVER = 180
_START = np.datetime64("2019-03-01T00:00:00", "us")
# Trips by day of the week from Monday, and by hour on weekdays and at weekends.
_DAYS = (708, 825, 966, 905, 1115, 1046, 868)
_WEEKDAY = (
    103,
    46,
    45,
    23,
    23,
    38,
    120,
    190,
    258,
    242,
    231,
    185,
    221,
    205,
    243,
    238,
    244,
    281,
    313,
    289,
    266,
    276,
    231,
    208,
)
_WEEKEND = (102, 64, 56, 44, 34, 13, 22, 31, 55, 77, 94, 110, 113, 111, 117, 92, 92, 107, 104, 117, 102, 79, 90, 88)
_MEDIAN_MILES = {"Manhattan": 1.5, "Queens": 4.5, "Brooklyn": 2.6, "Bronx": 4.0, "Staten Island": 6.0}
_AIRPORT_MILES = {"JFK Airport": 16.5, "LaGuardia Airport": 9.5}
# 0 is NULL; the last is what the meter writes for a ride that was not paid, and no declared value.
PAYMENTS = (None, "cash", "credit card", "dispute")
_PAYMENT_SHARES = (0.007, 0.28, 0.711, 0.002)
_PASSENGERS = (96, 4678, 876, 243, 110, 277, 153)


@dataclass(frozen=True, slots=True)
class Zone:
    """A taxi zone, and how many of 6,433 real trips began there."""

    zone_id: int
    zone: str
    borough: str
    pickups: int


@cache
def zones() -> tuple[Zone, ...]:
    """Return New York's taxi zones."""
    lines = resources.files("dpsql.demo").joinpath("zones.csv").read_text(encoding="utf-8").splitlines()
    return tuple(
        Zone(int(row["zone_id"]), row["zone"], row["borough"], int(row["pickups"])) for row in csv.DictReader(lines)
    )


def trips(number: int) -> Columns:
    """Make the columns of that many trips, the same ones every time.

    `payment` indexes `PAYMENTS`; a zone of 0 stands for NULL, an infinite distance for NaN.
    """
    # One stream for all columns: a draw that is put in between changes every column after it.
    draw = np.random.default_rng(_SEED)
    passenger = _regulars(draw, number, number // _RIDES_PER_PASSENGER + 1, 0.75)
    driver = _regulars(draw, number, number // _TRIPS_PER_DRIVER + 1, 0.35)
    zone = _pickup_zones(draw, passenger)
    pickup, hour = _pickup_times(draw, number)
    distance = _distances(draw, zone)
    fare = _fares(draw, zone, distance, hour)
    payment = draw.choice(len(PAYMENTS), number, p=_PAYMENT_SHARES)
    tip = _tips(draw, fare, payment)
    surcharge = 0.8 + np.where(_is_in_manhattan(zone), 2.5, 0.0) + np.where((hour >= 20) | (hour < 6), 0.5, 0.0)
    toll = np.where((distance > 8) & (draw.random(number) < 0.4), 5.76, 0.0)
    columns: Columns = {
        "trip_id": np.arange(1, number + 1),
        "driver_id": driver,
        "passenger_id": passenger,
        "pickup_ts": pickup,
        "pickup_zone": zone,
        "payment": payment,
        "passenger_count": draw.choice(len(_PASSENGERS), number, p=_shares(_PASSENGERS)),
        "trip_distance": distance,
        "fare": fare,
        "tip": tip,
        "total": np.round(fare + tip + surcharge + toll, 2),
    }
    _soil(draw, columns)
    return columns


def _shares(weights: tuple[int, ...]) -> Floats:
    return np.asarray(weights, dtype=np.float64) / sum(weights)


def _regulars(draw: np.random.Generator, number: int, people: int, spread: float) -> Integers:
    """Say whose each trip is: weights are log-normal, so that some ride every day and most hardly ever."""
    # Weights lie end to end on a line; whose piece a random point falls into has the trip.
    ends = np.cumsum(draw.lognormal(0.0, spread, people))
    chosen = np.searchsorted(ends, draw.random(number) * ends[-1])
    person: Integers = np.minimum(chosen, people - 1) + 1
    return person


def _pickup_zones(draw: np.random.Generator, passenger: Integers) -> Integers:
    """Draw zones by how busy they are; two rides of five begin in the passenger's own zone."""
    # Zones in which none of the real trips began get a few, so that every group has rows.
    shares = np.asarray([zone.pickups + 0.3 for zone in zones()])
    shares /= shares.sum()
    # One zone a passenger, looked up for each of their trips.
    own = draw.choice(len(shares), int(passenger.max()) + 1, p=shares)[passenger]
    other = draw.choice(len(shares), len(passenger), p=shares)
    zone: Integers = np.where(draw.random(len(passenger)) < 0.4, own, other) + 1
    return zone


def _pickup_times(draw: np.random.Generator, number: int) -> tuple[NDArray[np.datetime64], Integers]:
    """Draw when rides begin, and return the hour of each too."""
    # 1 March 2019 was a Friday.
    weekday = (np.arange(31) + 4) % 7
    weights = np.asarray(_DAYS, dtype=np.float64)[weekday]
    day = draw.choice(31, number, p=weights / weights.sum())
    working = draw.choice(24, number, p=_shares(_WEEKDAY))
    resting = draw.choice(24, number, p=_shares(_WEEKEND))
    hour = np.where(weekday[day] >= 5, resting, working)
    seconds = day * 86_400 + hour * 3_600 + draw.integers(0, 3_600, number)
    return _START + seconds.astype("timedelta64[s]"), hour


def _distances(draw: np.random.Generator, zone: Integers) -> Floats:
    """Draw miles, log-normal around the median of the borough; rides from an airport are long."""
    medians = np.asarray([_AIRPORT_MILES.get(place.zone, _MEDIAN_MILES[place.borough]) for place in zones()])
    spreads = np.asarray([0.25 if place.zone in _AIRPORT_MILES else 0.78 for place in zones()])
    at = zone - 1
    miles: Floats = medians[at] * np.exp(spreads[at] * draw.standard_normal(len(zone)))
    rounded: Floats = np.round(miles.clip(max=60.0), 2)
    return rounded


def _fares(draw: np.random.Generator, zone: Integers, distance: Floats, hour: Integers) -> Floats:
    """Meter the ride: a start, miles, and minutes in traffic, in steps of half a dollar; JFK to Manhattan is flat."""
    speed = np.where((hour >= 7) & (hour < 20), 10.0, 14.0) * np.exp(0.25 * draw.standard_normal(len(zone)))
    minutes = 2 + distance / (speed + 0.6 * distance) * 60
    fare: Floats = 2.5 + 0.5 * np.round(4 * distance + 0.5 * minutes)
    jfk = next(place.zone_id for place in zones() if place.zone == "JFK Airport")
    return np.asarray(np.where((zone == jfk) & (distance > 14), 52.0, fare), dtype=np.float64)


def _tips(draw: np.random.Generator, fare: Floats, payment: Integers) -> Floats:
    """Draw tips; only those paid by card are on record."""
    share = np.clip(draw.normal(0.27, 0.08, len(fare)), 0.05, 0.75)
    tipped = (payment == PAYMENTS.index("credit card")) & (draw.random(len(fare)) > 0.1)
    return np.where(tipped, np.round(fare * share, 2), 0.0)


def _is_in_manhattan(zone: Integers) -> NDArray[np.bool_]:
    return np.asarray([place.borough == "Manhattan" for place in zones()])[zone - 1]


def _soil(draw: np.random.Generator, columns: Columns) -> None:
    """Put in what real records have: refunds, typing errors, clocks that were wrong, zones that are missing."""
    number = len(columns["trip_id"])

    def some(share: float) -> NDArray[np.bool_]:
        return draw.random(number) < share

    refund = some(0.0005)
    columns["fare"] = np.where(refund, -columns["fare"], columns["fare"])
    columns["total"] = np.where(refund, -columns["total"], columns["total"])
    columns["fare"] = np.where(some(0.00003), 9_999.0, columns["fare"])
    columns["trip_distance"] = np.where(some(0.008), 0.0, columns["trip_distance"])
    # Infinity until it is written (`_MADE`): a NaN of numpy's would be NULL in DuckDB.
    columns["trip_distance"] = np.where(some(0.0002), np.inf, columns["trip_distance"])
    columns["passenger_count"] = np.where(some(0.00005), 9, columns["passenger_count"])
    columns["pickup_zone"] = np.where(some(0.004), 0, columns["pickup_zone"])
    # There is no such zone: a typing error, which no declared key has.
    columns["pickup_zone"] = np.where(some(0.0005), 999, columns["pickup_zone"])
    wrong_clock = np.datetime64("2009-01-01T00:00:17", "us")
    columns["pickup_ts"] = np.where(some(0.00005), wrong_clock, columns["pickup_ts"])


# The demo's DuckDB file: written beside its place and moved there whole, so that a reader never sees half of it.

TRIPS = 1_000_000

TRIPS_TABLE = """
CREATE TABLE trips (
  trip_id BIGINT NOT NULL,
  driver_id INTEGER NOT NULL,
  passenger_id INTEGER NOT NULL,
  pickup_ts TIMESTAMP NOT NULL,
  pickup_zone INTEGER,
  payment_type VARCHAR,
  passenger_count INTEGER NOT NULL,
  trip_distance DOUBLE NOT NULL,
  fare DOUBLE NOT NULL CHECK (NOT isnan(fare)),
  tip DOUBLE NOT NULL CHECK (NOT isnan(tip)),
  total DOUBLE NOT NULL CHECK (NOT isnan(total))
)
"""
"""What is clean is kept so: of other columns, some zones and distances are missing, as in real records."""
ZONES_TABLE = "CREATE TABLE zones (zone_id INTEGER PRIMARY KEY, zone VARCHAR NOT NULL, borough VARCHAR NOT NULL)"
_MADE = """
INSERT INTO trips
SELECT
  trip_id::BIGINT AS trip_id,
  driver_id::INTEGER AS driver_id,
  passenger_id::INTEGER AS passenger_id,
  pickup_ts,
  nullif(pickup_zone, 0)::INTEGER AS pickup_zone,
  $payments[payment + 1] AS payment_type,
  passenger_count::INTEGER AS passenger_count,
  CASE WHEN isinf(trip_distance) THEN 'NaN'::DOUBLE ELSE trip_distance END AS trip_distance,
  fare,
  tip,
  total
FROM made
"""


def generate(path: Path, number: int = TRIPS) -> None:
    """Write the tables `trips` and `zones` to a DuckDB file, the same ones every time."""
    make_directory(path.parent)
    # By process: two demos that begin at once each write one, and the later takes the place of the same trips.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write(draft, number)
        # The records are private: nobody else on this machine is to read them.
        draft.chmod(0o600)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
        # What DuckDB leaves where the disk was full.
        draft.with_name(f"{draft.name}.wal").unlink(missing_ok=True)


def _write(path: Path, number: int) -> None:
    with duckdb.connect(path) as connection:
        connection.register("made", trips(number))
        connection.execute(TRIPS_TABLE)
        connection.execute(_MADE, {"payments": list(PAYMENTS)})
        connection.execute(ZONES_TABLE)
        rows = [(zone.zone_id, zone.zone, zone.borough) for zone in zones()]
        connection.executemany("INSERT INTO zones VALUES (?, ?, ?)", rows)
