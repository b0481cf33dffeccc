"""Builds the pages as a site, with search: `make docs`, or `python -m docs.site DIRECTORY` where Zensical is installed.

The pages stay as they are read in a checkout, and the site is made of copies. README is its front page, what a link names
outside of the pages is shown without the link, and a fenced block keeps the first word of its info string. Warnings end the
build, so a link that leads nowhere on the site does.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FRONT = {"README.md": "index.md"}
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "CITATION.cff")
"""What stands beside README and is a page, or is shown as one."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|!\[[^\]]*\]\([^)\s]*\))*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^( *```)(\w+) [^\n`]+$", re.MULTILINE)
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_PARTS = {
    "Begin": ("tour.md", "concepts.md", "thirty-minutes.md", "how-to"),
    "Ask": ("what-is-answered.md", "sql.md", "sql", "errors.md", "clients.md", "agents.md", "web.md", "others-ask.md"),
    "Own data": ("choosing-epsilon.md", "configuration.md", "gallery/README.md"),
    "Operate": ("operations.md", "operations", "deploy.md", "engines.md", "databases.md", "scale.md"),
    "Believe": ("guarantee.md", "guarantee", "accuracy.md", "peers.md", "speed.md", "decisions"),
    "Change": ("development.md", "way.md", "tests.md"),
}
"""The parts of the site: pages, and directories of pages."""


def pages() -> dict[Path, Path]:
    """Return where each file of the pages lies on the site."""
    docs = ROOT / "docs"
    found = {ROOT / name: Path(to) for name, to in FRONT.items()}
    found |= {ROOT / name: Path(name).with_suffix(".md") for name in BESIDE}
    # No page of the site is called as README is: that would be another front page.
    files = sorted(file for file in docs.rglob("*") if file.suffix in {".md", ".png", ".svg", ".json"})
    return found | {file: _moved(file.relative_to(docs)) for file in files}


def _moved(file: Path) -> Path:
    return file.parent / "index.md" if file.name == "README.md" else file


def written(page: Path, places: dict[Path, Path]) -> str:
    """Return a page as the site has it."""
    whole = page.read_text(encoding="utf-8")
    if page.suffix != ".md":
        return f"# {page.name}\n\n```text\n{whole.rstrip()}\n```\n"
    parts = _FENCED.split(_FENCE.sub(r"\1\2", whole))
    return "".join(part if place % 2 else _linked(part, page, places) for place, part in enumerate(parts))


def _linked(text: str, page: Path, places: dict[Path, Path]) -> str:
    def replaced(match: re.Match[str]) -> str:
        mark, words, link = match.groups()
        words = _LINK.sub(replaced, words)
        if re.match(r"https?://|mailto:|#", link):
            return f"{mark}[{words}]({link})"
        place, sharp, anchor = link.partition("#")
        target = places.get((page.parent / place).resolve())
        if target is None:
            return words
        up = len(places[page].parent.parts)
        return f"{mark}[{words}]({'../' * up}{target.as_posix()}{sharp}{anchor})"

    return _LINK.sub(replaced, text)


def _navigation(places: dict[Path, Path]) -> list[object]:
    there = [to.as_posix() for to in places.values() if to.suffix == ".md"]

    def of(part: str) -> Iterator[str]:
        name = part.replace("README.md", "index.md")
        yield from (to for to in there if to == name or to.startswith(f"{name}/"))

    parts: list[object] = [{part: [to for name in names for to in of(name)]} for part, names in _PARTS.items()]
    return [{"dpsql": "index.md"}, *parts, {"Project": [place for place in there if place[0].isupper()]}]


def _configured(places: dict[Path, Path]) -> str:
    values = {"site_name": "dpsql", "docs_dir": "pages", "site_dir": "site", "nav": _navigation(places)}
    lines = "\n".join(f"{name} = {_toml(value)}" for name, value in values.items())
    return f"""[project]
{lines}
[project.theme]
language = "en"
font = false
features = ["navigation.sections", "navigation.indexes", "navigation.top", "search.highlight", "content.code.copy"]
[project.markdown_extensions]
tables = {{}}
attr_list = {{}}
[project.markdown_extensions.toc]
permalink = true
slugify = {{object = "pymdownx.slugs.slugify", kwds = {{case = "lower"}}}}
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
"""


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def build(site: Path) -> None:
    """Build the site in a directory.

    Raises:
        CalledProcessError: a link leads nowhere, or Zensical warns of something else.
    """
    places = pages()
    with tempfile.TemporaryDirectory(prefix="dpsql-site-") as name:
        work = Path(name)
        for page, to in places.items():
            file = work / "pages" / to
            file.parent.mkdir(parents=True, exist_ok=True)
            if to.suffix == ".md":
                file.write_text(written(page, places), encoding="utf-8")
            else:
                file.write_bytes(page.read_bytes())
        (work / "zensical.toml").write_text(_configured(places), encoding="utf-8")
        zensical = Path(sys.executable).parent / "zensical"
        subprocess.run([zensical, "build", "--strict", "--clean"], cwd=work, check=True)  # noqa: S603
        shutil.copytree(work / "site", site, dirs_exist_ok=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
