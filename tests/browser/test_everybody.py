"""Whether everybody can use the pages: axe-core's judgement, light, dark, on a phone and at 200 %."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.support.fix_pages import Running

Visit = Callable[..., Page]
AXE = Path(os.environ.get("AXE", ".venv/browser/node_modules/axe-core/axe.min.js"))
LOOKS: Mapping[str, Mapping[str, object]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True},
    # A window of 1280 pixels at 200 % has 640 of CSS's.
    "zoomed": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
}


def violations(page: Page) -> list[str]:
    """Return what axe-core finds, with the elements; its script comes in beside the page's policy, not through it."""
    page.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')} }}")
    violated = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{violation['id']}: {', '.join(node['html'][:120] for node in violation['nodes'])}" for violation in violated
    ]


@pytest.fixture
def axe() -> None:
    """Fail where axe-core is not installed: a test that is left out finds nothing."""
    assert AXE.is_file(), "make test-browser installs axe-core"


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_violation(visit: Visit, look: str, complaints: list[str]) -> None:
    """On every page, with a charge to show, with an error and at an address that there is not."""
    page = visit("olga", "explore", **LOOKS[look])
    by_step = {"explore": violations(page)}
    for step in ("buckets", "worlds", "noise", "smoothing", "roles", "yours"):
        page.locator(f"[data-go={step}]").click()
        page.locator(f"#{step}.now").wait_for()
        by_step[step] = violations(page)
    page.locator("#ask").click()
    page.locator("#after", has_text="harged").wait_for()
    by_step["asked"] = violations(page)
    for path in ("choose", "budget"):
        page.goto(f"/{path}")
        page.wait_for_selector("body[data-done]")
        by_step[path] = violations(page)
    page.goto("/choose")
    page.wait_for_selector("body[data-done]")
    page.locator("#stay_unit").select_option("months")
    page.locator("#period").select_option("day")
    page.locator("#milestones tr.bad").wait_for()
    by_step["renewing"] = violations(page)
    page.get_by_text("What others have published with").click()
    page.locator("#questions").fill("SELECT count(*) FROM rides; SELECT 1 FROM rides")
    page.locator("#explain").click()
    page.locator("#planned tbody tr").nth(1).wait_for()
    by_step["planned"] = violations(page)
    page.locator("#rows").fill("many")
    page.locator("#quality-error", has_text="rows must be").wait_for()
    by_step["mistaken"] = violations(page)
    page.goto("/nothing")
    by_step["nothing"] = violations(page)
    assert by_step == {key: [] for key in by_step}
    complaints.clear()


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_violation_on_ask(visit: Visit, look: str) -> None:
    """With a list of completions, a price, a refusal, an answer with each kind of chart, and a session that is lost."""
    page = visit("olga", "ask", **LOOKS[look])
    by_state = {"empty": violations(page)}
    page.locator("#tables-box").evaluate("(box) => { box.open = true; }")
    editor = page.get_by_role("textbox", name="SQL statement")
    editor.press_sequentially("SELECT sea")
    page.locator(".cm-tooltip-autocomplete li").first.wait_for()
    by_state["completing"] = violations(page)
    editor.fill("SELECT * FROM rides")
    page.locator("#price", has_text="Refused").wait_for()
    by_state["refused"] = violations(page)
    editor.fill("SELECT seats, count(*), avg(fare) FROM rides GROUP BY seats")
    page.locator("#price .errors, #price .good").first.wait_for()
    by_state["priced"] = violations(page)
    page.locator("#ask").click()
    page.locator("#chart svg").wait_for()
    for kind in ("Histogram", "Lines", "Bars", "Scatter"):
        page.get_by_text(kind, exact=True).click()
        page.locator(f"#chart svg[aria-label^={kind}]").wait_for()
        by_state[kind] = violations(page)
    page.locator("#epsilon").fill("none")
    page.locator("#epsilon-error:visible").wait_for()
    by_state["mistaken"] = violations(page)
    assert by_state == {key: [] for key in by_state}


@pytest.mark.usefixtures("axe")
def test_axe_finds_no_violation_at_the_log_in(visit: Visit, running: Running) -> None:
    """Where everybody begins."""
    page = visit("olga")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{running.url}login")
    assert violations(page) == []


@pytest.mark.usefixtures("axe")
def test_axe_would_find_one(visit: Visit) -> None:
    """A button without a name, so that the tests above can fail."""
    page = visit("ana")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any(violation.startswith("button-name") for violation in violations(page))


@pytest.mark.parametrize("path", ["ask", "explore", "choose", "budget"])
def test_nothing_is_scrolled_sideways_at_200_percent(visit: Visit, path: str) -> None:
    """Nor when a stay of many periods, errors and all are shown."""
    page = visit("olga", path, **LOOKS["zoomed"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 640


@pytest.mark.parametrize("look", ["phone", "zoomed"])
def test_an_answer_is_not_scrolled_sideways(visit: Visit, look: str) -> None:
    """But for the box of its rows; nor is a price or a refusal of long words."""
    width = {"phone": 360, "zoomed": 640}[look]
    page = visit("olga", "ask", **LOOKS[look])
    editor = page.get_by_role("textbox", name="SQL statement")
    editor.fill(f"SELECT {'a' * 200} FROM rides")
    page.locator("#price", has_text="Error").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    editor.fill("SELECT seats, count(*), avg(fare), stddev(fare) FROM rides GROUP BY seats")
    page.locator("#price .errors, #price .good").first.wait_for()
    page.locator("#ask").click()
    page.locator("#chart svg").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("look", LOOKS)
def test_no_number_runs_out_of_its_cell(visit: Visit, look: str) -> None:
    """Also one of many digits, as a day's share of a year's stay is."""
    page = visit("olga", "choose", **LOOKS[look])
    page.locator("#stay_unit").select_option("months")
    page.locator("#period").select_option("day")
    page.locator("#milestones tr.bad").wait_for()
    cut = page.evaluate(
        "[...document.querySelectorAll('dd')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText)"
    )
    assert cut == []
