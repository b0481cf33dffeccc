"""Links lead somewhere, commands exist, and what is named as a test is one."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from docs.functions import PAGE as FUNCTIONS_PAGE
from docs.functions import tables, written
from dpsql.cli.main import app
from dpsql.rewrite.syntax.named.aggregate_names import NAMES
from tests.docs.pages import PAGES, ROOT, blocks, code, leads, links, prose, text

LINKS = [(page, link) for page in PAGES for link in links(page) if not re.match(r"https?://|mailto:", link)]


def _named(page: Path, *more: object) -> str:
    return "-".join(map(str, (page.relative_to(ROOT), *more)))


@pytest.mark.parametrize(("page", "link"), LINKS, ids=[_named(*pair) for pair in LINKS])
def test_links_lead_somewhere(page: Path, link: str) -> None:
    """The file is there; a heading of that name is in it."""
    assert leads(page, link)


FILES = [
    (page, said, target)
    for page in PAGES
    for said, target in re.findall(r"\[`?([\w./]+\.(?:py|md|yaml|sql|txt))`?\]\(([^)#]+)", text(page))
]


@pytest.mark.parametrize(("page", "said", "target"), FILES, ids=[_named(*three) for three in FILES])
def test_what_is_said_to_be_a_file_is_the_one_that_is_linked(page: Path, said: str, target: str) -> None:
    """A file that was moved is named as it is now."""
    assert Path(said).name == Path(target).name, page


def _commands() -> Iterator[list[str]]:
    """Yield the words after `dpsql` wherever the pages call it."""
    for block in (*blocks("console"), *blocks("sh")):
        for line in block.text.replace("\\\n", " ").splitlines():
            if match := re.match(r"(?:\$ )?(?:\.venv/bin/)?dpsql (.+)", line):
                yield shlex.split(match[1], comments=True)
    for page in PAGES:
        yield from (words.split()[1:] for words in code(page) if re.fullmatch(r"dpsql [a-z-][^…]*", words))


COMMANDS = sorted({tuple(words) for words in _commands()})


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_exist(words: tuple[str, ...]) -> None:
    """The command line knows the command and its options."""
    command: Any = typer.main.get_command(app)  # of click, which typer has taken in
    rest = list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands
        command = command.commands[rest.pop(0)]
    options = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    assert {word for word in rest if re.match(r"--?[a-z]", word)} <= options


def test_make_targets_exist() -> None:
    """Every `make …` of the pages is a target."""
    targets = set(re.findall(r"^([a-z-]+):", text(ROOT / "Makefile"), re.MULTILINE))
    said = {word for page in PAGES for word in re.findall(r"(?:`|^|\n)make ([a-z-]+)", text(page))}
    assert "demo" in said
    assert said <= targets


def test_log_messages_are_logged() -> None:
    """What the page of operations says about the log is what the code writes there."""
    table = text(ROOT / "docs" / "operations" / "watching.md").split("## Logs")[1].split("\n## ")[0]
    shown = [
        word
        for line in table.splitlines()
        if line.startswith("| `")
        for word in re.findall(r"`([^`]+)`", line[: line.find("|", 3)])
    ]
    code = " ".join(text(file) for file in (ROOT / "dpsql").rglob("*.py"))
    written = {re.sub(r"%[srd]", "…", said) for said in re.findall(r'_(?:LOG|RATE_LIMITED)\.\w+\(\s*"([^"]+)"', code)}
    assert shown
    assert [word for word in shown if not any(said.startswith(word) for said in written)] == []


def test_tests_that_are_named_exist() -> None:
    """A claim that names a test which is gone is no claim."""
    defined = {
        name
        for file in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"^def (test_\w+)", text(file), re.MULTILINE)
    }
    named = {word for page in PAGES for word in code(page) if re.fullmatch(r"test_\w+", word)}
    assert sorted(named - defined) == []


def test_files_that_are_named_exist() -> None:
    """A path of the source tree in code type is one."""
    paths = {
        word for page in PAGES for word in code(page) if re.fullmatch(r"(?:dpsql|tests|docs|benchmarks)/[\w./]+", word)
    }
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_tables_of_functions_are_current() -> None:
    """`python -m docs.functions` was run after the last change of the functions."""
    page = text(FUNCTIONS_PAGE)
    assert written(page) == page
    assert page.count("written by docs/functions.py") == len(tables())


def test_every_aggregate_is_named() -> None:
    """Those that are answered and those that are not."""
    page = prose(ROOT / "docs" / "sql.md")
    assert sorted(name for name in NAMES if not re.search(rf"\b{name}\b", page)) == []


def test_what_is_to_be_installed_is_installed_from_a_checkout() -> None:
    """No index has a package of our name: whoever has dpsql has its source, whose extras pip knows."""
    extras = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    sources = [file for file in (ROOT / "dpsql").rglob("*") if file.suffix in {".py", ".html", ".js", ".yaml"}]
    said = [
        requirement
        for file in (*PAGES, *sources)
        for requirement in re.findall(r"pip install (?:-\S+ )*'([^']+)'", text(file))
    ]
    assert "dpsql" not in {requirement.partition("[")[0] for requirement in said}
    assert (
        {requirement for requirement in said if requirement.startswith(".")}
        == {".[databases]", ".[mcp]", ".[metrics]", ".[plots]", ".[png]", ".[spark]"}
        <= {f".[{name}]" for name in extras}
    )
