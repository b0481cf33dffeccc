"""pandas' read_sql, whole and in chunks, and dask's read_sql_table and read_sql_query, which ask for an index's ends."""

# mypy: ignore-errors

import dask
import dask.dataframe as dd
import pandas as pd
import sqlalchemy as sa
from told import tried, url

dask.config.set(scheduler="synchronous")
engine = sa.create_engine(url())
trips = sa.Table("trips", sa.MetaData(), autoload_with=engine)
BY = "SELECT payment_type, count(*) AS n, avg(fare) AS fare FROM trips GROUP BY payment_type ORDER BY 1"


def values(frame: pd.DataFrame) -> object:
    return [list(map(str, row)) for row in frame.itertuples(index=False)]


def read(statement: str, **options: object) -> object:
    with engine.connect() as held:
        return values(pd.read_sql(sa.text(statement), held, **options))


def chunked(statement: str, size: int = 2) -> object:
    with engine.connect().execution_options(stream_results=True) as held:
        return [values(chunk) for chunk in pd.read_sql(sa.text(statement), held, chunksize=size)]


def _bound() -> object:
    with engine.connect() as held:
        dear = sa.select(sa.func.count()).select_from(trips).where(trips.c.fare > sa.bindparam("dear"))
        return values(pd.read_sql(dear, held, params={"dear": 20}))


def table(name: str, **options: object) -> object:
    with engine.connect() as held:
        return pd.read_sql_table(name, held, **options)


def asked(query: sa.Select, index: str, **options: object) -> object:
    return values(dd.read_sql_query(query, url(), index, **options).compute())


n = sa.func.count().label("n")
ZONE = trips.c.pickup_zone
BY_ZONE = sa.select(ZONE, n).group_by(ZONE)
tried("pandas", "read_sql of an answer", lambda: read(BY))
tried("pandas", "read_sql in chunks", lambda: chunked(BY))
tried("pandas", "read_sql with a parameter", _bound)
tried("pandas", "read_sql with types", lambda: read("SELECT count(*) AS n FROM trips", dtype={"n": "float64"}))
tried("pandas", "read_sql_table of a public table", lambda: values(table("zones")))
tried("pandas", "to_sql where a table is not there", lambda: pd.io.sql.SQLDatabase(engine).has_table("nothing"))
tried("dask", "read_sql_query of an answer, two parts", lambda: asked(BY_ZONE, "pickup_zone", divisions=[1, 3, 5]))
tried(
    "dask",
    "read_sql_query of an answer, npartitions",
    lambda: asked(BY_ZONE, "pickup_zone", npartitions=2, meta=pd.DataFrame({"n": pd.Series(dtype="int64")})),
)
tried(
    "dask",
    "read_sql_table of a public table",
    lambda: values(dd.read_sql_table("zones", url(), "zone_id", npartitions=2).compute()),
)
tried("rows", "pandas' read_sql in chunks", lambda: len(chunked("SELECT fare, tip FROM trips LIMIT 3")))
tried("rows", "pandas' read_sql_table", lambda: len(table("trips")))
tried("rows", "dask's read_sql_table", lambda: len(dd.read_sql_table("trips", url(), "trip_id", npartitions=2)))
tried(
    "rows",
    "dask's read_sql_table with divisions",
    lambda: len(dd.read_sql_table("trips", url(), "fare", divisions=[0, 20, 60])),
)
