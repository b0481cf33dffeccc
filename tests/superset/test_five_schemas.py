"""Charts that were saved on a hospital of five schemas go on when their database's address becomes dpsql's."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from psycopg.conninfo import conninfo_to_dict

from tests.cli.conftest import postgres
from tests.cli.test_five_schemas import config, source
from tests.superset.api import Superset
from tests.support.connected import addresses

__all__ = ["config", "postgres", "source"]  # fixtures

_COUNT = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "number", "optionName": "metric_number"}
_COST = {"expressionType": "SQL", "sqlExpression": "SUM(cost)", "label": "cost", "optionName": "metric_cost"}
CHARTS: Mapping[str, tuple[str, str, list[str], list[dict[str, str]]]] = {
    "encounters": ("clinical", "encounters", [], [_COUNT, _COST]),
    "encounters by severity": ("clinical", "encounters", ["severity"], [_COUNT]),
    "people": ("core", "patients", [], [_COUNT]),
    "invoices": ("billing", "invoices", [], [_COUNT]),
    "zones by name": ("Ref", "Zones", ["name"], [_COUNT]),
}
"""By name: a chart's schema, table, groups and numbers.

On SQLite, Superset makes no second dataset of one name: both tables called patients are asked in SQL.
"""
SQL: Sequence[tuple[str, str]] = (
    ("clinical", "SELECT count(*) AS n FROM encounters"),
    ("billing", "SELECT count(*) AS n FROM patients"),
    ("core", "SELECT count(*) AS n FROM patients"),
    ("hr", "SELECT count(*) AS n FROM zones"),
    (
        "clinical",
        'SELECT z.name, count(*) AS n FROM encounters e JOIN "Ref"."Zones" z USING (zone_id) GROUP BY 1 ORDER BY 1',
    ),
    ("core", "SELECT count(*) AS n FROM patients p JOIN billing.patients b USING (patient_id)"),
)
"""In SQL Lab, the schema that is picked there and a statement."""
PICTURE = os.environ.get("PICTURE")
"""Where to leave the picture of a chart."""
_OF_POSTGRESQL = {"information_schema", "pg_catalog", "pg_toast", "public", "dpsql"}


def _address(words: str) -> str:
    """Return libpq's words as SQLAlchemy writes them."""
    said = conninfo_to_dict(words)
    where = f"?host={said['host']}&port={said['port']}"
    return f"postgresql+psycopg2://{said['user']}:{said['password']}@/{said['dbname']}{where}"


@pytest.fixture(scope="module")
def moved(superset: Superset, source: str, config: Path) -> Iterator[tuple[int, dict[str, int], dict[str, Any]]]:
    """Save charts over PostgreSQL, see what they show, and give the database dpsql's address."""
    database = superset.add_database(_address(source), "hospital of five")
    datasets: dict[tuple[str, str], int] = {}
    charts, shown = {}, dict[str, Any]()
    for name, (schema, table, groups, metrics) in CHARTS.items():
        if (schema, table) not in datasets:
            datasets[schema, table] = superset.add_dataset(database, table, schema)
        form = {"viz_type": "table", "query_mode": "aggregate", "groupby": groups, "metrics": metrics, "row_limit": 100}
        charts[name] = superset.add_chart(name, form, datasets[schema, table])
        query = {"columns": groups, "metrics": metrics, "row_limit": 100, "orderby": []}
        asked = {"datasource": {"id": datasets[schema, table], "type": "table"}, "queries": [query]}
        superset.call("PUT", f"chart/{charts[name]}", {"query_context": json.dumps(asked)})
        shown[name] = _shown(superset, charts[name])
    for schema, sql in SQL:
        shown[schema + sql] = superset.ask(database, sql, schema)
    with addresses(config) as address:
        superset.call("PUT", f"database/{database}", {"sqlalchemy_uri": _address(address("analyst"))})
        yield database, charts, shown


def _shown(superset: Superset, chart: int) -> Any:
    """Return the rows of a chart, by what was saved with it."""
    saved = json.loads(superset.call("GET", f"chart/{chart}")["result"]["query_context"])
    more = {"force": True, "result_format": "json", "result_type": "full"}
    (result,) = superset.call("POST", "chart/data", {**saved, **more})["result"]
    return result["data"]


def _is_near(told: Sequence[Mapping[str, Any]], exact: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether rows are the same, but for noise that is hardly any here."""

    def ordered(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return sorted(rows, key=lambda row: [value for value in row.values() if isinstance(value, str)])

    return len(told) == len(exact) and all(
        abs(cell - row[name]) <= 5 + row[name] // 50 if isinstance(cell, int | float) else cell == row[name]
        for mine, row in zip(ordered(told), ordered(exact), strict=True)
        for name, cell in mine.items()
    )


def test_the_schemas_are_listed(superset: Superset, moved: tuple[int, dict[str, int], dict[str, Any]]) -> None:
    """And the tables of each."""
    schemas = superset.call("GET", f"database/{moved[0]}/schemas/?q=(force:!t)")["result"]
    assert set(schemas) - _OF_POSTGRESQL == {"Ref", "billing", "clinical", "core", "hr"}
    listed = superset.call("GET", f"database/{moved[0]}/tables/?q=(force:!t,schema_name:clinical)")["result"]
    assert {table["value"] for table in listed} == {"encounters", "events", "labs", "notes", "orders", "visits"}
    keys = superset.call("GET", f"database/{moved[0]}/table_metadata/?name=encounters&schema=clinical")["foreignKeys"]
    assert {key["referred_table"] for key in keys} == {"patients", "Zones"}


@pytest.mark.parametrize("name", CHARTS)
def test_a_saved_chart_goes_on(
    superset: Superset, moved: tuple[int, dict[str, int], dict[str, Any]], name: str
) -> None:
    """It shows what it showed."""
    _, charts, shown = moved
    assert _is_near(_shown(superset, charts[name]), shown[name])


def test_it_is_drawn(
    page: Page, superset: Superset, moved: tuple[int, dict[str, int], dict[str, Any]], tmp_path: Path
) -> None:
    """With a row for each group, where it is opened in a browser."""
    _, charts, shown = moved
    name = "encounters by severity"
    with page.expect_response(lambda answer: "chart/data" in answer.url) as answer:
        page.goto(f"{superset.url}/explore/?slice_id={charts[name]}&standalone=1")
    assert answer.value.status == 200
    rows = page.locator("table tbody tr:visible")
    rows.first.wait_for()
    page.wait_for_load_state("networkidle")
    page.screenshot(path=Path(PICTURE or tmp_path / "chart.png"))
    assert rows.count() == len(shown[name])


@pytest.mark.parametrize(("schema", "sql"), SQL)
def test_a_statement_goes_on_where_a_schema_is_picked(
    superset: Superset, moved: tuple[int, dict[str, int], dict[str, Any]], schema: str, sql: str
) -> None:
    """SQL Lab sets the search path to it."""
    assert _is_near(superset.ask(moved[0], sql, schema), moved[2][schema + sql])
