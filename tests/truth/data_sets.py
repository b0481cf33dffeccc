"""Four tables on which it is measured how far answers lie from the truth: units with few rows, with many, and with one.

In the fourth one how many rows somebody has goes together with what is in them, as it does in medicine.

Each has a server's pieces of its own. What is exact is counted once; noise, and the C that is chosen, are new in each epoch.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from dpsql.accounting.privacy_loss import Charge
from dpsql.demo.trips import generate
from dpsql.engines.base import PreparedMeasurements
from dpsql.engines.duckdb.engine import DuckDb, DuckPrepared
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.question import Cancellation
from tests.gateway.engines import Rows, Watched
from tests.support.fix_policy import without_reuse

_HERE = Path(__file__).parent
_ROOT = _HERE.parent.parent
_CONFIG = """\
dataset: taxi
engine: {{kind: duckdb, database: unused.duckdb}}
schemas: schemas
refresh: daily
listen: {{host: 127.0.0.1, port: 5439}}
ledger: sqlite:///unused.db
budget: {{{unit}: {{epsilon: 1e30, profile: 0.1}}}}
roles:
  owner: {{protects: {unit}, budget: {{epsilon: 1e30}}, per_query: {{epsilon: 1e12}}, limits: {{runs: 1_000_000_000}}}}
users: {{}}
"""
USERS = {"ana": "owner"}


@dataclass(slots=True)
class Remembering(Watched):
    """An engine whose answers are remembered: the same rows are counted in each epoch, with other noise."""

    remembered: dict[str, Rows] = field(default_factory=dict)

    def run(self, prepared: PreparedMeasurements, sql: str, charge: Charge, cancellation: Cancellation) -> Rows:
        """Ask once."""
        if sql not in self.remembered:
            self.remembered[sql] = Watched.run(self, prepared, sql, charge, cancellation)
        return self.remembered[sql]

    def rows(self, sql: str) -> Rows:
        """Return the same of what nobody has paid for."""
        if sql not in self.remembered:
            self.remembered[sql] = self.asked(sql)
        return self.remembered[sql]

    def asked(self, sql: str) -> Rows:
        """Return them of what is asked but once."""
        with self.engine.ready([sql], timeout=600, cancellation=Cancellation()) as prepared:
            assert isinstance(prepared, DuckPrepared)
            return prepared.rows(sql)


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """A table, what is asked of it, and the view of what an analyst could be told at best."""

    name: str
    unit: str
    """The kind of its units."""
    owner: str
    """The column that names them."""
    clamped: str
    """The view `clamped` of the file's rows: values within bounds, rows of somebody."""
    words: dict[str, str]
    """What stands for each word of a question: `{a}` and `{b}` are numbers, `{g}` and `{h}` keys, `{f}` a condition."""
    filters: tuple[str, ...]
    """All rows, many, some, few and very few."""
    made: Callable[[], dict[str, Sequence[object]]] | None = None
    """Makes the columns, if it is none of the sets here."""


TRIPS = DataSet(
    "trips",
    "passenger",
    "passenger_id",
    """SELECT * REPLACE (CASE WHEN NOT isnan(fare) THEN least(greatest(fare, 0), 150) END AS fare,
      CASE WHEN NOT isnan(tip) THEN least(greatest(tip, 0), 40) END AS tip,
      CASE WHEN payment_type IN ('cash', 'credit card') THEN payment_type END AS payment_type,
      least(greatest(passenger_count, 0), 6) AS passenger_count)
    FROM taken.trips WHERE passenger_id IS NOT NULL""",
    {"a": "fare", "b": "tip", "g": "payment_type", "h": "passenger_count", "f": "passenger_count = 1"},
    (
        "TRUE",
        "payment_type = 'cash'",
        "fare > 30",
        "pickup_ts >= '2019-03-05' AND pickup_ts < '2019-03-06'",
        "pickup_zone = 48 AND pickup_ts < '2019-03-08'",
    ),
)
FLIGHTS = DataSet(
    "flights",
    "plane",
    "tailnum",
    """SELECT * REPLACE (CASE WHEN dep_delay IS NOT NULL THEN least(greatest(dep_delay, -60), 300) END AS dep_delay,
      CASE WHEN arr_delay IS NOT NULL THEN least(greatest(arr_delay, -90), 300) END AS arr_delay,
      CASE WHEN air_time IS NOT NULL THEN least(greatest(air_time, 0), 720) END AS air_time,
      least(greatest(distance, 0), 5000) AS distance)
    FROM taken.flights WHERE tailnum IS NOT NULL""",
    {"a": "distance", "b": "air_time", "g": "origin", "h": "month", "f": "dep_delay > 15"},
    ("TRUE", "origin = 'JFK'", "month = 5", "carrier = 'HA' OR carrier = 'AS'", "month = 2 AND day = 12 AND hour < 9"),
)
PATIENTS = DataSet(
    "patients",
    "patient",
    "patient_id",
    """SELECT * REPLACE (least(greatest(cost, 0), 40000) AS cost, least(greatest(days, 0), 90) AS days)
    FROM taken.patients""",
    {"a": "cost", "b": "days", "g": "ward", "h": "region", "f": "smoker"},
    ("TRUE", "ward = 'Surgery'", "cost > 8000", "admitted >= '2024-03-01' AND admitted < '2024-03-15'", "days > 25"),
)
LABS = DataSet(
    "labs",
    "patient",
    "patient_id",
    """SELECT * REPLACE (least(greatest(value, 0), 300) AS value, least(greatest(cost, 0), 100) AS cost) FROM taken.labs""",
    {"a": "value", "b": "cost", "g": "ward", "h": "test", "f": "abnormal"},
    ("TRUE", "ward = 'ICU'", "test = 'crp'", "taken_at >= '2024-03-01' AND taken_at < '2024-03-15'", "site = 20"),
)
DATA_SETS = (TRIPS, FLIGHTS, PATIENTS, LABS)


def labs(people: int = 5_000) -> dict[str, Sequence[object]]:
    """Return the columns of the laboratory results of so many people, the same ones every time.

    How sick somebody is decides how many results there are, how high they are, and in which ward they are taken.
    """
    draw = np.random.default_rng(5)
    severity = draw.normal(0, 1, people)
    rows = np.clip(np.exp(2.3 + 0.9 * severity + draw.normal(0, 0.45, people)).astype(int), 1, 200)
    patient = np.repeat(np.arange(people), rows)
    number, sick = len(patient), severity[patient]
    wards = np.where(sick > 1.2, 3, draw.integers(0, 3, people)[patient])
    days = np.minimum(draw.integers(0, 300, people)[patient] + draw.geometric(0.06, number), 365)
    values = np.round(np.clip(60 * np.exp(0.25 * sick + draw.normal(0, 0.35, number)), 0, 400), 1)
    seconds = days * 86_400 + draw.integers(0, 86_400, number)
    tests = np.array(["glucose", "sodium", "potassium", "creatinine", "lactate", "crp"])
    columns = {
        "patient_id": patient.astype(np.int64),
        "taken_at": (np.datetime64("2024-01-01T00:00:00") + seconds.astype("timedelta64[s]")).astype("datetime64[us]"),
        "test": tests[draw.choice(6, number, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05])],
        "ward": np.array(["Surgery", "Cardiology", "Oncology", "ICU"])[wards],
        "site": (1 + np.minimum(draw.geometric(0.12, people) - 1, 39))[patient].astype(np.int32),
        "abnormal": values > 90,
        "value": values,
        "cost": np.round(5 + draw.gamma(2, 12, number), 2),
    }
    return {name: column.tolist() for name, column in columns.items()}


def patients(number: int = 20_000) -> dict[str, Sequence[object]]:
    """Return the columns of so many people, the same ones every time."""
    draw = np.random.default_rng(11)
    wards = np.array(["Surgery", "Cardiology", "Oncology", "Paediatrics"])
    regions = np.array("North South East West Centre Coast Hills Islands Border Abroad".split())
    days = np.datetime64("2024-01-01") + draw.integers(0, 366, number)
    stay = draw.geometric(0.15, number) - 1
    columns = {
        "patient_id": np.arange(number),
        "born": np.datetime64("1925-01-01") + draw.integers(0, 36_000, number),
        "admitted": days,
        "ward": wards[draw.choice(4, number, p=(0.4, 0.3, 0.2, 0.1))],
        "region": regions[draw.choice(10, number, p=np.arange(10, 0, -1) / 55)],
        "smoker": draw.random(number) < 0.2,
        "days": stay,
        "cost": np.round(draw.lognormal(7, 1, number) + 300 * stay, 2),
    }
    return {name: column.tolist() for name, column in columns.items()}


def _fill(data: DataSet, path: Path) -> None:
    if data is TRIPS:
        generate(path)
        return
    with duckdb.connect(str(path)) as connection:
        if data is FLIGHTS:
            for table in (_ROOT / "tests" / "flights" / "data").glob("*.parquet"):
                connection.execute(f"CREATE TABLE {table.stem} AS SELECT * FROM read_parquet('{table}')")
            return
        records = pa.table(data.made() if data.made else labs() if data is LABS else patients())  # noqa: F841  (DuckDB reads it by its name)
        connection.execute(f"CREATE TABLE {data.name} AS SELECT * FROM records")


def _schemas(data: DataSet, directory: Path) -> None:
    source = {"trips": _ROOT / "schemas", "flights": _ROOT / "tests" / "flights" / "schemas"}
    shutil.copytree(source.get(data.name, _HERE / data.name), directory)
    for file in directory.glob("*.yaml"):
        file.write_text(file.read_text(encoding="utf-8").replace(", max_rows: 575", ""), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Filled:
    """A data set's records, its policy under which C is chosen, and the truth."""

    data: DataSet
    policy: Policy
    engine: Remembering
    truth: duckdb.DuckDBPyConnection


@contextmanager
def filled(data: DataSet, directory: Path) -> Iterator[Filled]:
    """Give a data set in a new directory."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{data.name}.duckdb"
    _fill(data, path)
    _schemas(data, directory / "schemas")
    (directory / "config.yaml").write_text(_CONFIG.format(unit=data.unit), encoding="utf-8")
    policy = without_reuse(load(directory / "config.yaml").policy)
    engine = DuckDb(path)
    with duckdb.connect() as truth:
        truth.execute(f"ATTACH '{path}' AS taken (READ_ONLY)")
        truth.execute(f"CREATE VIEW clamped AS {data.clamped}")
        yield Filled(data, policy, Remembering(engine), truth)
    engine.close()


def with_bound(policy: Policy, data: DataSet, most: int | None) -> Policy:
    """Return the policy with a C of its own, or with one that is chosen."""
    if most is None:
        return policy
    table = policy.tables[data.name]
    units = {**table.units, data.unit: replace(table.units[data.unit], max_rows=most, max_groups=None, up_to=None)}
    return replace(policy, tables={**policy.tables, data.name: replace(table, units=units)})
