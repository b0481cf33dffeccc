"""A reader's walk: each question leads from README to a heading in at most two links."""

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import PAGES, ROOT, headings, links

README = ROOT / "README.md"
QUESTIONS = {
    "how do I see how much budget is left": "See how much budget is left",
    "what can I do when no budget is left": "When nothing is left",
    "why is this group missing": "Why is this group missing?",
    "why did the number change since yesterday": "Why did the number change since yesterday?",
    "add a column's bounds": "Add a column's bounds",
    "add a table": "Add a table",
    "add a function log(b, x)": "Add a function: `log(b, x)`",
    "connect a BI tool": "Connect a BI tool",
    "renew a certificate": "Renew it",
    "what does an answer promise": "What is claimed",
    "what does this error mean": "BudgetExhausted 53400",
    "draw a chart with margins": "5. Draw",
}


def _reached(links_at_most: int) -> Iterator[str]:
    """Yield the headings of all pages that so many links lead to."""
    pages = {README}
    for _ in range(links_at_most):
        targets = {(page.parent / link.partition("#")[0]).resolve() for page in pages for link in links(page)}
        pages |= targets & set(PAGES)
    for page in pages - {README}:
        yield from headings(page)


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_is_two_links_away(question: str) -> None:
    """From README to a page with the heading."""
    assert QUESTIONS[question] in set(_reached(2))


def test_every_page_is_two_links_away() -> None:
    """No page is found by its name alone."""
    pages = {page for page in PAGES if page != README}
    assert {heading for page in pages for heading in headings(page)[:1]} <= set(_reached(2))


def test_readme_is_short() -> None:
    """What it is, a picture, two commands, a session, and links."""
    whole = README.read_text(encoding="utf-8")
    assert len(whole.splitlines()) < 120
    assert re.search(r"^!\[", whole, re.MULTILINE)
