"""Qrlew on PostgreSQL or DuckDB; run by its own environment's Python.

Qrlew is given a question's whole ε and δ and divides them itself. What it would read from the records (bounds, domains) is
taken from the declarations, in the JSON that it builds its data set from. It takes the number of rows for public and cuts
counts off there: the exact number would tell the answer, so it is told ten times the order of magnitude.
"""

import json
from functools import partial

import psycopg2
import pyqrlew
import sqlalchemy
from answering import serve
from pyqrlew import wrappers


def open_qrlew(request: dict) -> partial:
    """Return what prepares questions about the declared tables."""
    engine = sqlalchemy.create_engine("postgresql+psycopg2://", creator=lambda: psycopg2.connect(request["dsn"]))
    dataset = _declared(engine, request["tables"])
    return partial(_prepare, dataset, request["tables"], _executor(request))


def _declared(engine: object, tables: dict) -> pyqrlew.Dataset:
    """Let Qrlew describe the database, and put the declarations in."""
    said = []
    original = wrappers.Dataset.from_str
    wrappers.Dataset.from_str = staticmethod(lambda *parts: said.append(parts) or original(*parts))
    pyqrlew.Dataset.from_database("records", engine, None, ranges=False)
    wrappers.Dataset.from_str = staticmethod(original)
    ((dataset, schema, size),) = said
    schema, size = json.loads(schema), json.loads(size)
    for table in schema["type"]["union"]["fields"]:
        for field in table["type"]["struct"]["fields"]:
            _declare(field["type"], tables[table["name"]]["columns"].get(field["name"], {}))
    for table in size["statistics"]["union"]["fields"]:
        table["statistics"]["struct"]["size"] = str(10 * tables[table["name"]]["expected_rows"])
    return original(dataset, json.dumps(schema), json.dumps(size))


def _declare(type_: dict, column: dict) -> None:
    kind = next(name for name in ("integer", "float", "text", "datetime") if name in type_)
    if "values" in column:
        type_[kind]["possible_values"] = [str(value) for value in column["values"]]
    if "bounds" in column:
        clock = " 00:00:00" if kind == "datetime" else ""
        type_[kind]["min"], type_[kind]["max"] = (f"{bound}{clock}" for bound in column["bounds"])


def _executor(request: dict) -> object:
    """Return what runs a statement: a cursor of the engine."""
    if "duckdb" in request:
        import duckdb  # noqa: PLC0415 # only this engine's run needs it

        return duckdb.connect(request["duckdb"], read_only=True)
    connection = psycopg2.connect(request["dsn"])
    connection.autocommit = True
    return connection.cursor()


def _prepare(dataset: pyqrlew.Dataset, tables: dict, cursor: object, request: dict) -> partial:
    own = {name: table for name, table in tables.items() if table["unit"] == request["unit"]}
    unit = [_path(name, table) for name, table in own.items()]
    most = max(table["max_rows"] for table in own.values())
    return partial(_run, dataset, unit, most, cursor, request)


def _path(name: str, table: dict) -> tuple:
    if "references" not in table:
        return (name, [], table["column"])
    target, key = table["references"]
    return (name, [(table["column"], target, key)], key)


def _run(dataset: pyqrlew.Dataset, unit: list, most: int, cursor: object, request: dict) -> tuple[list[str], list]:
    """Rewrite the question and run what comes of it."""
    budget = {"epsilon": request["epsilon"], "delta": request["delta"]}
    private = dataset.relation(request["sql"]).rewrite_with_differential_privacy(
        dataset, unit, budget, float(most), 1.0, most
    )
    cursor.execute(private.relation().to_query())
    rows = cursor.fetchall()
    return [column[0] for column in cursor.description], rows


if __name__ == "__main__":
    serve(open_qrlew)
