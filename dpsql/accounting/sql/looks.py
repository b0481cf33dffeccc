"""Releases that are stored and paid for, looked up without waiting for those who pay.

Promise: what is remembered is what the ledger had for the role under a key, and no key is asked for in another epoch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from dpsql.accounting.balance import Account
from dpsql.accounting.failures import Failing
from dpsql.accounting.ledger import ChargeItem
from dpsql.accounting.sql.releases import StoredItem, find_stored
from dpsql.accounting.sql.store import LedgerStore, SqlConnection
from dpsql.interrupt import pause
from dpsql.question import Cancellation
from dpsql.remembered import Remembered

_T = TypeVar("_T")
_KEY = 200
_MOST = 4 * 2**20
"""Bytes of the releases that are remembered, and of one's key."""
_TIMES = 20
"""How often to look for stored releases while another process writes."""
_AGAIN = 0.005
"""Seconds until it is looked for again."""


class Looks:
    """Looks into one ledger, until the epoch ends."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._known: Remembered[bytes] = Remembered(_MOST, _size)
        """Releases by unit kind, role and key: which of them may have which without a further charge."""

    def stored_releases(
        self, account: Account, items: Sequence[ChargeItem], cancellation: Cancellation | None
    ) -> Mapping[str, bytes] | Failing | None:
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
            pause(_AGAIN, cancellation)
        return None  # a payer waits for those who write, and then sees the stored releases

    def looked(self, look: Callable[[SqlConnection], _T], cancellation: Cancellation | None) -> _T:
        """Return what one look tells, without waiting where nobody writes."""
        seen = self._store.glance(look)
        if seen is None:
            with self._store.read(cancellation) as connection:
                seen = look(connection)
        return seen

    def _paid(self, stored_items: Sequence[StoredItem], whose: tuple[str, str]) -> Mapping[str, bytes] | Failing | None:
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
