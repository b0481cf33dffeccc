"""The page Budget, and the content security policy, in a browser."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.fix_pages import Running

Visit = Callable[..., Page]


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
