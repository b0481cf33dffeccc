"""The parts that the pages need; handed in by the server."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.ledger import Entry
from dpsql.accounting.sliding import ReadDays
from dpsql.gateway.readiness import ReadyState
from dpsql.policy.model import Policy, Role
from dpsql.privacy.mechanisms.entropy import Entropy

Cells = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one statement, its values as PostgreSQL writes them."""

    columns: tuple[str, ...]
    types: tuple[int, ...]
    """PostgreSQL's numbers of the columns' types."""
    rows: tuple[tuple[str | None, ...], ...]
    cut: bool
    """Whether there are more rows, which are not kept."""
    notices: tuple[str, ...]

    def only_json(self) -> Any:
        """Return the one value of the answer, read as JSON."""
        ((value,),) = self.rows
        return json.loads(value or "null")


class RowsClient(Protocol):
    """Whatever returns the rows of an answer."""

    async def rows(self, statement: str, epsilon: str | None = None) -> list[Cells]:
        """Return the answer to a statement that pays at most `epsilon`.

        Raises:
            ServerRefused: the server said no; the message is for the visitor.
            ServerLost: the connection is lost.
        """


class VisitorClient(RowsClient, Protocol):
    """A visitor's own connection to the server."""

    @property
    def place(self) -> tuple[str, int]:
        """Return the host and port that SQL clients connect to."""

    @property
    def busy(self) -> bool:
        """Return whether a statement is being answered."""

    async def answer(self, statement: str, settings: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to one statement under these settings of the session, and no others.

        Raises:
            ServerRefused: the server said no; the message is for the visitor.
            ServerLost: the connection is lost.
        """

    async def stop(self) -> None:
        """Cancel what is being answered."""

    async def close(self) -> None:
        """Hang up."""


# Not errors of `dpsql.errors`: they come by the wire, as any client has them, in the words that clients may see.
class ServerRefused(Exception):
    """The server's own words to its client."""

    def __init__(
        self, message: str, hint: str | None = None, rule: str | None = None, place: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.rule = rule
        self.place = place
        """The character of the statement that it is about, from 1 on."""


class ServerLost(Exception):
    """The connection to the server is lost."""


class LoginRefused(Exception):
    """The name or the password is wrong."""


Connect = Callable[[str, str, str], Awaitable[VisitorClient]]
"""Logs in at the server with a name and a password, for a visitor from an address.

Raises `LoginRefused`, or `ServerRefused` with the reason.
"""


class LedgerReader(Protocol):
    """The ledger, to be read only."""

    def balance(self, account: Account, *, read: ReadDays | None) -> Balance:
        """Return what the account's budgets have been charged; `read` says when the copy was made that answers."""

    def entries(self, role: str | None, limit: int) -> tuple[Entry, ...]:
        """Return the newest lines first, of one role or of all."""


@dataclass(frozen=True, slots=True)
class Site:
    """The policy, the users' roles, a way to connect, the ledger, and the random bytes of the samples' noise."""

    policy: Policy
    roles: Mapping[str, str]
    """By user."""
    connect: Connect
    ledger: LedgerReader
    entropy: Entropy
    clock: Callable[[], float]
    """Seconds that never go back."""
    ready: Callable[[], ReadyState]
    """Returns whether private questions would be answered now, in words that anybody may read; may take seconds."""
    cookie: str = "dpsql"
    secure: bool = False
    """Whether the pages are served over TLS only."""
    play: bool = False
    """Whether this is the demo, whose budgets promise nothing to anybody."""
    read: Callable[[], ReadDays | None] = lambda: None
    """Returns the days on which the copy of the records was made that answers; None: the records themselves do."""
    verifiers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By user, what verifies the password: a visit ends with the one that it began with."""

    def role(self, user: str) -> Role:
        """Return a known user's role."""
        return self.policy.roles[self.roles[user]]


# The budgets and questions that a visitor may see: the one place that decides it.


def visible(policy: Policy, role: Role) -> tuple[Role, ...]:
    """Return the roles whose charges a role may see: every one for an owner, and else its own."""
    return tuple(policy.roles.values()) if role.owner else (role,)
