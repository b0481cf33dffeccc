"""The questions of the last 31 days, to be planned again: an owner's from the audit trail, others' from their role's charges.

Both are read over the visitor's own connection, and their parameters put in place.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from dpsql.errors import DpsqlError
from dpsql.lexer.tokens import Sort, tokens
from dpsql.policy.model import Role
from dpsql.shadow.splice import shadow_literal
from dpsql.web.curves import Json
from dpsql.web.site import Cells, VisitorClient

MOST_QUESTIONS, MOST_CHARACTERS = 40, 20_000
"""The most questions and characters of a plan."""
_LONGEST, _LONGEST_PARAMETER, _MOST_PARAMETERS = 2_000, 200, 100
"""The tables show so much of a text, of a parameter, and so many of these: a text that may have been cut short is not
a question."""
_CURSOR = re.compile(
    r"""DECLARE\s+(?:"(?:[^"]|"")+"|\w+)(?:\s+(?:BINARY|ASENSITIVE|INSENSITIVE|NO|SCROLL|CURSOR|WITH|WITHOUT|HOLD))+\s+FOR\s+""",
    re.IGNORECASE,
)
"""The words before a question whose answer is fetched in pieces."""
_LATELY = "made_at > now() - interval '31 days'"
_AUDIT = f"""SELECT statement, parameters, count(*), count(*) FILTER (WHERE epsilon > 0), min(made_at)
  FROM dpsql.audit WHERE releases IS NOT NULL AND verdict IN ('answered', 'free') AND {_LATELY}
 GROUP BY statement, parameters ORDER BY sum(epsilon) DESC, count(*) DESC, max(line) DESC"""  # noqa: S608  # constants
_CHARGES = f"""SELECT statement, NULL, count(DISTINCT made_at), count(DISTINCT made_at), min(made_at)
  FROM dpsql.charges WHERE {_LATELY} GROUP BY statement ORDER BY sum(epsilon) DESC, max(charge_id) DESC"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class _AskedQuestion:
    statement: str
    asked: int
    charged: int
    first: datetime


async def asked_lately(client: VisitorClient, role: Role) -> Json:
    """Return the questions that the visitor may see, the dearest first, and in a sentence what was taken from where."""
    return taken_from(await client.rows(_AUDIT if role.owner else _CHARGES), owner=role.owner)


def taken_from(rows: Sequence[Cells], *, owner: bool) -> Json:
    """Return what `asked_lately` does, from the rows of the audit trail, or of the charges."""
    source = "the audit trail" if owner else "what your role was charged for"
    whole = [question for question in map(_question, rows) if question is not None]
    sizes = accumulate(len(question.statement) + len(";\n\n") for question in whole)
    taken = [question for question, size in zip(whole, sizes, strict=True) if size <= MOST_CHARACTERS][:MOST_QUESTIONS]
    said = _said(taken, source) if taken else f"Nothing to be planned is in {source} of the last 31 days."
    if more := len(whole) - len(taken):
        said += f" Left out: {more:,} that cost no more than these."
    if lost := len(rows) - len(whole):
        kept = "cut short, or with parameters that the trail does not keep (EXECUTE)"
        charged = "with parameters, which only the audit trail has; that is for owners"
        said += f" Left out: {lost:,} {kept if owner else charged}."
    return {"questions": [question.statement for question in taken], "said": said}


def _said(taken: Sequence[_AskedQuestion], source: str) -> str:
    first, asked, charged = (
        min(question.first for question in taken),
        sum(question.asked for question in taken),
        sum(question.charged for question in taken),
    )
    many = "1 question" if len(taken) == 1 else f"{len(taken)} questions, the dearest first"
    return f"Taken from {source} since {first:%d %B %Y}: {many}; asked {_times(asked)}, charged {_times(charged)}."


def _times(many: int) -> str:
    return "once" if many == 1 else f"{many:,} times"


def _question(row: Cells) -> _AskedQuestion | None:
    """Return a question that can be asked as it stands; None if something of it is missing."""
    statement, parameters, asked, charged, first = row
    given = parameters if isinstance(parameters, list) else []
    if not isinstance(first, datetime) or len(str(statement)) > _LONGEST or len(given) >= _MOST_PARAMETERS:
        return None
    if any(parameter is not None and len(parameter) >= _LONGEST_PARAMETER for parameter in given):
        return None
    text = _filled(str(statement), given)
    return None if text is None else _AskedQuestion(text, int(str(asked)), int(str(charged)), first)


def _filled(statement: str, given: Sequence[str | None]) -> str | None:
    """Return a statement with literals in the places of its parameters; None if one has no value."""
    text, behind = "", 0
    try:
        for token in tokens(statement):
            if token.sort is not Sort.PARAMETER:
                continue
            place = int(token.text[1:])
            if not 0 < place <= len(given):
                return None
            value = given[place - 1]
            text += statement[behind : token.start] + ("NULL" if value is None else shadow_literal(value))
            behind = token.end
    except DpsqlError:  # written under other settings than a page's
        return None
    return _CURSOR.sub("", (text + statement[behind:]).strip().rstrip(";"))
