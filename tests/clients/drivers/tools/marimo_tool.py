"""marimo's SQL cells, in a notebook that is run without a browser, and its panel of data sources."""

# mypy: ignore-errors

import marimo as mo
import sqlalchemy as sa
from marimo._sql.engines.dbapi import DBAPIEngine
from marimo._sql.engines.sqlalchemy import SQLAlchemyEngine
from told import DATABASE, HOST, PASSWORD, PORT, USER, tried, url

engine = sa.create_engine(url())
BY = "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY 1"


def values(frame: object) -> object:
    return [list(map(str, row)) for row in frame.rows()]


def cell(statement: str, **options: object) -> object:
    return values(mo.sql(statement, engine=engine, **options))


def _by_dbapi() -> object:
    import psycopg2  # noqa: PLC0415

    held = psycopg2.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, dbname=DATABASE)
    return [DBAPIEngine.is_compatible(held), values(mo.sql(BY, engine=held))]


def _notebook() -> object:
    app = mo.App()

    @app.cell
    def _() -> tuple:
        import marimo as mo  # noqa: PLC0415  # a notebook has names of its own
        import sqlalchemy as sa  # noqa: PLC0415
        from told import url  # noqa: PLC0415

        answer = mo.sql(
            "SELECT payment_type, count(*) AS n FROM trips GROUP BY 1 ORDER BY 1 LIMIT 2",
            engine=sa.create_engine(url()),
        )
        return (answer,)

    @app.cell
    def _(answer: object) -> tuple:
        total = answer["n"].sum()
        return (total,)

    _, found = app.run()
    return int(found["total"])


def _after_refusal() -> object:
    try:
        cell("SELECT nothing FROM trips")
    except Exception as failed:  # noqa: BLE001  whatever it raises
        return ["does not exist" in str(failed), cell(BY)]
    return None


def panel() -> SQLAlchemyEngine:
    return SQLAlchemyEngine(engine, "custom")


def _databases() -> object:
    (database,) = panel().get_databases(include_schemas=True, include_tables=True, include_table_details=True)
    (public,) = [schema for schema in database.schemas if schema.name == "public"]
    return [
        database.name,
        *([table.name, table.type, [[c.name, c.type, c.external_type] for c in table.columns], table.primary_keys]
          for table in sorted(public.tables, key=lambda table: table.name) if table.name in ("trips", "zones")),
    ]  # fmt: skip


def _details() -> object:
    told = panel().get_table_details(table_name="trips", schema_name="public", database_name=DATABASE)
    return [[column.name, column.external_type] for column in told.columns]


tried("cells", "grouped", lambda: cell(BY))
tried("cells", "without output", lambda: cell(BY, output=False))
tried("cells", "a count", lambda: cell("SELECT count(*) FROM trips WHERE fare > 20;"))
tried("cells", "is there any", lambda: cell("SELECT EXISTS (SELECT 1 FROM trips WHERE fare > 50)"))
tried("cells", "EXPLAIN", lambda: len(cell(f"EXPLAIN {BY}")) > 0)
tried("cells", "after an error", _after_refusal)
tried("cells", "over a connection of psycopg2", _by_dbapi)
tried("cells", "in a notebook", _notebook)
tried("panel", "default_schema", lambda: panel().get_default_schema())
tried("panel", "get_databases", _databases)
tried("panel", "get_table_details", _details)
tried("rows", "a cell with LIMIT", lambda: len(cell("SELECT * FROM trips LIMIT 3")))
tried("rows", "a cell", lambda: len(cell("SELECT fare FROM trips")))
