"""Opening a ledger: its owner, and whether it is the one that was here, with all that it had."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dpsql.accounting.ledger import DataSet, Way
from dpsql.accounting.mark import Mark, read_mark
from dpsql.accounting.sql import owner
from dpsql.accounting.sql.store import SqlConnection
from dpsql.errors import ConfigError

_LINES = "SELECT coalesce(max(id), 0) FROM charges"


@dataclass(frozen=True, slots=True)
class OpenedLedger:
    """A ledger that a data set may use."""

    ledger: str
    """Its own identity."""
    dataset: DataSet
    lines: int
    """The number of its last line."""
    adopted: DataSet | None
    """The owner until now, if it was another one."""

    @property
    def identity(self) -> str:
        """Return what no other ledger has, nor this one for another data set."""
        return f"{self.ledger} {self.dataset.name} {self.dataset.source}"

    def mark(self, line: int) -> Mark:
        """Return the mark that says that it has a line."""
        return Mark(self.ledger, self.dataset.name, line)


def take(
    connection: SqlConnection, place: object, beside: Path, way: Way, owned: tuple[DataSet, datetime]
) -> OpenedLedger:
    """Return the ledger at `place`, whose mark is beside `beside`, once it is the data set's.

    Raises:
        ConfigError: it is another data set's, or not the one that was here, and nobody has said that it may be.
    """
    dataset, now = owned
    recorded, adopted = owner.owner(connection), None
    if recorded is None:
        raise ConfigError(f"ledger {place} belongs to no data set: somebody has changed it")
    if dataset.is_called(recorded.dataset):
        dataset = recorded.dataset  # in its own words, by which its releases are stored
    else:
        if way is not Way.ADOPTED:
            raise owner.of_another(place, recorded.dataset, dataset)
        adopted = recorded.dataset
        owner.own(connection, dataset, now, "adopted")
    lines = last_line(connection)
    if _differs(place, read_mark(beside), recorded.ledger, lines, way):
        owner.own(connection, dataset, now, "--new-ledger")
    return OpenedLedger(recorded.ledger, dataset, lines, adopted)


def last_line(connection: SqlConnection) -> int:
    """Return the number of the last charge."""
    return int(connection.execute(_LINES).fetchone()[0])


def demand_no_loss(place: object, beside: Path, way: Way) -> None:
    """Return if no ledger was at a place where there is none.

    Raises:
        ConfigError: its mark is there, and nobody has said that it is lost.
    """
    if way is not Way.ANEW and read_mark(beside) is not None:
        raise _gone(place, "is gone")


def _differs(place: object, last: Mark | None, ledger: str, lines: int, way: Way) -> bool:
    """Return whether this is another ledger than was here last time, or an older copy.

    Raises:
        ConfigError: it is, and nobody has said that it may be.
    """
    if last is None or (last.ledger == ledger and last.lines <= lines):
        return False
    if way is Way.ANEW:
        return True
    if last.ledger != ledger:
        raise _gone(place, "is not the one that was here")
    raise _gone(place, f"is an older copy: {last.lines - lines:,} charges are missing")


def _gone(place: object, how: str) -> ConfigError:
    return ConfigError(
        f"ledger {place} {how}: what was released since would not be counted",
        hint="Bring the newest copy back. If there is none, lower the budgets by what may be missing, and start once with: "
        "dpsql serve --new-ledger",
    )
