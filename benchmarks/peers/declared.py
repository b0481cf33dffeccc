"""What all systems are told of the tables: whose each row is, how many rows of one unit count, bounds and domains."""

import json
from pathlib import Path
from typing import Any

from benchmarks.peers.records import LABS, PAYMENT_TYPES, SEGMENTS

Declared = dict[str, dict[str, Any]]
EPSILON = 1.0
DELTA = 1e-6
PLENTY = 1e5
"""An ε at which noise vanishes, so that only a wrong answer is far from the truth."""
_MOST = 1e12
"""A budget that no run of the benchmark uses up."""
_CONFIG = {
    "dataset": "records",
    "schemas": "schemas",
    "listen": {"host": "127.0.0.1", "port": 0},
    "shadow": {"directory": "shadow"},
    "ledger": "sqlite:///ledger.db",
}


def declared(rows: int) -> Declared:
    """Return each table's declaration; `rows` is the number of trips, which only dpsql is told, as an order of magnitude."""
    orders = min(rows, 150_000)
    return {
        "taxi": {
            "unit": "passenger",
            "column": "passenger_id",
            "max_rows": 20,
            "expected_rows": rows,
            "columns": {
                "trip_id": {"type": "bigint"},
                "passenger_id": {"type": "integer"},
                "pickup_ts": {"type": "timestamp", "bounds": ["2013-01-01", "2014-01-01"]},
                "pickup_zone": {"type": "integer", "values": list(range(1, 264))},
                "payment_type": {"type": "text", "values": list(PAYMENT_TYPES)},
                "passenger_count": {"type": "integer", "values": list(range(1, 7))},
                "trip_distance": {"type": "double precision", "bounds": [0, 50]},
                "fare": {"type": "double precision", "bounds": [0, 150]},
                "tip": {"type": "double precision", "bounds": [0, 40]},
                "total": {"type": "double precision", "bounds": [0, 200]},
            },
        },
        "customer": {
            "unit": "customer",
            "column": "c_custkey",
            "max_rows": 1,
            "expected_rows": orders // 10,
            "columns": {
                "c_custkey": {"type": "integer"},
                "c_mktsegment": {"type": "text", "values": list(SEGMENTS)},
            },
        },
        "orders": {
            "unit": "customer",
            "column": "o_custkey",
            "references": ["customer", "c_custkey"],
            "max_rows": 20,
            "expected_rows": orders,
            "columns": {
                "o_orderkey": {"type": "integer"},
                "o_custkey": {"type": "integer"},
                "o_totalprice": {"type": "double precision", "bounds": [0, 500_000]},
            },
        },
        "prostate": {
            "unit": "patient",
            "column": "patient_id",
            "max_rows": 1,
            "expected_rows": 1000,
            "columns": {
                "patient_id": {"type": "integer"},
                "age": {"type": "integer", "bounds": [40, 95]},
                "pirads": {"type": "integer", "values": list(range(1, 6))},
                "gleason": {"type": "integer", "bounds": [5, 10]},
            },
        },
    }


def declared_labs(max_rows: int | str) -> Declared:
    """Return the declaration of the laboratory results, of which so many of one patient count; dpsql alone knows `auto`."""
    return {
        LABS: {
            "unit": "patient",
            "column": "patient_id",
            "max_rows": max_rows,
            "expected_rows": 100_000,
            "columns": {
                "result_id": {"type": "integer"},
                "patient_id": {"type": "bigint"},
                "taken_at": {"type": "timestamp", "bounds": ["2024-01-01", "2025-01-01"]},
                "test": {"type": "text", "values": ["glucose", "sodium", "potassium", "creatinine", "lactate", "crp"]},
                "ward": {"type": "text", "values": ["Surgery", "Cardiology", "Oncology", "ICU"]},
                "value": {"type": "double precision", "bounds": [0, 300]},
                "cost": {"type": "double precision", "bounds": [0, 100]},
            },
        }
    }


def configure(
    directory: Path, engine: dict[str, str | bool], tables: Declared, epsilon: float = PLENTY, *, rho: bool = False
) -> Path:
    """Write dpsql's configuration with a role for each unit that pays `epsilon`; return its file. JSON is YAML.

    With `rho` it and the data set count ρ.
    """
    amount = {"epsilon": _MOST, "delta": DELTA, "accounting": "zcdp"} if rho else {"epsilon": _MOST, "delta": 0.5}
    units: dict[str, list[str]] = {}
    for name, table in tables.items():
        units.setdefault(table["unit"], []).append(name)
    roles = {
        unit: {
            "protects": unit,
            "budget": amount,
            "per_query": {"epsilon": epsilon, "delta": 0 if rho else DELTA, "least": 0.001},
            "limits": {"runs": 10**9},
            "tables": own,
        }
        for unit, own in units.items()
    }
    budget = dict.fromkeys(units, amount)
    (directory / "schemas").mkdir(parents=True)
    for name, table in tables.items():
        schema = {
            "table": name,
            "expected_rows": table["expected_rows"],
            "privacy_units": {table["unit"]: {"column": table["column"], "max_rows": table["max_rows"]}},
            "columns": table["columns"],
        }
        (directory / "schemas" / f"{name}.yaml").write_text(json.dumps(schema))
    config = directory / "config.yaml"
    config.write_text(json.dumps({**_CONFIG, "engine": engine, "budget": budget, "roles": roles, "users": {}}))
    return config
