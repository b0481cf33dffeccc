"""DuckDB's optimizers that may change a statement: those that the benchmarks need; all others are off.

Also what a later version brings is off until somebody has measured what it is worth. Each was measured alone: what its
absence costs the processor on the statements of `benchmarks/speed`, over a million trips, or of TPC-H.
"""

from collections.abc import Collection, Mapping

import duckdb

ALLOWED_OPTIMIZERS: Mapping[str, str] = {
    "statistics_propagation": "keys of few values are counted in arrays instead of hashed",
    "unused_columns": "columns that nobody reads are not carried along",
    "filter_pushdown": "rows are left out where they are read, and joins of what WHERE compares become hash joins",
    "build_side_probe_side": "the smaller side of a join is the one that is kept",
    "join_order": "joins of several tables begin with those that leave few rows",
    "join_filter_pushdown": "a join with few keys reads only the parts of a table that may have them",
    "deliminator": "what EXISTS becomes reads its tables once",
    "distinct_aggregate_rewrite": "distinct values are counted by several threads",
    "common_subexpressions": "what stands in several sums of a row is computed once",
    "expression_rewriter": "constants are computed once, comparisons in their shortest form",
}
"""By name what it does for dpsql's statements; docs/engines.md has what each was measured to bring."""
CAREFULLY: Collection[str] = tuple(name for name in ALLOWED_OPTIMIZERS if name != "build_side_probe_side")
"""For what DuckDB has failed at by a mistake of its own.

2.0.0 fails where the rows of a RIGHT JOIN are another join's, because they come from two places. Nothing here says
RIGHT JOIN: a LEFT JOIN becomes one where its sides are exchanged. Some joins take twice as long without that.
"""


def other_optimizers(connection: duckdb.DuckDBPyConnection, allowed: Collection[str]) -> str:
    """Return all other optimizers that this version of DuckDB has, as its setting `disabled_optimizers` lists them."""
    optimizers = connection.execute("SELECT name FROM duckdb_optimizers() ORDER BY name").fetchall()
    return ",".join(name for (name,) in optimizers if name not in allowed)
