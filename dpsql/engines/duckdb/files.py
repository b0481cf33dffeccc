"""Files that stand for tables: Parquet is read where it lies, CSV is read once, with the declared types."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from dpsql.engines.base import NoEngine
from dpsql.errors import ConfigError
from dpsql.policy.config import CsvWords, DecimalMark
from dpsql.policy.model import SqlType
from dpsql.rewrite.emit.columns import quoted

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".csv.zst", ".tsv")


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


class Watched:
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


def made(connection: duckdb.DuckDBPyConnection, name: str, table: TableFile) -> None:
    """Make the view or the table of one table's files.

    Raises:
        ConfigError: they can't be read.
    """
    files = table.files
    listed = f"[{', '.join(duckdb_literal(str(file)) for file in files)}]"
    try:
        if all(file.name.lower().endswith(PARQUET) for file in files):
            connection.execute(f"CREATE VIEW {quoted(name)} AS SELECT * FROM read_parquet({listed})")  # noqa: S608
        elif all(file.name.lower().endswith(CSV) for file in files):
            _load_csv(connection, name, table, listed)
        else:
            raise ConfigError(
                f"engine: {table.path} is neither Parquet ({', '.join(PARQUET)}) nor CSV ({', '.join(CSV)})"
            )
    except duckdb.Error as error:
        raise ConfigError(f'engine: table "{name}": {table.path} can\'t be read: {error}') from error


def _load_csv(connection: duckdb.DuckDBPyConnection, name: str, table: TableFile, files: str) -> None:
    """Copy CSV files into memory, where no malformed line can make a statement fail.

    DuckDB's own errors quote lines of the file, which are somebody's; ours name the column.
    """
    words = ", ".join(duckdb_literal(word) for word in ("", *table.csv.nulls))
    source = f"read_csv({files}, header = true, all_varchar = true, nullstr = [{words}])"
    try:
        names = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]  # noqa: S608
        types = {column: _type(table.columns[column]) for column in names if column in table.columns}
        values = {column: _value(column, kind, table.csv.decimal) for column, kind in types.items()}
        casts = [f"CAST({values[column]} AS {kind}) AS {quoted(column)}" for column, kind in types.items()]
        selected = ", ".join(casts) or "NULL AS nothing"
        connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT {selected} FROM {source}")  # noqa: S608
    except duckdb.ConversionException:
        raise _misfit(connection, name, (types, values), table.path, source) from None
    except duckdb.Error as error:
        line = re.search(r"Line: (\d+)", str(error))
        at = f", line {line[1]}" if line else ""
        raise ConfigError(f'engine: table "{name}": {table.path} can\'t be read as CSV{at}') from None


def _misfit(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    cast: tuple[Mapping[str, str], Mapping[str, str]],
    path: Path,
    source: str,
) -> ConfigError:
    """Return what to say of the first column that has values which are not of its type."""
    types, values = cast
    tests = [f"{quoted(c)} IS NOT NULL AND TRY_CAST({values[c]} AS {kind}) IS NULL" for c, kind in types.items()]
    counts = ", ".join(f"count(*) FILTER (WHERE {test})" for test in tests)
    numbers = connection.execute(f"SELECT {counts} FROM {source}").fetchall()[0]  # noqa: S608
    for (column, kind), number in zip(types.items(), numbers, strict=True):
        if number:
            return ConfigError(
                f'engine: table "{name}": {path}: column "{column}" has {number} values that are not {kind.lower()}'
            )
    return ConfigError(f'engine: table "{name}": {path} can\'t be read as the declared types')


def _value(column: str, kind: str, mark: DecimalMark) -> str:
    """Return a column's text as DuckDB reads numbers; where the mark is a comma a point is no part of a number."""
    if kind != "DOUBLE" or mark is DecimalMark.POINT:
        return quoted(column)
    return f"replace(replace({quoted(column)}, '.', '?'), ',', '.')"


def _type(kind: SqlType) -> str:
    # DuckDB's NUMERIC has 3 decimals; in double precision statements compute with it anyway.
    return "DOUBLE" if kind in {SqlType.NUMERIC, SqlType.REAL, SqlType.DOUBLE} else kind.value.upper()


def duckdb_literal(text: str) -> str:
    """Return a text as DuckDB's SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
