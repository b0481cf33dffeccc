"""OpenDP with Polars over a table of a DuckDB file; run by its own environment's Python.

It speaks no SQL: each question is one of the aggregates of `benchmarks/peers/aggregates.py`, and is built once.
At most `max_rows` rows of each unit stay, which it selects itself; keys are those that are declared.
"""

import re
import warnings
from functools import partial

import duckdb
import opendp.prelude as dp
import polars as pl
from answering import serve

warnings.simplefilter("ignore")
dp.enable_features("contrib", "honest-but-curious")
_ASKED = re.compile(r"SELECT (?:(?P<by>\w+), )?(?P<what>\w+)\((?P<of>\*|\w+)\) AS v FROM (?P<table>\w+)")
_CANDIDATES = 600
"""Between how many values it chooses a median."""


def open_opendp(request: dict) -> partial:
    """Return what prepares questions about the declared tables."""
    with duckdb.connect(request["duckdb"], read_only=True) as file:
        frames = {name: file.sql(f"SELECT * FROM {name}").pl().lazy() for name in request["tables"]}  # noqa: S608
    return partial(_prepare, frames, request["tables"])


def _prepare(frames: dict, tables: dict, request: dict) -> partial:
    asked = _ASKED.match(request["sql"]).groupdict()
    frame, table, by = frames[asked["table"]], tables[asked["table"]], asked["by"]
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1, identifier=table["column"]),
        privacy_loss=dp.loss_of(epsilon=request["epsilon"]),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=10 * table["expected_rows"])],
    )
    query = context.query().truncate_per_group(table["max_rows"])
    value = _value(asked, table).alias("v")
    if by is None:
        return partial(_run, query.select(value).resolve(), frame)
    kind = frame.collect_schema()[by]
    keys = pl.LazyFrame({by: table["columns"][by]["values"]}, schema={by: kind})
    return partial(_run, query.group_by(by).agg(value).with_keys(keys).resolve(), frame)


def _value(asked: dict, table: dict) -> pl.Expr:
    if asked["what"] == "COUNT":
        return dp.len(signed=True)
    low, high = (float(bound) for bound in table["columns"][asked["of"]]["bounds"])
    column = pl.col(asked["of"])
    match asked["what"]:
        case "SUM":
            return column.dp.sum((low, high))
        case "AVG":
            return column.dp.mean((low, high))
        case "MEDIAN":
            return column.dp.median([low + (high - low) * step / _CANDIDATES for step in range(_CANDIDATES + 1)])
    raise ValueError(asked["what"])


def _run(measurement: object, frame: pl.LazyFrame) -> tuple[list[str], list]:
    """Release and collect it."""
    answer = measurement(frame).collect()
    return answer.columns, answer.rows()


if __name__ == "__main__":
    serve(open_opendp)
