"""A dashboard over protected trips, from adding the database to the picture in a browser; loaded again for nothing."""

import os
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, Response

from tests.clients.site import Site
from tests.superset.api import CHARTS, FILTER, Superset

PICTURE = os.environ.get("PICTURE")
"""Where to leave the picture of the dashboard."""
_DRAWN = "canvas, .header-line, table"
"""What a chart is when it is drawn: a picture, a number, or a table."""


@pytest.fixture(scope="module")
def database(superset: Superset, here: Site) -> int:
    """Add dpsql as a database, which Superset takes for PostgreSQL."""
    return superset.add_database(here.url("postgresql+psycopg2"))


@pytest.fixture(scope="module")
def dashboard(superset: Superset, database: int) -> int:
    """Make a dataset of the trips, and a dashboard of it."""
    return superset.add_dashboard(superset.add_dataset(database, "trips"))


def _spent(site: Site) -> object:
    with psycopg.connect(site.dsn) as connection:
        return connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall()


def _load(page: Page, superset: Superset, dashboard: int) -> list[Response]:
    """Open the dashboard and wait until all is drawn; return Superset's answers to the charts' and the filter's questions."""
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer) if "chart/data" in answer.url else None)
    page.goto(f"{superset.url}/superset/dashboard/{dashboard}/?standalone=1")
    for name in CHARTS:
        page.get_by_text(name, exact=True).wait_for()
    page.get_by_text(FILTER, exact=True).first.wait_for()
    page.wait_for_function(f"document.querySelectorAll({_DRAWN!r}).length >= {len(CHARTS)}")
    page.wait_for_load_state("networkidle")
    return answers


def _still(page: Page) -> bytes:
    """Return the picture of the page when the charts have stopped moving."""
    last, now = b"", bytes(page.screenshot())
    while now != last:
        page.wait_for_timeout(300)
        last, now = now, bytes(page.screenshot())
    return now


def test_columns_and_types_are_known(superset: Superset, database: int) -> None:
    """A table's preview shows its columns and where they point."""
    shown = superset.call("GET", f"database/{database}/table_metadata/?name=trips&schema=public")
    assert [column["name"] for column in shown["columns"]][:3] == ["trip_id", "driver_id", "passenger_id"]
    assert [key["referred_table"] for key in shown["foreignKeys"]] == ["zones"]


def test_dashboard_is_drawn_and_drawn_again_for_nothing(
    page: Page, superset: Superset, here: Site, dashboard: int, tmp_path: Path
) -> None:
    """Every question of charts and filter is answered; the second load asks them again and pays nothing."""
    before = _spent(here)
    assert {answer.status for answer in _load(page, superset, dashboard)} == {200}
    spent = _spent(here)
    assert spent != before
    again = _load(page, superset, dashboard)
    assert len(again) == len(CHARTS) + 1
    assert {answer.status for answer in again} == {200}
    assert _spent(here) == spent
    assert page.get_by_text("error", exact=False).count() == 0
    picture = Path(PICTURE or tmp_path / "superset.png")
    picture.write_bytes(_still(page))
    assert picture.stat().st_size > 20_000


def test_a_filter_asks_all_charts_again(page: Page, superset: Superset, here: Site, dashboard: int) -> None:
    """A value that is chosen in the filter is one condition more in every chart, each of which is answered."""
    _load(page, superset, dashboard)
    before, answers = _spent(here), []
    page.on("response", lambda answer: answers.append(answer) if "chart/data" in answer.url else None)
    page.get_by_role("combobox").first.click()
    page.get_by_title("cash", exact=True).first.click()
    page.keyboard.press("Escape")
    with page.expect_response(lambda _: len(answers) == len(CHARTS)):
        page.get_by_role("button", name="Apply filters").click()
    assert {answer.status for answer in answers} == {200}
    assert _spent(here) != before


def test_shares_and_others_add_up(page: Page, superset: Superset, dashboard: int) -> None:
    """The table has each payment's share of the total; the other series chart has a series named Others."""
    answers = [answer.json()["result"][0] for answer in _load(page, superset, dashboard)]
    (shares,) = [answer["data"] for answer in answers if "%trips" in answer["colnames"]]
    assert abs(sum(row["%trips"] for row in shares) - 1) < 0.001
    assert any("Others" in str(answer["colnames"]) for answer in answers)


def test_sql_lab_answers_and_refuses(superset: Superset, database: int) -> None:
    """Aggregates come back, rows do not, and the reason is shown."""
    rows = superset.ask(database, "SELECT payment_type, COUNT(*) AS n FROM trips GROUP BY 1 ORDER BY 1")
    assert [row["payment_type"] for row in rows] == ["cash", "credit card", None]
    with pytest.raises(AssertionError, match=r"rows of \w+ are protected"):
        superset.ask(database, "SELECT * FROM trips")


def test_filters_list_their_values(superset: Superset, database: int, dashboard: int) -> None:
    """The values of a dashboard's filter are the declared ones."""
    assert dashboard
    listed = superset.call("GET", "datasource/table/1/column/payment_type/values/")["result"]
    assert sorted(map(str, listed)) == ["None", "cash", "credit card"]
    assert database
