"""A database that is copied: its catalogue at the start, and its rows in one state for as long as a copy is made.

It is asked by an account that can do nothing but read, as SQLAlchemy speaks to it. Nothing is measured on it: clients'
questions go to the copy.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any

import duckdb

from dpsql.engines.base import NoEngine
from dpsql.engines.databases.catalogue import SourceColumn, begin, product_of, source_column
from dpsql.engines.databases.client import cause, fixed_error, interrupt, pool_of, quiet, reflection, sqlalchemy
from dpsql.engines.databases.columns import STEP, ColumnReading, column_reading, load_rows, make_table
from dpsql.engines.duckdb.opening import in_memory
from dpsql.engines.postgres.engine import require_reading_role
from dpsql.engines.tables import LOOSE, exact_value, misfits_of, public_column
from dpsql.errors import ConfigError
from dpsql.policy.config import CopiedDatabase, Resources
from dpsql.policy.model import PUBLIC, Policy, SqlType, Table, TableName, UniqueKey, Value
from dpsql.rewrite.dialects.duckdb import DUCKDB

# What the account may do by which a database is read: nothing but that.

_GRANT = re.compile(r"GRANT (.+?) ON (?:TABLE |PROCEDURE |FUNCTION )?(\S+) TO ", re.IGNORECASE | re.DOTALL)
_OF_ROLE = re.compile(r"GRANT (.+?) TO ", re.IGNORECASE | re.DOTALL)
_READING = frozenset({"SELECT", "USAGE", "SHOW VIEW", "SHOW DATABASES"})
_COLUMN_LIST = re.compile(r"\([^)]*\)")


def require_read_only(pool: Any, backend: str, places: Mapping[str, tuple[str, str | None]]) -> None:
    """See that the account can do nothing but read, where the database says so in a way that is known here.

    Raises:
        ConfigError: it can do more.
    """
    if backend in {"mysql", "mariadb"}:
        with pool.connect() as connection:  # of its own, since it puts on roles
            more = sorted(set(_rights_too_many(connection)))
        if more:
            raise ConfigError(
                f"engine: the account has the rights {', '.join(more)}; "
                "dpsql connects only as one that can do nothing but SELECT",
                hint="CREATE USER dpsql_reader IDENTIFIED BY '…'; GRANT SELECT, SHOW VIEW ON hospital.* TO dpsql_reader;",
            )
    if backend == "postgresql":
        with pool.connect() as connection:
            driver = connection.connection.driver_connection
            schemas = driver.execute("SELECT current_schemas(false)").fetchone()[0]
            named = {table: (schema, name) for table, (name, schema) in places.items() if schema is not None}
            require_reading_role(driver, list(places), schemas, named)


def _rights_too_many(connection: Any) -> Iterator[str]:
    """Yield the rights besides reading that grants name, also those of roles that the account may put on."""
    seen, left = set[str](), [""]
    while left:
        role = left.pop()
        if role in seen:
            continue
        seen.add(role)
        if role:
            # SHOW GRANTS says what a role may do only while it is put on, and may name further roles then.
            connection.exec_driver_sql(f"SET ROLE {role}")
        for (line,) in connection.exec_driver_sql("SHOW GRANTS").fetchall():
            given, of_role = _GRANT.match(str(line)), _OF_ROLE.match(str(line))
            if given is not None:
                rights = (right.strip().upper() for right in _COLUMN_LIST.sub("", given[1]).split(","))
                yield from (right for right in rights if right not in _READING)
                yield from ("GRANT OPTION",) if "WITH GRANT OPTION" in str(line).upper() else ()
            elif of_role is not None:
                # MySQL names a role `readers`@`%`, and the driver takes a lone % for the place of a parameter.
                left += [name.strip().replace("%", "%%") for name in of_role[1].split(",")]


# A statement's rows as they come from a driver, and not all at once; whoever has seen enough need not take the rest.
#
# Texts come as the database sends them, since drivers fail at what is no UTF-8.


@contextmanager
def rows_of(connection: Any, statement: Any, step: int) -> Iterator[Any]:
    """Give what has `fetchmany`: the rows of a statement of SQLAlchemy's, of which no more than `step` are held."""
    driver = connection.connection.driver_connection
    if connection.dialect.driver == "pymysql":
        with _of_pymysql(driver, _text_as_sent(statement, connection.dialect)) as rows:
            yield rows
        return
    streaming = connection.execution_options(stream_results=True, max_row_buffer=step)
    with _as_they_come(driver), closing(streaming.execute(statement)) as rows:
        yield rows


def _text_as_sent(statement: Any, dialect: Any) -> str:
    return str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


@contextmanager
def _of_pymysql(driver: Any, statement: str) -> Iterator[Any]:
    """Give PyMySQL's own cursor: it reads all rows that are left before it closes, and so does its result."""
    from pymysql.cursors import SSCursor  # noqa: PLC0415  an extra

    before = driver.use_unicode, driver.decoders
    driver.use_unicode, driver.decoders = False, {}
    cursor = driver.cursor(SSCursor)
    try:
        cursor.execute(statement, ())  # with parameters, since SQLAlchemy has doubled each % in names
        yield cursor
    except BaseException:
        # Whoever wants no more rows would wait for all of them: PyMySQL reads a result to its end before it closes. So
        # the connection is cut, and its result told that nothing comes any more.
        interrupt(driver)
        if (result := getattr(driver, "_result", None)) is not None:
            result.unbuffered_active = False
        raise
    finally:
        driver.use_unicode, driver.decoders = before
        cursor.close()


@contextmanager
def _as_they_come(driver: Any) -> Iterator[None]:
    """Have SQLite hand over texts that may be no UTF-8, with stand-ins for what can't be decoded."""
    if not hasattr(driver, "text_factory"):
        yield
        return
    before = driver.text_factory
    driver.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = before


# The database itself.

_LETTERS = ("a", "A", "e", "é", "a\x01")
"""Texts of which a collation that is not to the letter takes some for one."""
_BLANKS = ("a", "a ")
_LITERAL = frozenset({SqlType.TEXT, SqlType.CHARACTER, SqlType.ENUM})
"""Types that are told apart by their letters."""


class DatabaseSource:
    """The records of a database that is copied; of the copy's engine it has what the checks of declarations ask."""

    dialect = DUCKDB

    def __init__(self, database: CopiedDatabase, policy: Policy, *, unverified: bool = False) -> None:
        """Connect, and see what there is.

        Raises:
            ConfigError: SQLAlchemy or a driver is missing, the account may write, or nobody has tried such a database.
            NoEngine: it can't be reached.
        """
        self._policy = policy
        self._pool = pool_of(database.url)
        self._backend = self._pool.url.get_backend_name()
        self._places = {name: _place(database.tables.get(name, name)) for name in policy.tables}
        try:
            self._connection = self._pool.connect()
        except Exception as failed:  # noqa: BLE001  drivers raise what they like
            raise NoEngine(f"engine: the database can't be reached: {cause(failed)}") from None
        try:
            with fixed_error("the database can't be asked what it is"):
                self.product = product_of(self._connection, self._backend)
                self.product.require_tried(unverified=unverified)
                require_read_only(self._pool, self._backend, self._places)
            with quiet():
                found, self._keys = self._catalogue()
            with fixed_error("the database can't be asked how it compares texts"):
                self._readings = {name: self._read(table, found[name]) for name, table in policy.tables.items()}
                self._loose = {name: self._loose_units(table) for name, table in policy.tables.items()}
            # To look at the catalogue has begun a transaction. Left open, it would keep the database from tidying up
            # for as long as dpsql runs.
            self._connection.rollback()
        except BaseException:
            self.close()
            raise
        self._found = found

    def _catalogue(self) -> tuple[Mapping[str, Mapping[str, SourceColumn]], Mapping[str, Sequence[tuple[str, ...]]]]:
        """Return the declared tables' columns, and their keys."""
        found: dict[str, Mapping[str, SourceColumn]] = {}
        keys: dict[str, Sequence[tuple[str, ...]]] = {}
        inspector = reflection()(self._connection)
        for name in self._policy.tables:
            with fixed_error(f'the catalogue does not list table "{name}"'):
                found[name] = self._columns(inspector, name)
                keys[name] = _keys(inspector, *self._places[name]) if found[name] else ()
        return found, keys

    def _columns(self, inspector: Any, table: str) -> Mapping[str, SourceColumn]:
        name, schema = self._places[table]
        if not inspector.has_table(name, schema=schema):
            return {}
        columns = (source_column(each, self._backend) for each in inspector.get_columns(name, schema=schema))
        return {column.name: column for column in columns if column.name in self._policy.tables[table].columns}

    def _read(self, table: Table, found: Mapping[str, SourceColumn]) -> Mapping[str, ColumnReading]:
        """Return how a table's columns are read, of those that can be."""
        exact = _told_apart(table, self._policy)
        readings = {}
        for name, source in found.items():
            column = table.columns[name]
            padded = (
                name in exact and column.type in _LITERAL and source.free and self._are_one(table.name, name, _BLANKS)
            )
            try:
                how = column_reading(column, source, exact=name in exact, padded=padded)
            except ConfigError as refused:
                raise ConfigError(f"{table.file}: {refused.message}", hint=refused.hint) from None
            if how is not None:
                readings[name] = how
        return readings

    def _loose_units(self, table: Table) -> frozenset[str]:
        """Return the units that the database tells apart by less than their letters: one of them would be two."""
        units = {column for bound in table.units.values() for column in bound.columns}
        texts = [name for name in self._readings[table.name] if name in units and table.columns[name].type in _LITERAL]
        return frozenset(
            name
            for name in texts
            if self._readings[table.name][name].source.free and self._are_one(table.name, name, _LETTERS)
        )

    def _are_one(self, table: str, column: str, texts: Sequence[str]) -> bool:
        """Return whether the database takes some of these texts for one, as values of a column; it is read in no row."""
        sa = sqlalchemy()
        name, schema = self._places[table]
        # SELECT count(DISTINCT c) FROM (SELECT ward AS c FROM labs WHERE 1 = 0 UNION ALL SELECT 'a' UNION ALL …) AS u
        # The first part has no row, and gives the others the column's type and collation.
        own = sa.select(sa.column(column).label("c")).select_from(sa.table(name, schema=schema)).where(sa.text("1 = 0"))
        given = (sa.select(sa.literal_column(_literal(text)).label("c")) for text in texts)
        every = sa.union_all(own, *given).subquery("u")
        try:
            if texts is _LETTERS and self._backend in {"mysql", "mariadb"}:
                named = self._connection.execute(sa.select(sa.func.collation(every.c.c)).limit(1)).scalar()
                return not str(named).endswith(("_bin", "binary"))
            number = self._connection.execute(sa.select(sa.func.count(sa.distinct(every.c.c)))).scalar()
        except sa.exc.DBAPIError:  # it has no such letters, or does not compare them
            self._connection.rollback()
            return True
        return bool(number != len(texts))

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with the types that they have in the copy; where they can't be read, with their own."""
        readings = self._readings[table]
        kinds = {name: self._kind(table, name, readings.get(name)) for name in self._found[table]}
        return {name: kind for name, kind in kinds.items() if kind}

    def _kind(self, table: str, name: str, how: ColumnReading | None) -> str:
        if how is None:
            return self._found[table][name].written
        return f"{how.described}{LOOSE if name in self._loose[table] else ''}"

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return the keys that the database keeps unique, and what the policy says is one, which is counted in the copy."""
        readings = self._readings[table]
        alike = {name for name, how in readings.items() if how.distinct}
        own = frozenset(frozenset(key) for key in self._keys[table] if alike.issuperset(key))
        exact = {name for name, how in readings.items() if how.type != "DOUBLE"}
        return own | frozenset(key for key in self._policy.tables[table].keys if key <= exact)

    def check_tables(self) -> None:
        """See that the database has every declared table and column, that they can be read as declared, and that we may.

        Raises:
            ConfigError: with a line for each mistake.
        """
        mistakes = misfits_of(self._policy, self)
        if mistakes:
            raise ConfigError("\n".join(mistakes.values()), hint="Correct the schema files, or the tables.")
        sa = sqlalchemy()
        for name, table in self._policy.tables.items():
            with fixed_error(f'{table.file}: table "{name}" can\'t be read'):
                self._connection.execute(self._select(name).where(sa.text("1 = 0"))).fetchall()
        self._connection.rollback()

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a public table, as the copy will have them."""
        kinds = self.columns(table)
        names = ", ".join(public_column(name, kinds[name], self.dialect) for name in columns)
        doing = f'public table "{table}" can\'t be read'
        with closing(in_memory(Resources())) as beside, fixed_error(doing):
            try:
                beside.execute("SET TimeZone = 'UTC'")
                self.copy(self._connection, table, (beside, "public_rows"), _nobody, limit + 1)
                self._connection.rollback()
                rows = beside.execute(f"SELECT {names} FROM public_rows").fetchall()  # noqa: S608
            except duckdb.Error as failed:
                raise NoEngine(f"{doing}: {type(failed).__name__}") from None
            return [[exact_value(cell) for cell in row] for row in rows]

    @contextmanager
    def one_state(self) -> Iterator[Any]:
        """Give a connection on which all tables are as they were at one moment, where the database can do that."""
        connection = self._pool.connect()
        try:
            begin(connection, self._backend)
            yield connection
        except BaseException:
            _let_go(connection.invalidate)  # what has failed is in the error that is on its way
            raise
        finally:
            _let_go(connection.close)

    def stop(self, connection: Any) -> None:
        """Stop what another thread reads."""
        interrupt(connection.connection.driver_connection)

    def copy(
        self,
        connection: Any,
        table: str,
        target: tuple[duckdb.DuckDBPyConnection, str],
        came: Callable[[int], None],
        limit: int | None = None,
    ) -> tuple[Sequence[str], list[int]]:
        """Make a table of a table's declared columns; return their names, and how many values each had."""
        names = list(self._policy.tables[table].columns)
        readings = [self._readings[table][name] for name in names]
        make_table(*target, readings, names)
        statement = self._select(table) if limit is None else self._select(table).limit(limit)
        with rows_of(connection, statement, STEP) as rows:
            return names, load_rows(*target, readings, rows, came)

    def _select(self, table: str) -> Any:
        sa = sqlalchemy()
        name, schema = self._places[table]
        columns = (self._written(self._found[table][column]) for column in self._policy.tables[table].columns)
        return sa.select(*columns).select_from(sa.table(name, schema=schema))

    def _written(self, source: SourceColumn) -> Any:
        """Return a column as the database is asked for it."""
        sa = sqlalchemy()
        column = sa.column(source.name)
        if self._backend == "postgresql":
            # Its driver fails at days that Python does not have.
            column = sa.cast(column, sa.Double) if source.single else column
            return sa.cast(column, sa.Text).label(source.name)
        # As a text a number of single precision may have fewer digits than it needs; added to 0 in double precision it
        # has all.
        return (column + sa.literal_column("0e0")).label(source.name) if source.single else column

    def notes(self) -> Iterator[str]:
        """Yield what the operator should know of it."""
        yield from self.product.notes(self._connection, self._backend, self._places)

    def close(self) -> None:
        """Let go of the database."""
        _let_go(self._connection.close)
        self._pool.dispose()


def _nobody(letters: int) -> None:
    """Tell nobody how much has come."""


def _let_go(call: Callable[[], object]) -> None:
    """Let go of a connection, which may be lost."""
    with suppress(Exception):
        call()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _place(written: str) -> tuple[str, str | None]:
    """Return a table's name and its schema; None is where the account's connection is."""
    where = TableName.of(written)
    return where.name, None if where.schema == PUBLIC and "." not in written else where.schema


def _keys(inspector: Any, name: str, schema: str | None) -> Sequence[tuple[str, ...]]:
    """Return the columns that primary keys, unique constraints and whole unique indexes keep unique."""
    primary = inspector.get_pk_constraint(name, schema=schema) or {}
    keys = [primary.get("constrained_columns") or ()]
    with suppress(NotImplementedError):
        keys += [each["column_names"] for each in inspector.get_unique_constraints(name, schema=schema)]
    for index in inspector.get_indexes(name, schema=schema):
        # An index with a WHERE keeps some rows apart from each other, and no others; one of an expression says nothing
        # of a column.
        partial_ = any(
            "where" in option and told_ is not None for option, told_ in (index.get("dialect_options") or {}).items()
        )
        if index.get("unique") and not index.get("expressions") and not partial_:
            keys.append(index["column_names"])
    return [tuple(key) for key in keys if key and None not in key]


def _told_apart(table: Table, policy: Policy) -> frozenset[str]:
    """Return the columns of which double precision, or blanks at the end, would make different values one, or one two."""
    if table.public:
        return frozenset(table.columns)
    pointed = {
        column
        for other in policy.tables.values()
        for bound in other.units.values()
        if bound.through is not None and bound.through.table == table.name
        for column in bound.through.columns
    }
    units = {column for bound in table.units.values() for column in bound.columns}
    keys = frozenset[str]().union(*table.keys)
    references = {name for name, column in table.columns.items() if column.references is not None}
    joint = {name for pairs in table.references.values() for name in pairs}
    return frozenset(pointed | units | keys | references | joint)
