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
_BY_WEEK = {
    "viz_type": "echarts_timeseries_line",
    "x_axis": "pickup_ts",
    "time_grain_sqla": "P1W",
    "metrics": [_COUNT],
    "timeseries_limit_metric": _COUNT,
    "order_desc": True,
    "row_limit": 1000,
    "x_axis_time_format": "smart_date",
    "y_axis_format": "SMART_NUMBER",
}
FILTER = "How it was paid"
"""The name of the dashboard's filter."""
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
    "The busiest zones by week": {**_BY_WEEK, "groupby": ["pickup_zone"], "limit": 3},
    "The usual payment by week, and others": {
        **_BY_WEEK,
        "groupby": ["payment_type"],
        "limit": 1,
        "group_others_when_limit_reached": True,
    },
    "Shares of payments": {
        "viz_type": "table",
        "query_mode": "aggregate",
        "groupby": ["payment_type"],
        "metrics": [_COUNT],
        "percent_metrics": [_COUNT],
        "row_limit": 1000,
        "order_desc": True,
    },
}
"""A number, bars, series of all, of the largest and of the others, and a table, as the form of Superset describes them."""
_WIDTHS = (2, 4, 6, 4, 4, 4)
"""How many of a row's twelve columns each chart has."""


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

    def add_database(self, uri: str, name: str = "taxi") -> int:
        """Add a database, as its page does: test the connection first."""
        database = {"database_name": name, "sqlalchemy_uri": uri}
        self.call("POST", "database/test_connection/", database)
        return int(self.call("POST", "database/", {**database, "expose_in_sqllab": True})["id"])

    def add_dataset(self, database: int, table: str, schema: str = "public") -> int:
        """Make a dataset of a table."""
        return int(self.call("POST", "dataset/", {"database": database, "schema": schema, "table_name": table})["id"])

    def add_dashboard(self, dataset: int) -> int:
        """Make a dashboard of `CHARTS` in two rows, with a filter."""
        dashboard = int(self.call("POST", "dashboard/", {"dashboard_title": "Taxi", "published": True})["id"])
        charts = {name: self.add_chart(name, form, dataset, dashboard, [_EVER]) for name, form in CHARTS.items()}
        metadata = json.dumps({"positions": _positions(charts), "native_filter_configuration": [_filter(dataset)]})
        self.call("PUT", f"dashboard/{dashboard}", {"json_metadata": metadata})
        return dashboard

    def add_chart(
        self, name: str, form: dict[str, object], dataset: int, dashboard: int | None = None, filters: object = ()
    ) -> int:
        """Make a chart of a dataset, perhaps for a dashboard."""
        params = {**form, "datasource": f"{dataset}__table", "adhoc_filters": filters}
        chart = {
            "slice_name": name,
            "viz_type": form["viz_type"],
            "datasource_id": dataset,
            "datasource_type": "table",
            "params": json.dumps(params),
            "dashboards": [] if dashboard is None else [dashboard],
        }
        return int(self.call("POST", "chart/", chart)["id"])

    def ask(self, database: int, sql: str, schema: str = "public") -> Any:
        """Run a statement in SQL Lab, where a schema was picked; return the rows."""
        asked = {"database_id": database, "sql": sql, "schema": schema, "runAsync": False}
        return self.call("POST", "sqllab/execute/", asked)["data"]


def _filter(dataset: int) -> dict[str, object]:
    """Let a dashboard's user choose among the values of a column."""
    return {
        "id": "NATIVE_FILTER-paid",
        "type": "NATIVE_FILTER",
        "filterType": "filter_select",
        "name": FILTER,
        "targets": [{"datasetId": dataset, "column": {"name": "payment_type"}}],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": []},
        "cascadeParentIds": [],
        "controlValues": {"multiSelect": True, "enableEmptyFilter": False, "searchAllOptions": False},
        "defaultDataMask": {"extraFormData": {}, "filterState": {}, "ownState": {}},
        "description": "",
    }


def _positions(charts: dict[str, int]) -> dict[str, object]:
    """Lay the charts out in rows of three."""
    numbers = list(charts.values())
    rows = {f"ROW-{i}": numbers[i : i + 3] for i in range(0, len(numbers), 3)}
    laid: dict[str, object] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": list(rows), "parents": ["ROOT_ID"]},
    }
    for row, members in rows.items():
        laid[row] = {
            "type": "ROW",
            "id": row,
            "children": [f"CHART-{number}" for number in members],
            "parents": ["ROOT_ID", "GRID_ID"],
            "meta": {"background": "BACKGROUND_TRANSPARENT"},
        }
    for i, ((name, number), width) in enumerate(zip(charts.items(), _WIDTHS, strict=True)):
        laid[f"CHART-{number}"] = {
            "type": "CHART",
            "id": f"CHART-{number}",
            "children": [],
            "parents": ["ROOT_ID", "GRID_ID", f"ROW-{i // 3 * 3}"],
            "meta": {"chartId": number, "width": width, "height": 50, "sliceName": name},
        }
    return laid
