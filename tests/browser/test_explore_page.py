"""The page Explore as a person uses it: a story in steps, and questions about one's own data."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

Visit = Callable[..., Page]
STEPS = ("data", "buckets", "worlds", "noise", "smoothing", "roles", "yours")


def _does(page: Page, act: Callable[[], object]) -> None:
    """Act, and wait until the page has drawn what came of it."""
    before = page.evaluate("document.body.dataset.done")
    act()
    page.wait_for_function("before => document.body.dataset.done !== before", arg=before)


def _go(page: Page, step: str) -> None:
    page.locator(f"[data-go={step}]").click()
    expect(page.locator("[aria-current=step]")).to_have_attribute("data-go", step)
    page.wait_for_function("step => document.getElementById(step).classList.contains('now')", arg=step)
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def _shapes(page: Page, kind: str) -> str:
    return page.locator(f'#chart path[class="{kind}"]').get_attribute("d") or ""


def _set(page: Page, epsilon: str) -> None:
    _does(page, lambda: page.locator("#epsilon").fill(epsilon))


def _ask(page: Page, column: str) -> None:
    _go(page, "yours")
    page.locator("#column").select_option(column)
    expect(page.locator("#statement")).to_contain_text(column.partition(".")[2])
    page.locator("#ask").click()
    expect(page.locator("#after")).to_contain_text("harged")
    expect(page.locator("#ask")).to_be_enabled()


def test_it_opens_where_noise_is_seen(visit: Visit) -> None:
    """At ε = 0.1: the noise is ± 10 rows, and a guess is right 52.5 times of 100."""
    page = visit("ana")
    assert page.locator("#epsilon").input_value() == "0.1"
    assert page.locator("#typical").inner_text() == "± 10"
    assert page.locator("#guess").inner_text() == "52.5"
    assert page.locator("#choice").input_value() == "normal"


def test_steps_by_keys(visit: Visit) -> None:
    """Arrow keys go through all of them and back; each has a picture of its own and puts the focus on its heading."""
    page = visit("ana")
    labels = []
    for step in STEPS[1:]:
        page.keyboard.press("ArrowRight")
        expect(page.locator("[aria-current=step]")).to_have_attribute("data-go", step)
        assert page.evaluate("document.activeElement.id") == f"{step}-title"
        page.wait_for_timeout(50)
        labels.append(page.locator("#chart > svg").get_attribute("aria-label"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[aria-current=step]")).to_have_attribute("data-go", "roles")
    assert len(set(labels)) == len(labels) - 1  # the roles' large picture is that of the step before


def test_steps_by_scrolling(visit: Visit) -> None:
    """Whatever text is in the middle of the window is shown beside it."""
    page = visit("ana")
    for step in ("buckets", "worlds", "noise", "smoothing", "roles"):
        page.evaluate(
            "step => document.getElementById(step).scrollIntoView({block: 'start', behavior: 'instant'})", step
        )
        expect(page.locator("[aria-current=step]")).to_have_attribute("data-go", step)


def test_each_row_is_a_dot(visit: Visit) -> None:
    """As many dots as rows, and one for the person; of more rows the first 2,000, which is said."""
    page = visit("ana")
    assert _shapes(page, "dots").count("M") == 2_000
    assert _shapes(page, "theirs").count("M") == 1
    _does(page, lambda: page.locator("#rows").fill("7"))
    assert _shapes(page, "dots").count("M") == 2_000
    expect(page.locator("#data")).to_contain_text("100,000 rows")
    expect(page.locator("#data")).to_contain_text("the first 2,000 are drawn")


def test_removing_the_person_changes_one_bar_by_their_rows(visit: Visit) -> None:
    """And the two worlds' counts differ by as much."""
    page = visit("ana")
    _go(page, "buckets")
    page.get_by_text("40 rows", exact=True).click()
    expect(page.locator("#buckets")).to_contain_text("one bar gets lower by 40 rows")
    bars = _shapes(page, "bars rows")
    assert _shapes(page, "mine") != ""
    _does(page, lambda: page.get_by_label("Remove this person").check())
    assert _shapes(page, "bars rows") == bars
    assert page.locator("#chart path.gone").count() == 1
    counts = [page.locator(f"[data-say={name}]").inner_text() for name in ("with", "lacking")]
    assert int(counts[0]) - int(counts[1]) == 40


def test_odds_are_said_in_words(visit: Visit) -> None:
    """At ε = ln 3 of 100 guesses 75 are right; no more of any other question; 90 where two values are told apart."""
    page = visit("ana")
    _go(page, "worlds")
    _set(page, "1.0986122886681098")
    expect(page.locator(".odds")).to_contain_text("of 100 such guesses 75 are right")
    expect(page.locator("#worlds")).to_contain_text("at most 75 are right")
    expect(page.locator("#worlds")).to_contain_text(
        "two steps apart, one removal and one addition: then at most 90 are."
    )
    expect(page.locator("#worlds")).to_contain_text("more than 3 times as likely")


def test_the_overlap_falls_with_epsilon(visit: Visit) -> None:
    """Buttons set ε; the axis stays where it is while the curves move."""
    page = visit("ana")
    _go(page, "worlds")
    axis = page.locator("#chart g").first.inner_html()
    areas = []
    for epsilon in ("0.1", "1.1", "5"):
        page.get_by_role("button", name=f"ε = {epsilon}").click()
        expect(page.locator("#epsilon")).to_have_value(epsilon)
        page.wait_for_timeout(50)
        areas.append(
            page.locator("#chart path.overlap").evaluate(
                """path => { const moves = path.getAttribute('d').match(/L[^L]+/g);
                     const n = moves.map(p => Number(p.split(',')[1].split('Z')[0]));
                     return n.reduce((a, b) => a + Math.max(...n) - b, 0); }"""
            )
        )
    assert areas[0] > 2 * areas[1] > 4 * areas[2]
    assert page.locator("#chart g").first.inner_html() == axis


def test_drawing_again_changes_only_the_noise(visit: Visit) -> None:
    """The truth and the odds stay; earlier answers stay as thin lines, twenty at the most."""
    page = visit("ana")
    _go(page, "noise")
    raw, told, guess = _shapes(page, "line raw"), _shapes(page, "bars told"), page.locator("#guess").inner_text()
    assert _shapes(page, "ghosts") == ""
    _does(page, lambda: page.get_by_role("button", name="Draw the noise again").click())
    assert _shapes(page, "bars told") != told
    assert (_shapes(page, "line raw"), page.locator("#guess").inner_text()) == (raw, guess)
    assert _shapes(page, "ghosts").count("M") == 1
    _does(page, lambda: page.get_by_role("button", name="Draw 20 more").click())
    assert _shapes(page, "ghosts").count("M") == 20


def test_the_slider_keeps_the_dice_and_the_axis(visit: Visit) -> None:
    """Moving ε to and fro gives the same answer again: only its size moves, on an axis that stays."""
    page = visit("ana")
    _go(page, "noise")
    told, axis = _shapes(page, "bars told"), page.locator("#chart g").first.inner_html()
    _set(page, "0.02")
    assert _shapes(page, "bars told") != told
    assert page.locator("#chart g").first.inner_html() == axis
    _set(page, "0.1")
    assert _shapes(page, "bars told") == told


def test_the_average_comes_near_the_truth_and_has_its_price(visit: Visit) -> None:
    """Of 401 answers the sum of distances falls by far; their ε adds up, and so do the odds."""
    page = visit("ana")
    _go(page, "smoothing")
    far = float(page.locator("#distance").inner_text())
    _go(page, "noise")
    for _ in range(20):
        _does(page, lambda: page.get_by_role("button", name="Draw 20 more").click())
    _does(page, lambda: page.get_by_label("Show the average").check())
    expect(page.locator("#noise")).to_contain_text("401 answers cost ε = 40.1 together")
    expect(page.locator("#noise")).to_contain_text("of 100 guesses at most > 99.9999 are right")
    _go(page, "smoothing")
    assert float(page.locator("#distance").inner_text()) < far / 5


def test_smoothing_changes_both_lines_and_draws_no_noise(visit: Visit) -> None:
    """Going to another smoothing and back gives the same lines: the noise stayed; the smoothing is named."""
    page = visit("ana")
    _go(page, "smoothing")
    raw, private = _shapes(page, "line raw"), _shapes(page, "line private")
    for name in ("none", "strong"):
        _does(page, lambda name=name: page.locator("#smoothing-width").select_option(name))  # type: ignore[misc]  # the loop's own
        assert _shapes(page, "line raw") != raw
        assert _shapes(page, "line private") != private
    _does(page, lambda: page.locator("#smoothing-width").select_option("light"))
    assert (_shapes(page, "line raw"), _shapes(page, "line private")) == (raw, private)
    assert "light: 2 % of the range" in page.locator("#smoothing-width").inner_text()


def test_distance_falls_with_epsilon(visit: Visit) -> None:
    """A hundredfold ε brings the lines together, by far more than one draw varies."""
    page = visit("ana")
    _go(page, "smoothing")
    distances = []
    for epsilon in ("0.01", "0.1", "1", "10"):
        _set(page, epsilon)
        distances.append(float(page.locator("#distance").inner_text()))
    assert distances == sorted(distances, reverse=True)
    assert distances[0] > 20 * distances[3]


def test_a_range_is_read_with_the_pointer(visit: Visit) -> None:
    """Raw, told and error, and how far such errors usually go; a press takes it back."""
    page = visit("ana")
    _go(page, "smoothing")
    box = page.locator("#chart").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(page.locator("#read")).to_contain_text("raw")
    words = page.locator("#read").inner_text()
    raw, told = (
        int(words.split(f"{name} ")[1].split(",")[0].split(" ")[0].replace(",", "")) for name in ("raw", "released")
    )
    assert f"error {'+' if told > raw else '−'}{abs(told - raw)}" in words or told == raw
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 60)
    expect(page.locator("#read")).to_be_empty()


def test_a_range_is_read_with_keys(visit: Visit) -> None:
    """Arrows choose a bucket, with Shift a range; Escape takes it back."""
    page = visit("ana")
    _go(page, "noise")
    chart = page.locator("#chart > svg")
    chart.press("ArrowRight")
    expect(page.locator("#read")).to_contain_text("-0.08 to 0:")
    # Both in one frame, as keys that are held down may come.
    chart.evaluate(
        """svg => { for (let i = 0; i < 2; i += 1)
             svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", shiftKey: true, bubbles: true })); }"""
    )
    expect(page.locator("#read")).to_contain_text("-0.08 to 0.16:")
    chart.press("Escape")
    expect(page.locator("#read")).to_be_empty()


def test_the_privacy_unit_changes_the_noise(visit: Visit) -> None:
    """One driver has more rows than one passenger, so there is more noise; trips have their own words, real ones too."""
    page = visit("ana")
    assert page.locator("#units .segments").inner_text().split("\n") == ["1 row", "5 rows", "40 rows", "80 rows"]
    for sample in ("fare", "real_fare"):
        _does(page, lambda sample=sample: page.locator("#choice").select_option(sample))  # type: ignore[misc]  # the loop's own
        assert page.locator("#units .segments").inner_text().split("\n") == ["row", "passenger", "driver", "medallion"]
        for unit, rows in (("medallion", "800"), ("driver", "400"), ("passenger", "50"), ("row", "10")):
            _does(page, lambda unit=unit: page.locator("#units").get_by_text(unit, exact=True).click())  # type: ignore[misc]  # the loop's own
            expect(page.locator("#typical")).to_have_text(f"± {rows}")
    expect(page.locator("#data")).to_contain_text("of real taxi trips, which New York has published")
    expect(page.locator("#unit-note")).to_contain_text("who rode is not published")


def test_three_roles_get_what_their_levels_say(visit: Visit) -> None:
    """ε = C / (target · rows in a bucket), whatever the slider says."""
    page = visit("ana")
    _go(page, "roles")
    texts = page.locator("#multiples figcaption").all_inner_texts()
    assert [text.split(":")[0] for text in texts] == ["ε = 2", "ε = 0.667", "ε = 0.333"]
    assert "Of 100 guesses at most 88.08 are right" in texts[0]


def test_the_address_has_all_choices(visit: Visit) -> None:
    """After a reload, and for whoever gets the link, they are the same."""
    page = visit("ana")
    page.locator("#choice").select_option("real_tip")
    page.locator("#rows").fill("1")
    page.locator("#units").get_by_text("driver", exact=True).click()
    _set(page, "0.3")
    _go(page, "smoothing")
    page.locator("#smoothing-width").select_option("strong")
    page.wait_for_function("() => location.hash.includes('smoothing=strong')")
    page.reload()
    page.wait_for_selector("body[data-done]")
    kept = {name: page.locator(f"#{name}").input_value() for name in ("choice", "rows", "epsilon", "smoothing-width")}
    assert kept == {"choice": "real_tip", "rows": "1", "epsilon": "0.3", "smoothing-width": "strong"}
    assert page.locator("input[name=unit]:checked").input_value() == "driver"
    expect(page.locator("[aria-current=step]")).to_have_attribute("data-go", "smoothing")


@pytest.mark.parametrize("wrong", ["99", "0", "many", ""])
def test_a_number_that_makes_no_sense_is_complained_of(visit: Visit, wrong: str) -> None:
    """Beside the field; the last one that did stays drawn."""
    page = visit("ana")
    page.locator("#epsilon").fill(wrong)
    expect(page.locator("#dial-error")).to_have_text("ε must be a number from 0.01 to 10.")
    page.locator("#epsilon").fill("1")
    expect(page.locator("#dial-error")).to_be_hidden()
    expect(page.locator("#guess")).to_have_text("73.11")


def test_nothing_is_offered_that_cannot_be_paid(visit: Visit) -> None:
    """The price is more than what is left: the page says so, and does not say "Ask, for ε = …"."""
    page = visit("tess")
    page.route("**/explore/price?*", lambda route: route.fulfill(json=_poor(route.fetch().json())))
    _go(page, "yours")
    page.locator("#column").select_option("rides.seats")
    expect(page.locator("#statement")).to_contain_text("seats")
    expect(page.locator("#before")).to_contain_text("ε = 0.1 is more than what role third_party has left, ε = 0.05")
    expect(page.locator("#ask")).to_have_text("Ask again, if it was answered before")


def _poor(answer: dict[str, object]) -> dict[str, object]:
    return {**answer, "left": "0.05", "enough": False, "paid": None}


def test_asking_shows_that_it_is_at_work(visit: Visit) -> None:
    """Until the answer is there the button is disabled and turns, and a line says what is done."""
    page = visit("olga")
    _go(page, "yours")
    waiting = []

    def slow(route: Route) -> None:
        waiting.append((page.locator("#after").inner_text(), page.locator("#ask").get_attribute("class")))
        route.continue_()

    page.route("**/explore/ask", slow)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#after")).to_contain_text("harged")
    assert waiting == [("Asking: the records are being counted …", "main busy")]
    expect(page.locator("#ask")).to_be_enabled()


def test_a_price_is_said_once_and_a_free_repeat_is_called_free(visit: Visit) -> None:
    """The button has the price; then what is left is true, and asking again is called free before it is done."""
    page = visit("ana")
    _set(page, "0.125")
    _go(page, "yours")
    expect(page.locator("#ask")).to_have_text("Ask, for ε = 0.125")
    assert "0.125" not in page.locator("#before").inner_text()
    left = float(page.locator("#before").inner_text().split("which has ε = ")[1].split(" left")[0])
    assert page.locator("#chart path.bars").count() == 0
    page.locator("#ask").click()
    expect(page.locator("#after")).to_have_text("Charged ε = 0.125 to role analyst.")
    expect(page.locator("#before")).to_contain_text(
        "until the data are next refreshed it is free, and has the same noise"
    )
    after = float(page.locator("#before").inner_text().split("ε = ")[1].split(" is left")[0])
    assert abs(left - 0.125 - after) <= 0.1  # of three digits, rounded down
    expect(page.locator("#ask")).to_have_text("Ask again, free")
    counts = _shapes(page, "bars told")
    assert counts
    assert _shapes(page, "band")
    expect(page.locator("#legend")).not_to_contain_text("smoothed")
    page.get_by_label("Add a smoothed line").check()
    assert _shapes(page, "line private")
    page.get_by_label("Add a smoothed line").uncheck()
    assert page.locator("#chart path.raw").count() == 0
    page.wait_for_function("() => location.hash.includes('step=yours')")
    page.reload()
    page.wait_for_selector("body[data-done]")
    expect(page.locator("#before")).to_contain_text("it is free")
    page.locator("#ask").click()
    expect(page.locator("#after")).to_contain_text("Charged nothing")
    assert _shapes(page, "bars told") == counts
    page.get_by_role("link", name="Budget").click()
    expect(page.locator("table.asked")).to_contain_text("width_bucket(fare, 0, 100, 100)")


def test_ones_own_data_have_no_truth_to_read(visit: Visit) -> None:
    """A range has what was told and how far that usually is off."""
    page = visit("olga")
    _ask(page, "rides.seats")
    page.locator("#chart > svg").press("ArrowRight")
    expect(page.locator("#read")).to_contain_text("released")
    assert "raw" not in page.locator("#read").inner_text()


def test_a_real_table_offers_no_more_than_the_roles_epsilon(visit: Visit) -> None:
    """`per_query` is the most, and says so."""
    page = visit("tess")
    _set(page, "3")
    _go(page, "yours")
    expect(page.locator("#epsilon")).to_have_value("0.2")
    expect(page.locator("#yours")).to_contain_text(
        "Your role protects each driver; how many rows of each count, C, is chosen for each question"
    )
    page.locator("#epsilon").fill("3")
    expect(page.locator("#dial-error")).to_contain_text(
        "from 0.01 to 0.2, the most that one question of your role may cost"
    )


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
