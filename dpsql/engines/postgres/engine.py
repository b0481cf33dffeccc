"""PostgreSQL as the engine: a role that can only read, read-only transactions, and nothing left in a session."""

import json
import logging
import re
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import psycopg
from psycopg.pq import TransactionStatus

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import NoEngine, SnapshotVersion
from dpsql.engines.postgres.pool import SHOWN, BusyError, PgConnection, Pool, UnsettledError, require_settings
from dpsql.engines.tables import LOOSE, Constraints, enforced_columns, exact_value, public_column
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import ConfigError, EngineAway, EngineFailed, EngineLost, EngineNotReady, QueryCanceled
from dpsql.hang_up import hang_up
from dpsql.interrupt import called_when_overdue
from dpsql.policy.model import PUBLIC, Table, TableName, UniqueKey, Value
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.dialects.postgres import POSTGRES
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.emit.kept_columns import KeptColumns, nothing_kept

# Measurements that a PostgreSQL server has accepted: prepared in a transaction that holds on to the tables as they are.

_LOG = logging.getLogger("dpsql.engine")
_CANCEL = 5.0
"""Seconds that a cancel request may take."""
_END = 10.0
"""Seconds that the end of a transaction may take, which has changed nothing."""
# How a measurement goes: PREPARE and EXPLAIN EXECUTE of all statements, which lock their tables and show what would
# fail; the catalogue is read again behind the locks; then the charge; then EXECUTE. From PREPARE on nobody can alter
# the tables, so what was checked is what is read.
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
"""Each statement sees what was committed when its tables were locked; an older view of a table that was emptied is empty."""

_BEGIN_UNCHANGING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@contextmanager
def read_transaction(connection: PgConnection, timeout: float, *statements: str) -> Iterator[list[list[Any]]]:
    """Open a transaction, run `statements` in it one by one, in one round trip; give the rows of each.

    Raises:
        UnsettledError: the session has other settings than ours.
        psycopg.Error: the server refuses one.
    """
    # A pooler between us and the server may hand over a session with another client's settings: what holds is read back in
    # each transaction, before anything is asked.
    begin = (_BEGIN, f"SET LOCAL statement_timeout = {max(int(timeout * 1000), 1)}", SHOWN)
    with connection.pipeline():
        cursors = [connection.execute(each.encode()) for each in (*begin, *statements)]
    require_settings(cursors[len(begin) - 1].fetchone())
    try:
        yield [cursor.fetchall() if cursor.description is not None else [] for cursor in cursors[len(begin) :]]
    finally:
        _end(connection)


@contextmanager
def snapshot_transaction(connection: PgConnection) -> Iterator[None]:
    """Open a transaction all of whose statements see one state of the tables, and may take as long as they like.

    Raises:
        UnsettledError: the session has other settings than ours.
        psycopg.Error: the server refuses.
    """
    with connection.pipeline():
        for each in (_BEGIN_UNCHANGING, "SET LOCAL statement_timeout = 0"):
            connection.execute(each.encode())
        shown = connection.execute(SHOWN.encode())
    require_settings(shown.fetchone())
    try:
        yield
    finally:
        _end(connection)


def _end(connection: PgConnection) -> None:
    """Leave nothing in the session; where that fails, or a statement has, the connection will not be kept."""
    if connection.info.transaction_status is not TransactionStatus.INTRANS:
        return
    try:
        with called_when_overdue(partial(hang_up, connection), _END), connection.pipeline():
            # COMMIT alone would leave prepared statements in the session: they belong to it, and not to the
            # transaction.
            connection.execute("DEALLOCATE ALL")
            connection.execute("COMMIT")
    except psycopg.Error:
        connection.close()


def preparing_statements(names: Mapping[str, str]) -> tuple[str, ...]:
    """Return what makes statements ready: each is parsed, bound and planned, and its permissions are checked."""
    pairs = names.items()
    # PREPARE parses and binds. EXPLAIN plans, and checks privileges: a statement that could not run fails here, before
    # it is paid for.
    return tuple(text for sql, name in pairs for text in (f"PREPARE {name} AS {sql}", f"EXPLAIN EXECUTE {name}"))


@dataclass(slots=True)
class PgPrepared:
    """Measurements in a transaction of one connection; see `PreparedMeasurements`."""

    connection: PgConnection
    names: Mapping[str, str]
    """The prepared statements by their text."""
    timeout: float
    cancellation: Cancellation
    stopped: bool = False
    """Whether a cancel was sent, which may still be on its way and would hit the connection's next statement."""

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement."""
        # The type is the check: whoever has no `Charge` can't call this.
        _ = charge
        return self.rows(sql)

    def rows(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a statement, for any payer."""
        connection = self.connection
        try:
            with stopping_connection(connection, self.timeout, self.cancellation) as stopped:
                text = f"EXECUTE {self.names[sql]}" if sql in self.names else sql
                return connection.execute(text.encode()).fetchall()
        except psycopg.errors.QueryCanceled:
            raise QueryCanceled from None
        except psycopg.Error as error:
            if stopped.is_set() and is_lost(error):  # we have hung up
                raise QueryCanceled from None
            _LOG.error("the engine failed: %s; statement: %s", error, sql)  # no traceback with values
            raise (EngineLost if is_lost(error) else EngineFailed) from None
        finally:
            self.stopped |= stopped.is_set()


def is_lost(error: psycopg.Error) -> bool:
    """Return whether an error is the end of a connection, or of the hope for one."""
    state = error.sqlstate
    return isinstance(error, psycopg.OperationalError) and (state is None or state.startswith(("08", "57P")))


def stopping_connection(
    connection: PgConnection, timeout: float, cancellation: Cancellation
) -> AbstractContextManager[threading.Event]:
    """Stop what a connection runs in a block when time is up or somebody cancels; where that fails, hang up."""
    return stopping_when_cancelled(partial(cancel, connection), timeout, cancellation, partial(hang_up, connection))


def cancel(connection: PgConnection) -> None:
    """Ask the server to stop what the connection runs."""
    try:
        connection.cancel_safe(timeout=_CANCEL)
    except psycopg.Error as error:
        _LOG.warning("a cancel did not reach the engine: %s", error)


# PostgreSQL's catalogue: columns, types, uniqueness, and the rights of our own role.

# The CROSS JOIN LATERAL does what name resolution does: the first schema of the path that has such a relation.
_LOCATED = """
unnest(ARRAY[{tables}]::text[], ARRAY[{places}]::text[], ARRAY[{names}]::text[]) AS t (name, schema, own)
CROSS JOIN LATERAL (
  SELECT c.oid, c.relkind, n.nspname
  FROM unnest(CASE t.schema WHEN '' THEN ARRAY[{schemas}]::text[] ELSE ARRAY[t.schema] END) WITH ORDINALITY AS p (name, place)
  JOIN pg_namespace n ON n.nspname = p.name
  JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.own AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  ORDER BY p.place LIMIT 1) AS c
"""
_CATALOGUE = """
WITH RECURSIVE base (oid, type, typmod) AS (
  SELECT oid, oid, NULL::integer FROM pg_type
  UNION ALL SELECT b.oid, t.typbasetype, NULLIF(t.typtypmod, -1)
    FROM base b JOIN pg_type t ON t.oid = b.type AND t.typtype = 'd')
SELECT t.name, c.nspname, a.attname,
  CASE y.typtype WHEN 'e' THEN 'enum(' || (
      SELECT coalesce(string_agg('''' || replace(e.enumlabel, '''', '''''') || '''', ', ' ORDER BY e.enumsortorder), '')
      FROM pg_enum e WHERE e.enumtypid = y.oid) || ')'
    ELSE format_type(y.oid, coalesce(b.typmod, NULLIF(a.atttypmod, -1), -1)) END
    || CASE WHEN EXISTS (SELECT FROM pg_collation l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic)
      THEN '{loose}' ELSE '' END,
  ARRAY(SELECT i.indexrelid || ' ' || i.indnkeyatts FROM pg_index i WHERE i.indrelid = c.oid
      AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
      AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
      AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid))),
  {whole} AND a.attnotnull AND NOT EXISTS (SELECT FROM pg_constraint k
    WHERE k.conrelid = c.oid AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum] AND NOT k.convalidated),
  ARRAY(SELECT pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k
    WHERE {whole} AND k.conrelid = c.oid AND k.contype = 'c' AND k.convalidated AND a.attnum = ANY (k.conkey)
    ORDER BY k.oid),
  ARRAY(SELECT json_build_array(x.nspname, o.relname, b.attname)::text
    FROM pg_constraint k JOIN pg_class o ON o.oid = k.confrelid JOIN pg_namespace x ON x.oid = o.relnamespace
    JOIN pg_attribute b ON b.attrelid = o.oid AND k.confkey = ARRAY[b.attnum]
    WHERE {whole} AND k.conrelid = c.oid AND k.contype = 'f' AND k.convalidated AND k.conkey = ARRAY[a.attnum]
    ORDER BY k.oid),
  c.relkind IN ('r', 'p') AND NOT a.attnotnull AND NOT EXISTS (
    SELECT FROM pg_type d WHERE d.oid = a.atttypid AND d.typnotnull)
FROM {located}
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN base b ON b.oid = a.atttypid JOIN pg_type y ON y.oid = b.type AND y.typtype <> 'd'
ORDER BY t.name, a.attnum
"""
# PostgreSQL lets a child have rows that its parent's NOT NULL or CHECK would refuse (NO INHERIT), and takes a foreign
# server's word for them. Such rows would be read with the parent.
_WHOLE = """
CASE c.relkind WHEN 'r' THEN NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid)
  WHEN 'p' THEN NOT EXISTS (SELECT FROM pg_partition_tree(c.oid) m JOIN pg_class r ON r.oid = m.relid WHERE r.relkind = 'f')
  ELSE FALSE END
"""
"""Whether a table's constraints hold for all of its rows: children need not keep their parent's, nor others' servers."""
_PARTITIONS = """
SELECT a.attname, pg_get_expr(r.relpartbound, r.oid)
FROM {located}
JOIN pg_partitioned_table p ON p.partrelid = c.oid AND p.partstrat = 'r' AND p.partnatts = 1
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0]
JOIN pg_inherits i ON i.inhparent = c.oid
JOIN pg_class r ON r.oid = i.inhrelid
"""
_RANGE = re.compile(r"FOR VALUES FROM \('(.*)'\) TO \('(.*)'\)")
_ROLE = """
SELECT current_setting('server_encoding'), current_user, rolsuper,
  pg_has_role(current_user, 'pg_execute_server_program', 'USAGE')
    OR pg_has_role(current_user, 'pg_write_server_files', 'USAGE'),
  ARRAY(SELECT t.name FROM {located} WHERE has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
  ARRAY(SELECT t.name FROM {located} WHERE row_security_active(c.oid))
FROM pg_roles WHERE rolname = current_user
"""


Places = Mapping[str, tuple[str, str]]
"""The schema and the name of tables that are not looked for in the search path, by what they are called here."""
_ENCODINGS = frozenset({"UTF8", "LATIN1"})


@dataclass(frozen=True, slots=True)
class PostgresCatalogue:
    """One table, of whose columns those are left out that nobody declares; empty if there is none."""

    schema: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    unique: frozenset[UniqueKey] = frozenset()
    constraints: Constraints = field(default_factory=Constraints)


CatalogueRow = tuple[str, str, str, str, list[str], bool, list[str], list[str], bool]
"""Its table, the table's schema, a column, its type, the unique indexes that have it, each with its number of columns,
whether it is NOT NULL, the CHECKs that read it, where it points to by itself, and whether it may be NULL."""


def catalogue_sql(tables: Sequence[str], schemas: Sequence[str], places: Places) -> str:
    """Return the question about these tables; what a parent's children need not keep does not count."""
    return _CATALOGUE.format(located=_located(tables, schemas, places), loose=LOOSE, whole=_WHOLE)


def catalogues(
    tables: Sequence[str], declared: Mapping[str, Collection[str] | None], rows: Iterable[CatalogueRow]
) -> dict[str, PostgresCatalogue]:
    """Return the answer by table: of the columns that are declared, and of all where none are."""
    by_table: dict[str, list[CatalogueRow]] = {table: [] for table in tables}
    for row in rows:
        by_table[row[0]].append(row)
    return {table: _catalogue(lines, declared.get(table)) for table, lines in by_table.items()}


def _catalogue(every: Sequence[CatalogueRow], declared: Collection[str] | None) -> PostgresCatalogue:
    if not every:
        return PostgresCatalogue()
    rows = [row for row in every if declared is None or row[2] in declared]
    types = {column: kind for _, _, column, kind, *_ in rows}
    keys: dict[str, list[str]] = {}
    for _, _, column, _, indexes, *_ in rows:
        for index in indexes:
            keys.setdefault(index, []).append(column)
    # An index of an expression, too, has fewer of the table's columns than its own, and makes them unique by nothing.
    whole = (columns for index, columns in keys.items() if len(columns) == int(index.split()[1]))
    return PostgresCatalogue(every[0][1], types, frozenset(map(frozenset, whole)), _constraints(rows))


def _constraints(rows: Sequence[CatalogueRow]) -> Constraints:
    references = {}
    for _, _, column, *_, targets, _ in rows:
        for target in targets:
            schema, table, name = json.loads(target)
            references[column] = f"{quote_name(schema)}.{quote_name(table)}", name
    checks = dict.fromkeys(check for row in rows for check in row[6])
    present, optional = (frozenset(row[2] for row in rows if row[which]) for which in (5, 8))
    return Constraints(present, tuple(checks), "postgres", references, optional=optional)


def require_reading_role(
    connection: PgConnection, tables: Sequence[str], schemas: Sequence[str], places: Places
) -> None:
    """See that the role can't do more than read, that it reads every row, and that every text can be read.

    Raises:
        ConfigError: the role is a superuser, can reach beyond the database, may write to one of `tables`, or does not
            see all of its rows.
    """
    row = connection.execute(_ROLE.format(located=_located(tables, schemas, places)).encode()).fetchone()
    if row is None:
        return
    encoding, role, superuser, reaching, writable, hidden = row
    if encoding not in _ENCODINGS:
        raise ConfigError(
            f"engine: the database's encoding is {encoding}, of which not every text can be read as UTF-8",
            hint="An error would reveal that there is such a text. Serve a database whose encoding is UTF8.",
        )
    if superuser or reaching or writable:
        can = (
            "is a superuser"
            if superuser
            else "can reach the server's files"
            if reaching
            else f"may write to {', '.join(writable)}"
        )
        located = [places.get(table, (table,)) for table in tables]
        names = ", ".join(".".join(map(quote_name, place)) for place in located)
        within = dict.fromkeys(quote_name(place[0]) for place in located if len(place) > 1)
        usage = f"GRANT USAGE ON SCHEMA {', '.join(within)} TO dpsql_reader; " if within else ""
        revoked = f"REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON {', '.join(writable)} FROM {quote_name(role)}; "
        instead = "" if superuser or reaching else f"{revoked}or, where it owns them, another role: "
        raise ConfigError(
            f'engine: the role "{role}" {can}; dpsql connects only as one that can do nothing but SELECT',
            hint=f"{instead}CREATE ROLE dpsql_reader LOGIN PASSWORD '…'; {usage}GRANT SELECT ON {names} TO dpsql_reader;",
        )
    if hidden:
        raise ConfigError(
            f'engine: row-level security hides rows of {", ".join(hidden)} from the role "{role}"',
            hint="A policy may let one person's rows depend on another's. Serve a table or a view without one.",
        )


def _located(tables: Sequence[str], schemas: Sequence[str], places: Places) -> str:
    located = [places.get(table, ("", table)) for table in tables]
    own = {"places": _texts([schema for schema, _ in located]), "names": _texts([name for _, name in located])}
    return _LOCATED.format(tables=_texts(tables), schemas=_texts(schemas), **own)


def own_places(tables: Iterable[str]) -> Places:
    """Return where tables are that have a schema by name; those of `public` are looked for in the search path."""
    names = {table: TableName.of(table) for table in tables}
    return {table: (where.schema, where.name) for table, where in names.items() if where.schema != PUBLIC}


def places_of(written: Mapping[str, str]) -> Places:
    """Return where tables are, as a configuration says: `clinical.labs`."""
    return {table: (place.partition(".")[0], place.partition(".")[2]) for table, place in written.items()}


def _texts(texts: Sequence[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


_CONNECTIONS = 16
_LOOK = 30.0
"""Seconds between two looks at the catalogue, to see whether tables were altered."""
_WAIT = 60.0
"""Seconds that a question about the catalogue waits for a connection."""


class PostgresEngine:
    """An `Engine` over the tables of one PostgreSQL database: those that the search path finds, and others by places."""

    dialect = POSTGRES
    edition: SnapshotVersion | None = None
    misfits: Mapping[str, str] = MappingProxyType({})
    """By table, why statements that read it are refused."""

    def __init__(self, dsn: str, tables: Mapping[str, Collection[str] | None], places: Mapping[str, str] = {}) -> None:
        """Connect, and see that the role can only read `tables`, of which `places` says where some are by other names.

        Of each the declared columns are looked at alone (None: all): what happens to others changes nothing.

        Raises:
            NoEngine: the server can't be reached.
            ConfigError: the role can do more, or something in between drops our settings.
        """
        self._seen: dict[str, PostgresCatalogue] = {}
        self._declared = tables
        self._unfit: dict[str, PostgresCatalogue] = {}
        """How the tables were that did not fit the policy when that was looked at."""
        self._next_look = time.monotonic() + _LOOK
        self._places = {**own_places(tables), **places_of(places)}
        self._lock = threading.Lock()
        with _told():
            self._pool = Pool(dsn, most=_CONNECTIONS)
            try:
                self._schemas = self._pool.schemas()
                with self._pool.lent(wait=_WAIT) as connection:
                    # It is the operator who is kept from a mistake here, not an attacker: an account that may write is
                    # more than dpsql needs.
                    require_reading_role(connection, list(tables), self._schemas, self._places)
                    self.product = "PostgreSQL", str(connection.info.server_version // 10_000)
            except BaseException:
                self._pool.close()
                raise

    def named(self, table: str) -> str:
        """Return a table's name with its schema."""
        return self._named(table, self._catalogue(table))

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with PostgreSQL's types, those of domains and enumerations by what they are."""
        return self._catalogue(table).types

    def kept(self, table: str) -> KeptColumns:
        """Return nothing: there are only a table's own columns."""
        return nothing_kept(table)

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return the columns of each valid, immediate, unconditional unique index of columns alone."""
        return self._catalogue(table).unique

    def constraints(self, table: str) -> Constraints:
        """Return what the server enforces of a table."""
        return self._catalogue(table).constraints

    def ranges(self, table: str) -> Sequence[tuple[str, str, str]]:
        """Return of each partition by the range of a column that column, the least value, and the first one beyond it.

        What takes all that is beyond others, and what has no end, is none of them.
        """
        sql = _PARTITIONS.format(located=_located([table], self._schemas, self._places))
        with _told(), self._pool.lent(wait=_WAIT) as connection, read_transaction(connection, _WAIT, sql) as (rows,):
            found = ((column, _RANGE.fullmatch(bound)) for column, bound in rows)
            return [(column, ends[1], ends[2]) for column, ends in found if ends is not None]

    def enforced_columns(self, table: Table) -> frozenset[str]:
        """Return the columns whose valid NOT NULL, CHECK, enumeration or foreign key keeps rows as declared."""
        catalogue = self._catalogue(table.name)
        return enforced_columns(table, catalogue.constraints, catalogue.types, self.named, self.dialect)

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a public table."""
        types = self.columns(table)
        names = ", ".join(public_column(name, types[name], self.dialect) for name in columns)
        select = f"SELECT {names} FROM {self.named(table)} LIMIT {limit + 1}"  # noqa: S608
        with _told(), self._pool.lent(wait=_WAIT) as connection, read_transaction(connection, _WAIT, select) as (rows,):
            return [[exact_value(cell) for cell in row] for row in rows]

    @contextmanager
    def ready(self, statements: Sequence[str], *, timeout: float, cancellation: Cancellation) -> Iterator[PgPrepared]:
        """Make measurements ready, in a transaction that keeps their tables as they are."""
        with self._lock:
            seen = {
                table: was for table, was in self._seen.items() if any(self._named(table, was) in s for s in statements)
            }
        names = {sql: f"dpsql_{index}" for index, sql in enumerate(dict.fromkeys(statements))}
        # Once the statements are bound their tables are locked, and the catalogue says what they were bound to.
        asked = (*preparing_statements(names), catalogue_sql(list(seen), self._schemas, self._places))
        with ExitStack() as stack:
            try:
                with _uncharged(cancellation):
                    connection, rows = self._begun(stack, timeout, cancellation, asked)
                self._require_same_columns(seen, catalogues(list(seen), self._declared, rows[-1]))
            except EngineNotReady:
                self._next_look = 0.0
                raise
            # To look into a slow measurement: dpsql's sessions have `application_name` dpsql in pg_stat_activity, and
            # the text is the one that EXPLAIN (VERBOSE) shows; auto_explain in the server shows the plan.
            prepared = PgPrepared(connection, names, timeout, cancellation)
            yield prepared
            if prepared.stopped:
                connection.close()

    def _begun(
        self, stack: ExitStack, timeout: float, cancellation: Cancellation, asked: Sequence[str]
    ) -> tuple[PgConnection, list[list[Any]]]:
        """Open a transaction and ask in it, on a fresh connection if the kept one is dead."""
        try:
            return self._begin(stack, timeout, cancellation, asked, fresh=False)
        except psycopg.OperationalError as error:
            if not is_lost(error):
                raise
            return self._begin(stack, timeout, cancellation, asked, fresh=True)

    def _begin(
        self, stack: ExitStack, timeout: float, cancellation: Cancellation, asked: Sequence[str], *, fresh: bool
    ) -> tuple[PgConnection, list[list[Any]]]:
        with ExitStack() as own:
            connection = own.enter_context(self._pool.lent(wait=timeout, fresh=fresh))
            with stopping_connection(connection, timeout, cancellation):
                rows = own.enter_context(read_transaction(connection, timeout, *asked))
            stack.push(own.pop_all())
        return connection, rows

    @contextmanager
    def one_state(self) -> Iterator[PgConnection]:
        """Give a connection all of whose statements see one state of the tables, and may take as long as they like."""
        with ExitStack() as held:
            with _told():
                connection = held.enter_context(self._pool.lent(wait=_WAIT))
                held.enter_context(snapshot_transaction(connection))
            yield connection

    def is_current(self) -> bool:
        """Return whether the catalogue says of the tables what it said at first, and all fit."""
        with self._lock:
            seen = dict(self._seen)
        return not self.misfits and self._asked(list(seen)) == seen

    def is_altered(self) -> bool:
        """Return whether the catalogue says something new of a table; it is asked now and then, and after a refusal.

        Raises:
            NoEngine: the server can't be asked.
        """
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _LOOK
        with self._lock:
            known = {**self._seen, **self._unfit}
        return self._asked(list(known)) != known

    def refuse(self, misfits: Mapping[str, str], before: Self) -> None:
        """Answer no statement that reads a table which does not fit, and of which `before` knew how it did."""
        self.misfits = misfits
        with self._lock:
            for table in misfits:
                self._unfit[table], self._seen[table] = self._seen[table], before._catalogue(table)

    def _require_same_columns(
        self, seen: Mapping[str, PostgresCatalogue], now: Mapping[str, PostgresCatalogue]
    ) -> None:
        """See that the tables of a statement are as they were opened, and fit.

        Raises:
            EngineNotReady: they are not, which the log says.
        """
        for table, was in seen.items():
            if table in self.misfits:
                _LOG.error("nothing is answered that reads table %s: %s", table, self.misfits[table])
                raise EngineNotReady
            if now[table] != was:
                _LOG.warning("table %s has been altered; its catalogue is read again", table)
                raise EngineNotReady

    def for_owner(self, sql: str, *, timeout: float) -> Sequence[EngineRow]:
        """Return exact rows that nobody but the owner of the data may see."""
        with self.ready([sql], timeout=timeout, cancellation=Cancellation()) as prepared:
            return prepared.rows(sql)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _named(self, table: str, catalogue: PostgresCatalogue) -> str:
        name = self._places.get(table, ("", table))[1]
        return f"{quote_name(catalogue.schema)}.{quote_name(name)}" if catalogue.schema else quote_name(name)

    def _catalogue(self, table: str) -> PostgresCatalogue:
        """Return what the catalogue says of a table; from then on it must stay so."""
        with self._lock:
            if table not in self._seen:
                self._seen[table] = self._asked([table])[table]
            return self._seen[table]

    def _asked(self, tables: Sequence[str]) -> Mapping[str, PostgresCatalogue]:
        sql = catalogue_sql(tables, self._schemas, self._places)
        with _told(), self._pool.lent(wait=_WAIT) as connection, read_transaction(connection, _WAIT, sql) as (rows,):
            return catalogues(tables, self._declared, rows)


@contextmanager
def _told() -> Iterator[None]:
    """Tell the operator who starts or reloads dpsql why the server can't be asked."""
    try:
        yield
    except UnsettledError as error:
        raise ConfigError(
            f"the PostgreSQL server does not keep the settings of a connection: {error}",
            hint="A pooler in between drops them. Connect to the server itself.",
        ) from None
    except BusyError:
        raise NoEngine("the PostgreSQL server can't be asked", hint="All connections to it are in use.") from None
    except psycopg.ProgrammingError as error:
        # libpq quotes what it can't read, which may be a password.
        hint = "engine.dsn can't be read as a DSN." if error.sqlstate is None else str(error).splitlines()[0]
        raise NoEngine("the PostgreSQL server can't be asked", hint=hint) from None
    except psycopg.Error as error:
        raise NoEngine("the PostgreSQL server can't be asked", hint=str(error).splitlines()[0]) from None


@contextmanager
def _uncharged(cancellation: Cancellation) -> Iterator[None]:
    """Tell the client by a fixed text, and the operator's log why."""
    try:
        yield
    except BusyError:
        _LOG.error("all connections to the engine are in use")
    except UnsettledError as error:
        _LOG.error("the engine's session does not keep the settings of its connection: %s", error)
    except psycopg.Error as error:
        if cancellation.requested and isinstance(error, psycopg.errors.QueryCanceled):
            raise QueryCanceled from None
        if is_lost(error):
            _LOG.error("the engine can't be reached: %s", error)
            raise EngineAway from None
        _LOG.error("the engine does not take a measurement: %s", error)
    else:
        return
    raise EngineNotReady
