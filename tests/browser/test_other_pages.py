"""The page Budget, and the content security policy, in a browser."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.support.fix_pages import Running

Visit = Callable[..., Page]


def test_another_roles_data_never_appears(visit: Visit) -> None:
    """Ana asks; Olga, an owner, sees it; Tess sees neither the question nor the role."""
    ana = visit("ana")
    ana.locator("[data-go=yours]").click()
    ana.locator("#column").select_option("rides.seats")
    expect(ana.locator("#statement")).to_contain_text("seats")
    ana.locator("#ask").click()
    expect(ana.locator("#after")).to_contain_text("harged")
    expect(ana.locator("#ask")).to_be_enabled()
    olga, tess = visit("olga", "budget"), visit("tess", "budget")
    expect(olga.locator("table.asked")).to_contain_text("width_bucket(seats")
    expect(olga.locator("#legend")).to_contain_text("analyst")
    assert "analyst" not in tess.content()
    assert "width_bucket(seats" not in tess.content()


def test_unknown_addresses_are_pages(visit: Visit, complaints: list[str]) -> None:
    """With a way back."""
    page = visit("ana", "budget")
    page.goto("/budgets")
    expect(page.locator("h1")).to_have_text("There is no such page")
    page.get_by_role("link", name="To the first page").click()
    page.wait_for_url("**/ask")
    assert all("404" in complaint for complaint in complaints)
    complaints.clear()


def test_budgets_are_told_as_risk(visit: Visit) -> None:
    """Spent and all of it, beside what the usual promises allow."""
    card = visit("tess", "budget").locator("article[data-name=third_party]")
    expect(card).to_contain_text("attribute")
    expect(card.locator("dd.bad")).to_contain_text("more than the ε ≤ 1.09 of the usual promises")


def test_charges_stay_in_their_card_when_clocks_differ(visit: Visit) -> None:
    """A browser whose clock is a day behind draws no line beyond the chart."""
    ana = visit("ana")
    ana.locator("[data-go=yours]").click()
    ana.locator("#column").select_option("rides.seats")
    expect(ana.locator("#statement")).to_contain_text("seats")
    ana.locator("#ask").click()
    expect(ana.locator("#after")).to_contain_text("harged")
    expect(ana.locator("#ask")).to_be_enabled()
    ana.clock.set_fixed_time(datetime.now(UTC) - timedelta(days=1))
    ana.goto("/budget")
    ana.wait_for_selector("body[data-done]")
    box, line = ana.locator("#charges").bounding_box(), ana.locator("#charges path[data-name]").bounding_box()
    assert box is not None
    assert line is not None
    assert line["width"] > 0
    assert box["x"] <= line["x"]
    assert line["x"] + line["width"] <= box["x"] + box["width"]


@pytest.mark.parametrize("path", ["ask", "explore", "choose", "budget"])
def test_levels_and_labels_stay_on_one_line_at_360_px(visit: Visit, path: str) -> None:
    """The name of a noise level, of a statistic or of a page is never broken."""
    page = visit("olga", path, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    broken = page.evaluate(
        """() => [...document.querySelectorAll("nav a, .segments span, #statistics th label")].filter((e) => {
             const range = document.createRange();
             const text = [...e.childNodes].find((node) => node.nodeType === 3 && node.textContent.trim());
             if (!text) return false;
             range.selectNodeContents(text);
             const lines = [...range.getClientRects()].filter((box) => box.width > 1).map((box) => Math.round(box.top));
             return new Set(lines).size > 1;
           }).map((e) => e.textContent)"""
    )
    assert broken == []


def test_inline_scripts_do_not_run(visit: Visit, complaints: list[str]) -> None:
    """The browser itself refuses what a mistake of ours might let in."""
    page = visit("ana", "budget")
    refused = page.evaluate(
        """() => new Promise((done) => {
             document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
             const script = document.createElement("script");
             script.textContent = "window.ran = true";
             document.body.append(script);
             setTimeout(() => done("nothing was refused"), 2000);
           })"""
    )
    assert refused == "script-src-elem"
    assert page.evaluate("window.ran") is None
    assert len(complaints) == 1
    complaints.clear()


def test_everything_comes_from_this_server(visit: Visit, running: Running) -> None:
    """No page asks another address for anything."""
    page = visit("olga")
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    for path in ("ask", "explore", "choose", "budget"):
        page.goto(f"/{path}")
        page.wait_for_selector("body[data-done]")
    assert len(addresses) > 15
    assert [address for address in addresses if not address.startswith(running.url)] == []
