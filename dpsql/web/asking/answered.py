"""The answer to a statement, with the margin of each number, what it is told beside, and what it was charged.

The statement is asked as it was written, and so it stands in the ledger. Then it is asked once more with margins, if EXPLAIN
says that this is free.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dpsql.accounting.privacy_loss import compose, left_of, show_down
from dpsql.plots.margins import wider_statements
from dpsql.policy.model import Privacy
from dpsql.web.asking.history import budget_of
from dpsql.web.asking.outputs import OutputColumn, output_columns
from dpsql.web.asking.planned import explained, is_free
from dpsql.web.curves import Json
from dpsql.web.sessions import Visitor
from dpsql.web.site import Answer, Refused, Site

_RECENT = 1_000
"""How many of a role's newest charges are looked at for those of one statement."""
_FREE = "free: "
_CALL = re.compile(r"[\w.]+[(.]")
"""A sentence that begins with a name of SQL, which stays as it is."""


async def answer_to(statement: str, settings: Mapping[str, str], site: Site, visitor: Visitor) -> Json:
    """Ask, and return the rows, the margins, the notices, and the charge.

    Raises:
        Refused: the server's own words.
        Gone: the connection is lost.
    """
    before = await asyncio.to_thread(_paid, site, visitor, statement)
    answer = await visitor.client.answer(statement, settings)
    after = await asyncio.to_thread(_paid, site, visitor, statement)
    columns = await asyncio.to_thread(output_columns, statement, answer.columns, answer.types)
    rows, columns = await _with_margins(statement, settings, answer, columns, visitor)
    return {
        "columns": [column.as_json() for column in columns],
        "rows": rows,
        "cut": answer.cut,
        "notices": [_notice(text, columns) for text in answer.notices],
        "charged": show_down(left_of(after, before).epsilon),
        "budget": await budget_of(visitor.client),
    }


async def _with_margins(
    statement: str, settings: Mapping[str, str], answer: Answer, columns: list[OutputColumn], visitor: Visitor
) -> tuple[Sequence[Sequence[str | None]], list[OutputColumn]]:
    """Return the rows with margins as further columns, wherever they cost nothing; else the rows as they are."""
    for wider in await asyncio.to_thread(wider_statements, statement):
        try:
            if not is_free(await explained(wider.text, settings, visitor.client)):
                continue
            margins = await visitor.client.answer(wider.text, settings)
        except Refused:
            continue
        width = len(answer.columns)
        if [row[:width] for row in margins.rows] != list(answer.rows) or len(set(answer.columns)) < width:
            continue
        more = [
            OutputColumn(name, "number", "margin", answer.columns.index(of))
            for name, of in zip(margins.columns[width:], wider.of, strict=True)
        ]
        given = [
            column if column.role != "key" else _measured(column, place, more) for place, column in enumerate(columns)
        ]
        return margins.rows, [*given, *more]
    return answer.rows, columns


def _measured(column: OutputColumn, place: int, margins: Sequence[OutputColumn]) -> OutputColumn:
    return replace(column, role="number") if any(margin.of == place for margin in margins) else column


def _notice(text: str, columns: Sequence[OutputColumn]) -> Json:
    """Return a notice as a sentence, and what it is about: the price, a column by its place, or the answer."""
    about: int | str = "price" if text.startswith(_FREE) else "answer"
    for place, column in enumerate(columns):
        if about == "answer" and column.role == "number" and re.search(rf"\b{re.escape(column.name)}\(", text):
            about = place
            break
    begun = text if _CALL.match(text) else f"{text[:1].upper()}{text[1:]}"
    return {"text": begun.rstrip(".") + ".", "about": about}


def _paid(site: Site, visitor: Visitor, statement: str) -> Privacy:
    """Return what this visitor has paid for a statement lately."""
    lines = site.ledger.entries(visitor.role.name, _RECENT)
    return compose(line.cost for line in lines if (line.user, line.statement) == (visitor.user, statement))
