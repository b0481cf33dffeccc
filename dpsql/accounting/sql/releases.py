"""The ledger's record of measurements: releases and failures, whose they are, and the lines that charge for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeVar

from dpsql.accounting.balance import Account, Balance, afford, refuse_broken_forms
from dpsql.accounting.ledger import AHEAD, Beside, ChargeItem, FailureKind, ToldRelease
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql import lines
from dpsql.accounting.sql.store import LedgerStore, SqlConnection
from dpsql.byte_limited_cache import ByteLimitedCache
from dpsql.interrupt import pause
from dpsql.policy.model import Period
from dpsql.question import Cancellation

# Three tables: `releases` has what was measured, once for all roles that protect a unit kind; `entitlements` which role has
# paid for which of them; `readings` which releases an answer was read off. A key names all that a release depends on: the
# measurement, the policy and the epoch.
_STORED = """
SELECT release, failed, EXISTS (SELECT 1 FROM entitlements e WHERE e.kind = r.kind AND e.key = r.key AND e.role = ?3)
FROM releases r WHERE kind = ?1 AND key = ?2
"""
_RELEASE = """
INSERT INTO releases (kind, key, release) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
"""
_BESIDE = "SELECT 1 FROM releases WHERE kind = ?1 AND key = ?2 AND release = ?3"
_KEPT = "SELECT release FROM releases WHERE kind = ?1 AND key = ?2 AND failed IS NULL"
_FAILED = "INSERT INTO releases (kind, key, release, failed) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING"
_ENTITLEMENT = """
INSERT INTO entitlements (kind, key, role, question) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
"""
_MOST_TOLD = 500
"""Questions that are read at a time, the newest: each may be long."""
_TOLD = """
SELECT e.rowid, e.key, e.question FROM entitlements e JOIN releases r USING (kind, key)
WHERE e.kind = ?1 AND e.role = ?2 AND e.rowid > ?3 AND e.question IS NOT NULL AND r.failed IS NULL
ORDER BY e.rowid DESC LIMIT ?4
"""
_TOLD_UNDER = """
SELECT e.rowid, e.key, e.question FROM entitlements e JOIN releases r USING (kind, key)
WHERE e.kind = ?1 AND e.role = ?2 AND e.key = ?3 AND e.question IS NOT NULL AND r.failed IS NULL
"""
_READING = """
INSERT INTO readings (kind, role, key, sources) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
"""
_SOURCES = "SELECT sources FROM readings WHERE kind = ?1 AND role = ?2 AND key = ?3"


@dataclass(frozen=True, slots=True)
class StoredItem:
    """The ledger's record of one item."""

    item: ChargeItem
    release: bytes | None
    failed: FailureKind | None
    """How it was measured in vain."""
    paid: bool
    """Whether the role may have the release, or hear of the failure, without a further charge."""

    @property
    def stored(self) -> bool:
        """Return whether it need not be measured."""
        return self.release is not None or self.failed is not None


def find_stored(connection: SqlConnection, account: Account, item: ChargeItem) -> StoredItem:
    """Return what is stored of an item."""
    row = connection.execute(_STORED, (account.role.protects, item.key, account.role.name)).fetchone()
    release, failed, entitled = row or (None, None, 0)
    return StoredItem(item, None if failed else release, FailureKind(failed) if failed else None, bool(entitled))


def find_paid(connection: SqlConnection, account: Account, keys: Iterable[str]) -> dict[str, bytes]:
    """Return what is stored and was paid for by the role, by its key."""
    releases: dict[str, bytes] = {}
    for key in keys:
        row = connection.execute(_STORED, (account.role.protects, key, account.role.name)).fetchone()
        release, failed, entitled = row or (None, None, 0)
        if release is not None and entitled and not failed:
            releases[key] = bytes(release)
    return releases


def keys_to_measure(stored_items: Sequence[StoredItem]) -> frozenset[str]:
    """Return the keys of what has to be measured: nothing, where something is known to fail."""
    if any(each.failed for each in stored_items):
        return frozenset()
    return frozenset(each.item.key for each in stored_items if not each.stored)


def to_be_paid(balance: Balance, stored_items: Sequence[StoredItem]) -> Sequence[StoredItem]:
    """Return what has to be paid for, if the account can.

    Raises:
        DpsqlError: it can't.
    """
    # A stored failure fails again, free, and nothing that stands beside it is paid for.
    failed = any(each.failed and each.paid for each in stored_items)
    due = [] if failed else [each for each in stored_items if not each.paid]
    refuse_broken_forms(balance, (each.item.form for each in due if not each.stored))
    afford(balance, [each.item.cost for each in due], [each.item.cost for each in due if not each.stored])
    return due


def enter_charges(
    connection: SqlConnection, account: Account, text: str, now: datetime, due: Sequence[StoredItem]
) -> int:
    """Write one line per item; return the last one's number."""
    role, last = account.role, 0
    statement = lines.enter_statement(connection, now, account.user, (role.name, role.protects), text)
    for each in due:
        item = each.item
        read = item.read or ReadDays.of_now(now)
        last = lines.enter_charge(connection, statement, item.key, item.note, item.cost, read, measured=not each.stored)
    return last


def find_told(connection: SqlConnection, account: Account, after: int) -> tuple[ToldRelease, ...]:
    """Return what a role was told last since a number, in that order, with the questions."""
    role = account.role
    rows = connection.execute(_TOLD, (role.protects, role.name, after, _MOST_TOLD)).fetchall()
    return tuple(ToldRelease(*row) for row in reversed(rows))


def find_told_under(connection: SqlConnection, account: Account, keys: Iterable[str]) -> tuple[ToldRelease, ...]:
    """Return what a role was told under some keys, with the questions."""
    role = account.role
    rows = (connection.execute(_TOLD_UNDER, (role.protects, role.name, key)).fetchone() for key in keys)
    return tuple(ToldRelease(*row) for row in rows if row is not None)


def find_readings(connection: SqlConnection, account: Account, keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return by the keys of answers the keys of the releases that a role's were read off."""
    role = account.role
    rows = ((key, connection.execute(_SOURCES, (role.protects, role.name, key)).fetchone()) for key in keys)
    return {key: tuple(row[0].split()) for key, row in rows if row is not None}


def keep_readings(
    connection: SqlConnection, account: Account, readings: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Store what answers are read off, unless something else is stored already; return what is stored."""
    role = account.role
    for key, sources in readings.items():
        connection.execute(_READING, (role.protects, role.name, key, " ".join(sources)))
    return find_readings(connection, account, readings)


def entitle(connection: SqlConnection, account: Account, bought: Sequence[StoredItem], question: str | None) -> None:
    """Let a role have releases that others had made: in a transaction after that of its charges, which have to last first."""
    for each in bought:
        connection.execute(_ENTITLEMENT, (account.role.protects, each.item.key, account.role.name, question))


def keep_release(
    connection: SqlConnection,
    account: Account,
    key: str,
    release: bytes,
    beside: Beside | None,
    question: str | None,
) -> bytes:
    """Store a release, unless one is stored or it belongs beside another than is; return the one that is the role's."""
    kind = account.role.protects
    if beside is None or connection.execute(_BESIDE, (kind, *beside)).fetchone():
        connection.execute(_RELEASE, (kind, key, release))
    kept = connection.execute(_KEPT, (kind, key)).fetchone()
    if kept is None:  # the epoch is over, or another process has failed
        return release
    connection.execute(_ENTITLEMENT, (kind, key, account.role.name, question))
    return bytes(kept[0])


def mark_failed(connection: SqlConnection, account: Account, key: str, how: FailureKind) -> None:
    """Store that a measurement failed; where another process was first, with a release, that stays."""
    kind = account.role.protects
    connection.execute(_FAILED, (kind, key, b"", how))
    connection.execute(_ENTITLEMENT, (kind, key, account.role.name, None))


def forget_releases(connection: SqlConnection) -> None:
    """Let nothing that is stored answer a question any more, but that standing questions were paid for."""
    connection.execute("DELETE FROM releases WHERE key NOT LIKE 'standing %'")
    connection.execute("DELETE FROM entitlements WHERE key NOT LIKE 'standing %'")
    connection.execute("DELETE FROM readings")


# The ledger's epochs: which is the last one, and beginning the next.

_LAST_EPOCH = "SELECT number, began, reason FROM epochs ORDER BY number DESC LIMIT 1"
_NEXT_EPOCH = "INSERT INTO epochs (began, reason) VALUES (?1, ?2) RETURNING number"


def last_epoch(connection: SqlConnection) -> tuple[int, date]:
    """Return the last epoch, and the day on which it began."""
    row = connection.execute(_LAST_EPOCH).fetchone()
    return (int(row[0]), datetime.fromisoformat(row[1]).date()) if row else (0, date.min)


def last_began(connection: SqlConnection) -> datetime:
    """Return when the last epoch began."""
    return datetime.fromisoformat(connection.execute(_LAST_EPOCH).fetchone()[1])


def is_ahead(connection: SqlConnection, refresh: Period, now: datetime) -> bool:
    """Return whether the last epoch has begun in the future, and would last until then."""
    return refresh is not Period.NEVER and last_epoch(connection)[1] > (now + AHEAD).date()


def last_reason(connection: SqlConnection) -> str | None:
    """Return why the last epoch began."""
    row = connection.execute(_LAST_EPOCH).fetchone()
    return None if row is None else str(row[2])


def enter_epoch(connection: SqlConnection, reason: str, now: datetime) -> int:
    """Begin the next epoch; return its number."""
    # Keys contain the epoch, so what was stored under earlier ones can't be asked for again.
    forget_releases(connection)
    return int(connection.execute(_NEXT_EPOCH, (now.isoformat(), reason)).fetchone()[0])


# Releases that are stored and paid for, looked up without waiting for those who pay.
#
# Promise: what is remembered is what the ledger had for the role under a key, and no key is asked for in another epoch.

_T = TypeVar("_T")
_KEY = 200
_MOST_REMEMBERED = 4 * 2**20
"""Bytes of the releases that are remembered, and of one's key."""
_TIMES = 20
"""How often to look for stored releases while another process writes."""
_LOOK_AGAIN = 0.005
"""Seconds until it is looked for again."""


class LedgerLooks:
    """Looks into one ledger, until the epoch ends."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._known: ByteLimitedCache[bytes] = ByteLimitedCache(_MOST_REMEMBERED, _size)
        """Releases by unit kind, role and key: which of them may have which without a further charge."""

    def stored_releases(
        self, account: Account, items: Sequence[ChargeItem], cancellation: Cancellation | None
    ) -> Mapping[str, bytes] | FailureKind | None:
        """Return what is paid for and stored; see `Ledger.stored_releases`."""
        whose = (account.role.protects, account.role.name)
        kept = {item.key: self._known.get((*whose, item.key)) for item in items}
        if None not in kept.values():
            return {key: release for key, release in kept.items() if release is not None}

        def look(connection: SqlConnection) -> list[StoredItem]:
            return [find_stored(connection, account, item) for item in items]

        for _ in range(_TIMES):
            stored = self._store.glance(look)
            if stored is not None:
                return self._paid(stored, whose)
            pause(_LOOK_AGAIN, cancellation)
        return None  # a payer waits for those who write, and then sees the stored releases

    def at_hand(
        self, account: Account, keys: Iterable[str], names: Iterable[str]
    ) -> tuple[tuple[int, date], Mapping[str, bytes]] | None:
        """Return the last epoch, its first day, and what is remembered under some keys; see `Ledger.at_hand`."""
        whose = (account.role.protects, account.role.name)
        kept = {key: self._known.get((*whose, key)) for key in keys}
        known = {key: release for key, release in kept.items() if release is not None}
        if len(known) < len(kept):
            return None
        wanted = tuple(names)

        def look(connection: SqlConnection) -> tuple[tuple[int, date], bool]:
            return last_epoch(connection), bool(find_readings(connection, account, wanted))

        seen = self._store.glance(look, at_once=True)
        return None if seen is None or seen[1] else (seen[0], known)

    def looked(self, look: Callable[[SqlConnection], _T], cancellation: Cancellation | None) -> _T:
        """Return what one look tells, without waiting where nobody writes."""
        seen = self._store.glance(look)
        if seen is None:
            with self._store.read(cancellation) as connection:
                seen = look(connection)
        return seen

    def _paid(
        self, stored_items: Sequence[StoredItem], whose: tuple[str, str]
    ) -> Mapping[str, bytes] | FailureKind | None:
        failed = next((each.failed for each in stored_items if each.failed and each.paid), None)
        if failed is not None:
            return failed
        kept = {each.item.key: each.release for each in stored_items if each.paid and each.release is not None}
        for key, release in kept.items():
            self._known.keep((*whose, key), release)
        return kept if len(kept) == len(stored_items) else None


def _size(value: object) -> int:
    """Return what a release takes, or its key."""
    return len(value) if isinstance(value, bytes) else _KEY
