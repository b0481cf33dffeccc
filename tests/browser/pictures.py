"""Takes the pictures of docs/web.md from the demo's data: `python -m tests.browser.pictures`."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from playwright.sync_api import Browser, Page, sync_playwright

from dpsql.demo.setting import demo_config, new_passwords
from dpsql.policy.config import Config, Listen
from dpsql.server import Server

PICTURES = Path(__file__).parent.parent.parent / "docs" / "pictures"
_QUESTIONS = {
    "olga": (6, "1", "SELECT date_trunc('day', pickup_ts) AS day, COUNT(*) FROM trips WHERE fare > {} GROUP BY 1"),
    "ana": (10, "0.5", "SELECT payment_type, AVG(tip) FROM trips WHERE trip_distance > {} GROUP BY payment_type"),
    "tess": (20, "0.2", "SELECT passenger_count, SUM(total) FROM trips WHERE fare < {} GROUP BY 1"),
}
"""How many questions each user asks, at which ε."""
_WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
_TALL: dict[str, Any] = {"viewport": {"width": 1280, "height": 1180}}
_PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "color_scheme": "dark"}


def _run(passwords: Mapping[str, str], started: Future[tuple[str, int, str]], stop: threading.Event) -> None:
    with tempfile.TemporaryDirectory(prefix="dpsql-pictures-") as directory:
        Path(directory).chmod(0o711)
        config = replace(demo_config(Path(directory), passwords, 0), web=Listen("127.0.0.1", 0))
        asyncio.run(_serve(config, started, stop))


async def _serve(config: Config, started: Future[tuple[str, int, str]], stop: threading.Event) -> None:
    async with Server(config) as server:
        assert server.pages is not None
        started.set_result((*server.address, server.pages))
        await asyncio.to_thread(stop.wait)


def _ask(passwords: Mapping[str, str], host: str, port: int) -> None:
    for user, (times, epsilon, question) in _QUESTIONS.items():
        with psycopg.connect(host=host, port=port, user=user, password=passwords[user], dbname="taxi") as connection:
            connection.execute(f"SET dpsql.epsilon = '{epsilon}'".encode())
            for i in range(times):
                connection.execute(question.format(1 + i).encode())


def _open(browser: Browser, url: str, password: str, options: dict[str, Any]) -> Page:
    page = browser.new_context(base_url=url, **options).new_page()
    page.goto("/login")
    page.get_by_label("Name").fill("olga")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("body[data-done]")
    page.goto("/explore")
    page.wait_for_selector("body[data-done]")
    page.locator("[data-go=worlds]").click()
    page.locator("#worlds.now").wait_for()
    page.locator("#epsilon").fill("1.1")
    page.wait_for_timeout(500)
    return page


def _take(page: Page, name: str) -> None:
    page.screenshot(path=PICTURES / f"{name}.png", full_page=name == "budget")


_BY_DAY = """SELECT date_trunc('day', pickup_ts) AS day, payment_type, count(*), avg(fare)
FROM trips
WHERE payment_type IS NOT NULL
GROUP BY 1, 2
ORDER BY 1"""


def _asked(page: Page) -> Page:
    """Ask on the page Ask, and show the statement above its answer."""
    page.goto("/ask")
    page.wait_for_selector("body[data-done]")
    page.get_by_role("textbox", name="SQL statement").fill(_BY_DAY)
    page.locator("#price .errors").wait_for()
    page.locator("#ask").click()
    page.locator("#chart svg").wait_for()
    page.locator("#price .good").wait_for()
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.wait_for_timeout(800)
    return page


def _pictures(browser: Browser, url: str, password: str) -> None:
    wide = _open(browser, url, password, _WIDE)
    _take(wide, "explore")
    for name in ("choose", "budget"):
        wide.goto(f"/{name}")
        wide.wait_for_selector("body[data-done]")
        _take(wide, name)
    _take(_open(browser, url, password, _PHONE), "phone")
    _take(_asked(_open(browser, url, password, _TALL)), "ask")
    phone = _asked(_open(browser, url, password, _PHONE))
    phone.locator("#answered").scroll_into_view_if_needed()
    phone.evaluate("document.getElementById('answered').scrollIntoView()")
    _take(phone, "ask-phone")


def main() -> None:
    """Serve, ask, take."""
    passwords = new_passwords()
    stop, started = threading.Event(), Future[tuple[str, int, str]]()
    thread = threading.Thread(target=_run, args=(passwords, started, stop))
    thread.start()
    try:
        host, port, url = started.result(300)
        _ask(passwords, host, port)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            _pictures(browser, url, passwords["olga"])
            browser.close()
    finally:
        stop.set()
        thread.join()


if __name__ == "__main__":
    main()
