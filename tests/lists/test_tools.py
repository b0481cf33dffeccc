"""What BI tools and analysts send, asked of a server: the answered are those that the page says, and they have rows."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from tests.lists.served import Asked, asked
from tests.lists.statements import counted, load, verdicts

TOOLS, ANALYSTS = load("tools"), load("analysts")
NONE = {13}
"""Of none of the groups here are there more than 5,000 rows."""
_TABLE = re.compile(r"\b(trips|taxi|orders|prostate)\b(?!\.|\"\.)")


@pytest.fixture(scope="module")
def served() -> Iterator[Asked]:
    """Give the server."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-lists-"))
    directory.chmod(0o711)
    with asked(directory) as lists:
        yield lists
    shutil.rmtree(directory, ignore_errors=True)


def verdict(sql: str, served: Asked) -> str:
    """Return what becomes of a statement: it is answered, with rows or without, or refused by a rule."""
    table = _TABLE.search(sql)
    assert table is not None
    try:
        rows = _rows(sql, served.about(table[1]))
    except psycopg.Error as refusal:
        return str(refusal.diag.message_detail).removeprefix("rule: ")
    return "answered" if rows else "no rows"


def _rows(sql: str, connection: psycopg.Connection) -> Sequence[object]:
    cursor = connection.cursor()
    if not sql.startswith("COPY"):
        return cursor.execute(sql.encode()).fetchall()
    with cursor.copy(sql.encode()) as copy:
        return [part for part in copy if part[:8] != b"PGCOPY\n\xff"]


@pytest.mark.parametrize("number", TOOLS)
def test_what_tools_send_is_answered(number: int, served: Asked) -> None:
    """Of the 42 statements of BI tools those are answered that aggregate."""
    assert verdict(TOOLS[number], served) == verdicts("tools")[number]


@pytest.mark.parametrize("number", ANALYSTS)
def test_what_analysts_ask_is_answered(number: int, served: Asked) -> None:
    """All 22 statements of analysts are answered."""
    assert verdict(ANALYSTS[number], served) == ("no rows" if number in NONE else "answered")


def test_the_lists_are_whole() -> None:
    """None of the 42 and of the 22 is missing, and the page counts them."""
    answered = list(verdicts("tools").values()).count("answered")
    assert counted("BI tools") == (len(TOOLS), answered, 0) == (42, 36, 0)
    assert counted("analysts") == (len(ANALYSTS), len(ANALYSTS), 0) == (22, 22, 0)
    assert verdicts("tools").keys() == TOOLS.keys()
