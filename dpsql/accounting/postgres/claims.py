"""Claims of servers that share a ledger, on measurements: advisory locks of a session, which end with it."""

import time
from collections.abc import Iterable

import psycopg

from dpsql.accounting.postgres.session import SharedSession, run_on_server
from dpsql.accounting.postgres.trouble import trouble_of
from dpsql.accounting.sql.place_of_key import place_of_key

_TAKE = "SELECT pg_try_advisory_lock(key) FROM unnest($1::bigint[]) key"
_END = "SELECT pg_advisory_unlock(key) FROM unnest($1::bigint[]) key"

_AWAY = 20.0
"""Seconds for which a server that can't be reached is waited for."""


class ServerClaims:
    """Claims of one server on measurements; see `MeasuringClaims`.

    Where the ledger's server goes away all locks are gone; their owners take them again once it is back.
    """

    def __init__(self, dsn: str) -> None:
        self._shared = SharedSession(dsn)
        self._held: set[int] = set()
        self._session: psycopg.Connection | None = None
        self._away_since: float | None = None

    def close(self) -> None:
        """End all of them."""
        with self._shared.lock:
            self._shared.session.close()

    def take(self, keys: Iterable[str]) -> bool:
        """Claim these keys, all or none; see `MeasuringClaims.take`.

        Raises:
            LedgerFailed: the server could not be reached for a while.
        """
        wanted = {place_of_key(key) for key in keys}
        if not wanted:
            return True
        with self._shared.lock:
            try:
                taken = self._taken(wanted - self._held)
            except psycopg.Error as error:
                self._shared.session.drop()
                if time.monotonic() > (self._away_since or time.monotonic()) + _AWAY:
                    raise trouble_of(error) from error
                self._away_since = self._away_since or time.monotonic()
                return False
            self._away_since = None
            if taken:
                self._held |= wanted
            return taken

    def give_back(self, keys: Iterable[str]) -> None:
        """End claims; see `MeasuringClaims.give_back`."""
        ended = {place_of_key(key) for key in keys}
        with self._shared.lock:
            ended &= self._held
            if not ended:
                return
            self._held -= ended
            try:
                run_on_server(self._again(), _END, (sorted(ended),))
            except psycopg.Error:
                self._shared.session.drop()

    def _taken(self, wanted: set[int]) -> bool:
        """Lock all or none."""
        connection = self._again()
        order = sorted(wanted)
        taken = [row[0] for row in run_on_server(connection, _TAKE, (order,))]
        if not all(taken):
            run_on_server(connection, _END, ([key for key, got in zip(order, taken, strict=True) if got],))
        return all(taken)

    def _again(self) -> psycopg.Connection:
        """Return the session, which has what we hold."""
        connection = self._shared.session.opened(soon=False)
        if connection is not self._session:
            self._session = connection
            run_on_server(connection, _TAKE, (sorted(self._held),))
        return connection
