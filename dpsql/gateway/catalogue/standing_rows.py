"""The rows of `dpsql.standing`: what was paid for a term, how far it was measured, and until when it is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dpsql.accounting.ledger import StandingQuestion
from dpsql.accounting.privacy_loss import show_down

STANDING = {
    "role_name": "text", "table_name": "text", "term": "text", "state": "text", "epsilon": "numeric", "statement": "text",
    "began": "timestamp with time zone", "measured_until": "timestamp with time zone", "periods": "bigint",
    "first_period": "date", "last_period": "date", "next_closes": "timestamp with time zone",
}  # fmt: skip


class StandingState(StrEnum):
    """What becomes of a standing question now."""

    STANDS = "stands"
    """What closes is measured."""
    OVER = "over"
    """Its term is over; what was measured is told on."""
    ENDED = "ended"
    """What is declared of its table has changed: it is told no more."""


@dataclass(frozen=True, slots=True)
class ListedQuestion:
    """A standing question, as it is listed."""

    role: str
    question: StandingQuestion
    state: StandingState
    next_closes: datetime | None
    """When the period closes that follows on those that were measured; None if that is not to be known, or there is none."""


def standing_rows(listed: Iterable[ListedQuestion], brief: Callable[[str], str]) -> list[tuple[str | None, ...]]:
    """Return a row for each, oldest first; `brief` cuts long statements short."""
    return [
        (
            each.role,
            each.question.table,
            each.question.term,
            each.state.value,
            show_down(each.question.epsilon),
            brief(each.question.statement),
            each.question.began.isoformat(" "),
            each.question.until.isoformat(" "),
            str(len(each.question.measured)),
            *(each.question.measured[place].isoformat() if each.question.measured else None for place in (0, -1)),
            None if each.next_closes is None else each.next_closes.isoformat(" "),
        )
        for each in listed
    ]
