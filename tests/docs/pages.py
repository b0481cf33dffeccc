"""The pages of the documentation, taken apart: fenced blocks, links, and words in code type."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]
_AT_THE_TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = (*(ROOT / name for name in _AT_THE_TOP), *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: the language and the words after it say what a test does with it."""

    page: str
    number: int
    info: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.page}-{self.number}"


def blocks(*info: str) -> list[Block]:
    """Return the blocks of all pages whose info string begins with these words."""
    return [block for page in PAGES for block in _blocks(page) if block.info[: len(info)] == info]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", text(page))


def links(page: Path) -> list[str]:
    """Return where the links and pictures of a page lead."""
    return _LINK.findall(prose(page))


def missing_links(page: Path) -> list[str]:
    """Return the links of a page that lead to no file, or to no heading of one; other servers are not asked."""
    return [link for link in links(page) if not re.match(r"https?://|mailto:", link) and not leads(page, link)]


def leads(page: Path, link: str) -> bool:
    """Return whether a link leads to a file, and to a heading of it if it names one."""
    place, _, anchor = link.partition("#")
    target = (page.parent / place).resolve() if place else page
    return target.exists() and (not anchor or anchor in anchors(target))


def code(page: Path) -> set[str]:
    """Return what stands in code type in a page's prose."""
    return set(_CODE.findall(prose(page)))


def anchors(page: Path) -> set[str]:
    """Return the anchors that a reader's browser finds on a page, one a heading."""
    return {_anchor(heading) for heading in headings(page)}


def headings(page: Path) -> list[str]:
    """Return a page's headings, its title first."""
    return _HEADING.findall(prose(page))


def text(page: Path) -> str:
    """Return a page as it stands."""
    return page.read_text(encoding="utf-8")


def statements(block: Block) -> list[str]:
    """Return the statements of a block; comments lines are no statements."""
    parts = (part.strip() for part in block.text.split(";\n"))
    return [part.rstrip(";") for part in parts if part.strip()]


def _blocks(page: Path) -> Iterator[Block]:
    for number, fence in enumerate(_FENCE.finditer(text(page)), start=1):
        yield Block(page.relative_to(ROOT).as_posix(), number, tuple(fence[2].split()), dedent(fence[3]))


def _anchor(heading: str) -> str:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
