"""The accounts of standing questions: what each unit's rows have weighed, in a file of DuckDB's own beside the copy.

A measurement writes an account for each of its units that has none, then reads sums and what is added to accounts in one
statement, adds it, and is durable before it returns the sums. It is all of that, or nothing. The copy that is read has been
written before it was served and never changes, so that all statements of a measurement see the same rows. Accounts are never
shown to anybody, and are not in the ledger: they are records.

Whoever is erased has no account any more. So that who comes back by the same name does not begin anew, a keyed hash of the
name stays until the terms are over in which it had an account: it is given a full one. The key is kept elsewhere.

A store has an identity, which each writer makes anew when it begins, and by question the number and the name of the last
measurement that its accounts have. Who calls compares both with the ledger: a store that is a copy of another, or was put
back from a backup, is not the one that the ledger means.
"""

import fcntl
import hashlib
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from dpsql.accounting.ledger import LastMeasurement
from dpsql.engines.duckdb.files import duckdb_literal
from dpsql.engines.duckdb.opening import shut_doors, spill, to_copy
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import ConfigError, EngineFailed, EngineNotReady, InternalError, QueryCanceled
from dpsql.interrupt import stop_if_cancelled
from dpsql.policy.config import Resources
from dpsql.privacy.measurement.contribution import ACCOUNT
from dpsql.privacy.release.exact import EngineRow
from dpsql.private_files import make_directory, open_private
from dpsql.question import Cancellation

_LOG = logging.getLogger("dpsql.engine")
_FILE, _LOCK = "accounts.duckdb", "lock"
_AGAIN = 0.05
"""Seconds until it is looked again whether somebody has cancelled."""
_STORE, _MEASURED = "standing", "dpsql_measured"
_TABLES = f"""
CREATE TABLE IF NOT EXISTS {_STORE}.main.lineage (name VARCHAR NOT NULL);
CREATE TABLE IF NOT EXISTS {_STORE}.main.questions (
    question VARCHAR NOT NULL, number BIGINT NOT NULL, claim VARCHAR NOT NULL, until TIMESTAMP NOT NULL
);
CREATE TABLE IF NOT EXISTS {_STORE}.main.kinds (question VARCHAR NOT NULL, kind VARCHAR NOT NULL);
CREATE TABLE IF NOT EXISTS {_STORE}.main.forgotten (question VARCHAR NOT NULL, hashed VARCHAR NOT NULL);
CREATE TABLE IF NOT EXISTS {_STORE}.main.keyed (sign VARCHAR NOT NULL);
"""
_HASHED = "sha256(? || sha256(? || n.unit))"
"""What stays of the name of a unit that was erased, with the key."""
_IN_PROCESS = threading.Lock()
"""One measurement of a standing question at a time in a process: the file's lock is the process's."""


@dataclass(frozen=True, slots=True)
class AccountedSums:
    """The statements of one measurement."""

    units: str
    """The SELECT of the texts of the units that have rows in it, each once."""
    sums: str
    """The statement of sums and of what is added to accounts, in its last two columns."""
    most: int
    """The most that an account may be."""
    until: datetime
    """From when on the question is measured no more, and accounts go."""
    kind: str = ""
    """Of the units."""


class AccountStore:
    """The accounts of a data set, in a directory of their own, beside the file of one copy."""

    def __init__(
        self, directory: Path, records: Path, resources: Resources, key: bytes, beside: Mapping[str, Path] = {}
    ) -> None:
        """Keep them in a directory; those who were erased are known by hashes with `key`, which is not kept there.

        `records` is the copy's file, and its parts are `beside` it.
        """
        self.directory, self._records, self._resources = directory, records, resources
        self._beside = beside
        self._key = hashlib.sha256(key + b"forgotten").hexdigest()

    @contextmanager
    def held(self, cancellation: Cancellation) -> Iterator["HeldAccounts"]:
        """Give the store for one measurement; no other has it meanwhile.

        Raises:
            EngineNotReady: another process has it, it can't be opened, or was written with another key; nothing was written.
            QueryCanceled: somebody has cancelled while it waited for others in this process.
        """
        # In short waits: whoever waits for another thread's measurement can still cancel.
        while not _IN_PROCESS.acquire(timeout=_AGAIN):
            stop_if_cancelled(cancellation)
        try:
            with self._locked(), self._opened(self._records) as connection:
                accounts = HeldAccounts(connection, self._key)
                accounts.require_same_key()
                yield accounts
        finally:
            _IN_PROCESS.release()

    def forget(self, kind: str, unit: str) -> int:
        """Remove the accounts of a unit of a kind; return how many questions had one. The file is written anew.

        Raises:
            EngineNotReady: a process measures at the time, or the file can't be opened or written.
        """
        with self._locked():
            file = self.directory / _FILE
            if not file.exists():
                return 0
            new = file.with_name(f"{_FILE}.new")
            try:
                # Written anew and not deleted from: DuckDB leaves what is deleted in the file until its place is needed.
                new.unlink(missing_ok=True)
                # In this order: the file is whole, and nobody else may read it, before it has the name. The old file's
                # log does not belong to it, and would be found beside it when it is opened.
                number = _forgotten(file, new, self._key, (kind, unit))
                new.chmod(0o600)
                new.replace(file)
                file.with_name(f"{_FILE}.wal").unlink(missing_ok=True)
            except (duckdb.Error, OSError) as error:
                _LOG.error("the accounts of standing questions can't be written anew: %s", type(error).__name__)
                raise EngineNotReady from None
            return number

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            make_directory(self.directory.parent)
            make_directory(self.directory)
            lock = open_private(self.directory / _LOCK, os.O_CREAT | os.O_RDWR)
        except OSError as error:
            _LOG.error("the accounts of standing questions have no place at %s: %s", self.directory, error.strerror)
            raise EngineNotReady from None
        try:
            # Another process may measure for minutes, and is not waited for. The lock goes with the descriptor: also a
            # process that is killed leaves none behind.
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _LOG.error("another process measures with the accounts in %s", self.directory)
                raise EngineNotReady from None
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _opened(self, records: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        file, scratch = self.directory / _FILE, spill(self._resources.spill)
        try:
            with closing(_connected((records, self._beside), file, scratch.path, self._resources)) as connection:
                yield connection
        finally:
            scratch.remove()


def _connected(
    records: tuple[Path, Mapping[str, Path]], file: Path, scratch: Path, resources: Resources
) -> duckdb.DuckDBPyConnection:
    """Return a connection to the copy, with what is beside it, and to the accounts.

    Raises:
        EngineNotReady: one of them can't be opened.
    """
    try:
        connection = to_copy(records[0], scratch, resources, records[1])
    except ConfigError as error:
        _LOG.error("the copy can't be opened beside the accounts: %s", error.message)
        raise EngineNotReady from None
    try:
        connection.execute(f"ATTACH {duckdb_literal(str(file))} AS {_STORE}")
        file.chmod(0o600)
        connection.execute(_TABLES)
        # The statements of a question run on this connection, beside a file that can be written: after this they reach
        # no other.
        return shut_doors(connection, [file, file.with_name(f"{file.name}.wal")])
    except (duckdb.Error, OSError) as error:
        connection.close()
        _LOG.error("the accounts of standing questions can't be opened: %s", type(error).__name__)
        raise EngineNotReady from None


def _forgotten(file: Path, new: Path, key: str, who: tuple[str, str]) -> int:
    """Write the accounts without a unit's, and its hash instead of each; return how many there were."""
    kind, unit = who
    with closing(duckdb.connect()) as connection:
        execute = connection.execute
        execute(f"ATTACH {duckdb_literal(str(file))} AS {_STORE}")
        execute(f"ATTACH {duckdb_literal(str(new))} AS written")
        execute("BEGIN")
        execute(_TABLES)
        # A passenger and a driver may have one name. Only where it is written that a question is of another kind of
        # units is it passed over; where nothing is written, it is looked through.
        other = f"EXISTS (FROM {_STORE}.main.kinds AS k WHERE k.question = q.question AND k.kind <> ?)"
        found = execute(f"SELECT question FROM {_STORE}.main.questions AS q WHERE NOT {other}", [kind]).fetchall()  # noqa: S608
        had = 0
        for (question,) in found:
            name = f"accounts {question}"
            there = "SELECT count(*) FROM duckdb_tables() WHERE database_name = ? AND table_name = ?"
            if execute(there, [_STORE, name]).fetchone() == (0,):
                continue  # its term is over
            accounts = _table(question)
            if execute(f"SELECT count(*) FROM {accounts} WHERE unit = ?", [unit]).fetchone() == (0,):  # noqa: S608
                continue
            execute(f"DELETE FROM {accounts} WHERE unit = ?", [unit])  # noqa: S608
            hashed = f"INSERT INTO {_STORE}.main.forgotten SELECT ?, {_HASHED} FROM (SELECT ? AS unit) AS n"  # noqa: S608
            execute(hashed, [question, key, key, unit])
            had += 1
        execute(f"DELETE FROM {_STORE}.main.keyed")  # noqa: S608
        execute(f"INSERT INTO {_STORE}.main.keyed VALUES (sha256(?))", [key])  # noqa: S608
        # The old file has it first. After a crash from here on the account is gone and the hash there, whichever of the
        # two files has the name, though what was deleted may still lie in the old one's free space.
        execute("COMMIT")
        execute(f"COPY FROM DATABASE {_STORE} TO written")
        execute("DETACH written")
        return had


class HeldAccounts:
    """The accounts, for one measurement."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, key: str = "") -> None:
        self._connection, self._key = connection, key

    def require_same_key(self) -> None:
        """Return if it can be told who was erased.

        Raises:
            EngineNotReady: they were with another key.
        """
        if self._one(f"SELECT 1 FROM {_STORE}.main.keyed WHERE sign <> sha256(?)", self._key) is not None:  # noqa: S608
            _LOG.error("who was erased from the accounts can't be told: the secret is another one than it was then")
            raise EngineNotReady

    @property
    def lineage(self) -> str | None:
        """Return the identity that the last writer has put in."""
        row = self._one(f"SELECT name FROM {_STORE}.main.lineage")  # noqa: S608
        return None if row is None else str(row[0])

    def begin_lineage(self, name: str) -> None:
        """Put in the identity of a writer that begins."""
        lineage = f"{_STORE}.main.lineage"
        self._all_or_nothing([(f"DELETE FROM {lineage}", []), (f"INSERT INTO {lineage} VALUES (?)", [name])])  # noqa: S608

    def stands(self, question: str) -> LastMeasurement:
        """Return which measurement of a question the accounts have as the last one."""
        row = self._one(f"SELECT number, claim FROM {_STORE}.main.questions WHERE question = ?", question)  # noqa: S608
        return LastMeasurement() if row is None else LastMeasurement(int(str(row[0])), str(row[1]))

    def require_running(self, statements: AccountedSums) -> None:
        """Have DuckDB parse and bind the statements, which reads no row.

        Raises:
            EngineNotReady: it does not take one.
        """
        try:
            # A stand-in with the types of accounts, so that statements bind before a question has any.
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {ACCOUNT} AS SELECT '' AS unit, 0::BIGINT AS used")
            for sql in (statements.units, statements.sums):
                self._connection.execute(f"EXPLAIN {sql}")
        except (duckdb.Error, RuntimeError) as error:
            _LOG.error("the engine does not take a standing question: %s", error)
            raise EngineNotReady from None

    def measure(
        self,
        question: str,
        to: LastMeasurement,
        statements: AccountedSums,
        *,
        timeout: float,
        cancellation: Cancellation,
    ) -> Sequence[EngineRow]:
        """Return the sums once the accounts that belong to them are durable; the question then stands at `to`.

        Raises:
            QueryCanceled: somebody cancelled, or time is up; no account was written.
            EngineFailed: anything else. Whether accounts were written `stands` tells.
        """
        connection = self._connection
        with stopping_when_cancelled(connection.interrupt, timeout, cancellation) as stopped:
            try:
                # Sums and accounts come from one transaction, and sums are read only once it is durable. Were they
                # returned first, a crash could lose the accounts, and the same rows would weigh in full once more.
                connection.execute("BEGIN")
                self._add(question, to, statements)
                connection.execute("COMMIT")
            except (duckdb.Error, RuntimeError, EngineNotReady) as error:
                self._undo()
                if stopped.is_set():
                    raise QueryCanceled from None
                _LOG.error("the engine failed: %s; statement: %s", error, statements.sums)
                raise EngineFailed from None
        try:
            return connection.execute(f"SELECT * EXCLUDE (unit, added) FROM {_MEASURED} WHERE unit IS NULL").fetchall()  # noqa: S608
        except (duckdb.Error, RuntimeError) as error:
            _LOG.error("the engine failed: %s", error)
            raise EngineFailed from None

    def _add(self, question: str, to: LastMeasurement, statements: AccountedSums) -> None:
        """Measure, and add to the accounts, in a transaction that has begun."""
        execute, accounts = self._connection.execute, _table(question)
        if not self.stands(question).number:  # else they are there, or nothing may be measured
            execute(f"CREATE TABLE {accounts} (unit VARCHAR NOT NULL, used BIGINT NOT NULL)")
        known = f"EXISTS (FROM {accounts} AS a WHERE a.unit = n.unit)"
        erased = f"EXISTS (FROM {_STORE}.main.forgotten AS f WHERE f.question = ? AND f.hashed = {_HASHED})"
        begins = f"CASE WHEN {erased} THEN {statements.most} ELSE 0 END"
        added = f"SELECT unit, {begins} FROM ({statements.units}) AS n WHERE NOT {known}"  # noqa: S608
        execute(f"INSERT INTO {accounts} {added}", [question, self._key, self._key])
        # Were a unit there twice, it would have what is left of the fuller account, once.
        execute(
            f"CREATE OR REPLACE TEMP VIEW {ACCOUNT} AS SELECT unit, max(used) AS used FROM {accounts} GROUP BY unit"  # noqa: S608
        )
        execute(f"CREATE OR REPLACE TEMP TABLE {_MEASURED} AS {statements.sums}")
        added = f"SELECT unit, added FROM {_MEASURED} WHERE unit IS NOT NULL"  # noqa: S608
        execute(f"UPDATE {accounts} AS a SET used = a.used + m.added FROM ({added}) AS m WHERE m.unit = a.unit")  # noqa: S608
        # No account passes C·W, says the proof in `contribution`. Here it is counted, before anything is committed.
        row = execute(f"SELECT count(*) FROM {accounts} WHERE used NOT BETWEEN 0 AND {statements.most}").fetchone()  # noqa: S608
        if row != (0,):
            raise InternalError
        execute(f"DELETE FROM {_STORE}.main.questions WHERE question = ?", [question])  # noqa: S608
        values = [question, to.number, to.claim, statements.until.astimezone(UTC).replace(tzinfo=None)]
        execute(f"INSERT INTO {_STORE}.main.questions VALUES (?, ?, ?, ?)", values)  # noqa: S608
        execute(f"DELETE FROM {_STORE}.main.kinds WHERE question = ?", [question])  # noqa: S608
        execute(f"INSERT INTO {_STORE}.main.kinds VALUES (?, ?)", [question, statements.kind])  # noqa: S608

    def drop_what_is_over(self, now: datetime) -> None:
        """Remove the accounts of questions that are over; where each stood stays, so that none begins anew by that."""
        # TIMESTAMP has no zone: `_add` writes UTC's clock, and so must `now` be.
        over = self._every(f"SELECT question FROM {_STORE}.main.questions WHERE until <= ?", now.replace(tzinfo=None))  # noqa: S608
        forgotten = f"DELETE FROM {_STORE}.main.forgotten WHERE question = ?"  # noqa: S608
        gone = [(f"DROP TABLE IF EXISTS {_table(str(question))}", list[object]()) for (question,) in over]
        self._all_or_nothing([*gone, *((forgotten, [question]) for (question,) in over)])

    def _all_or_nothing(self, statements: Sequence[tuple[str, Sequence[object]]]) -> None:
        try:
            self._connection.execute("BEGIN")
            for sql, values in statements:
                self._connection.execute(sql, values)
            self._connection.execute("COMMIT")
        except (duckdb.Error, RuntimeError) as error:
            self._undo()
            _LOG.error("the accounts of standing questions can't be written: %s", type(error).__name__)
            raise EngineNotReady from None

    def _undo(self) -> None:
        try:
            self._connection.execute("ROLLBACK")
        except (duckdb.Error, RuntimeError):  # nothing has begun, or DuckDB has closed the database, which undoes it
            return

    def _one(self, sql: str, *values: object) -> tuple[object, ...] | None:
        rows = self._every(sql, *values)
        return rows[0] if rows else None

    def _every(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except (duckdb.Error, RuntimeError) as error:
            _LOG.error("the accounts of standing questions can't be read: %s", type(error).__name__)
            raise EngineNotReady from None


def _table(question: str) -> str:
    """Return where a question's accounts are; it is named by a hash."""
    return f'{_STORE}.main."accounts {question}"'
