"""A reader's walk: each question leads from README to a heading in at most two links."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest
from ruamel.yaml import YAML

from tests.docs.pages import PAGES, ROOT, headings, links
from tests.mutants.catalogue import MISTAKES

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
    """What it is, pictures, two commands, reasons to believe it, a session, and links."""
    whole = README.read_text(encoding="utf-8")
    assert len(whole.splitlines()) < 160
    assert re.search(r"^!\[", whole, re.MULTILINE)


def test_the_first_screen_says_what_it_is_and_how_to_begin() -> None:
    """For whom, and when not; two pictures; a way from a checkout and one without; what to type; numbers to believe."""
    first = README.read_text(encoding="utf-8").split("## A session")[0]
    for said in ("**For**", "**Not for**", "make demo", "pip install git+", "psql postgresql://", "## Why believe it"):
        assert said in first
    assert len(re.findall(r"!\[[^\]]+\]\(docs/pictures/\w+\.png\)", first)) == 2
    assert len(first.splitlines()) < 60


def test_what_is_said_of_peers_is_measured() -> None:
    """README's numbers are those of the page about peers."""
    said = " ".join(README.read_text(encoding="utf-8").split())
    found = re.search(
        r"dpsql answers (\d+), SmartNoise SQL (\d+) and Qrlew (\d+). Over a million trips these err by ([\d.]+) and ([\d.]+)",
        said,
    )
    assert found is not None
    measured = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    rows = [
        re.search(rf"\| {name} [\d.]+, 1,000,000 trips, PostgreSQL \| (\d+) \| ([\d.]*)", measured)
        for name in ("dpsql", "SmartNoise SQL", "Qrlew")
    ]
    counts, errors = zip(*(row.groups() for row in rows if row is not None), strict=True)
    assert found.groups() == (*counts, *errors[1:])


def test_what_is_said_of_tests_is_there() -> None:
    """As many attempts, comparisons and mistakes as README says, or a few more."""
    said = README.read_text(encoding="utf-8")
    mistakes = re.search(r"\[(\d+) mistakes\]", said)
    assert mistakes is not None
    assert 0 <= len(MISTAKES) - int(mistakes[1]) < 50
    for what, room in (("attempts", "attack"), ("comparisons", "properties")):
        number = re.search(rf"\[([\d,]+) {what}\]", said)
        assert number is not None
        counted = subprocess.run(  # noqa: S603 # ourselves
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "--no-header", "-m", "", f"tests/{room}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.count("::test_")
        assert 0 <= counted - int(number[1].replace(",", "")) < 400, room


@pytest.mark.parametrize("page", ["LICENSE", "SECURITY.md", "CONTRIBUTING.md", "CITATION.cff"])
def test_what_a_stranger_looks_for_is_there(page: str) -> None:
    """Under the names that people and sites know, and linked from README."""
    assert (ROOT / page).is_file()
    assert f"]({page})" in README.read_text(encoding="utf-8")


def test_the_citation_is_of_this_version() -> None:
    """The file is read by programs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["title"], cited["version"], cited["license"]) == (
        project["name"],
        project["version"],
        project["license"],
    )
    assert cited["abstract"].rstrip(".") == project["description"]


@pytest.mark.parametrize("name", ["sql", "guarantee", "operations"])
def test_pages_of_reference_are_divided_by_task(name: str) -> None:
    """The page and its parts, which it links to, have fewer than 5,000 words each."""
    whole, parts = ROOT / "docs" / f"{name}.md", sorted((ROOT / "docs" / name).glob("*.md"))
    assert len(parts) >= 3
    assert {link.partition("#")[0] for link in links(whole)} >= {f"{name}/{part.name}" for part in parts}
    assert [page.name for page in (whole, *parts) if len(page.read_text(encoding="utf-8").split()) >= 5_000] == []
