"""dlt: answers and public tables as a pipeline's sources, the columns that it finds, and tables, whose rows it reads."""

# mypy: ignore-errors

import os

os.environ |= {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "RUNTIME__LOG_LEVEL": "CRITICAL",
    "DLT_DATA_DIR": f"{os.environ['HOME']}/dlt",
}

import dlt
import sqlalchemy as sa
from dlt.sources.sql_database import sql_database, sql_table
from told import tried, url

engine = sa.create_engine(url())
BY = "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY 1"


def extracted(resource: object) -> object:
    return sorted((list(map(str, row.values())) for row in resource), key=str)


def _asked(_query: object, _table: object) -> object:
    return sa.text(BY)


@dlt.resource(name="by_payment")
def by_payment() -> object:
    with engine.connect() as held:
        yield from (dict(row._mapping) for row in held.execute(sa.text(BY)))


def _pipeline() -> object:
    pipeline = dlt.pipeline(
        "taxi", destination="filesystem", dataset_name="kept", pipelines_dir=f"{os.environ['HOME']}/p"
    )
    pipeline.extract(by_payment())
    pipeline.normalize()
    return pipeline.last_trace.last_normalize_info.row_counts["by_payment"]


def columns(table: str, **options: object) -> object:
    found = sql_table(credentials=url(), table=table, **options).compute_table_schema()["columns"]
    return sorted(f"{name}: {column.get('data_type')}, {column.get('nullable')}" for name, column in found.items())


def _tables() -> object:
    return sorted(name for name in sql_database(credentials=url()).resources if name in ("trips", "zones"))


tried("schema", "sql_database", _tables)
tried(
    "schema",
    "columns of trips",
    lambda: columns("trips", defer_table_reflect=False, reflection_level="full_with_precision"),
)
tried("schema", "columns of zones", lambda: columns("zones"))
tried("answers", "a resource of a statement", lambda: extracted(by_payment()))
tried(
    "answers",
    "sql_table with query_adapter_callback",
    lambda: extracted(sql_table(credentials=url(), table="trips", query_adapter_callback=_asked)),
)
tried("answers", "extract and normalize", _pipeline)
tried("answers", "sql_table of a public table", lambda: extracted(sql_table(credentials=url(), table="zones")))
tried("rows", "sql_table", lambda: len(extracted(sql_table(credentials=url(), table="trips"))))
tried(
    "rows",
    "sql_table, incremental",
    lambda: len(
        extracted(sql_table(credentials=url(), table="trips", incremental=dlt.sources.incremental("pickup_ts")))
    ),
)
