"""The page Explore as a person uses it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

Visit = Callable[..., Page]
NUMBERS = ("scale", "typical", "spent", "guess")


def _line(page: Page, name: str) -> str:
    return page.locator(f"#chart path[data-name={name}]").get_attribute("d") or ""


def _numbers(page: Page) -> list[str]:
    return [page.locator(f"#{name}").inner_text() for name in NUMBERS]


def _does(page: Page, act: Callable[[], object]) -> None:
    """Act, and wait until the page has drawn what came of it."""
    before = page.evaluate("document.body.dataset.done")
    act()
    page.wait_for_function("before => document.body.dataset.done !== before", arg=before)


def _distance(page: Page) -> float:
    return float(page.locator("#distance").inner_text().split(": ")[1].split()[0])


def test_the_slider_changes_the_private_line_and_the_numbers(visit: Visit) -> None:
    """And not the raw line; it is moved with the keyboard."""
    page = visit("ana")
    raw, private, numbers = _line(page, "raw"), _line(page, "private"), _numbers(page)
    assert numbers == ["1", "± 0.851", "1", "73.11 %"]
    slider = page.locator("#slider")
    _does(page, lambda: slider.press("PageDown"))
    assert float(page.locator("#epsilon").input_value()) < 1
    assert _line(page, "private") != private
    assert all(new != old for new, old in zip(_numbers(page), numbers, strict=True))
    assert _line(page, "raw") == raw


def test_refresh_changes_only_the_noise(visit: Visit) -> None:
    """The raw line and the numbers stay."""
    page = visit("ana")
    raw, private, numbers = _line(page, "raw"), _line(page, "private"), _numbers(page)
    _does(page, lambda: page.get_by_role("button", name="Refresh noise").click())
    assert _line(page, "private") != private
    assert (_line(page, "raw"), _numbers(page)) == (raw, numbers)


def test_smoothing_changes_both_lines_and_draws_no_noise(visit: Visit) -> None:
    """Going to another smoothing and back gives the same lines: the noise stayed; the smoothing is named."""
    page = visit("ana")
    raw, private = _line(page, "raw"), _line(page, "private")
    for name in ("none", "strong"):
        page.locator("#smoothing").select_option(name)
        assert _line(page, "raw") != raw
        assert _line(page, "private") != private
    page.locator("#smoothing").select_option("light")
    assert (_line(page, "raw"), _line(page, "private")) == (raw, private)
    assert "light: 2 % of the range" in page.locator("#smoothing").inner_text()


def test_explore_opens_with_nobodys_trips(visit: Visit) -> None:
    """A hospital sees a normal distribution and rows; passengers and drivers come with the taxis only."""
    page = visit("ana")
    assert page.locator("#choice").input_value() == "normal"
    assert page.locator("#segments").inner_text().split("\n") == ["1 row", "5 rows", "40 rows"]
    _does(page, lambda: page.locator("#choice").select_option("tip"))
    assert page.locator("#segments").inner_text().split("\n") == ["row", "passenger", "driver"]


def test_nothing_stands_beside_an_error(visit: Visit, complaints: list[str]) -> None:
    """Numbers and lines go away until the field makes sense."""
    page = visit("ana")
    page.locator("#epsilon").fill("99")
    expect(page.locator("#controls-error")).to_contain_text("epsilon must be a number from 0.01 to 10")
    assert _numbers(page) == ["–"] * 4
    assert page.locator("#chart path[data-name]").count() == 0
    page.locator("#epsilon").fill("1")
    expect(page.locator("#controls-error")).to_be_hidden()
    expect(page.locator("#scale")).to_have_text("1")
    complaints.clear()


def test_nothing_is_offered_that_cannot_be_paid(visit: Visit) -> None:
    """The price is more than what is left: the page says so, and does not say "Ask, for ε = …"."""
    page = visit("tess")
    page.route("**/explore/price?*", lambda route: route.fulfill(json=_poor(route.fetch().json())))
    _does(page, lambda: page.locator("#choice").select_option("rides.seats"))
    expect(page.locator("#before")).to_contain_text("ε = 0.2 is more than what role third_party has left, 0.05")
    expect(page.locator("#refresh")).to_have_text("Ask again, if it was answered before")


def _poor(answer: dict[str, object]) -> dict[str, object]:
    return {**answer, "left": "0.05", "enough": False}


def test_asking_shows_that_it_is_at_work(visit: Visit) -> None:
    """Until the answer is there the button is disabled and turns, and a line says what is done."""
    page = visit("olga")
    _does(page, lambda: page.locator("#choice").select_option("rides.fare"))
    waiting = []

    def slow(route: Route) -> None:
        waiting.append((page.locator("#after").inner_text(), page.locator("#refresh").get_attribute("class")))
        route.continue_()

    page.route("**/explore/ask", slow)
    page.get_by_role("button", name="Ask, for").click()
    expect(page.locator("#after")).to_contain_text("left")
    assert waiting == [("Asking: the records are being counted …", "main busy")]
    expect(page.locator("#refresh")).to_be_enabled()


def test_distance_falls_with_epsilon(visit: Visit) -> None:
    """A hundredfold ε brings the lines together, by far more than one draw varies."""
    page = visit("ana")
    found = []
    for epsilon in ("0.01", "0.1", "1", "10"):
        _does(page, lambda epsilon=epsilon: page.locator("#epsilon").fill(epsilon))  # type: ignore[misc]  # the loop's own
        found.append(_distance(page))
    assert found == sorted(found, reverse=True)
    assert found[0] > 20 * found[3]


def test_the_privacy_unit_changes_the_sensitivity(visit: Visit) -> None:
    """One driver has more rows than one passenger, so there is more noise."""
    page = visit("ana")
    _does(page, lambda: page.locator("#choice").select_option("fare"))
    for unit, rows in (("driver", "40"), ("passenger", "5"), ("row", "1")):
        _does(page, lambda unit=unit: page.get_by_text(unit, exact=True).click())  # type: ignore[misc]  # the loop's own
        expect(page.locator("#scale")).to_have_text(rows)
        assert f"at most {rows} row" in page.locator("#sensitivity").inner_text()


def test_a_charge_appears_after_asking_a_real_table(visit: Visit) -> None:
    """The page says the price before and the charge after; a second press is free; Budget has the question."""
    page = visit("ana")
    page.locator("#epsilon").fill("0.125")
    _does(page, lambda: page.locator("#choice").select_option("rides.fare"))
    expect(page.locator("#before")).to_contain_text("Asking charges role analyst ε = 0.125")
    assert page.locator("#chart path[data-name]").count() == 0
    page.get_by_role("button", name="Ask, for ε = 0.125").click()
    expect(page.locator("#after")).to_contain_text("Charged ε = 0.125 to role analyst")
    assert page.locator("#chart path[data-name=private]").count() == 1
    assert page.locator("#chart path[data-name=raw]").count() == 0
    page.get_by_role("button", name="Ask, for ε = 0.125").click()
    expect(page.locator("#after")).to_contain_text("Charged nothing")
    page.get_by_role("link", name="Budget").click()
    expect(page.locator("table.asked")).to_contain_text("width_bucket(fare, 0, 100, 100)")


def test_a_real_table_offers_no_more_than_the_roles_epsilon(visit: Visit) -> None:
    """The slider ends at `per_query`."""
    page = visit("tess")
    _does(page, lambda: page.locator("#choice").select_option("rides.fare"))
    assert page.locator("#epsilon").input_value() == "0.2"
    expect(page.locator("#sensitivity")).to_have_text("Your role protects each driver: at most 40 rows of one count.")


@pytest.mark.parametrize("path", ["explore", "choose", "budget"])
def test_no_page_is_wider_than_a_phone(visit: Visit, path: str) -> None:
    """Nothing has to be scrolled sideways at 360 pixels."""
    page = visit("olga", path, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("path", ["explore", "choose", "budget"])
def test_every_control_has_a_name(visit: Visit, path: str) -> None:
    """Screen readers can say what each field and button is."""
    page = visit("olga", path)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input:not([type=hidden]), select, button")].filter(
             (e) => !e.labels?.length && !e.getAttribute("aria-label") && !e.textContent.trim()).map((e) => e.outerHTML)"""
    )
    assert unnamed == []


def test_the_chart_can_be_read_with_arrow_keys(visit: Visit) -> None:
    """Each step says the values of both lines."""
    page = visit("ana")
    chart = page.locator("#chart svg")
    chart.press("ArrowRight")
    expect(page.locator("#chart output")).to_contain_text("raw")
    first = page.locator("#chart output").inner_text()
    chart.press("ArrowRight")
    assert page.locator("#chart output").inner_text() != first
