"""The records that all systems are asked about: made up, from a seed, and the same ones in DuckDB and in PostgreSQL."""

from collections.abc import Mapping
from pathlib import Path

import duckdb
import numpy as np
import psycopg

from dpsql.demo.trips import PAYMENTS, Columns, trips
from tests.truth.data_sets import labs

_SEED = 2013
_PEOPLE_PER_TRIP = 0.405
_YEAR = np.datetime64("2013-01-01T00:00:00", "us")
_PATIENTS = 920
_MOST_ORDERS = 150_000
_CHUNK = 1 << 20  # bytes
PAYMENT_TYPES = ("UNK", "CSH", "CRD", "DIS", "NOC")  # in the order of the demo's payments, and one more
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
_TYPES = {
    "trip_id": "bigint",
    "medallion": "integer",
    "driver_id": "integer",
    "passenger_id": "integer",
    "pickup_ts": "timestamp",
    "pickup_zone": "integer",
    "zone_id": "integer",
    "zone": "text",
    "borough": "text",
    "payment_type": "text",
    "passenger_count": "integer",
    "trip_distance": "double precision",
    "fare": "double precision",
    "tip": "double precision",
    "total": "double precision",
    "c_custkey": "integer",
    "c_mktsegment": "text",
    "o_orderkey": "integer",
    "o_custkey": "integer",
    "o_totalprice": "double precision",
    "patient_id": "integer",
    "age": "integer",
    "pirads": "integer",
    "gleason": "integer",
    "result_id": "integer",
    "taken_at": "timestamp",
    "test": "text",
    "ward": "text",
    "value": "double precision",
    "cost": "double precision",
    "region": "text",
    "flight_id": "bigint",
    "plane_id": "integer",
    "month": "integer",
    "origin": "text",
    "distance": "double precision",
}
KEYS = {"taxi": "trip_id", "customer": "c_custkey", "orders": "o_orderkey", "prostate": "patient_id"}
LABS = "labs"
_ALL_KEYS = {
    **KEYS,
    LABS: "result_id",
    "trips": "trip_id",
    "zones": "zone_id",
    "flights": "flight_id",
    "patients": "patient_id",
}


def write_duckdb(path: Path, rows: int) -> None:
    """Write the four tables to a new DuckDB file."""
    write_tables(path, make(rows))


def write_tables(path: Path, tables: Mapping[str, Columns]) -> None:
    """Write tables to a new DuckDB file."""
    with duckdb.connect(path) as connection:
        for table, columns in tables.items():
            connection.register("made", columns)
            cast = ", ".join(f"CAST({name} AS {_TYPES[name]}) AS {name}" for name in columns)
            connection.execute(f"CREATE TABLE {table} AS SELECT {cast} FROM made")  # noqa: S608 # our own names
            connection.unregister("made")


def write_postgres(dsn: str, file: Path) -> None:
    """Copy the tables of a DuckDB file to PostgreSQL, with the keys that a DBA would declare, and let a reader read them."""
    with duckdb.connect(file, read_only=True) as source, psycopg.connect(dsn) as target:
        for (table,) in source.execute("SHOW TABLES").fetchall():
            cursor = source.execute(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608 # our own names
            names = [column[0] for column in cursor.description or ()]
            missing = ", ".join(f"count(*) - count({name})" for name in names)
            holes = source.execute(f"SELECT {missing} FROM {table}").fetchone()  # noqa: S608
            assert holes is not None
            declared = ", ".join(
                f"{name} {_TYPES[name]}{'' if missing else ' NOT NULL'}"
                for name, missing in zip(names, holes, strict=True)
            )
            target.execute(f"CREATE TABLE {table} ({declared})".encode())
            text = file.with_name(f"{table}.csv")
            source.execute(f"COPY {table} TO '{text}' (HEADER false)")
            with (
                text.open("rb") as lines,
                target.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)".encode()) as copy,
            ):
                while chunk := lines.read(_CHUNK):
                    copy.write(chunk)
            text.unlink()
            target.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({_ALL_KEYS[table]})".encode())
        target.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        target.commit()
        target.autocommit = True
        target.execute("VACUUM ANALYZE")


def make(rows: int) -> dict[str, Columns]:
    """Return the columns of each table; `rows` is the number of trips."""
    draw = np.random.default_rng(_SEED)
    orders = min(rows, _MOST_ORDERS)
    customers = orders // 10
    return {
        "taxi": _taxi(draw, rows),
        "customer": {
            "c_custkey": np.arange(1, customers + 1),
            "c_mktsegment": np.asarray(SEGMENTS)[draw.integers(0, len(SEGMENTS), customers)],
        },
        "orders": {
            "o_orderkey": np.arange(1, orders + 1),
            "o_custkey": draw.integers(1, customers + 1, orders),
            "o_totalprice": np.round(draw.gamma(3.0, 50_000.0, orders).clip(900, 499_999), 2),
        },
        "prostate": {
            "patient_id": np.arange(1, _PATIENTS + 1),
            "age": draw.normal(66, 8, _PATIENTS).round().clip(40, 95),
            "pirads": draw.choice(np.arange(1, 6), _PATIENTS, p=(0.05, 0.15, 0.25, 0.35, 0.2)),
            "gleason": draw.choice(np.arange(5, 11), _PATIENTS, p=(0.03, 0.42, 0.35, 0.1, 0.07, 0.03)),
        },
    }


def make_labs(people: int = 5_000) -> dict[str, Columns]:
    """Return the laboratory results of so many people within the declared bounds: who is sicker has more, and higher ones."""
    made = {name: np.asarray(column) for name, column in labs(people).items()}
    return {
        LABS: {
            "result_id": np.arange(1, len(made["value"]) + 1),
            **{name: made[name] for name in ("patient_id", "test", "ward")},
            "taken_at": made["taken_at"].astype("datetime64[us]"),
            "value": made["value"].clip(0, 300),
            "cost": made["cost"].clip(0, 100),
        }
    }


def _taxi(draw: np.random.Generator, rows: int) -> Columns:
    """Return the demo's trips within the declared bounds, spread over a year and over more passengers."""
    made = trips(rows)
    people = max(int(rows * _PEOPLE_PER_TRIP), 1)
    ends = np.cumsum(draw.lognormal(0.0, 0.75, people))
    passenger = np.minimum(np.searchsorted(ends, draw.random(rows) * ends[-1]), people - 1) + 1
    of_day = made["pickup_ts"] - made["pickup_ts"].astype("datetime64[D]")
    day = draw.integers(0, 365, rows).astype("timedelta64[D]")
    payment = np.where(draw.random(rows) < 0.003, len(PAYMENTS), made["payment"])
    zone = made["pickup_zone"]
    return {
        "trip_id": made["trip_id"],
        "medallion": made["driver_id"] // 2 + 1,
        "driver_id": made["driver_id"],
        "passenger_id": passenger,
        "pickup_ts": _YEAR + day + of_day,
        "pickup_zone": np.where((zone < 1) | (zone > 263), 263, zone),
        "payment_type": np.asarray(PAYMENT_TYPES)[payment],
        "passenger_count": made["passenger_count"].clip(1, 6),
        "trip_distance": made["trip_distance"].clip(0, 50),
        "fare": np.abs(made["fare"]).clip(0, 150),
        "tip": made["tip"].clip(0, 40),
        "total": np.abs(made["total"]).clip(0, 200),
    }
