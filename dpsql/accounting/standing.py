"""Standing questions as a ledger keeps them: paid once a term, and measured period by period, each one once.

What was paid is a charge as any other. Beside it the ledger has, of each question, the claims on its measurements in
their order. A claim is given for the next number only to the newest lineage, and only where the accounts stand at the
measurement before it, by number and by name. So no two stores measure one question beside each other, whether one is a
copy of the other, was put back from a backup, or is older than the ledger: what one has added to accounts the other
lacks.

    open    it was given; a release may come
    kept    its release is stored
    void    it ended before any account was written: its number is given again, to whose accounts stand before it
    lost    accounts were written, and no release: its periods are never measured again
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

from dpsql.accounting.balance import Account
from dpsql.accounting.failures import Failure
from dpsql.question import Cancellation

_KEY = "standing "


def standing_key(identity: str) -> str:
    """Return what a standing question is charged by."""
    return f"{_KEY}{identity}"


def is_standing(key: str) -> bool:
    """Return whether a charge is for a standing question: it counts until its last moment of measuring."""
    return key.startswith(_KEY)


class State(StrEnum):
    """What became of a claim."""

    OPEN = "open"
    KEPT = "kept"
    VOID = "void"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Standing:
    """The last measurement of a question that a store's accounts have."""

    number: int = 0
    claim: str = ""
    """What no other attempt at any measurement is called."""


@dataclass(frozen=True, slots=True)
class StandingClaim:
    """One measurement of a standing question."""

    number: int
    periods: tuple[date, ...]
    """The first days of the periods that are measured in it."""
    state: State
    release: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A claim that is asked for."""

    key: str
    name: str
    """As no other is called."""
    lineage: str
    stands: Standing
    """Where the accounts of the store stand that asks."""
    periods: tuple[date, ...]
    until: datetime
    """From when on nothing of the term is measured any more."""


class Denied(StrEnum):
    """Why a claim is not given, for the operator's log and for who asks."""

    STORE = "the accounts here are not those of the last measurement"
    LINEAGE = "another server has begun to measure"
    LOCKED = "a measurement of it failed"
    OVER = "its term is over"


@dataclass(frozen=True, slots=True)
class StandingQuestion:
    """A standing question of a role's, as it is listed."""

    key: str
    table: str
    term: str
    until: datetime
    """The last moment of measuring."""
    declared: str
    """A hash of what was declared when it was paid, without which it ends."""
    statement: str
    epsilon: Fraction
    began: datetime
    measured: tuple[date, ...] = ()
    """The first days of the periods that were measured."""


class StandingLedger(Protocol):
    """A ledger's part about standing questions."""

    def begin_lineage(self, name: str) -> None:
        """Let a writer that begins be the newest; all others measure nothing of standing questions from then on."""

    def standing_claims(
        self, account: Account, keys: Sequence[str], cancellation: Cancellation | None = None
    ) -> Mapping[str, Sequence[StandingClaim]]:
        """Return the claims of those questions that the role has paid for, in their order."""

    def claim(self, account: Account, wanted: Wanted) -> Standing | Denied:
        """Return the claim on the next measurement, durable; or why there is none.

        It counts towards the measurements of the day.

        Raises:
            AccountClosed, BudgetExhausted: the role may measure nothing now.
        """

    def keep_claim(self, account: Account, key: str, claim: Standing, lineage: str, release: bytes) -> bool:
        """Store the release of a claim, durable; return whether it is: not where another lineage has begun meanwhile."""

    def end_claim(
        self, account: Account, key: str, claim: Standing, text: str, failure: Failure | None, *, written: bool
    ) -> None:
        """End a claim without a release; a failure locks the question until the account is opened, and is counted."""

    def note_standing(self, account: Account, question: StandingQuestion) -> None:
        """List a standing question that the role has just paid for."""

    def standing_questions(
        self, account: Account, cancellation: Cancellation | None = None
    ) -> tuple[StandingQuestion, ...]:
        """Return the standing questions that the role has paid for, oldest first."""
