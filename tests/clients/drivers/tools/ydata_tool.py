"""ydata-profiling, which profiles a data frame: of an answer, and of a table's rows."""

# mypy: ignore-errors

import pandas as pd
import sqlalchemy
from told import tried, url
from ydata_profiling import ProfileReport

engine = sqlalchemy.create_engine(url())


def profiled(statement: str) -> object:
    frame = pd.read_sql(statement, engine)
    report = ProfileReport(frame, minimal=True, progress_bar=False).get_description()
    return [report.table["n"], sorted(map(str, report.variables))]


BY_DAY = "SELECT pickup_ts::date AS day, count(*) AS n, avg(fare) AS fare FROM trips GROUP BY 1"
tried("profile", "of an answer", lambda: profiled(BY_DAY))
tried("profile", "of rows", lambda: profiled("SELECT * FROM trips LIMIT 1000"))
tried("profile", "of a table", lambda: profiled("SELECT * FROM trips"))
