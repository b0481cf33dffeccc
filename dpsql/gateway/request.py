"""Requests of the wire to the gateway: the question in a statement, and the request for its answer."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, TypeVar

from dpsql.accounting.privacy_loss import compose
from dpsql.gateway.catalogue.virtual_tables import AccountsStatement
from dpsql.policy.model import Privacy
from dpsql.question import Argument, Asker, Cancellation, Settings
from dpsql.rewrite.syntax.whole.analyze import AskedStatement

_T = TypeVar("_T")
UNCHARGED = Privacy(Fraction(0), Fraction(0))
Work = Callable[[], _T]
"""Work that may take long, for a thread of its own."""


@dataclass(frozen=True, slots=True)
class ProfileStatement:
    """The statement that takes the profile."""

    explained: str = ""
    """The EXPLAIN before it, with its options; nothing where it is not explained."""
    probes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One statement that names a protected table or a table of accounts, and is not yet bound."""

    text: str
    """The statement as the client sent it."""
    parsed: AskedStatement | AccountsStatement | ProfileStatement

    @property
    def probes(self) -> tuple[str, ...]:
        """Return what is to be described (Parse and Describe, never run) in the client's session beside the statement.

        Their errors are the client's errors: they come from PostgreSQL.
        """
        return self.parsed.probes


@dataclass(slots=True)
class Receipt:
    """The price of an answer, and its sources: filled in as that happens, so that failures have them too."""

    cost: Privacy = UNCHARGED
    releases: tuple[str, ...] = ()
    """The keys of stored and of paid releases."""
    trial: str | None = None
    """The trial's verdict on the measurements."""

    def note(self, keys: Iterable[str], cost: Privacy | None = None) -> None:
        """Note releases, and what was charged for them."""
        # In the order of their first mention, each once: the audit trail has them so.
        self.releases = tuple(dict.fromkeys((*self.releases, *keys)))
        if cost is not None:
            self.cost = compose((self.cost, cost))


@dataclass(frozen=True, slots=True)
class Request:
    """All that an answer depends on, but for the policy and the data."""

    question: Question
    arguments: tuple[Argument, ...]
    settings: Settings
    asker: Asker
    cancellation: Cancellation
    receipt: Receipt = field(default_factory=Receipt, compare=False)
    """Where it is noted what was charged."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a statement."""

    text: str
    """The text that runs in the shadow instead of it, parameters kept as `$n`."""
    notices: tuple[str, ...] = ()
    """The notices for the client beside the rows."""
    released: bool = True
    """Whether released values may stand in the text, which then is not to stand in the catalogue."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """The statement as it would run in the shadow, with made-up values instead of answers."""

    text: str
    """The query, or the statement that writes, without what the query may stand in."""
    of_nulls: bool = False
    """Whether NULL stands for every value."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a session tries before an answer is paid for: where PostgreSQL refuses it, nothing was charged."""

    texts: tuple[str, ...] = ()
    """Constants with which the statement can't but fail, and the statement around no rows."""
    undone: str = ""
    """The statement that undoes the last of them; empty if it leaves nothing behind."""
    is_tried: bool = False
    """Whether the statement is tried over `stand_ins`, for any client's encoding."""
    stand_ins: Callable[[], Iterator[StandIn]] = lambda: iter(())
    """The statement over answers that are made up: they depend on the same things as the answer, and not on data."""


@dataclass(frozen=True, slots=True)
class Unpaid:
    """An answer for which something has yet to be measured or paid for: blocks until that is done, when it is called."""

    work: Work[Reply]
    rehearsal: Rehearsal = Rehearsal()
    """What its session tries first."""
    trial: Work[None] | None = None
    """Tries it on synthetic people, before it is paid for; None where that is done already."""
    through: Work[str | None] | None = None
    """Runs through it on what the trial has made up, which comes last: returns the statement over that, if there is one."""

    def __call__(self) -> Reply:
        """Return the reply, once it is paid for."""
        return self.work()


class Answers(Protocol):
    """The part of the gateway that a session needs."""

    def recall(self, text: str) -> tuple[Question | None] | None:
        """Return what `examine` would, where that takes no reading; else None. Pure and quick."""

    def examine(self, text: str, asker: Asker, cancellation: Cancellation | None = None) -> Question | None:
        """Return the question in one statement, or None if it is none of the gateway's business.

        Takes its time; call it on a worker thread.

        Raises:
            DpsqlError: it takes too long, or somebody has cancelled.
        """

    def check_setting(self, name: str, value: str, asker: Asker) -> None:
        """See that a session may have a setting of dpsql's own; an empty value is none. Pure and quick.

        Raises:
            DpsqlError: it may not, or there is no such setting.
        """

    def tables(self, asker: Asker) -> Mapping[str, str]:
        """Return the tables and views that somebody may read, as a statement has them, and their bare names. Quick."""

    def recalled(self, request: Request) -> Reply | None:
        """Return what `answer` would, where that was told before, holds still, and takes no time to find; else None.

        Quick, and waits for nobody.
        """

    def answer(self, request: Request) -> Reply | Unpaid:
        """Return what answers the question.

        Where something has to be measured or paid for, return the work that does so and then returns the reply, so that
        stored answers need not wait behind measurements. Both block; call them on a worker thread.

        Raises:
            DpsqlError: the client gets this instead of an answer.
        """
