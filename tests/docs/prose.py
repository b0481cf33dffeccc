"""How pages read: lengths of lines and of sentences, and links that lead somewhere.

`make check` runs it: `python -m tests.docs.prose`. It is ours because no checker of PyPI fits: the package
vale fetches its program from GitHub when it first runs, and proselint takes code for prose and counts no words.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import PAGES, ROOT, missing_links, text

LONGEST_LINE = 140
LONGEST_SENTENCE = 32
"""In words; code is one, and so is a list of it, which is looked through and not read."""
_SHORTEST_QUOTED = 60
"""In characters, of a line of a quotation that goes on in the next: shorter ones were broken by an editor."""
_FENCE = re.compile(r"^ *```")
_MARK = re.compile(r"^ *(?:[-*] |\d+\. |> |#+ )?")
_SPAN = re.compile(r"`[^`]*`(?:, `[^`]*`)*")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_END = re.compile(r"(?<=[.!?])[)*_\"]*\s+")


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that has to be written otherwise."""

    page: str
    line: int
    said: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.said}"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines of prose that belong together."""

    line: int
    text: str


def findings(page: Path) -> Iterator[Finding]:
    """Yield the lines and sentences of a page that are too long, and quotations that were broken."""
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name
    whole = text(page)
    for number, line in _prose(whole):
        if len(line) > LONGEST_LINE and not line.lstrip().startswith(("|", "![", "<!--")):
            yield Finding(name, number, f"a line of {len(line)} characters, of {LONGEST_LINE}")
    for number, said in _broken_quotations(whole):
        yield Finding(name, number, said)
    for paragraph in _paragraphs(whole):
        for sentence in _END.split(paragraph.text):
            words = [word for word in sentence.split() if re.search(r"\w|…", word)]
            if len(words) > LONGEST_SENTENCE:
                said = f"a sentence of {len(words)} words, of {LONGEST_SENTENCE}: {' '.join(words[:6])} …"
                yield Finding(name, paragraph.line, said)


def _broken_quotations(whole: str) -> Iterator[tuple[int, str]]:
    lines = [*_prose(whole), (0, "")]
    for (number, line), (_, after) in pairwise(lines):
        if not line.startswith("> "):
            continue
        said = _SPAN.sub("…", line[2:]).rstrip()
        if re.search(r"\s>(\s|$)", said):
            yield number, "a mark of a quotation within a line"
        elif len(line) < _SHORTEST_QUOTED and after.startswith("> ") and not re.search(r"[.:!?*]$", said):
            yield number, "a line of a quotation that ends early"


def _prose(whole: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that stand in no fenced block, with their numbers."""
    fenced = False
    for number, line in enumerate(whole.splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _paragraphs(whole: str) -> Iterator[Paragraph]:
    """Yield paragraphs, items of lists, parts of tables' cells and headings, without links and marks; code is one word."""
    gathered: list[str] = []
    begun = 0
    quoted = False
    for number, line in (*_prose(whole), (0, "")):
        mark = _MARK.match(line)
        assert mark
        cells = line.strip().strip("|").split(" | ") if line.lstrip().startswith("|") else []
        goes_on = quoted and line.startswith("> ")
        quoted = line.startswith("> ")
        marked = bool(mark[0].strip()) and not goes_on
        begins = not line.strip() or marked or cells or number != begun + len(gathered)
        if begins and gathered:
            joined = " ".join(gathered)
            yield Paragraph(begun, _plain(joined))
            gathered = []
        if line.startswith("#"):
            yield Paragraph(number, _plain(line[mark.end() :]))
        elif cells:
            yield from (Paragraph(number, _plain(part)) for cell in cells for part in cell.split(" · "))
        elif line.strip():
            begun = begun if gathered else number
            gathered.append(line[mark.end() :].strip())


def _plain(line: str) -> str:
    return _LINK.sub(r"\1", _SPAN.sub("…", line)).replace("**", "").strip()


def _checked() -> int:
    """Print what is too long on the pages, and links that lead nowhere."""
    held = [finding for page in PAGES for finding in findings(page)]
    lost = [f"{page.relative_to(ROOT)}: {link} leads nowhere" for page in PAGES for link in missing_links(page)]
    for said in (*held, *lost):
        sys.stdout.write(f"{said}\n")
    return 1 if held or lost else 0


if __name__ == "__main__":
    sys.exit(_checked())
