"""Superset's REST interface, as far as one dashboard needs it."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

_COUNT = {
    "expressionType": "SQL",
    "sqlExpression": "COUNT(*)",
    "label": "trips",
    "optionName": "metric_count",
}
_FARE = {
    "expressionType": "SQL",
    "sqlExpression": "AVG(fare)",
    "label": "average fare",
    "optionName": "metric_fare",
}
_EVER = {
    "expressionType": "SIMPLE",
    "clause": "WHERE",
    "subject": "pickup_ts",
    "operator": "TEMPORAL_RANGE",
    "comparator": "No filter",
}
CHARTS: dict[str, dict[str, object]] = {
    "Trips": {
        "viz_type": "big_number_total",
        "metric": _COUNT,
        "y_axis_format": "SMART_NUMBER",
        "header_font_size": 0.4,
    },
    "Trips by payment": {
        "viz_type": "echarts_timeseries_bar",
        "x_axis": "payment_type",
        "metrics": [_COUNT],
        "groupby": [],
        "row_limit": 1000,
        "x_axis_sort_asc": True,
        "y_axis_format": "SMART_NUMBER",
    },
    "Average fare by day": {
        "viz_type": "echarts_timeseries_line",
        "x_axis": "pickup_ts",
        "time_grain_sqla": "P1D",
        "metrics": [_FARE],
        "groupby": [],
        "row_limit": 1000,
        "x_axis_time_format": "smart_date",
        "y_axis_format": ",.2f",
    },
}
"""A big number, a bar chart and a time series, as the form of Superset describes them."""


@dataclass(slots=True)
class Superset:
    """A logged-in administrator."""

    url: str
    token: str = field(default="", repr=False)

    def log_in(self, name: str, password: str) -> None:
        """Get a token."""
        credentials = {"username": name, "password": password, "provider": "db", "refresh": True}
        self.token = self.call("POST", "security/login", credentials)["access_token"]

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call the interface; what goes wrong is raised with Superset's own words."""
        request = urllib.request.Request(  # noqa: S310 # our own server
            f"{self.url}/api/v1/{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as failed:
            with failed:
                said = failed.read().decode()[:2000]
            raise AssertionError(f"{method} {path}: {failed.code} {said}") from failed

    def add_database(self, uri: str) -> int:
        """Add a database, as its page does: test the connection first."""
        database = {"database_name": "taxi", "sqlalchemy_uri": uri}
        self.call("POST", "database/test_connection/", database)
        return int(self.call("POST", "database/", {**database, "expose_in_sqllab": True})["id"])

    def add_dataset(self, database: int, table: str) -> int:
        """Make a dataset of a table."""
        return int(self.call("POST", "dataset/", {"database": database, "schema": "public", "table_name": table})["id"])

    def add_dashboard(self, dataset: int) -> int:
        """Make a dashboard of `CHARTS`, side by side."""
        dashboard = int(self.call("POST", "dashboard/", {"dashboard_title": "Taxi", "published": True})["id"])
        charts = {name: self._add_chart(name, form, dataset, dashboard) for name, form in CHARTS.items()}
        metadata = json.dumps({"positions": _positions(charts)})
        self.call("PUT", f"dashboard/{dashboard}", {"json_metadata": metadata})
        return dashboard

    def _add_chart(self, name: str, form: dict[str, object], dataset: int, dashboard: int) -> int:
        params = {**form, "datasource": f"{dataset}__table", "adhoc_filters": [_EVER]}
        chart = {
            "slice_name": name,
            "viz_type": form["viz_type"],
            "datasource_id": dataset,
            "datasource_type": "table",
            "params": json.dumps(params),
            "dashboards": [dashboard],
        }
        return int(self.call("POST", "chart/", chart)["id"])

    def ask(self, database: int, sql: str) -> Any:
        """Run a statement in SQL Lab; return the rows."""
        asked = {"database_id": database, "sql": sql, "schema": "public", "runAsync": False}
        return self.call("POST", "sqllab/execute/", asked)["data"]


def _positions(charts: dict[str, int]) -> dict[str, object]:
    """Lay the charts out in one row of twelve columns."""
    row = [f"CHART-{number}" for number in charts.values()]
    laid: dict[str, object] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": ["ROW-1"], "parents": ["ROOT_ID"]},
        "ROW-1": {
            "type": "ROW",
            "id": "ROW-1",
            "children": row,
            "parents": ["ROOT_ID", "GRID_ID"],
            "meta": {"background": "BACKGROUND_TRANSPARENT"},
        },
    }
    for (name, number), width in zip(charts.items(), (2, 4, 6), strict=True):
        laid[f"CHART-{number}"] = {
            "type": "CHART",
            "id": f"CHART-{number}",
            "children": [],
            "parents": ["ROOT_ID", "GRID_ID", "ROW-1"],
            "meta": {"chartId": number, "width": width, "height": 50, "sliceName": name},
        }
    return laid
