"""PipelineDP on its local backend, over rows from a DuckDB file; run by its own environment's Python.

Groups are public. A person's rows are bounded in all (`max_contributions`) where the metric can be, and otherwise by groups
and by rows in each, so that both together are as many. With a δ its noise is Gaussian.
"""

import logging
from functools import partial

import duckdb
import pipeline_dp
from aggregate import Aggregate
from answering import serve

logging.disable(logging.CRITICAL)
_METRICS = {
    "count": pipeline_dp.Metrics.COUNT,
    "sum": pipeline_dp.Metrics.SUM,
    "avg": pipeline_dp.Metrics.MEAN,
    "variance": pipeline_dp.Metrics.VARIANCE,
    "median": pipeline_dp.Metrics.PERCENTILE(50),
    "distinct": pipeline_dp.Metrics.PRIVACY_ID_COUNT,
}


def open_pipelinedp(request: dict) -> partial:
    """Return what prepares questions about the declared tables."""
    return partial(_prepare, duckdb.connect(request["duckdb"], read_only=True), request["tables"])


def _prepare(file: object, tables: dict, request: dict) -> partial:
    asked = Aggregate.of_sql(request["sql"])
    table = tables[asked.table]
    counted = asked.what in ("count", "distinct")
    columns = ", ".join((table["column"], "0" if counted else asked.of, *asked.by))
    rows = file.execute(f"SELECT {columns} FROM {asked.table}").fetchall()  # noqa: S608 # our own names
    groups, most = asked.groups(table), table["max_rows"]
    bounds = {}
    if not counted:
        low, high = table["columns"][asked.of]["bounds"]
        bounds = {"min_value": float(low), "max_value": float(high)}
    run = partial(_run, rows, asked, groups, request, bounds)
    in_groups = min(most, len(groups))
    by_group = {"max_partitions_contributed": in_groups, "max_contributions_per_partition": -(-most // in_groups)}
    if asked.what == "distinct":
        return partial(run, {**by_group, "max_contributions_per_partition": 1})
    if len(groups) > 1:
        try:
            _run(rows[:50], asked, groups, request, bounds, {"max_contributions": most})
        except Exception:  # noqa: BLE001 # whatever it says: that metric has no such bound
            return partial(run, by_group)
        return partial(run, {"max_contributions": most})
    return partial(run, by_group)


def _run(rows: list, asked: Aggregate, groups: list, request: dict, bounds: dict, most: dict) -> tuple:
    budget = pipeline_dp.NaiveBudgetAccountant(request["epsilon"], request["delta"])
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    noise = pipeline_dp.NoiseKind.GAUSSIAN if request["delta"] else pipeline_dp.NoiseKind.LAPLACE
    params = pipeline_dp.AggregateParams(metrics=[_METRICS[asked.what]], noise_kind=noise, **bounds, **most)
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[2:],
        value_extractor=lambda row: row[1],
    )
    found = engine.aggregate(rows, params, extractors, public_partitions=groups)
    budget.compute_budgets()
    return asked.answer({group: float(next(iter(said))) for group, said in found})


if __name__ == "__main__":
    serve(open_pipelinedp)
