"""The ledger on a PostgreSQL server: any number of threads, processes and machines."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date
from pathlib import Path
from typing import TypeVar

import psycopg

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.ledger import DataSet, Entry, OpeningWay
from dpsql.accounting.postgres import schema
from dpsql.accounting.postgres.session import (
    SCHEMA,
    ServerTransaction,
    SharedSession,
    is_away,
    is_busy,
    run_on_server,
    shown_place,
    trouble_of,
)
from dpsql.accounting.sql import lines
from dpsql.accounting.sql import opening as sql_opening
from dpsql.accounting.sql.balances import balances
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sql.opening import (
    LedgerExamination,
    OpenedLedger,
    examine_lines,
    last_line,
    read_mark,
    read_owner,
    require_no_loss,
    take_ledger,
    wrong_lines,
)
from dpsql.accounting.sql.releases import last_epoch
from dpsql.accounting.sql.store import SqlConnection, place_of_key
from dpsql.clock import Clock
from dpsql.errors import ConfigError, LedgerFailed
from dpsql.interrupt import pause
from dpsql.private_files import make_directory
from dpsql.question import Cancellation

# The ledger's tables on a PostgreSQL server: transactions that survive a kill of either side at any moment.
#
# Promise: what `write` has returned from is on the server's disk. Where the connection breaks while it commits nobody knows
# whether it is there, and it is not tried again: a charge is made once, or once in vain, and never twice.

_T = TypeVar("_T")
_LOG = logging.getLogger("dpsql.ledger")
_PATIENCE = 60.0
"""Seconds to wait for other servers' transactions; one takes milliseconds."""
_AWAY = 20.0
"""Seconds to wait for the ledger's server while it can't be reached."""
_GLANCE = 5.0
"""Seconds that a look may take which nobody waits for."""
_LEAST = 0.2
"""Seconds to wait where that time has gone by with waiting for somebody who waited."""
_AGAIN = 0.05
"""Seconds until it is tried again."""
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '250ms'; {schema.KEEP_OTHERS_OUT}"
_SYNCS = "SHOW fsync"
_MADE_ONCE = "SELECT pg_advisory_xact_lock(7236284823)"
"""A process that opens a ledger waits here for the one that makes it."""


class PostgresStore:
    """A session for transactions, used by one thread at a time, and another that looks meanwhile."""

    def __init__(self, dsn: str, beside: Path, owned: DataSet, clock: Clock, way: OpeningWay) -> None:
        """Open the ledger of a data set, or make it; its mark is beside the path `beside` on this machine.

        Raises:
            ConfigError: it can't be used, is one of a newer dpsql, another data set's, or less than there was.
        """
        self._place, self._beside = shown_place(dsn), beside
        self._shared, self._eye = SharedSession(dsn), SharedSession(dsn)
        try:
            make_directory(beside.parent)
            with open_transaction(self._shared, self._place) as connection:
                self._opened = prepare(connection, self._place, beside, way, (owned, clock))
        except OSError as error:
            raise ConfigError(
                f"the mark of ledger {self._place} can't be kept at {beside}: {error.strerror}"
            ) from error
        finally:
            if not hasattr(self, "_opened"):
                self.close()
        self._noted = self._opened.lines
        self.note(self._noted)

    @property
    def identity(self) -> str:
        """Return what no other ledger has, nor this one for another data set."""
        return self._opened.identity

    @property
    def adopted(self) -> DataSet | None:
        """Return whose it was until it was opened, if it was another's."""
        return self._opened.adopted

    def close(self) -> None:
        """Close the connections, after all that is going on."""
        for shared in (self._shared, self._eye):
            with shared.lock:
                shared.session.close()

    def epoch(self) -> tuple[int, date] | None:
        """Return the last epoch, and the day on which it began; None where the server can't be asked."""
        return self.glance(last_epoch)

    def glance(self, look: Callable[[SqlConnection], _T], *, at_once: bool = False) -> _T | None:
        """Return what one look tells, without waiting; None where the server can't be asked."""
        if at_once:
            return None
        with self._eye.lock:
            try:
                connection = self._eye.session.opened(soon=False)
                run_on_server(connection, _READ, patience=_GLANCE)
                return look(ServerTransaction(connection, _GLANCE))
            except psycopg.Error:
                return None
            finally:
                self._eye.session.end("COMMIT")

    @contextmanager
    def read(self, cancellation: Cancellation | None = None, since: float | None = None) -> Iterator[SqlConnection]:
        """Lend a connection for queries of one state; see `LedgerStore.read`."""
        with self._lent(cancellation, since, _READ) as connection:
            yield connection

    @contextmanager
    def write(
        self, cancellation: Cancellation | None = None, since: float | None = None, *, durable: bool = True
    ) -> Iterator[SqlConnection]:
        """Lend a connection for one transaction that no other server's overlaps; see `LedgerStore.write`."""
        # Lines that need not be durable are so anyway: it costs a millisecond, and a kill of the server leaves it.
        _ = durable
        with self._lent(cancellation, since, _WRITE) as connection:
            yield connection

    def check(self) -> None:
        """Return: how much room the server has it tells nobody, but by the error of a transaction."""

    def touch(self, connection: SqlConnection) -> None:
        """Write the version of the tables again; see `LedgerStore.touch`."""
        connection.execute("UPDATE version SET number = ?1", (schema.SERVER_VERSION,))

    def require_owner(self, connection: SqlConnection) -> None:
        """Return if the ledger still is the one that was opened, the data set's, and has all that we know of.

        Raises:
            LedgerFailed: it does not, since somebody has let another data set adopt it, or put an older state back.
        """
        recorded, lines = sql_opening.read_owner(connection), last_line(connection)
        if recorded is None or (recorded.ledger, recorded.dataset) != (self._opened.ledger, self._opened.dataset):
            _LOG.error("the ledger can't be used: %s is another one now, or another data set's", self._place)
            raise LedgerFailed
        if lines < self._noted:
            _LOG.error("the ledger can't be used: %s lacks %s charges that it had", self._place, self._noted - lines)
            raise LedgerFailed
        self._noted = lines

    def note(self, line: int) -> None:
        """Remember, on this machine, that it has this line."""
        self._noted = max(self._noted, line)
        sql_opening.write_mark(self._beside, self._opened.mark(line))

    @contextmanager
    def _lent(self, cancellation: Cancellation | None, since: float | None, begin: str) -> Iterator[SqlConnection]:
        """Lend the connection; what has not begun yet is tried again, and nothing else."""
        now = time.monotonic()
        began = now if since is None else since
        while True:
            with self._shared.lock:
                connection = self._begun(begin, now, began)
                if connection is not None:
                    try:
                        yield ServerTransaction(connection)
                        run_on_server(connection, "COMMIT")
                    except psycopg.Error as error:
                        raise trouble_of(error) from error
                    finally:
                        self._shared.session.end("ROLLBACK")
                    return
            pause(_AGAIN, cancellation)

    def _begun(self, begin: str, now: float, since: float) -> psycopg.Connection | None:
        """Begin a transaction; None if it should be tried again."""
        try:
            # Of those who wait for one that does not answer only the first tries to connect again.
            connection = self._shared.session.opened(soon=False)
            run_on_server(connection, begin, prepare=False)
        except psycopg.Error as error:
            self._shared.session.end("ROLLBACK")
            patience = _PATIENCE if is_busy(error) else _AWAY if is_away(error) else 0
            if time.monotonic() < max(now + _LEAST, since + patience) and patience:
                return None
            raise trouble_of(error) from error
        return connection


def prepare(
    connection: SqlConnection, place: str, beside: Path, way: OpeningWay, owned: tuple[DataSet, Clock]
) -> OpenedLedger:
    """Make the tables unless they are there, and see whose they are; in a transaction that has begun.

    Raises:
        ConfigError: they can't be used.
    """
    dataset, now = owned[0], owned[1]().astimezone(UTC)
    # To look at a ledger by hand: `dpsql ledger show`, or SQL on its schema; nothing but dpsql may write there.
    connection.execute(_MADE_ONCE)
    (syncs,) = connection.execute(_SYNCS).fetchone()
    # The promise of durability is the server's to keep, and this setting is how it would break it.
    if syncs != "on":
        raise ConfigError(f"ledger {place} would lose charges with the power: its server has fsync = {syncs}")
    if not schema.is_there(connection):
        require_no_loss(place, beside, way)
        schema.make_tables(connection)
        sql_opening.write_owner(connection, dataset, now, sql_opening.MADE)
    schema.upgrade(connection)
    schema.require_version(connection, place)
    connection.execute(schema.KEEP_OTHERS_OUT)
    return take_ledger(connection, place, beside, way, (dataset, now))


@contextmanager
def open_transaction(shared: SharedSession, place: str, *, keep: bool = True) -> Iterator[SqlConnection]:
    """Give a transaction, which is kept or leaves no trace.

    Raises:
        ConfigError: the server does not let us.
    """
    with shared.lock:
        try:
            connection = shared.session.opened()
            connection.execute("BEGIN ISOLATION LEVEL " + ("READ COMMITTED" if keep else "REPEATABLE READ"))
            yield ServerTransaction(connection)
            connection.execute("COMMIT" if keep else "ROLLBACK")
        except psycopg.Error as error:
            raise ConfigError(
                f"ledger {place} can't be opened: {str(error).strip()}",
                hint="The role that ledger names needs CREATE on the database, in which dpsql makes the schema "
                f"{SCHEMA}.",
            ) from error
        finally:
            shared.session.end("ROLLBACK")


def rehearse(
    dsn: str, beside: Path, dataset: DataSet, clock: Clock, accounts: Iterable[Account] = ()
) -> tuple[Balance, ...]:
    """Return the balances of accounts, if the ledger could be opened, and leave no trace.

    Raises:
        ConfigError: it could not.
    """
    shared, place = SharedSession(dsn), shown_place(dsn)
    try:
        with open_transaction(shared, place, keep=False) as connection:
            prepare(connection, place, beside, OpeningWay.AS_IT_IS, (dataset, clock))
            return balances(connection, accounts, clock().astimezone(UTC))
    finally:
        shared.session.close()


# Claims of servers that share a ledger, on measurements: advisory locks of a session, which end with it.

_TAKE = "SELECT pg_try_advisory_lock(key) FROM unnest($1::bigint[]) key"
_END = "SELECT pg_advisory_unlock(key) FROM unnest($1::bigint[]) key"


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


_NAMELESS = DataSet()


# Tables and claims together: the ledger as the gateway has it.


class PostgresLedger(SqlLedger):
    """A `Ledger` on a server."""

    def __init__(
        self, dsn: str, beside: Path, clock: Clock, dataset: DataSet = _NAMELESS, way: OpeningWay = OpeningWay.AS_IT_IS
    ) -> None:
        """Open a data set's ledger on the server of `dsn`, or make a new one; its mark is beside the path `beside`.

        Raises:
            ConfigError: it is not a ledger that this version reads, is another data set's, or is gone.
        """
        super().__init__(PostgresStore(dsn, beside, dataset, clock, way), ServerClaims(dsn), clock)


# An operator's view of a ledger on a server: whether it is whole, and its newest lines. Copies are the server's.


def examine_server(dsn: str) -> LedgerExamination:
    """Return what the ledger on a server holds, and whether all of it is as it was written.

    Raises:
        ConfigError: it can't be read, or is no ledger of this version.
    """
    with _reading(dsn) as connection:
        recorded = read_owner(connection)
        if recorded is None:
            raise ConfigError(f"ledger {shown_place(dsn)} belongs to no data set: somebody has changed it")
        changeable = (
            f"lines of {table} can be changed: its trigger is gone" for table in schema.changeable(connection)
        )
        return examine_lines(connection, recorded, (*changeable, *wrong_lines(connection)))


def missing_charges(examined_ledger: LedgerExamination, beside: Path) -> int | None:
    """Return how many charges a ledger lacks by the mark of this machine; None if it is another one than was here."""
    last = read_mark(beside)
    if last is None:
        return 0
    return max(0, last.lines - examined_ledger.charges) if last.ledger == examined_ledger.ledger else None


def lines_on_server(dsn: str, role: str | None, limit: int) -> tuple[Entry, ...]:
    """Return a ledger's newest lines first, of one role or of all.

    Raises:
        ConfigError: it can't be read.
    """
    with _reading(dsn) as connection:
        return lines.newest_lines(connection, role, limit)


@contextmanager
def _reading(dsn: str) -> Iterator[SqlConnection]:
    shared = SharedSession(dsn)
    try:
        with open_transaction(shared, shown_place(dsn), keep=False) as connection:
            if not schema.is_there(connection):
                raise ConfigError(f"there is no ledger {shown_place(dsn)}")
            schema.require_version(connection, shown_place(dsn))
            yield connection
    finally:
        shared.session.close()
