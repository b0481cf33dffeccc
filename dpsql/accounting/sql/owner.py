"""The owner of a ledger: the last of its lines that name one, and the identity that it was given when it was made."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from dpsql.accounting.ledger import DataSet
from dpsql.accounting.sql.store import SqlConnection
from dpsql.errors import ConfigError

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


def owner(connection: SqlConnection) -> Owner | None:
    """Return whose an open ledger is; None where nothing says so."""
    row = connection.execute(_OWNER).fetchone()
    return row and Owner(row[0], DataSet(row[1], row[2]), inherited=bool(row[3]))


def own(connection: SqlConnection, dataset: DataSet, now: datetime, reason: str) -> None:
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
