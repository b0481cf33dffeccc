"""diffprivlib over arrays from a DuckDB file; run by its own environment's Python.

It knows rows and no people: at most `max_rows` rows of each stay, chosen at random, and each is protected with ε divided by
that, as groups of so many rows are. Of a distinct count each person has one row a group. Its means and variances take the
number of rows of each group for known, and its noise has no δ.
"""

import warnings
from functools import partial

import duckdb
import numpy as np
from aggregate import Aggregate
from answering import serve
from diffprivlib import tools

warnings.simplefilter("ignore")
_FUNCTIONS = {"sum": tools.sum, "avg": tools.mean, "variance": tools.var, "median": tools.median}


def open_diffprivlib(request: dict) -> partial:
    """Return what prepares questions about the declared tables."""
    return partial(_prepare, duckdb.connect(request["duckdb"], read_only=True), request["tables"])


def _prepare(file: object, tables: dict, request: dict) -> partial:
    if request["delta"]:
        raise ValueError("its tools have no δ")
    asked = Aggregate.of_sql(request["sql"])
    table = tables[asked.table]
    unit, most, groups = table["column"], table["max_rows"], asked.groups(table)
    counted = asked.what in ("count", "distinct")
    value = "1" if counted else asked.of
    keys = ", ".join((*asked.by, unit))
    if asked.what == "distinct":
        rows, most = f"SELECT DISTINCT {keys} FROM {asked.table}", min(most, len(groups))  # noqa: S608
    else:
        rows = f"SELECT {keys}, {value} AS x FROM {asked.table}"  # noqa: S608
    drawn = f"WITH drawn AS MATERIALIZED (SELECT *, random() AS turn FROM ({rows}))"  # noqa: S608 # our own names
    kept = f"{drawn} SELECT * FROM drawn QUALIFY row_number() OVER (PARTITION BY {unit} ORDER BY turn) <= {most}"  # noqa: S608
    bounds = None if counted else tuple(map(float, table["columns"][asked.of]["bounds"]))
    return partial(_run, file, kept, asked, groups, request["epsilon"] / most, bounds)


def _run(file: object, kept: str, asked: Aggregate, groups: list, epsilon: float, bounds: tuple | None) -> tuple:
    columns = file.execute(kept).fetchnumpy()
    keys, values = [columns[key] for key in asked.by], columns.get("x")
    found = {}
    for group in groups:
        inside = np.ones(len(next(iter(columns.values()))), dtype=bool)
        for key, wanted in zip(keys, group, strict=True):
            inside &= np.asarray(key) == wanted
        if bounds is None:
            found[group] = float(tools.count_nonzero(inside, epsilon=epsilon))
        elif not inside.any():
            found[group] = None
        else:
            found[group] = float(_FUNCTIONS[asked.what](np.asarray(values)[inside], epsilon=epsilon, bounds=bounds))
    return asked.answer(found)


if __name__ == "__main__":
    serve(open_diffprivlib)
