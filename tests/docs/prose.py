"""How pages and code read: lengths of lines and sentences, and words that a native reader reads twice.

`make check` runs it: `python -m tests.docs.prose`. It is ours because no checker of PyPI fits: the package
vale fetches its program from GitHub when it first runs, and proselint takes code for prose and counts no words.
"""

import ast
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.docs.pages import PAGES, ROOT, missing_links, text

LONGEST_LINE = 140
LONGEST_SENTENCE = 32
"""In words; code is one, and so is a list of it, which is looked through and not read."""
INSTEAD: Mapping[str, str] = {
    r"thrice": "three times",
    r"seldom": "rarely",
    r"(?:who|what)ever": "anybody who, everything that",
    r"nobody who": "no user who",
    r"what is (?:known|found|told|measured|asked|left|wrong)": "a noun: facts, answers, measurements",
    r"who has more": "a noun: a unit with more rows",
    r"in the place of": "instead of",
    r"found out": "selected",
    r"alike": "in the same way",
    r"as it is(?! now)": "unchanged",
    r"thereby|therein|thereof|hereby|whereby": "by it, in it",
    r"shall": "must, will",
    r"be had": "be got",
    r"of late": "recently",
    r"h[au]ngs? on": "depends on",
    r"be it (?:a|an|the|of|cut|cast)": "also if it is",
    r"for want of": "because there is no",
    r"at hand": "there",
    r"whose it is": "its owner",
    r"(?:by|for|of) who (?:asks|has|is|reads|writes)": "a noun: users who, a client that",
    r"is there (?:no|for)": "there is no",
}
"""Words that are read twice, and others in their place."""
IDLE = frozenset({"one", "found", "known"})
"""Names that do not say what a thing is: a measurement, a column, a row."""
MOST_IDLE = 50
"""How often each of them may stand in all modules together."""
_WORDS = {re.compile(rf"\b(?:{word})\b", re.IGNORECASE): other for word, other in INSTEAD.items()}
_ANY_WORD = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)
_NO_NOUN = re.compile(r"^(?:What|Who|Whose|Whom|Which)\b(?!.*\?$)")
_NAMING = ("id", "arg", "attr", "name", "asname")
"""The parts of Python's syntax that are names."""
_COMMENT = re.compile(r"^[^\"']*# (?!noqa|type)|  # (?!noqa|type)", re.MULTILINE)
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
    heading: bool = False


def findings(page: Path) -> Iterator[Finding]:
    """Yield what is too long on a page, or is said in words that are read twice."""
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name
    whole = text(page)
    for number, line in _prose(whole):
        if len(line) > LONGEST_LINE and not line.lstrip().startswith(("|", "![", "<!--")):
            yield Finding(name, number, f"a line of {len(line)} characters, of {LONGEST_LINE}")
    for paragraph in _paragraphs(whole):
        for sentence in _END.split(paragraph.text):
            yield from (Finding(name, paragraph.line, said) for said in _said(sentence, heading=paragraph.heading))


def of_module(file: Path) -> Iterator[Finding]:
    """Yield mistakes in the docstrings and comments of a module; lengths count in its first paragraph alone."""
    name = file.relative_to(ROOT).as_posix()
    for line, paragraph in (*_docstrings(file), *_comments(file)):
        for sentence in _END.split(_plain(paragraph)):
            for said in _said(sentence, heading=False):
                if line == 1 or not said.startswith("a sentence of"):
                    yield Finding(name, line, said)


def _docstrings(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of all docstrings, those of fields among them: the module's first one at line 1."""
    for node in _nodes(file):
        match node:
            case ast.Expr(value=ast.Constant(value=str(whole))):
                for number, paragraph in enumerate(whole.split("\n\n")):
                    yield node.lineno + number, " ".join(paragraph.split())


@cache
def _nodes(file: Path) -> Sequence[ast.AST]:
    return [*ast.walk(ast.parse(text(file)))]


def _comments(file: Path) -> Iterator[tuple[int, str]]:
    if not _COMMENT.search(text(file)):
        return
    with file.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT and not token.string.startswith(("# noqa", "# type")):
                yield token.start[0], token.string.lstrip("# ")


def idle_names(files: Iterable[Path]) -> Iterator[str]:
    """Yield the names that say nothing and stand in the files too often."""
    nodes = (node for file in files for node in _nodes(file))
    times = Counter(name for node in nodes for part in _NAMING if (name := getattr(node, part, None)) in IDLE)
    for name in sorted(name for name in times if times[name] > MOST_IDLE):
        yield f"dpsql: the name {name} {times[name]} times, of {MOST_IDLE}: say what the thing is"


def _said(sentence: str, *, heading: bool) -> Iterator[str]:
    words = [word for word in sentence.split() if re.search(r"\w|…", word)]
    begins = " ".join(words[:6])
    if len(words) > LONGEST_SENTENCE:
        yield f"a sentence of {len(words)} words, of {LONGEST_SENTENCE}: {begins} …"
    if _NO_NOUN.search(sentence) and not heading:
        yield f"a sentence whose subject is no noun: {begins} …"
    for word, other in _WORDS.items() if _ANY_WORD.search(sentence) else ():
        if match := word.search(sentence):
            yield f"“{match[0]}”, better: {other}: {begins} …"


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
    for number, line in (*_prose(whole), (0, "")):
        mark = _MARK.match(line)
        assert mark
        cells = line.strip().strip("|").split(" | ") if line.lstrip().startswith("|") else []
        begins = not line.strip() or bool(mark[0].strip()) or cells or number != begun + len(gathered)
        if begins and gathered:
            joined = " ".join(gathered)
            yield Paragraph(begun, _plain(joined), heading=bool(_LINK.fullmatch(joined)))
            gathered = []
        if line.startswith("#"):
            yield Paragraph(number, _plain(line[mark.end() :]), heading=True)
        elif cells:
            yield from (Paragraph(number, _plain(part), heading=True) for cell in cells for part in cell.split(" · "))
        elif line.strip():
            begun = begun if gathered else number
            gathered.append(line[mark.end() :] if not gathered else line.strip())


def _plain(line: str) -> str:
    return _LINK.sub(r"\1", _SPAN.sub("…", line)).replace("**", "").strip()


def _checked() -> int:
    """Print what is wrong on the pages, in modules and with their names; and links that lead nowhere."""
    held = [finding for page in PAGES for finding in findings(page)]
    held += [finding for file in (ROOT / "dpsql").rglob("*.py") for finding in of_module(file)]
    lost = [f"{page.relative_to(ROOT)}: {link} leads nowhere" for page in PAGES for link in missing_links(page)]
    idle = [*idle_names((ROOT / "dpsql").rglob("*.py"))]
    for said in (*held, *lost, *idle):
        sys.stdout.write(f"{said}\n")
    return 1 if held or lost or idle else 0


if __name__ == "__main__":
    sys.exit(_checked())
