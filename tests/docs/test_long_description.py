"""What a package index shows of README: no link that needs the files beside it, since they are not there."""

import re
import shutil
import subprocess
import sys
import tarfile
from email import message_from_string
from pathlib import Path

import pytest

from docs.long_description import shown
from tests.docs.pages import ROOT, anchors, links

_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the sources, unpacked: its PKG-INFO is what an index reads."""
    place = tmp_path_factory.mktemp("sources")
    few = place / "few"
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "docs/long_description.py",
        "dpsql/web/static/built/licences.txt",
    ):
        (few / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, few / name)
    built = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(place)]
    subprocess.run(built, cwd=few, check=True)  # noqa: S603
    (archive,) = place.glob("dpsql-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    return place / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def description(sources: Path) -> str:
    """README as an index has it."""
    read = message_from_string((sources / "PKG-INFO").read_text(encoding="utf-8"))
    assert read["Description-Content-Type"] == "text/markdown"
    payload = read.get_payload()
    assert isinstance(payload, str)
    return payload


def test_every_link_leads_somewhere(description: str) -> None:
    """To an address, or to a heading of the description itself; so no picture is left that lies beside README."""
    left = _LINK.findall(description)
    assert len(left) > 5
    assert [link for link in left if not re.match(r"https?://|#", link)] == []
    assert {link[1:] for link in left if link.startswith("#")} <= anchors(ROOT / "README.md")
    assert "src=" not in description


def test_files_are_named(description: str) -> None:
    """Whoever reads it knows where in the sources a page is."""
    beside = {
        link.partition("#")[0]
        for link in links(ROOT / "README.md")
        if not re.match(r"https?://|#|docs/pictures/", link)
    }
    assert "docs/guarantee.md" in beside
    assert [file for file in beside if file not in description] == []


def test_a_wheel_of_the_archive_has_the_same(sources: Path, description: str) -> None:
    """The hook is in the archive."""
    built = [sys.executable, "-m", "hatchling", "metadata", "readme"]
    assert description.strip() in subprocess.run(built, cwd=sources, check=True, capture_output=True, text=True).stdout  # noqa: S603


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("see [the *guarantee*](docs/guarantee.md#claim) first", "see the *guarantee* (docs/guarantee.md) first"),
        ("[docs/sql.md](docs/sql.md)", "docs/sql.md"),
        ("[here](#claim), [there](https://example.org/a#b)", "[here](#claim), [there](https://example.org/a#b)"),
        ("above\n\n![two boxes](docs/two.svg)\n\nbelow", "above\n\nbelow"),
        ("| [![a page](docs/page.png)](docs/web.md) |", "| a page (docs/web.md) |"),
        ("![a sign](https://example.org/sign.svg)", "![a sign](https://example.org/sign.svg)"),
        (
            "[![a sign](https://example.org/sign.svg)](docs/web.md)",
            "![a sign](https://example.org/sign.svg) (docs/web.md)",
        ),
        ("```md\n[a](b.md)\n```\n[a](b.md)", "```md\n[a](b.md)\n```\na (b.md)"),
    ],
)
def test_links_are_kept_or_named(page: str, said: str) -> None:
    """Each kind by itself."""
    assert shown(page) == said
