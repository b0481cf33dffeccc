"""What a screen reader says of the page Explore, in its order: `python -m tests.browser.transcript` writes it anew."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dpsql.web.explore import story_file

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.support.fix_pages import Running

TRANSCRIPT = Path(__file__).with_name("transcript.txt")
SAME_DICE = "crypto.getRandomValues = (words) => words.map((_, i) => (words[i] = (i * 2654435761) >>> 0))"
"""The browser's random source, turned into one that always says the same, so that no number changes."""
STORY, ARRIVAL, ANSWER = "The story", "Your data, before anything is asked", "Your data, after an answer"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2} \d\d:\d\d")


def committed(title: str) -> str:
    """Return one part of the transcript."""
    return TRANSCRIPT.read_text(encoding="utf-8").split(f"=== {title}\n")[1].split("\n===")[0].strip()


def story(page: "Page") -> str:
    """Return the roles, names and texts of a page that has come to rest, in the order in which they are read."""
    page.locator("#told", has_text="ε").wait_for(state="attached")
    return str(page.locator("body").aria_snapshot())


def your_data(page: "Page", served: "Running") -> Iterator[str]:
    """Yield what is said of one's own data on arrival, and once a question was answered."""
    page.add_init_script(SAME_DICE)
    page.goto(f"{served.url}login")
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill(served.passwords["ana"])
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/ask")
    page.goto(f"{served.url}explore")
    page.wait_for_selector("body[data-done]")
    page.locator("[data-go=yours]").click()
    page.locator("#statement", has_text="SELECT").wait_for()
    yield _said_of_yours(page)
    page.locator("#ask").click()
    page.locator("#before", has_text="paid for this").wait_for()
    yield _said_of_yours(page)


def _said_of_yours(page: "Page") -> str:
    page.wait_for_timeout(700)  # until the sentence for screen readers has come to rest
    picture, text = (page.locator(part).aria_snapshot() for part in (".stage", "#yours"))
    return _DAY.sub("2026-03-01 08:12", f"{picture}\n{text}")


def opened_file(browser: "Browser", directory: Path) -> "Page":
    """Open the story as one file, without any server."""
    file = directory / "explore.html"
    file.write_text(story_file(), encoding="utf-8")
    page = browser.new_page()
    page.add_init_script(SAME_DICE)
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-done]")
    return page


def main() -> None:
    """Write the transcript."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  an extra

    from tests.support.fix_pages import rides  # noqa: PLC0415  needs pytest

    with tempfile.TemporaryDirectory(prefix="dpsql-transcript-") as directory, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with rides() as served:
            said = [story(opened_file(browser, Path(directory))), *your_data(browser.new_page(), served)]
        browser.close()
    parts = (f"=== {title}\n{text}\n" for title, text in zip((STORY, ARRIVAL, ANSWER), said, strict=True))
    TRANSCRIPT.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
