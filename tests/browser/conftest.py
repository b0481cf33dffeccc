"""Debian's Chromium, driven by Playwright; without either the tests here are left out."""

import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.fix_pages import Running, running  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
collect_ignore_glob = [] if CHROMIUM and find_spec("playwright") else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let only `make test-browser` run them."""
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Browser]":
    """Give a browser."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  an extra

    with sync_playwright() as playwright:
        # The sandbox of the browser refuses to run as root; the pages are our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about; at the end of a test there must be nothing left."""
    return []


@pytest.fixture
def visit(
    chromium: "Browser",
    running: Running,  # noqa: F811
    complaints: list[str],
) -> "Iterator[Callable[..., Page]]":
    """Give a function that opens a page as a user."""
    contexts = []

    def visit(user: str, path: str = "explore", **options: Any) -> "Page":
        context = chromium.new_context(base_url=running.url, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        # What is broken off since the page is left, such as its icon, has not failed.
        page.on(
            "requestfailed",
            lambda request: complaints.append(request.url) if request.failure != "net::ERR_ABORTED" else None,
        )
        page.goto("/login")
        page.get_by_label("Name").fill(user)
        page.get_by_label("Password").fill(running.passwords[user])
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/ask")
        page.wait_for_selector("body[data-done]")
        if path != "ask":
            page.goto(f"/{path}")
            page.wait_for_selector("body[data-done]")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
