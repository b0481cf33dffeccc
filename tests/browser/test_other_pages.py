"""The pages Choose and Budget, and the policy, in a browser."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.fix_pages import Running

Visit = Callable[..., Page]


def test_the_largest_epsilon_that_fits(visit: Visit) -> None:
    """The chosen ε is judged against both limits, and the button returns to the largest that meets them."""
    page = visit("ana", "choose")
    expect(page.locator("#chosen")).to_have_text("1.0986")
    expect(page.locator("#verdict")).to_have_text("within both limits")
    page.locator("#epsilon").fill("3")
    expect(page.locator("#verdict")).to_have_text("too much: the largest that fits is 1.0986")
    page.get_by_role("button", name="Use the largest that fits").click()
    expect(page.locator("#verdict")).to_have_text("within both limits")


def test_the_curves_and_the_chosen_epsilon_are_drawn(visit: Visit) -> None:
    """Upper and tight bound, the requirement, and a line at ε that moves with the slider."""
    page = visit("ana", "choose")
    chart = page.locator("#study-chart")
    for name in ("upper", "tight"):
        expect(chart.locator(f"path[data-name={name}]")).to_have_count(1)
    expect(chart.locator("path.need")).to_have_count(1)
    before = chart.locator("path.chosen").get_attribute("d")
    page.get_by_label("ε of the answer, slider").press("PageDown")
    expect(chart.locator("path.chosen")).not_to_have_attribute("d", before or "")


def test_yaml_is_copied(visit: Visit) -> None:
    """What is on the clipboard is what is shown, with the level that was picked."""
    page = visit("ana", "choose", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("high").check()
    expect(page.locator("#yaml")).to_contain_text("noise: high")
    page.get_by_role("button", name="Copy as YAML").click()
    expect(page.locator("#copied")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#yaml").text_content()


def test_a_mistake_is_explained_beside_the_fields(visit: Visit, complaints: list[str]) -> None:
    """And goes away when it is corrected."""
    page = visit("ana", "choose")
    page.locator("#values").fill("1, 2, three")
    expect(page.locator("#study-error")).to_contain_text("each value must be a number")
    page.locator("#values").fill("1, 2, 3, 4")
    expect(page.locator("#study-error")).to_be_hidden()
    assert all("400" in complaint for complaint in complaints)
    complaints.clear()


def test_another_roles_data_never_appears(visit: Visit) -> None:
    """Ana asks; Olga, an owner, sees it; Tess sees neither the question nor the role."""
    ana = visit("ana")
    ana.locator("#choice").select_option("rides.seats")
    ana.get_by_role("button", name="Ask, for").click()
    expect(ana.locator("#after")).to_contain_text("left")
    olga, tess = visit("olga", "budget"), visit("tess", "budget")
    expect(olga.locator("table.asked")).to_contain_text("seats")
    expect(olga.locator("#legend")).to_contain_text("analyst")
    assert "analyst" not in tess.content()
    assert "seats" not in tess.content()


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
    for path in ("explore", "choose", "budget"):
        page.goto(f"/{path}")
        page.wait_for_selector("body[data-done]")
    assert len(addresses) > 10
    assert [address for address in addresses if not address.startswith(running.url)] == []
