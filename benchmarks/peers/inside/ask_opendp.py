"""OpenDP with Polars over a table of a DuckDB file; run by its own environment's Python.

It speaks no SQL: each question is one of the aggregates of `benchmarks/peers`, and is built once.
At most `max_rows` rows of each unit stay, which it selects itself; keys are those that are declared. Where the request has
the ρ that a δ allows, and the question a δ, its noise is Gaussian.
"""

import warnings
from functools import partial

import duckdb
import opendp.prelude as dp
import polars as pl
from aggregate import Aggregate
from answering import serve

warnings.simplefilter("ignore")
dp.enable_features("contrib", "honest-but-curious")
_CANDIDATES = 600
"""Between how many values it chooses a median."""


def open_opendp(request: dict) -> partial:
    """Return what prepares questions about the declared tables."""
    with duckdb.connect(request["duckdb"], read_only=True) as file:
        frames = {name: file.sql(f"SELECT * FROM {name}").pl().lazy() for name in request["tables"]}  # noqa: S608
    return partial(_prepare, frames, request["tables"], request.get("rho"))


def _prepare(frames: dict, tables: dict, rho: float | None, request: dict) -> partial:
    asked = Aggregate.of_sql(request["sql"])
    frame, table = frames[asked.table], tables[asked.table]
    loss = dp.loss_of(rho=rho) if rho is not None and request["delta"] else dp.loss_of(epsilon=request["epsilon"])
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1, identifier=table["column"]),
        privacy_loss=loss,
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=10 * table["expected_rows"])],
    )
    query = context.query().truncate_per_group(table["max_rows"])
    value = _value(asked, table).alias("v")
    if not asked.by:
        return partial(_run, query.select(value).resolve(), frame, asked)
    kinds = frame.collect_schema()
    groups = asked.groups(table)
    named = {key: [group[place] for group in groups] for place, key in enumerate(asked.by)}
    keys = pl.LazyFrame(named, schema={key: kinds[key] for key in asked.by})
    return partial(_run, query.group_by(*asked.by).agg(value).with_keys(keys).resolve(), frame, asked)


def _value(asked: Aggregate, table: dict) -> pl.Expr:
    if asked.what == "count":
        return dp.len(signed=True)
    column = pl.col(asked.of)
    if asked.what == "distinct":
        return column.dp.n_unique()
    low, high = (float(bound) for bound in table["columns"][asked.of]["bounds"])
    match asked.what:
        case "sum":
            return column.dp.sum((low, high))
        case "avg":
            return column.dp.mean((low, high))
        case "median":
            return column.dp.median([low + (high - low) * step / _CANDIDATES for step in range(_CANDIDATES + 1)])
    raise ValueError(f"it has no {asked.what}")


def _run(measurement: object, frame: pl.LazyFrame, asked: Aggregate) -> tuple[list[str], list]:
    """Release and collect it."""
    answer = measurement(frame).collect().select(*asked.by, "v")
    return asked.answer({tuple(group): value for *group, value in answer.rows()})


if __name__ == "__main__":
    serve(open_opendp)
