"""The page Ask in a browser: the editor, the price before the click, the answer and its charts, links, and lost sessions."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.fix_pages import Running

Visit = Callable[..., Page]
BY_SEATS = "SELECT seats, count(*), avg(fare) FROM rides GROUP BY seats ORDER BY seats"


def editor(page: Page) -> Locator:
    """Return the element that takes what is typed."""
    return page.get_by_role("textbox", name="SQL statement")


def write(page: Page, statement: str) -> None:
    """Put a statement in the place of what is there, and wait for its price."""
    with _counted(page, "priced"):
        editor(page).fill(statement)


def ask(page: Page, statement: str) -> None:
    """Ask a statement, and wait for what becomes of it."""
    write(page, statement)
    with _counted(page, "answered"):
        page.locator("#ask").click()


@contextmanager
def _counted(page: Page, what: str) -> Iterator[None]:
    """Wait for something that the page counts."""
    before = int(page.evaluate(f"Number(document.body.dataset.{what} ?? 0)"))
    yield
    expect(page.locator("body")).to_have_attribute(f"data-{what}", str(before + 1), timeout=20_000)


def test_names_values_and_functions_are_completed(visit: Visit) -> None:
    """As one types, from what the role may use."""
    page = visit("ana", "ask")
    for typed, offered in (("SELECT sea", "seats"), ("SELECT 1 FROM ri", "rides"), ("SELECT stdd", "stddev")):
        editor(page).fill("")
        editor(page).press_sequentially(typed)
        expect(page.locator(".cm-tooltip-autocomplete li").first).to_contain_text(offered)
        page.wait_for_timeout(100)  # a completion that has just appeared is not taken by Enter
        page.keyboard.press("Enter")
        expect(editor(page)).to_contain_text(offered)


def test_the_editor_is_coloured_by_adopted_sheets(visit: Visit) -> None:
    """In a shadow root, with no style of its own in the page."""
    page = visit("ana", "ask")
    editor(page).fill("SELECT 1")
    colours = page.evaluate(
        """() => { const root = document.getElementById("editor").shadowRoot;
             const [word, number] = root.querySelectorAll(".cm-line span");
             return [getComputedStyle(word).color, getComputedStyle(number).color, root.adoptedStyleSheets.length > 0,
                     root.querySelectorAll("style").length + document.querySelectorAll("style").length]; }"""
    )
    assert colours[0] != colours[1]
    assert colours[2:] == [True, 0]


def test_typing_over_a_mark_leaves_no_style(visit: Visit) -> None:
    """The browser would keep the look of what was there by an inline style, which its policy reports."""
    page = visit("ana", "ask")
    write(page, "SELECT avg(fares) FROM rides")
    expect(page.locator(".cm-lintRange-error")).to_have_text("fares")
    editor(page).press("Control+a")
    page.keyboard.type("SELECT 1")
    expect(editor(page)).to_have_text("SELECT 1")


def test_the_price_comes_before_the_click_and_is_what_is_charged(visit: Visit) -> None:
    """It is on the button; the bar moves by it, and by nothing when the same is asked again."""
    page = visit("olga", "ask")
    page.locator("#epsilon").fill("0.125")
    write(page, "SELECT count(*) FROM rides WHERE fare > 17.5")
    expect(page.locator("#price")).to_contain_text("Costs ε = 0.125")
    expect(page.locator("#price .errors")).to_contain_text("count(*) ±")
    expect(page.locator("#ask")).to_have_text("Ask, for ε = 0.125")
    spent = float(page.locator("#spent").inner_text())
    with _counted(page, "answered"):
        page.keyboard.press("Tab")
        page.locator("#ask").press("Enter")
    expect(page.locator("#charged")).to_contain_text("Charged ε = 0.125")
    assert float(page.locator("#spent").inner_text()) == pytest.approx(spent + 0.125)
    expect(page.locator("#ask")).to_have_text("Ask, free")
    with _counted(page, "answered"):
        editor(page).press("Control+Enter")
    expect(page.locator("#charged")).to_have_text("Charged nothing.")
    assert float(page.locator("#spent").inner_text()) == pytest.approx(spent + 0.125)
    expect(page.locator("#history li").first).to_contain_text("ε = 0.125 · olga")
    expect(page.locator("#history li").first).to_contain_text("free now")


def test_a_refusal_says_what_to_write_and_marks_the_place(visit: Visit) -> None:
    """Nothing is asked for it; what is written instead is a click away."""
    page = visit("ana", "ask")
    write(page, "SELECT *\nFROM rides")
    expect(page.locator("#price")).to_contain_text("Refused: Rows of rides are protected")
    expect(page.locator(".cm-lintRange-error")).to_have_text("rides")
    write(page, "SELECT avg(fares) FROM rides")
    expect(page.locator("#price")).to_contain_text('Perhaps you meant to reference the column "rides.fare"')
    expect(page.locator(".cm-lintRange-error")).to_have_text("fares")
    write(page, "SELECT *\nFROM rides")
    with _counted(page, "priced"):
        page.locator("#price").get_by_role("button", name="SELECT count(*) FROM rides").click()
    expect(editor(page)).to_have_text("SELECT count(*) FROM rides")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)


def test_a_wrong_field_is_told_at_the_field(visit: Visit) -> None:
    """The ε, and not the statement."""
    page = visit("ana", "ask")
    write(page, "SELECT count(*) FROM rides")
    page.locator("#epsilon").fill("7")
    expect(page.locator("#epsilon-error")).to_contain_text("epsilon must be a number from")
    expect(page.locator("#epsilon")).to_have_attribute("aria-invalid", "true")
    page.locator("#epsilon").fill("0.1")
    expect(page.locator("#epsilon-error")).to_be_hidden()


def test_what_is_free_is_said_with_the_answer_that_it_follows_from(visit: Visit) -> None:
    """Before the click, and beside the answer."""
    page = visit("tess", "ask")
    ask(page, "SELECT seats, count(*) FROM rides GROUP BY seats")
    write(page, "SELECT count(*) FROM rides WHERE seats = 3")
    expect(page.locator("#price")).to_contain_text("computed from SELECT seats, count(*) FROM rides GROUP BY seats")
    expect(page.locator("#ask")).to_have_text("Ask, free")
    with _counted(page, "answered"):
        page.locator("#ask").click()
    expect(page.locator("#beside")).to_contain_text("Free: ")


def test_an_answer_has_margins_and_a_chart(visit: Visit) -> None:
    """A number and its margin in one cell, with digits that mean something; other charts are two clicks away."""
    page = visit("olga", "ask")
    ask(page, BY_SEATS)
    rows = page.locator("#rows tbody tr")
    expect(rows).to_have_count(6)
    expect(rows.first.locator("td").first).to_have_text(re.compile(r"^[\d,]+ ± [\d,.]+$"))
    chart = page.locator("#chart svg.plotted")
    expect(chart).to_be_visible()
    bars = chart.locator("rect")
    expect(bars).to_have_count(6)
    expect(chart.locator("line")).not_to_have_count(0)
    page.get_by_text("Scatter", exact=True).click()
    expect(page.locator("#chart circle")).to_have_count(6)
    page.get_by_text("Bars", exact=True).click()
    page.get_by_label("Up: which number").select_option("avg")
    expect(page.locator("#chart svg")).to_have_attribute("aria-label", re.compile("^Bars of avg"))


def test_groups_that_may_be_empty_are_drawn_as_such(visit: Visit) -> None:
    """Dashed in the chart, and said in the table to whoever does not see it."""
    page = visit("olga", "ask")
    page.locator("#epsilon").fill("0.05")
    ask(page, "SELECT floor(fare / 10) * 10 AS fare, count(*) FROM rides GROUP BY 1 ORDER BY 1")
    expect(page.locator("#caption")).to_contain_text("not distinguishable from zero")
    expect(page.locator("#chart [stroke-dasharray]")).not_to_have_count(0)
    expect(page.locator("#rows .faint").first).to_contain_text("not distinguishable from zero")


def test_an_answer_can_be_taken_along(visit: Visit, tmp_path: Path) -> None:
    """As CSV with margins, as a chart in two forms, as SQL and as Python, which are copied."""
    page = visit("olga", "ask", permissions=["clipboard-read", "clipboard-write"])
    ask(page, BY_SEATS)
    files = {}
    for name in ("CSV", "SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        download.value.save_as(tmp_path / name)
        files[name] = (tmp_path / name).read_bytes()
    assert files["CSV"].splitlines()[0] == b"seats,count,avg,count_margin,avg_margin"
    assert files["SVG"].startswith(b"<svg")
    assert b"var(" not in files["SVG"]
    assert files["PNG"].startswith(b"\x89PNG")
    assert len(files["PNG"]) > 5_000
    for name, text in (("Copy as SQL", f"{BY_SEATS};\n"), ("Copy as Python", "import psycopg")):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()").startswith(text)
        expect(page.get_by_role("button", name=name)).to_be_visible()


HOSTILE = """<img src=x onerror="window.ran = 1">"""


def test_texts_of_others_stay_texts(visit: Visit, tmp_path: Path) -> None:
    """Keys, names of columns and errors are no HTML, and no formula in a spreadsheet."""
    page = visit("ana", "ask")
    ask(
        page,
        f"""SELECT v AS "{HOSTILE.replace('"', '""')}", 5 AS n FROM (VALUES ('{HOSTILE}'), ('=1+1'), ('@x, y')) AS t (v)""",
    )
    expect(page.locator("#rows tbody th").first).to_have_text(HOSTILE)
    expect(page.locator("#chart svg")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    download.value.save_as(tmp_path / "csv")
    lines = (tmp_path / "csv").read_text(encoding="utf-8").splitlines()
    assert lines[2:] == ["'=1+1,5", '"\'@x, y",5']
    write(page, f"""SELECT "{HOSTILE.replace('"', '""')}" FROM rides""")
    expect(page.locator("#price")).to_contain_text("<img")
    assert page.evaluate("window.ran") is None
    assert page.locator("img[src=x]").count() == 0


def test_a_link_shows_its_statement_to_the_role_and_never_asks(
    visit: Visit, running: Running, complaints: list[str]
) -> None:
    """Log-in keeps it; who has another role is told so."""
    ana = visit("ana", "ask", permissions=["clipboard-read", "clipboard-write"])
    statement = "SELECT count(*) FROM rides WHERE seats = 5"
    write(ana, statement)
    ana.locator("#link").click()
    expect(ana.get_by_role("button", name="Copied")).to_be_visible()
    link = ana.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{running.url}ask#")
    assert "seats" not in link
    spent = ana.locator("#spent").inner_text()
    ana.goto("/budget")
    ana.goto(link)
    expect(editor(ana)).to_have_text(statement)
    ana.wait_for_selector("body[data-done]")
    assert ana.locator("#spent").inner_text() == spent
    ana.get_by_role("button", name="Log out").click()
    ana.goto(link)
    ana.get_by_label("Name").fill("ana")
    ana.get_by_label("Password").fill(running.passwords["ana"])
    ana.get_by_role("button", name="Log in").click()
    expect(editor(ana)).to_have_text(statement)
    tess = visit("tess", f"ask#{link.partition('#')[2]}")
    expect(tess.locator("#price")).to_contain_text("This link has no statement for your role")
    assert "seats = 5" not in tess.content()
    complaints.clear()


def test_a_link_from_elsewhere_finds_who_is_logged_in(visit: Visit, running: Running, complaints: list[str]) -> None:
    """Cookies of the strict kind do not come along from another site; the page of the log-in leads on."""
    ana = visit("ana", "ask")
    write(ana, "SELECT count(*) FROM rides WHERE seats = 6")
    ana.locator("#link").click()
    expect(ana).to_have_url(re.compile("#[0-9a-f]{32}$"))
    link = ana.url
    ana.route(
        "http://elsewhere.test/",
        lambda route: route.fulfill(content_type="text/html", body=f'<a href="{link}">look</a>'),
    )
    ana.goto("http://elsewhere.test/")
    ana.get_by_text("look").click()
    expect(editor(ana)).to_have_text("SELECT count(*) FROM rides WHERE seats = 6")
    assert running.url in ana.url
    complaints.clear()


def test_a_session_that_is_lost_keeps_what_was_written(visit: Visit, running: Running, complaints: list[str]) -> None:
    """One logs in in another tab, and goes on."""
    page = visit("ana", "ask")
    write(page, "SELECT count(*) FROM rides WHERE seats = 1")
    other = page.context.new_page()
    other.goto("/budget")
    other.get_by_role("button", name="Log out").click()
    with _counted(page, "answered"):
        page.locator("#ask").click()
    expect(page.locator("#lost")).to_contain_text("You are logged out.")
    expect(editor(page)).to_have_text("SELECT count(*) FROM rides WHERE seats = 1")
    other.get_by_label("Name").fill("ana")
    other.get_by_label("Password").fill(running.passwords["ana"])
    other.get_by_role("button", name="Log in").click()
    other.wait_for_url("**/ask")
    with _counted(page, "answered"):
        page.locator("#ask").click()
    expect(page.locator("#lost")).to_be_hidden()
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    complaints.clear()


def test_a_session_may_be_lost_in_the_middle_of_an_answer(visit: Visit, complaints: list[str]) -> None:
    """The page says so, keeps what was written, and can be asked again."""
    page = visit("ana", "ask")
    slow = "SELECT count(*) FROM generate_series(1, 300000000)"
    write(page, slow)
    other = page.context.new_page()
    other.goto("/budget")
    with _counted(page, "answered"):
        page.locator("#ask").click()
        expect(page.locator("#stop")).to_be_visible()
        other.get_by_role("button", name="Log out").click()
    expect(page.locator("#lost")).to_contain_text("You are logged out.")
    expect(page.locator("#lost")).to_contain_text("asking it again is free")
    expect(editor(page)).to_have_text(slow)
    expect(page.locator("#ask")).to_be_enabled()
    complaints.clear()


def test_an_answer_is_stopped(visit: Visit, complaints: list[str]) -> None:
    """By the button beside it; the page says what became of it."""
    page = visit("ana", "ask")
    write(page, "SELECT count(*) FROM generate_series(1, 400000000)")
    with _counted(page, "answered"):
        page.locator("#ask").click()
        page.wait_for_timeout(500)
        page.locator("#stop").click()
    expect(page.locator("#price")).to_contain_text("Canceling statement due to user request")
    complaints.clear()


def test_somebody_elses_page_begins_anew(visit: Visit, running: Running, complaints: list[str]) -> None:
    """Who logs in in the same browser neither asks as another, nor sees what that one was told."""
    page = visit("ana", "ask")
    ask(page, "SELECT count(*) FROM rides WHERE seats = 2")
    other = page.context.new_page()
    other.goto("/budget")
    other.get_by_role("button", name="Log out").click()
    other.get_by_label("Name").fill("tess")
    other.get_by_label("Password").fill(running.passwords["tess"])
    other.get_by_role("button", name="Log in").click()
    other.wait_for_url("**/ask")
    page.locator("#ask").click()
    expect(page.locator(".who")).to_contain_text("tess")
    expect(editor(page)).not_to_contain_text("seats = 2")
    assert "seats = 2" not in page.content()
    complaints.clear()


def test_the_first_paint_is_light(visit: Visit) -> None:
    """Less than 250 kB are transferred before anything is asked, and the charts come with the first answer."""
    page = visit("ana", "budget")
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    client.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes: list[float] = []
    client.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.goto("/ask")
    page.wait_for_selector("body[data-done]")
    assert 100_000 < sum(sizes) < 250_000
    assert not any("plot.js" in address for address in addresses)
    page.locator("#begin button").first.click()
    with _counted(page, "answered"):
        page.locator("#ask").click()
    assert any("plot.js" in address for address in addresses)


def test_everything_is_there_for_the_keyboard(visit: Visit) -> None:
    """The editor is no trap: Tab leaves it, and a question is asked and its chart changed without a pointer."""
    page = visit("olga", "ask")
    editor(page).focus()
    page.keyboard.type("SELECT seats, count(*), avg(fare) FROM rides GROUP BY 1 ")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator("#epsilon")).to_be_focused()
    with _counted(page, "answered"):
        page.keyboard.press("Tab")
        expect(page.locator("#ask")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator("#answer-title")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#chart svg")).to_have_attribute("aria-label", re.compile("^(Lines|Scatter)"))
