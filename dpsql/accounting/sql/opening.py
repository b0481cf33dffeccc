"""Opening a ledger: whose it is, whether it is the one that was here, with all that it had, and whether it is whole."""

import json
import logging
import os
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path

from dpsql.accounting.ledger import DataSet, OpeningWay
from dpsql.accounting.sql.store import SqlConnection
from dpsql.errors import ConfigError
from dpsql.private_files import open_private

# The owner of a ledger: the last of its lines that name one, and the identity that it was given when it was made.

MADE, TAKEN_OVER = "made", "taken over"
_OWNER = """
SELECT ledger, dataset, source, EXISTS (SELECT 1 FROM owners WHERE reason = 'taken over')
FROM owners ORDER BY id DESC LIMIT 1
"""
_NEW_OWNER = """
INSERT INTO owners (ledger, time, dataset, source, reason)
VALUES (coalesce((SELECT min(ledger) FROM owners), ?1), ?2, ?3, ?4, ?5)
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of a ledger."""

    ledger: str
    """The ledger's own identity, drawn when it was made."""
    dataset: DataSet
    inherited: bool
    """Whether it was kept before ledgers belonged to data sets, perhaps for several."""


def read_owner(connection: SqlConnection) -> Owner | None:
    """Return whose an open ledger is; None where nothing says so."""
    row = connection.execute(_OWNER).fetchone()
    return row and Owner(row[0], DataSet(row[1], row[2]), inherited=bool(row[3]))


def write_owner(connection: SqlConnection, dataset: DataSet, now: datetime, reason: str) -> None:
    """Write whose ledger it is from now on; its own identity is drawn once."""
    connection.execute(_NEW_OWNER, (uuid.uuid4().hex, now.isoformat(), dataset.name, dataset.source, reason))


def of_another(place: object, theirs: DataSet, ours: DataSet) -> ConfigError:
    """Return the refusal of a ledger that is another data set's."""
    wrong = f'the data set "{theirs.name}", not of "{ours.name}"'
    if theirs.name == ours.name:
        wrong = f"{theirs.source}, not of {ours.source}"
    return ConfigError(
        f"ledger {place} is that of {wrong}",
        hint="Give each data set a ledger of its own. If the same records have another name or place now: dpsql adopt",
    )


# A mark beside the ledger: which one is here, and how far it had got, so that its loss is noticed at the next start.

_LOG = logging.getLogger("dpsql.ledger")
_MARK_WIDTH = 256
"""Bytes of the file, for any contents, so that one write replaces it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The facts about a ledger that are known without it."""

    ledger: str
    """Its identity."""
    dataset: str
    lines: int
    """The number of its last line, or of an earlier one."""


def mark_path(path: Path) -> Path:
    """Return where a ledger's mark is."""
    return path.with_name(f"{path.name}.mark")


def read_mark(path: Path) -> Mark | None:
    """Return the mark of the ledger at `path`; None where there is none, or none that a power cut has left whole."""
    try:
        with os.fdopen(open_private(mark_path(path), os.O_RDONLY), "rb") as file:
            return Mark(**json.loads(file.read()))
    except (OSError, ValueError, TypeError):
        return None


def write_mark(path: Path, mark: Mark) -> None:
    """Replace the mark; that the ledger goes on matters more than that it is marked."""
    try:
        file = open_private(mark_path(path), os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(file, json.dumps(asdict(mark)).ljust(_MARK_WIDTH).encode(), 0)
        finally:
            os.close(file)
    except OSError as error:
        _LOG.warning("the ledger's mark can't be written: %s", error)


_LAST_CHARGE = "SELECT coalesce(max(id), 0) FROM charges"


# The opening itself: all of the above is asked before anything is charged.


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


def take_ledger(
    connection: SqlConnection, place: object, beside: Path, way: OpeningWay, owned: tuple[DataSet, datetime]
) -> OpenedLedger:
    """Return the ledger at `place`, whose mark is beside `beside`, once it is the data set's.

    Raises:
        ConfigError: it is another data set's, or not the one that was here, and nobody has said that it may be.
    """
    dataset, now = owned
    recorded, adopted = read_owner(connection), None
    if recorded is None:
        raise ConfigError(f"ledger {place} belongs to no data set: somebody has changed it")
    if dataset.is_called(recorded.dataset):
        dataset = recorded.dataset  # in its own words, by which its releases are stored
    else:
        if way is not OpeningWay.ADOPTED:
            raise of_another(place, recorded.dataset, dataset)
        adopted = recorded.dataset
        write_owner(connection, dataset, now, "adopted")
    lines = last_line(connection)
    if _differs(place, read_mark(beside), recorded.ledger, lines, way):
        write_owner(connection, dataset, now, "--new-ledger")
    return OpenedLedger(recorded.ledger, dataset, lines, adopted)


def last_line(connection: SqlConnection) -> int:
    """Return the number of the last charge."""
    return int(connection.execute(_LAST_CHARGE).fetchone()[0])


def require_no_loss(place: object, beside: Path, way: OpeningWay) -> None:
    """Return if no ledger was at a place where there is none.

    Raises:
        ConfigError: its mark is there, and nobody has said that it is lost.
    """
    if way is not OpeningWay.ANEW and read_mark(beside) is not None:
        raise _gone(place, "is gone")


def _differs(place: object, last: Mark | None, ledger: str, lines: int, way: OpeningWay) -> bool:
    """Return whether this is another ledger than was here last time, or an older copy.

    Raises:
        ConfigError: it is, and nobody has said that it may be.
    """
    if last is None or (last.ledger == ledger and last.lines <= lines):
        return False
    if way is OpeningWay.ANEW:
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


# Whether all lines of a ledger are there, as they were written.


@dataclass(frozen=True, slots=True)
class LedgerExamination:
    """The contents of a ledger, and the faults in it."""

    ledger: str
    """Its identity."""
    dataset: DataSet
    charges: int
    statements: int
    epochs: int
    wrong: tuple[str, ...]


def examine_lines(connection: SqlConnection, owner: Owner, wrong: tuple[str, ...]) -> LedgerExamination:
    """Return what a ledger holds, once its owner and its mistakes are read."""
    charges, statements, epochs = (
        int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 # names of ours
        for table in ("charges", "statements", "epochs")
    )
    return LedgerExamination(owner.ledger, owner.dataset, charges, statements, epochs, wrong)


def wrong_lines(connection: SqlConnection) -> Iterator[str]:
    """Yield what is not as dpsql writes it."""
    for table in ("statements", "charges", "events", "owners"):
        number, last = connection.execute(f"SELECT count(*), coalesce(max(id), 0) FROM {table}").fetchone()  # noqa: S608
        if number != last:
            yield f"{last - number} lines of {table} are gone"
    for line, epsilon, delta, rho in connection.execute("SELECT id, epsilon, delta, rho FROM charges"):
        try:
            sound = Fraction(epsilon) >= 0 <= Fraction(delta) and (rho is None or Fraction(rho) > 0)
        except (ValueError, ZeroDivisionError):
            sound = False
        if not sound:
            yield f"line {line} of charges has no amount"
