"""docs/thirty-minutes.md up to its last step: the hospital's database in Superset, and a chart of it in a browser."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page

from tests.docs.followed import Followed, followed, hospital_server
from tests.superset.api import Superset

DAYS = {
    "viz_type": "echarts_timeseries_bar",
    "x_axis": "department_id",
    "metrics": [
        {"expressionType": "SQL", "sqlExpression": "AVG(days)", "label": "average stay", "optionName": "metric_days"}
    ],
    "groupby": [],
    "row_limit": 1000,
    "x_axis_sort_asc": True,
    "y_axis_format": ",.1f",
}


@pytest.fixture(scope="module")
def led(place: Path) -> Iterator[Followed]:
    """The page, followed on a PostgreSQL with 20,000 patients."""
    where = place / "hospital"
    where.mkdir(mode=0o711)
    with hospital_server(16) as server, followed(server, where / "home") as led:
        yield led


def test_the_page_leads_to_a_chart(page: Page, superset: Superset, led: Followed) -> None:
    """Superset takes the address of the page for a PostgreSQL's, and draws what it is told; once more for nothing."""
    address = f"postgresql+psycopg2://ana:{led.password}@127.0.0.1:{led.port}/hospital"
    database = superset.add_database(address, "hospital")
    dataset = superset.add_dataset(database, "admissions")
    chart = superset.add_chart("Stays by department", DAYS, dataset)
    spent = []
    for _ in range(2):
        with page.expect_response(lambda answer: "chart/data" in answer.url) as answered:
            page.goto(f"{superset.url}/explore/?slice_id={chart}&standalone=1")
        assert answered.value.status == 200
        (told,) = answered.value.json()["result"]
        assert [row["department_id"] for row in told["data"]] == [1, 2, 3, 4]
        assert all(6 < row["average stay"] < 15 for row in told["data"])  # days from 1 to 20, of ten thousand each
        page.wait_for_selector("canvas")
        with psycopg.connect(led.dsn) as connection:
            spent += connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall()
    assert spent[0] == spent[1]
