"""`make docs` makes a site of the pages, with search; what leads nowhere on it ends the build."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from docs.site import pages
from tests.docs.pages import ROOT, anchors, headings

ZENSICAL = Path(os.environ.get("SITE") or ROOT / ".venv" / "site").resolve() / "bin" / "python"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site."""
    if not ZENSICAL.is_file():
        pytest.skip("make docs installs what makes the site")
    site = tmp_path_factory.mktemp("site")
    subprocess.run([ZENSICAL, "-m", "docs.site", site], cwd=ROOT, check=True)  # noqa: S603 # our own
    return site


def _built(site: Path, to: Path) -> Path:
    return site / (to.parent if to.name == "index.md" else to.with_suffix("")) / "index.html"


def test_every_page_and_heading_is_on_the_site(site: Path) -> None:
    """By the anchors that links in pages, hints and code have."""
    for page, to in pages().items():
        if page.suffix == ".md":
            ids = set(re.findall(r' id="([^"]+)"', _built(site, to).read_text(encoding="utf-8")))
            assert anchors(page) <= ids, page


def test_the_search_knows_every_page(site: Path) -> None:
    """It looks through an index of our own, and asks nobody."""
    index = (site / "search.json").read_text(encoding="utf-8")
    found = json.loads(index)
    assert found
    for page, to in pages().items():
        if page.suffix == ".md":
            title = re.sub(r"[`*]", "", headings(page)[0])
            assert title.split()[0] in index, to


def test_blocks_and_lists_are_read_as_in_a_checkout(site: Path) -> None:
    """No fence is left as text, and no list is a paragraph."""
    for page, to in pages().items():
        if page.suffix == ".md":
            whole = re.sub(r"<code.*?</code>", "", _built(site, to).read_text(encoding="utf-8"), flags=re.DOTALL)
            assert "```" not in whole, page
            assert not re.search(r"<p>(?:(?!</p>).)*?\n(?:- |\d+\. |\|).*?</p>", whole, re.DOTALL), page


def test_what_leads_nowhere_ends_the_build(site: Path, tmp_path: Path) -> None:
    """As a page does that is not there."""
    assert site
    program = (
        "import sys; from pathlib import Path; from docs import site; written = site.written;"
        "site.written = lambda page, places: written(page, places) + '\\n[away](nowhere.md)\\n';"
        "site.build(Path(sys.argv[1]))"
    )
    done = subprocess.run(  # noqa: S603 # our own
        [ZENSICAL, "-c", program, tmp_path / "site"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "page does not exist" in done.stdout + done.stderr
