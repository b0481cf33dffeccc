"""Sessions that pages show are what psql says on the demo, and the chart at the tour's end is drawn, free."""

import difflib
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from tests.docs.pages import ROOT, blocks
from tests.docs.sessions import Demo, demo, masked, replayed, role_of, sessions, typed

_SESSION = """\
taxi=> SELECT payment_type, avg(tip)
taxi-> FROM trips GROUP BY 1;
 payment_type |   avg
--------------+---------
 cash         | -2.9e-05
(1 row)

taxi=> EXPLAIN SELECT count(*) FROM trips;
 QUERY PLAN
------------
 Private answer: ε = 1
 Trial: passed on 9 synthetic databases, in 150 ms
(2 rows)
"""
_TOUR = ROOT / "docs" / "tour.md"
_OTHER = "somebody_else"
_THIRD = "a_third"
"""Who follow the tour once more."""


@pytest.fixture(scope="module")
def demos() -> Iterator[Callable[[int], Demo]]:
    """Give the demo, to a role of its own for each page, with other noise for each number."""
    with ExitStack() as running:
        yield cache(lambda _: running.enter_context(demo(_OTHER, _THIRD, *map(role_of, sessions()))))


@pytest.fixture(scope="module")
def served(demos: Callable[[int], Demo]) -> Demo:
    """The demo."""
    return demos(0)


@pytest.mark.parametrize("page", sessions(), ids=lambda page: page.name)
def test_sessions_are_as_psql_shows_them(page: Path, demos: Callable[[int], Demo]) -> None:
    """But for numbers in answers: columns, groups, notices, refusals and plans are the same.

    A group without rows is shown in one of twenty answers: a page with two of them fails once in 10,000 runs.
    """
    shown = [masked(block.text) for block in sessions()[page]]
    for number in range(4):
        psql = demos(number).begun(role_of(page), page)
        now = [masked(replayed(block.text, psql)) for block in sessions()[page]]
        if now == shown:
            break
    differing = difflib.unified_diff("\n".join(shown).splitlines(), "\n".join(now).splitlines(), lineterm="")
    assert now == shown, "\n".join(differing)


def test_the_tour_gets_the_margins_that_it_was_told_before(served: Demo) -> None:
    """By the page, and by the demo as it is: EXPLAIN knows C, which the statement before it has paid for."""
    shown = [block.text for block in sessions()[_TOUR]]
    psql = served.begun(_THIRD, _TOUR)
    for session in (shown, [replayed(text, psql) for text in shown]):
        (before,) = re.findall(
            r"Output count\(\*\): ±([\d,]+) with 95 %.* if C is [\d,]+, as released", "\n".join(session)
        )
        (after,) = re.findall(r"\| margin *\n[-+]+\n.*\| *(\d+)$", "\n".join(session), re.MULTILINE)
        assert float(after) == pytest.approx(float(before.replace(",", "")), rel=0.02)


def test_the_tour_ends_with_a_chart(served: Demo, tmp_path: Path) -> None:
    """It has the margins, and costs nothing, as the page says: its numbers are those of the session."""
    psql = served.begun(_OTHER, _TOUR)
    for block in sessions()[_TOUR]:
        replayed(block.text, psql)
    budget = "SELECT epsilon_spent FROM dpsql.budget;"
    before = psql([budget])
    (shown,) = blocks("sh", "tour")
    command = shlex.split(shown.text.replace("\\\n", " ").splitlines()[-1])
    assert command[0] == ".venv/bin/dpsql"
    picture = tmp_path / "days.html"
    told = {"postgresql://": served.address(_OTHER), "days.html": str(picture)}
    words = [next((to for said, to in told.items() if said in word), word) for word in command[1:]]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert re.search(r"error_y|95 %", picture.read_text(encoding="utf-8"))
    assert psql([budget]) == before


def test_what_is_typed_is_what_stands_behind_prompts() -> None:
    """A statement of several lines is one."""
    assert typed(_SESSION) == [
        "SELECT payment_type, avg(tip)\nFROM trips GROUP BY 1;",
        "EXPLAIN SELECT count(*) FROM trips;",
    ]


def test_a_session_is_written_as_a_terminal_shows_it() -> None:
    """With what psql says in the place of what it said."""

    def psql(entered: list[str]) -> list[str]:
        return [f"{number}\n\n" for number in range(len(entered))]

    assert replayed(_SESSION, psql) == (
        "taxi=> SELECT payment_type, avg(tip)\ntaxi-> FROM trips GROUP BY 1;\n0\n\n"
        "taxi=> EXPLAIN SELECT count(*) FROM trips;\n1\n"
    )


@pytest.mark.parametrize(
    ("said", "instead"), [("cash", "card"), ("avg", "sum"), ("(1 row)", "(2 rows)"), ("ε = 1", "ε = 2")]
)
def test_only_numbers_of_answers_may_differ(said: str, instead: str) -> None:
    """Prices in plans may not, nor groups, names and numbers of rows."""
    assert masked(_SESSION.replace("-2.9e-05", "3,000")) == masked(_SESSION)
    assert masked(_SESSION.replace(said, instead)) != masked(_SESSION)
