"""The demo that grows, in Superset: a chart of a month has a day more each minute, and the budget stands still."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from playwright.sync_api import Page

from tests.superset.api import Superset

DAYS = {
    "viz_type": "echarts_timeseries_bar",
    "x_axis": "pickup_ts",
    "time_grain_sqla": "P1D",
    "metrics": [{"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "trips", "optionName": "metric_count"}],
    "groupby": [],
    "row_limit": 1000,
    "x_axis_time_format": "smart_date",
    "y_axis_format": "SMART_NUMBER",
}
MARCH = {
    "expressionType": "SIMPLE",
    "clause": "WHERE",
    "subject": "pickup_ts",
    "operator": "TEMPORAL_RANGE",
    "comparator": "2019-03-01 : 2019-04-01",
}
_PATIENCE = 180


@dataclass(frozen=True, slots=True)
class Demo:
    """How its owner connects."""

    dsn: str

    def spent(self) -> object:
        """Return the ε that its role has spent."""
        with psycopg.connect(self.dsn) as connection:
            return connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall()


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """The command itself, on a port that is free."""
    command = [sys.executable, "-m", "dpsql", "demo", "--growing", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:  # noqa: S603
        assert served.stdout is not None
        try:
            dsn = next(found[0] for line in served.stdout if (found := re.search(r"postgresql://olga\S+", line)))
            yield Demo(dsn)
        finally:
            served.terminate()
            served.stdout.read()


def test_a_chart_grows_and_pays_once(page: Page, superset: Superset, demo: Demo) -> None:
    """Drawn, and drawn again until it has a day more: what it showed of the days before is what it shows of them then."""
    database = superset.add_database(demo.dsn.replace("postgresql://", "postgresql+psycopg2://"), "growing")
    chart = superset.add_chart("Trips by day", DAYS, superset.add_dataset(database, "trips"), filters=[MARCH])

    def drawn(force: str) -> dict[int, int]:
        with page.expect_response(lambda answer: "chart/data" in answer.url) as answered:
            page.goto(f"{superset.url}/explore/?slice_id={chart}&standalone=1&force={force}")
        assert answered.value.status == 200
        (told,) = answered.value.json()["result"]
        page.wait_for_selector("canvas")
        return {row["pickup_ts"]: row["trips"] for row in told["data"]}

    before, spent, deadline = drawn("false"), demo.spent(), time.monotonic() + _PATIENCE
    assert len(before) >= 6
    while len(later := drawn("true")) == len(before):
        assert time.monotonic() < deadline
        time.sleep(5)
    assert before.items() <= later.items()
    assert demo.spent() == spent
