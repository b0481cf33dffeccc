"""What the gateway asks of an engine: catalogue facts at the start, and measurements that were paid for."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from dpsql.errors import ConfigError
from dpsql.policy.model import Value
from dpsql.privacy.budget import Charge
from dpsql.privacy.exact import Row
from dpsql.question import Cancellation
from dpsql.rewrite.function import Dialect


class NoEngine(ConfigError, sqlstate="F0000"):
    """There is no engine where the configuration says that it is."""


class Engine(Protocol):
    """A database that holds the records; safe to share between threads."""

    @property
    def dialect(self) -> Dialect:
        """Return the SQL that it speaks."""

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with their types as the engine names them; empty if there is no such table."""

    def unique_columns(self, table: str) -> frozenset[str]:
        """Return the columns that an enforced constraint makes unique by themselves."""

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a table that the policy calls public, at most `limit` + 1 of them."""

    def run(self, sql: str, charge: Charge, *, timeout: float, cancellation: Cancellation) -> Sequence[Row]:
        """Return the rows of a measurement that `charge` paid for; `timeout` is in seconds.

        Raises:
            QueryCanceled: somebody cancelled, or time is up.
            EngineFailed: anything else; the cause goes to the operator's log only.
        """

    def close(self) -> None:
        """Let go of the database."""


class OwnerEngine(Engine, Protocol):
    """An engine that also answers the owner of the data, exactly and without a charge: for `dpsql check --data` alone."""

    def for_owner(self, sql: str, *, timeout: float) -> Sequence[Row]:
        """Return exact rows that nobody but the owner of the data may see."""
