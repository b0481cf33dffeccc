"""The store of a ledger's tables, as its readers and writers see it.

The statements are of the SQL that SQLite and PostgreSQL share, with parameters that are numbered: `?1`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from dpsql.accounting.ledger import DataSet
from dpsql.question import Cancellation

_T = TypeVar("_T")


class SqlRows(Protocol):
    """The rows that a statement has found."""

    def fetchone(self) -> Any:  # what a driver finds
        """Return the next row; None where there is none."""

    def fetchall(self) -> list[Any]:
        """Return the other rows."""

    def __iter__(self) -> Iterator[Any]: ...


class SqlConnection(Protocol):
    """A transaction that has begun."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> SqlRows:
        """Run one statement."""


class LedgerStore(Protocol):
    """One data set's tables, safe to share between threads; what they are shared with beside that it says itself."""

    @property
    def identity(self) -> str:
        """Return what no other ledger has, nor this one for another data set."""

    @property
    def adopted(self) -> DataSet | None:
        """Return whose it was until it was opened, if it was another's."""

    def close(self) -> None:
        """Close the connections, after all that is going on."""

    def epoch(self) -> tuple[int, date] | None:
        """Return the last epoch, and the day on which it began, without waiting; None where another process writes."""

    def glance(self, look: Callable[[SqlConnection], _T], *, at_once: bool = False) -> _T | None:
        """Return what one look tells, without waiting; None where somebody writes, or nothing can be read.

        Where it has to be `at_once`, None also where another thread looks, or a server would have to be asked.
        """

    def read(
        self, cancellation: Cancellation | None = None, since: float | None = None
    ) -> AbstractContextManager[SqlConnection]:
        """Lend a connection for queries of one state; who needs it has waited `since` then for others.

        Raises:
            QueryCanceled: while it waited.
            LedgerBusy: others have kept it locked for too long.
            LedgerFailed: it can't be reached.
        """

    def write(
        self, cancellation: Cancellation | None = None, since: float | None = None, *, durable: bool = True
    ) -> AbstractContextManager[SqlConnection]:
        """Lend a connection for one transaction that no other overlaps; it is durable once this returns.

        Where it need not be `durable` a kill of dpsql leaves it, and a power cut may take it.

        Raises:
            QueryCanceled: while it waited; nothing was written.
            LedgerBusy: others have kept it locked for too long; nothing was written.
            LedgerFull: there is no room; nothing was written.
            LedgerFailed: nobody knows if it lasts.
        """

    def check(self) -> None:
        """Return if a charge would last, as far as can be told before a transaction; raise what tells why it would not."""

    def touch(self, connection: SqlConnection) -> None:
        """Write what is there already, in a transaction of `write`."""

    def require_owner(self, connection: SqlConnection) -> None:
        """Return if the ledger is still the one that was opened, and the data set's.

        Raises:
            LedgerFailed: it is not.
        """

    def note(self, line: int) -> None:
        """Remember, outside of it, that it has this line."""


class MeasuringClaims(Protocol):
    """The claims of processes on measurements at the moment; a claim ends with the process that has it."""

    def take(self, keys: Iterable[str]) -> bool:
        """Claim these keys, all or none, without waiting; return whether nobody else had one of them."""

    def give_back(self, keys: Iterable[str]) -> None:
        """End claims."""

    def close(self) -> None:
        """End all of them."""


# A number for a key, where locks have numbers for names.


def place_of_key(key: str) -> int:
    """Return a number from 0 to 2⁶² − 1; that two keys share one costs no more than a wait."""
    return int.from_bytes(sha256(key.encode()).digest()[:8]) >> 2
