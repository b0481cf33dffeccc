"""What the ledger's file holds of measurements: releases and failures, whose they are, and the lines that charge for them."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from dpsql.accounting.balance import Account, Balance, afford
from dpsql.accounting.composition import compose
from dpsql.accounting.failures import Failing
from dpsql.accounting.ledger import Beside, ChargeItem, ToldRelease

_STORED = """
SELECT release, failed, EXISTS (SELECT 1 FROM entitlements e WHERE e.kind = r.kind AND e.key = r.key AND e.role = ?3)
FROM releases r WHERE kind = ?1 AND key = ?2
"""
_STATEMENT = "INSERT INTO statements (time, user, role, kind, text) VALUES (?, ?, ?, ?, ?)"
_CHARGE = "INSERT INTO charges (statement, key, note, epsilon, delta, measured) VALUES (?, ?, ?, ?, ?, ?)"
_RELEASE = """
INSERT OR IGNORE INTO releases (kind, key, release)
SELECT ?1, ?2, ?3 WHERE ?4 IS NULL OR EXISTS (SELECT 1 FROM releases WHERE kind = ?1 AND key = ?4 AND release = ?5)
"""
_KEPT = "SELECT release FROM releases WHERE kind = ? AND key = ? AND failed IS NULL"
_FAILED = "INSERT OR IGNORE INTO releases (kind, key, release, failed) VALUES (?, ?, x'', ?)"
_ENTITLEMENT = "INSERT OR IGNORE INTO entitlements (kind, key, role, question) VALUES (?, ?, ?, ?)"
_MOST_TOLD = 500
"""Questions that are read at a time, the newest: each may be long."""
_TOLD = """
SELECT e.rowid, e.key, e.question FROM entitlements e JOIN releases r USING (kind, key)
WHERE e.kind = ?1 AND e.role = ?2 AND e.rowid > ?3 AND e.question IS NOT NULL AND r.failed IS NULL
ORDER BY e.rowid DESC LIMIT ?4
"""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """What the file holds of one item."""

    item: ChargeItem
    release: bytes | None
    failed: Failing | None
    """How it was measured in vain."""
    paid: bool
    """Whether the role may have the release, or hear of the failure, without a further charge."""

    @property
    def stored(self) -> bool:
        """Return whether it need not be measured."""
        return self.release is not None or self.failed is not None


def find_stored(connection: sqlite3.Connection, account: Account, item: ChargeItem) -> StoredItem:
    """Return what is stored of an item."""
    row = connection.execute(_STORED, (account.role.protects, item.key, account.role.name)).fetchone()
    release, failed, entitled = row or (None, None, 0)
    return StoredItem(item, None if failed else release, Failing(failed) if failed else None, bool(entitled))


def find_paid(connection: sqlite3.Connection, account: Account, keys: Iterable[str]) -> dict[str, bytes]:
    """Return what is stored and was paid for by the role, by its key."""
    found: dict[str, bytes] = {}
    for key in keys:
        row = connection.execute(_STORED, (account.role.protects, key, account.role.name)).fetchone()
        release, failed, entitled = row or (None, None, 0)
        if release is not None and entitled and not failed:
            found[key] = bytes(release)
    return found


def unmeasured(found: Sequence[StoredItem]) -> frozenset[str]:
    """Return the keys of what has to be measured: nothing, where something is known to fail."""
    if any(each.failed for each in found):
        return frozenset()
    return frozenset(each.item.key for each in found if not each.stored)


def to_be_paid(balance: Balance, found: Sequence[StoredItem]) -> Sequence[StoredItem]:
    """Return what has to be paid for, if the account can.

    Raises:
        DpsqlError: it can't.
    """
    # What is known to fail fails again, free, and nothing that stands beside it is paid for.
    failed = any(each.failed and each.paid for each in found)
    due = [] if failed else [each for each in found if not each.paid]
    afford(balance, [each.item.cost for each in due], compose(each.item.cost for each in due if not each.stored))
    return due


def enter_charges(
    connection: sqlite3.Connection, account: Account, text: str, now: datetime, due: Sequence[StoredItem]
) -> int:
    """Write one line per item; return the last one's number."""
    role, last = account.role, 0
    statement = connection.execute(
        _STATEMENT, (now.isoformat(), account.user, role.name, role.protects, text)
    ).lastrowid
    for each in due:
        key, cost = each.item.key, each.item.cost
        measured = not each.stored
        values = (statement, key, each.item.note, str(cost.epsilon), str(cost.delta), measured)
        last = connection.execute(_CHARGE, values).lastrowid or 0
    return last


def find_told(connection: sqlite3.Connection, account: Account, after: int) -> tuple[ToldRelease, ...]:
    """Return what a role was told last since a number, in that order, with the questions."""
    role = account.role
    rows = connection.execute(_TOLD, (role.protects, role.name, after, _MOST_TOLD)).fetchall()
    return tuple(ToldRelease(*row) for row in reversed(rows))


def entitle(
    connection: sqlite3.Connection, account: Account, bought: Sequence[StoredItem], question: str | None
) -> None:
    """Let a role have releases that others had made: in a transaction after that of its charges, which have to last first."""
    for each in bought:
        connection.execute(_ENTITLEMENT, (account.role.protects, each.item.key, account.role.name, question))


def keep(
    connection: sqlite3.Connection,
    account: Account,
    key: str,
    release: bytes,
    beside: Beside | None,
    question: str | None,
) -> bytes:
    """Store a release, unless one is stored or it belongs beside another than is; return the one that is the role's."""
    kind = account.role.protects
    connection.execute(_RELEASE, (kind, key, release, *(beside or (None, None))))
    kept = connection.execute(_KEPT, (kind, key)).fetchone()
    if kept is None:  # the epoch is over, or another process has failed
        return release
    connection.execute(_ENTITLEMENT, (kind, key, account.role.name, question))
    return bytes(kept[0])


def mark(connection: sqlite3.Connection, account: Account, key: str, how: Failing) -> None:
    """Store that a measurement failed; where another process was first, with a release, that stays."""
    kind = account.role.protects
    connection.execute(_FAILED, (kind, key, how))
    connection.execute(_ENTITLEMENT, (kind, key, account.role.name, None))


def forget(connection: sqlite3.Connection) -> None:
    """Let nothing that is stored answer a question any more."""
    connection.execute("DELETE FROM releases")
    connection.execute("DELETE FROM entitlements")
