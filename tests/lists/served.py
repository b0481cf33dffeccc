"""A server with the tables that tools and analysts ask about, as their statements name them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psycopg

from dpsql.wire.protocol.scram import Verifier
from tests.clients.site import Site, serving
from tests.docs.pages import ROOT

_PASSWORD = "secret"  # noqa: S105  (of a server that lives for one test)
_KINDS = {
    "trips": "passenger",
    "taxi": "passenger",
    "customer": "customer",
    "orders": "customer",
    "prostate": "patient",
}
"""Whose rows each table has: a role protects one kind of unit."""
_CONFIG = """\
dataset: taxi
engine: {{kind: duckdb, database: taxi.duckdb}}
schemas: {schemas}
listen: {{host: 127.0.0.1, port: 0}}
shadow: {{directory: shadow}}
ledger: sqlite:///ledger.db
budget: {{passenger: {{epsilon: 1e7}}, customer: {{epsilon: 1e7}}, patient: {{epsilon: 1e7}}}}
roles:
  passenger: {{protects: passenger, budget: {{epsilon: 1e7}}, per_query: {{epsilon: 1000}}}}
  customer: {{protects: customer, budget: {{epsilon: 1e7}}, per_query: {{epsilon: 1000}}}}
  patient: {{protects: patient, budget: {{epsilon: 1e7}}, per_query: {{epsilon: 1000}}}}
users:
  passenger: {{role: passenger, password: "{verifier}"}}
  customer: {{role: customer, password: "{verifier}"}}
  patient: {{role: patient, password: "{verifier}"}}
"""
_TABLES = """
CREATE TABLE trips AS SELECT
  n::BIGINT AS trip_id, (n % 40)::INTEGER AS driver_id, (n % 500)::INTEGER AS passenger_id,
  TIMESTAMP '2026-01-01' + INTERVAL 40 MINUTE * n AS pickup_ts,
  ['Airport', 'Harbour', 'Zoo', 'Plaza'][1 + n % 4] AS pickup_zone,
  CASE n % 3 WHEN 0 THEN 'cash' ELSE 'card' END AS payment_type, (1 + n % 5)::INTEGER AS passenger_count,
  (n % 97 / 4)::DOUBLE AS trip_distance, (3 + n % 50)::DOUBLE AS fare, (n % 7)::DOUBLE AS tip
FROM range(3000) AS r (n);
CREATE TABLE taxi AS SELECT
  n::BIGINT AS trip_id, (n % 60)::INTEGER AS medallion, (n % 40)::INTEGER AS driver_id, (n % 500)::INTEGER AS passenger_id,
  TIMESTAMP '2013-01-01' + INTERVAL 2 HOUR * n AS pickup_ts, (1 + n % 263)::INTEGER AS pickup_zone,
  ['CRD', 'CSH', 'NOC', 'DIS', 'UNK'][1 + n % 5] AS payment_type, (1 + n % 6)::INTEGER AS passenger_count,
  (n % 97 / 4)::DOUBLE AS trip_distance, (3 + n % 50)::DOUBLE AS fare, (n % 7)::DOUBLE AS tip,
  (3 + n % 50 + n % 7)::DOUBLE AS total
FROM range(4000) AS r (n);
CREATE TABLE customer (c_custkey INTEGER PRIMARY KEY, c_mktsegment VARCHAR);
INSERT INTO customer SELECT n, ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'][1 + n % 5]
FROM range(300) AS r (n);
CREATE TABLE orders AS SELECT n::INTEGER AS o_orderkey, (n % 200)::INTEGER AS o_custkey, (n % 997 * 100)::DOUBLE
  AS o_totalprice
FROM range(2000) AS r (n);
CREATE TABLE prostate AS SELECT n::INTEGER AS patient_id, (45 + n % 40)::INTEGER AS age, (1 + n % 5)::INTEGER AS pirads,
  (5 + n % 6)::INTEGER AS gleason
FROM range(920) AS r (n);
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A server, and a connection for each kind of unit."""

    site: Site
    connections: dict[str, psycopg.Connection]

    def about(self, table: str) -> psycopg.Connection:
        """Return the connection of who may ask about a table."""
        kind = _KINDS[table]
        if kind not in self.connections:
            dsn = f"host={self.site.host} port={self.site.port} user={kind} password={_PASSWORD} dbname=taxi sslmode=disable"
            self.connections[kind] = psycopg.connect(dsn, autocommit=True)
        return self.connections[kind]


@contextmanager
def asked(directory: Path) -> Iterator[Asked]:
    """Serve the tables."""
    with duckdb.connect(directory / "taxi.duckdb") as connection:
        connection.execute(_TABLES)
    config = directory / "config.yaml"
    schemas = ROOT / "tests" / "schemas" / "served"
    config.write_text(_CONFIG.format(schemas=schemas, verifier=Verifier.of(_PASSWORD)), encoding="utf-8")
    with serving(config) as site:
        made = Asked(site, {})
        yield made
        for each in made.connections.values():
            each.close()
