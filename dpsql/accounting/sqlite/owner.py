"""Whose ledger a SQLite file is: the last of its lines that say so, and the identity that it was given when it was made."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dpsql.accounting.ledger import DataSet
from dpsql.errors import ConfigError

MADE, TAKEN_OVER = "made", "taken over"
_OWNER = """
SELECT ledger, dataset, source, EXISTS (SELECT 1 FROM owners WHERE reason = 'taken over')
FROM owners ORDER BY id DESC LIMIT 1
"""
_NEW_OWNER = """
INSERT INTO owners (ledger, time, dataset, source, reason)
SELECT coalesce((SELECT min(ledger) FROM owners), lower(hex(randomblob(16)))), ?, ?, ?, ?
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose ledger a file is."""

    ledger: str
    """The ledger's own identity, drawn when it was made."""
    dataset: DataSet
    inherited: bool
    """Whether it was kept before ledgers belonged to data sets, perhaps for several."""


def owner_of(path: Path) -> Owner | None:
    """Return whose ledger a file is; None if it is of a time before ledgers belonged to data sets.

    Raises:
        ConfigError: it can't be read.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return owner(connection) if version > 1 else None
    except sqlite3.Error as error:
        raise ConfigError(f"ledger {path} can't be read: {error}") from error


def owner(connection: sqlite3.Connection) -> Owner | None:
    """Return whose ledger an open file is."""
    row = connection.execute(_OWNER).fetchone()
    return row and Owner(row[0], DataSet(row[1], row[2]), inherited=bool(row[3]))


def own(connection: sqlite3.Connection, dataset: DataSet, now: datetime, reason: str) -> None:
    """Write whose ledger it is from now on; its own identity is drawn once."""
    connection.execute(_NEW_OWNER, (now.isoformat(), dataset.name, dataset.source, reason))


def of_another(path: Path, theirs: DataSet, ours: DataSet) -> ConfigError:
    """Return the refusal of a ledger that is another data set's."""
    wrong = f'the data set "{theirs.name}", not of "{ours.name}"'
    if theirs.name == ours.name:
        wrong = f"{theirs.source}, not of {ours.source}"
    return ConfigError(
        f"ledger {path} is that of {wrong}",
        hint="Give each data set a ledger of its own. If the same records have another name or place now: dpsql adopt",
    )
