"""A small right configuration, and a way to make one mistake in it."""

from pathlib import Path

import pytest

from dpsql.errors import ConfigError
from dpsql.policy.config import Config
from dpsql.policy.load import load

VERIFIER = (
    "SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0c2FsdA==$"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

FILES = {
    "config.yaml": f"""\
dataset: taxi
engine: {{kind: duckdb, database: taxi.duckdb}}
schemas: schemas
refresh: daily
listen: {{host: 127.0.0.1, port: 5439}}
ledger: sqlite:///ledger.db
budget:
  passenger: {{epsilon: 10, delta: 1e-5}}
roles:
  owner:
    protects: passenger
    budget: {{epsilon: 5, delta: 1e-6, period: week}}
    per_query: {{noise: low, epsilon: 0.1}}
    tables: [trips]
users:
  ana: {{role: owner, password: "{VERIFIER}"}}
""",
    "schemas/trips.yaml": """\
table: trips
privacy_units:
  passenger: {column: passenger_id, max_rows: 20}
columns:
  passenger_id: {type: integer}
  pickup_ts: {type: timestamp, bounds: [2019-03-01, 2019-04-01]}
  day: {type: date, bounds: [2019-03-01, 2019-04-01]}
  zone: {type: integer, references: zones.zone_id}
  payment: {type: text, values: [cash, "no"], nullable: true}
  fare: {type: "numeric(10, 2)", bounds: [-0.1, 150]}
  seats: {type: smallint, values: [1, 2]}
""",
    "schemas/zones.yaml": """\
table: zones
public: true
key: zone_id
columns:
  zone_id: {type: integer}
  borough: {type: varchar(20)}
""",
}


def write_files(directory: Path, changes: dict[str, tuple[str, str]] | None = None) -> Path:
    """Write the files with some text replaced; return the configuration's path."""
    (directory / "schemas").mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        old, new = (changes or {}).get(name, ("", ""))
        assert old in text
        (directory / name).write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
    return directory / "config.yaml"


def load_changed(directory: Path, file: str, old: str, new: str) -> Config:
    """Load the configuration after one change."""
    return load(write_files(directory, {file: (old, new)}), {})


def mistakes(directory: Path, path: Path, environment: dict[str, str] | None = None) -> list[str]:
    """Return the lines that tell the mistakes, without the directory."""
    with pytest.raises(ConfigError) as caught:
        load(path, environment or {})
    return caught.value.message.replace(f"{directory}/", "").splitlines()
