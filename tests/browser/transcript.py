"""What a screen reader says of the story, from beginning to end: `python -m tests.browser.transcript` writes it anew."""

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dpsql.web.story_file import story_file

if TYPE_CHECKING:
    from playwright.sync_api import Page

TRANSCRIPT = Path(__file__).with_name("transcript.txt")
SAME_DICE = "crypto.getRandomValues = (words) => words.map((_, i) => (words[i] = (i * 2654435761) >>> 0))"
"""The browser's random source, turned into one that always says the same, so that no number changes."""


def transcript(page: "Page") -> str:
    """Return the roles, names and texts of a page that has come to rest, in the order in which they are read."""
    page.locator("#told", has_text="ε").wait_for(state="attached")
    return f"{page.locator('body').aria_snapshot()}\n"


def main() -> None:
    """Write the transcript."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  an extra

    with tempfile.TemporaryDirectory(prefix="dpsql-transcript-") as directory, sync_playwright() as playwright:
        file = Path(directory) / "explore.html"
        file.write_text(story_file(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.add_init_script(SAME_DICE)
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-done]")
        TRANSCRIPT.write_text(transcript(page), encoding="utf-8")
        browser.close()


if __name__ == "__main__":
    main()
