"""SmartNoise SQL on PostgreSQL; run by its own environment's Python.

SmartNoise takes ε for each statistic: a question's ε is divided so that `get_privacy_cost` is what the question may cost.
Domains are declared to be public (`censor_dims: False`), which costs nothing; one row a unit is its `row_privacy`.
"""

import logging
import warnings
from functools import partial

import psycopg2
from answering import serve
from snsql import Privacy, from_connection
from snsql.metadata import Metadata

_TYPES = {
    "bigint": "int",
    "integer": "int",
    "timestamp": "datetime",
    "text": "string",
    "double precision": "float",
}


def open_smartnoise(request: dict) -> partial:
    """Return what prepares questions about the declared tables."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    connection = psycopg2.connect(request["dsn"])
    units = [table["unit"] for table in request["tables"].values()]
    tables = {name: _table(table, units.count(table["unit"]) == 1) for name, table in request["tables"].items()}
    return partial(_prepare, connection, {"engine": "postgres", "records": {"public": tables}})


def _table(table: dict, alone: bool) -> dict:
    rows_are_units = alone and table["max_rows"] == 1
    settings = {
        "row_privacy": rows_are_units,
        "max_ids": table["max_rows"],
        "sample_max_ids": True,
        "censor_dims": False,
        "clamp_columns": True,
        "rows": table["expected_rows"],
    }
    return settings | {
        name: {
            "type": _TYPES[column["type"]],
            "nullable": False,
            **({"private_id": True} if name == table["column"] and not rows_are_units else {}),
            **({"cardinality": len(column["values"])} if column["type"] == "text" else {}),
            **_bounds(column),
        }
        for name, column in table["columns"].items()
    }


def _bounds(column: dict) -> dict:
    if "bounds" not in column or column["type"] == "timestamp":
        return {}
    lower, upper = column["bounds"]
    return {"lower": lower, "upper": upper}


def _prepare(connection: object, metadata: dict, request: dict) -> partial:
    """Return what runs a question at its ε; SmartNoise parses and rewrites it in every run."""
    epsilon = request["epsilon"]
    for _ in range(3):
        reader = _reader(connection, metadata, epsilon, request["delta"])
        cost, _delta = reader.get_privacy_cost(request["sql"])
        epsilon *= request["epsilon"] / float(cost)
    return partial(_run, _reader(connection, metadata, epsilon, request["delta"]), request["sql"])


def _reader(connection: object, metadata: dict, epsilon: float, delta: float) -> object:
    privacy = Privacy(epsilon=epsilon, delta=delta)
    return from_connection(connection, privacy=privacy, metadata=Metadata.from_dict(metadata), engine="postgres")


def _run(reader: object, sql: str) -> tuple[list[str], list]:
    columns, *rows = reader.execute(sql)
    return list(columns), rows


if __name__ == "__main__":
    serve(open_smartnoise)
