"""Tests mirror the rooms: a module has a test file of its own, or its room's README says why not."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("accounting", "privacy", "rewrite")


def _modules(room: str) -> set[str]:
    """Return the modules of a room, by their paths within it."""
    files = (ROOT / "dpsql" / room).rglob("*.py")
    return {
        str(file.relative_to(ROOT / "dpsql" / room).with_suffix("")) for file in files if file.name != "__init__.py"
    }


def _tested(room: str) -> set[str]:
    """Return the modules of a room that have a test file."""
    tests = ROOT / "tests" / room
    return {
        str(file.relative_to(tests).with_name(file.name.removeprefix("test_")).with_suffix(""))
        for file in tests.rglob("test_*.py")
    }


def _excused(room: str) -> Iterator[str]:
    """Yield the modules that the room's README says have none."""
    text = (ROOT / "dpsql" / room / "README.md").read_text(encoding="utf-8")
    for line in re.findall(r"^\| ([^|]+) \| [^|]{10,} \|$", text.split("| module | why |")[1], re.MULTILINE):
        yield from line.split(", ")


@pytest.mark.parametrize("room", ROOMS)
def test_each_module_is_tested_or_excused(room: str) -> None:
    """Neither both nor something that does not exist."""
    modules, tested, excused = _modules(room), _tested(room), sorted(_excused(room))
    assert sorted(modules - tested) == excused


@pytest.mark.parametrize("room", ROOMS)
def test_paths_that_excuses_name_exist(room: str) -> None:
    """A file that is gone excuses nothing."""
    text = (ROOT / "dpsql" / room / "README.md").read_text(encoding="utf-8").split("| module | why |")[1]
    assert [
        path
        for path in re.findall(r"`?(tests/[\w/.]+)", text)
        if not any((ROOT / f).exists() for f in (path, f"{path}.py"))
    ] == []


@pytest.mark.parametrize("room", ROOMS)
def test_tests_that_excuses_name_exist(room: str) -> None:
    """A test that is gone excuses nothing."""
    text = (ROOT / "dpsql" / room / "README.md").read_text(encoding="utf-8").split("| module | why |")[1]
    named = {name.split("/")[-1] for name in re.findall(r"`((?:sqlite/|sql/|postgres/)?test_\w+)`", text)}
    files = {file.stem: file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")}
    assert [
        n for n in sorted(named) if n not in files and not any(f"def {n}(" in text for text in files.values())
    ] == []


def test_tests_that_the_table_of_faults_names_exist() -> None:
    """Whoever takes a test away sees what nothing tries any more."""
    text = (ROOT / "tests" / "faults" / "README.md").read_text(encoding="utf-8")
    named = {name.split("/")[-1] for name in re.findall(r"`((?:\w+/)?test_\w+)`", text)}
    files = list((ROOT / "tests").rglob("test_*.py"))
    there = {file.stem for file in files}.union(*(re.findall(r"def (test_\w+)\(", file.read_text()) for file in files))
    assert sorted(named - there) == []
    assert len(named) > 40


def test_files_that_mistakes_are_caught_by_exist() -> None:
    """A file that is gone would stop them all from being put in."""
    text = (ROOT / "tests" / "mutants" / "catalogue.py").read_text(encoding="utf-8")
    named = set(re.findall(r'"([\w/]+\.py)"', text))
    assert sorted(name for name in named if not (ROOT / "tests" / name).exists()) == []
    assert len(named) > 40
