"""Tumult Analytics on a local Spark, over tables of a DuckDB file; run by its own environment's Python.

People are protected with all their rows, of which at most `max_rows` stay; keys are those that are declared. With a δ it is
given the ρ that is (ε, δ)-DP, and its noise is Gaussian.
"""

import os
import sys
import warnings
from functools import partial
from pathlib import Path

from aggregate import Aggregate
from answering import serve
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    RhoZCDPBudget,
    Session,
)

warnings.simplefilter("ignore")
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def open_tumult(request: dict) -> partial:
    """Return what prepares questions about the declared tables, which are copied to Parquet beside the file."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.warehouse.dir", f"{request['parquet']}/warehouse")
        .getOrCreate()
    )
    folder = Path(request["parquet"])
    frames = {
        name: spark.read.parquet(str(folder / f"{name}.parquet"))
        .select(*(column for column, said in table["columns"].items() if said["type"] != "timestamp"))
        .cache()
        for name, table in request["tables"].items()
    }
    sessions = {}
    for name, table in request["tables"].items():
        for kind, budget in (("pure", PureDPBudget), ("rho", RhoZCDPBudget)):
            sessions[name, kind] = Session.from_dataframe(
                budget(float("inf")), name, frames[name], protected_change=AddRowsWithID(table["column"])
            )
    return partial(_prepare, sessions, request["tables"], request["rho"])


def _prepare(sessions: dict, tables: dict, rho: float, request: dict) -> partial:
    asked = Aggregate.of_sql(request["sql"])
    table = tables[asked.table]
    query = QueryBuilder(asked.table).enforce(MaxRowsPerID(table["max_rows"]))
    if asked.by:
        query = query.groupby(KeySet.from_dict({key: table["columns"][key]["values"] for key in asked.by}))
    query = _of(query, asked, table)
    session = sessions[asked.table, "rho" if request["delta"] else "pure"]
    budget = RhoZCDPBudget(rho) if request["delta"] else PureDPBudget(request["epsilon"])
    return partial(_run, session, query, budget, asked)


def _of(query: object, asked: Aggregate, table: dict) -> object:
    if asked.what == "count":
        return query.count("v")
    if asked.what == "distinct":
        return query.count_distinct(columns=[table["column"]], name="v")
    low, high = table["columns"][asked.of]["bounds"]
    function = {"sum": query.sum, "avg": query.average, "variance": query.variance, "median": query.median}[asked.what]
    return function(asked.of, low=low, high=high, name="v")


def _run(session: object, query: object, budget: object, asked: Aggregate) -> tuple:
    rows = session.evaluate(query, budget).collect()
    return asked.answer({tuple(row[key] for key in asked.by): float(row["v"]) for row in rows})


if __name__ == "__main__":
    serve(open_tumult)
