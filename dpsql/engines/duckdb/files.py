"""Files that stand for tables: Parquet is read where it lies, CSV is read once, with the declared types."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import duckdb

from dpsql.engines.base import NoEngine
from dpsql.errors import ConfigError
from dpsql.policy.config import CsvWords, DecimalMark
from dpsql.policy.model import SqlType
from dpsql.rewrite.emit.emitter import quote_name

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".csv.zst", ".tsv")
_DELIMITERS = (",", ";", "\t", "|")
_ENCODINGS = "utf-8", "latin-1"
"""Of the first line: where bytes below it are no UTF-8 the second reads it, and the column is told that has them."""
_NO_UTF8 = ": the file is no UTF-8; iconv -f windows-1252 -t utf-8 makes it so of what Windows or Latin-1 has"


@dataclass(frozen=True, slots=True)
class TableFile:
    """One table: a file, a directory of Parquet files or a pattern (`trips/*.parquet`), and the declared columns."""

    path: Path
    columns: Mapping[str, SqlType]
    csv: CsvWords = field(default_factory=CsvWords)

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files, absolute and in order.

        Raises:
            NoEngine: there are none.
        """
        path = self.path.absolute()
        if path.is_file():
            return (path,)
        paths = path.rglob("*.parquet") if path.is_dir() else Path(path.anchor).glob(str(path.relative_to(path.anchor)))
        files = tuple(sorted(file for file in paths if file.is_file()))
        if not files:
            raise NoEngine(f"engine: there is no file {self.path}")
        return files


class WatchedFiles:
    """Files that must stay as they are: a statement that reads one twice has to see the same rows twice.

    So has one that reads rows of it which were kept when it was opened. A file's times can be set back by its writers,
    but for that of its last change, by whichever name it was made; that of its rights counts as one, too.
    """

    def __init__(self, files: tuple[Path, ...]) -> None:
        """Remember how the files are now."""
        self.files = files
        self._before = {file: _state(file) for file in files}

    def changed(self) -> Path | None:
        """Return a file that is not what it was."""
        return next((file for file, state in self._before.items() if _state(file) != state), None)


def _state(file: Path) -> tuple[int, ...]:
    try:
        status = file.stat()
    except OSError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def make_table(connection: duckdb.DuckDBPyConnection, name: str, table: TableFile) -> None:
    """Make the view or the table of one table's files.

    Raises:
        ConfigError: they can't be read.
    """
    files = table.files
    listed = _listed(files)
    try:
        if all(file.name.lower().endswith(PARQUET) for file in files):
            _see_that_types_agree(connection, name, table, files)
            # What is no UTF-8 in a column of texts is read with other characters: else it would fail each statement of
            # whose rows it is one.
            source = f"read_parquet({listed}, utf8_validation = 'replace')"
            _see_that_times_are_read(connection, name, table, (listed, source))
            connection.execute(f"CREATE VIEW {quote_name(name)} AS SELECT * FROM {source}")  # noqa: S608
        elif all(file.name.lower().endswith(CSV) for file in files):
            _load_csv(connection, name, table, files)
        else:
            raise ConfigError(
                f"engine: {table.path} is neither Parquet ({', '.join(PARQUET)}) nor CSV ({', '.join(CSV)})"
            )
    except duckdb.Error as error:
        raise ConfigError(f'engine: table "{name}": {table.path} can\'t be read: {error}') from error


def _listed(files: Sequence[Path]) -> str:
    return f"[{', '.join(duckdb_literal(str(file)) for file in files)}]"


def _see_that_types_agree(
    connection: duckdb.DuckDBPyConnection, name: str, table: TableFile, files: Sequence[Path]
) -> None:
    """See that all files have each declared column of one type.

    DuckDB casts the values of all to the type that the first file has, as it reads them: some would be rounded, and one that
    does not fit would make each statement fail that is answered without it.

    Raises:
        ConfigError: a column is of two types, or is missing in a file.
    """
    rows_by_file: dict[str, list[tuple[str, str, int | None]]] = {}
    for file, *row in connection.execute(
        f"SELECT file_name, lower(name), duckdb_type, num_children FROM parquet_schema({_listed(files)}) "  # noqa: S608
        "ORDER BY file_name, column_id"
    ).fetchall():
        rows_by_file.setdefault(file, []).append(tuple(row))
    first, *others = map(str, files)
    types = _top_level(rows_by_file[first])
    for file in others:
        own = _top_level(rows_by_file[file])
        for column in table.columns:
            expected, found = types.get(column.lower(), _MISSING), own.get(column.lower(), _MISSING)
            # What pandas writes of a column without a value is of no type, and is read as the first file's.
            if found not in (expected, _NO_TYPE):
                raise ConfigError(
                    f'engine: table "{name}": "{column}" is {expected} in {first}, and {found} in {file}',
                    hint="Write all files of a table with the same types.",
                )


_MISSING, _NO_TYPE = "missing", '"NULL"'


def _top_level(rows: Sequence[tuple[str, str, int | None]]) -> Mapping[str, str]:
    """Return the types of a Parquet file's columns, of a schema in which each node stands before those within it."""
    left, types = iter(rows), dict[str, str]()

    def skip(number: int | None) -> None:
        for _ in range(number or 0):
            skip(next(left)[2])

    (_, _, number) = next(left)
    for _ in range(number or 0):
        column, type_, within = next(left)
        types[column] = type_
        skip(within)
    return types


def _see_that_times_are_read(
    connection: duckdb.DuckDBPyConnection, name: str, table: TableFile, files: tuple[str, str]
) -> None:
    """See that DuckDB can read all times whose form in the file has room for others; it fails at these, as it reads them.

    Raises:
        ConfigError: it can't.
    """
    listed, source = files
    found = connection.execute(
        f"SELECT DISTINCT name FROM parquet_schema({listed}) WHERE converted_type LIKE '%!_MILLIS' ESCAPE '!' "  # noqa: S608
        "OR logical_type LIKE 'TimeType%' OR logical_type LIKE '%MILLIS=MilliSeconds%'"
    ).fetchall()
    narrow = {column.lower() for (column,) in found}
    for column in table.columns:
        if column.lower() not in narrow:
            continue
        try:
            connection.execute(f"SELECT max({quote_name(column)}) FROM {source}")  # noqa: S608
        except duckdb.Error:  # which quotes the value
            raise ConfigError(
                f'engine: table "{name}": column "{column}" of {table.path} has times that can\'t be read',
                hint="A time is within a day, and a timestamp in milliseconds before the year 294247.",
            ) from None


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How CSV files are read: by what their first line says, and never by a guess from records."""

    files: Sequence[Path]
    delimiter: str
    columns: Sequence[str]

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> Self:
        """Read the first line of each.

        Raises:
            ConfigError: it can't be read, names a column twice, or differs from file to file.
        """
        heads = {file: _first_line(connection, file) for file in files}
        first, head = next(iter(heads.items()))
        delimiter = max(_DELIMITERS, key=head.count)
        (columns,) = csv.reader([head], delimiter=delimiter)
        for file, other in heads.items():
            if other != head:
                raise ConfigError(f"{file}: the first line, which names the columns, is another one than in {first}")
        twice = next((name for name in columns if columns.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f'{first}, line 1: column "{twice}" is named twice')
        return cls(files, delimiter, columns)

    def source(self, *, latin: bool = False) -> str:
        """Return the text that reads the records, all values as texts: a quoted nothing is an empty one.

        As `latin` 1 most bytes are characters.
        """
        files = ", ".join(duckdb_literal(str(file)) for file in self.files)
        columns = ", ".join(f"{duckdb_literal(name)}: 'VARCHAR'" for name in self.columns)
        encoding = ", encoding = 'latin-1'" if latin else ""
        return (
            f"read_csv([{files}], auto_detect = false, header = true, columns = {{{columns}}}, "
            f"delim = {duckdb_literal(self.delimiter)}, quote = '\"', escape = '\"', nullstr = '', "
            f"allow_quoted_nulls = false{encoding})"
        )

    def wrong(self, connection: duckdb.DuckDBPyConnection, error: duckdb.Error) -> str:
        """Return what is wrong with the files: DuckDB's own words quote a line, which is somebody's."""
        told = str(error)
        file, line = re.search(r"\n  file = (.+)", told), re.search(r"Line: (\d+)", told)
        at = f"{file[1] if file else self.files[0]}{f', line {line[1]}' if line else ''}"
        counts = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", told)
        if counts:
            more = f'; the last of the columns is "{self.columns[-1]}"' if int(counts[2]) > int(counts[1]) else ""
            return f"{at}: the line has {counts[2]} values, and the first one names {counts[1]} columns{more}"
        if "unterminated quote" in told:
            return f"{at}: a quotation mark is not closed"
        if "not utf-8" in told:
            return f"{at}{self._not_utf8(connection)}{_NO_UTF8}"
        return f"{at}: it can't be read as CSV"

    def _not_utf8(self, connection: duckdb.DuckDBPyConnection) -> str:
        """Return the first column that has more than ASCII."""
        tests = ", ".join(f"bool_or(regexp_matches({quote_name(name)}, '[^\\x00-\\x7F]'))" for name in self.columns)
        try:
            (found,) = connection.execute(f"SELECT {tests} FROM {self.source(latin=True)}").fetchall()  # noqa: S608
        except duckdb.Error:
            return ""
        return next((f', column "{name}"' for name, has in zip(self.columns, found, strict=True) if has), "")


def _first_line(connection: duckdb.DuckDBPyConnection, file: Path) -> str:
    row: tuple[str | None, ...] | None
    for encoding in _ENCODINGS:
        # The line as it is, in one column: nothing in it separates or quotes. Python takes off a byte order mark.
        source = (
            f"read_csv({duckdb_literal(str(file))}, auto_detect = false, header = false, columns = {{'line': 'VARCHAR'}}, "
            f"delim = chr(1), quote = '', escape = '', encoding = '{encoding}', strict_mode = false)"
        )
        try:
            row = connection.execute(f"SELECT line FROM {source} LIMIT 1").fetchone()  # noqa: S608
        except duckdb.Error as error:
            if "not utf-8" in str(error) and encoding != _ENCODINGS[-1]:
                continue
            raise ConfigError(
                f"{file}{_NO_UTF8}" if encoding != _ENCODINGS[0] else f"{file} can't be read as CSV"
            ) from None
        break
    if row is None or not row[0]:
        raise ConfigError(f"{file} is empty; its first line has to name the columns")
    try:
        return row[0].encode(encoding).decode("utf-8-sig")
    except UnicodeError:
        raise ConfigError(f"{file}, line 1{_NO_UTF8}") from None


def _load_csv(connection: duckdb.DuckDBPyConnection, name: str, table: TableFile, files: Sequence[Path]) -> None:
    """Copy CSV files into memory, where no malformed line can make a statement fail."""
    form = CsvForm.of(connection, files)
    source = form.source()
    try:
        types = {column: _type(table.columns[column]) for column in form.columns if column in table.columns}
        values = {column: _value(column, kind, table.csv) for column, kind in types.items()}
        casts = [f"CAST({values[column]} AS {kind}) AS {quote_name(column)}" for column, kind in types.items()]
        selected = ", ".join(casts) or "NULL AS nothing"
        connection.execute(f"CREATE TABLE {quote_name(name)} AS SELECT {selected} FROM {source}")  # noqa: S608
    except duckdb.ConversionException:
        raise _misfit(connection, name, (types, values), table.path, source) from None
    except duckdb.Error as error:
        raise ConfigError(f'engine: table "{name}": {form.wrong(connection, error)}') from None


def _misfit(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    cast: tuple[Mapping[str, str], Mapping[str, str]],
    path: Path,
    source: str,
) -> ConfigError:
    """Return what to say of all columns that have values which are not of their type."""
    types, values = cast
    # DuckDB's error quotes the value that it can't read, which is somebody's. So the values are counted, and not shown.
    tests = [f"({values[c]}) IS NOT NULL AND TRY_CAST({values[c]} AS {kind}) IS NULL" for c, kind in types.items()]
    counts = ", ".join(f"count(*) FILTER (WHERE {test})" for test in tests)
    numbers = connection.execute(f"SELECT {counts} FROM {source}").fetchall()[0]  # noqa: S608
    wrong = [
        f'column "{column}" has {number} values that are not {kind.lower()}'
        for (column, kind), number in zip(types.items(), numbers, strict=True)
        if number
    ]
    if wrong:
        return ConfigError(f'engine: table "{name}": {path}: {"; ".join(wrong)}')
    return ConfigError(f'engine: table "{name}": {path} can\'t be read as the declared types')


def _value(column: str, kind: str, words: CsvWords) -> str:
    """Return a column's text, NULL for a word that stands for no value, with numbers as DuckDB reads them.

    A quoted nothing is an empty text, as PostgreSQL reads it; of another type it is no value.
    """
    value = quote_name(column)
    nulls = words.nulls if kind == _TEXT else ("", *words.nulls)
    if nulls:
        listed = ", ".join(duckdb_literal(word) for word in nulls)
        value = f"CASE WHEN {value} NOT IN ({listed}) THEN {value} END"
    if kind in _WHOLE:
        # DuckDB would round all others. 3.0 is whole: so is every number of a column written that has had a gap; R has 1e+05.
        mark = "." if words.decimal is DecimalMark.POINT else ","
        whole = rf"\s*[+-]?[0-9]+([{mark}]0*)?([eE][+]?[0-9]+)?\s*"
        return (
            f"CASE WHEN regexp_full_match({value}, '{whole}') THEN replace({value}, ',', '.') ELSE '?' || {value} END"
        )
    if kind != _NUMBER or words.decimal is DecimalMark.POINT:
        return value
    # '1.000,5' becomes '1?000.5', which is refused: to leave the point out would read 1.000 as a thousand where it is
    # one. Where the mark is a comma a point is no part of a number.
    return f"replace(replace({value}, '.', '?'), ',', '.')"


_TEXT, _NUMBER, _WHOLE = "VARCHAR", "DOUBLE", frozenset({"SMALLINT", "INTEGER", "BIGINT"})


def _type(kind: SqlType) -> str:
    # What is no JSON reads as none, as it does elsewhere, and what is no label of an enum as no value.
    if kind in {SqlType.TEXT, SqlType.CHARACTER, SqlType.ENUM, SqlType.JSON}:
        return _TEXT
    # DuckDB's NUMERIC has 3 decimals; in double precision statements compute with it anyway.
    return _NUMBER if kind in {SqlType.NUMERIC, SqlType.REAL, SqlType.DOUBLE} else kind.value.upper()


def duckdb_literal(text: str) -> str:
    """Return a text as DuckDB's SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
