"""querychat without a model: what it tells one of a table, and how it tries and runs the statements that one writes."""

# mypy: ignore-errors

import sqlalchemy as sa
from querychat._datasource import SQLAlchemySource
from told import tried, url

engine = sa.create_engine(url())
BY = "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type"


def source(table: str) -> SQLAlchemySource:
    return SQLAlchemySource(engine, table)


def values(frame: object) -> object:
    return sorted(([*map(str, row)] for row in frame.rows()), key=str)


def _columns() -> object:
    return [[column.name, column.sql_type, column.kind] for column in source("trips").get_column_metas()]


def _categories() -> object:
    of = source("trips")
    columns = [column for column in of.get_column_metas() if column.name == "payment_type"]
    of.populate_column_stats(columns, 20)
    return [column.categories for column in columns]


def _bounded() -> object:
    of = source("trips")
    columns = [column for column in of.get_column_metas() if column.name in ("fare", "tip", "total")]
    of.populate_column_stats(columns, 20)
    return all(-1 < column.min_val < 6 and 5 < column.max_val < 60 for column in columns)


tried("schema", "get_db_type", lambda: source("trips").get_db_type())
tried("schema", "get_column_metas", _columns)
tried("schema", "of a public table", lambda: source("zones").get_schema(categorical_threshold=20))
tried("profile", "get_schema", lambda: source("trips").get_schema(categorical_threshold=20))
tried("profile", "categories", _categories)
tried("profile", "ranges of bounded columns", _bounded)
tried("statements", "execute_query", lambda: values(source("trips").execute_query(BY)))
tried("statements", "test_query", lambda: len(values(source("trips").test_query(BY))))
tried(
    "statements", "test_query of a public table", lambda: len(values(source("zones").test_query("SELECT * FROM zones")))
)
tried(
    "rows",
    "test_query of a filter",
    lambda: len(values(source("trips").test_query("SELECT * FROM trips WHERE fare > 20", require_all_columns=True))),
)
tried(
    "rows",
    "test_query of a table",
    lambda: len(values(source("trips").test_query("SELECT * FROM trips", require_all_columns=True))),
)
tried("rows", "get_data", lambda: len(values(source("trips").get_data())))
