"""The 22 questions, and which columns of their answers are keys."""

import re
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_name("questions.sql")
_QUESTION = re.compile(
    r"^-- (?P<name>q\d\d) (?P<about>.+) \[(?P<unit>\w+)(?: by (?P<keys>[\w, ]+?))?"
    r"(?: without (?P<rest>\w+))?\]\n(?P<sql>.+);$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and whose rows are protected while it is answered."""

    name: str
    about: str
    unit: str
    sql: str
    keys: tuple[str, ...] = ()
    """The columns by which the answer is grouped."""
    rest: str | None = None
    """A column that follows from the others."""


def questions() -> tuple[Question, ...]:
    """Return the questions in order."""
    found = (match.groupdict() for match in _QUESTION.finditer(_FILE.read_text(encoding="utf-8")))
    return tuple(
        Question(
            one["name"],
            one["about"],
            one["unit"],
            one["sql"],
            tuple(one["keys"].split(", ") if one["keys"] else ()),
            one["rest"],
        )
        for one in found
    )
