"""Opening DuckDB: a database in memory with the records attached or behind views, and every door closed afterwards.

Other things of a file besides its tables, such as macros that bear the names of functions, are in no statement's path.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import duckdb

from dpsql.engines.base import NoEngine
from dpsql.engines.duckdb.files import TableFile, duckdb_literal, made
from dpsql.engines.duckdb.optimizers import ALLOWED_OPTIMIZERS, other_optimizers
from dpsql.errors import ConfigError
from dpsql.policy.config import Resources
from dpsql.rewrite.emit.columns import quoted

Setting = str | bool | int | float | list[str]
_LEAST_BITS, _MOST_BITS = 20, 22
_ENTRY = 64
"""Bytes that a unit's entry takes in an array at most, for some aggregates; each thread has an array of its own."""
_SIZES = {unit: 2.0 ** (10 * power) for power, unit in enumerate(("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"))}
_PART = 16
"""The part of the memory for one array: DuckDB does not count it to its limit, and several statements run at once."""
_COPYING, _ENOUGH = 4, 2**30
"""The part of the memory in which a copy of the records is made, and the bytes that it has in any case."""
DUCKDB_SETTINGS: Mapping[str, Setting] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    # Otherwise a name that no table has is looked up among the variables of Python.
    "python_enable_replacements": False,
    # A product that overflows is infinite; as an error it would tell that there is such a row.
    "ieee_floating_point_ops": True,
    # Up to 2^20 units are counted in an array, 3 times faster than by hashing; see `_array_bits` for where there is memory.
    "perfect_ht_threshold": _LEAST_BITS,
}
ATTACHED, MEMORY, KEPT = "records", "memory", "kept"
"""The names of an attached file, of DuckDB's own database in memory, and of what is kept there beside the records."""


def of_file(
    path: Path,
    spill: Path,
    resources: Resources,
    optimizers: Collection[str] = tuple(ALLOWED_OPTIMIZERS),
    beside: Mapping[str, Path] = {},
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file, read-only, and others `beside` it, of whose names its views know.

    Raises:
        NoEngine: there is none.
        ConfigError: it is none.
    """
    return closed_off(_with_file(path, spill, resources, optimizers, beside), [])


def of_tables(
    tables: Mapping[str, TableFile],
    files: Sequence[Path],
    spill: Path,
    resources: Resources,
    optimizers: Collection[str] = tuple(ALLOWED_OPTIMIZERS),
) -> duckdb.DuckDBPyConnection:
    """Open files as tables.

    Raises:
        ConfigError: they can't be read.
    """
    return closed_off(_with_tables(tables, spill, resources, optimizers), files)


def in_memory(
    resources: Resources, optimizers: Collection[str] = tuple(ALLOWED_OPTIMIZERS)
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB without records, with the doors open until `closed_off` shuts them; it writes to no disk.

    Raises:
        ConfigError: it does not start.
    """
    return _empty("", resources, optimizers)


def to_copy(
    source: Path | Mapping[str, TableFile], spill: Path, resources: Resources, beside: Mapping[str, Path] = {}
) -> duckdb.DuckDBPyConnection:
    """Open either for dpsql's own copying, with the doors open: no client asks it anything.

    It has a part of the memory, since statements are answered meanwhile: what it sorts and joins it does on the disk as fast.

    Raises:
        ConfigError: as above.
    """
    if isinstance(source, Path):
        connection = _with_file(source, spill, resources, tuple(ALLOWED_OPTIMIZERS), beside)
    else:
        connection = _with_tables(source, spill, resources, tuple(ALLOWED_OPTIMIZERS))
    most = memory_of(connection)
    connection.execute(f"SET GLOBAL memory_limit = '{min(most, max(most // _COPYING, _ENOUGH))} bytes'")
    connection.execute(f"SET GLOBAL perfect_ht_threshold = {_array_bits(connection)}")
    return connection


def _with_file(
    path: Path, spill: Path, resources: Resources, optimizers: Collection[str], beside: Mapping[str, Path]
) -> duckdb.DuckDBPyConnection:
    every = {**beside, ATTACHED: path}
    missing = next((file for file in every.values() if not file.is_file()), None)
    if missing is not None:
        raise NoEngine(f"there is no DuckDB file {missing}")
    connection = _empty(spill, resources, optimizers)
    for name, file in every.items():
        try:
            connection.execute(f"ATTACH {duckdb_literal(str(file))} AS {quoted(name)} (READ_ONLY)")
        except duckdb.Error as error:
            connection.close()
            raise ConfigError(f"{file}: DuckDB can't open it: {error}") from error
    return connection


def _with_tables(
    tables: Mapping[str, TableFile], spill: Path, resources: Resources, optimizers: Collection[str]
) -> duckdb.DuckDBPyConnection:
    connection = _empty(spill, resources, optimizers)
    try:
        for name, table in tables.items():
            made(connection, name, table)
    except BaseException:
        connection.close()
        raise
    return connection


def _empty(spill: Path | str, resources: Resources, optimizers: Collection[str]) -> duckdb.DuckDBPyConnection:
    limits: dict[str, Setting | None] = {"memory_limit": resources.memory, "threads": resources.threads}
    given = {name: value for name, value in limits.items() if value is not None}
    try:
        connection = duckdb.connect(":memory:", config={**DUCKDB_SETTINGS, **given, "temp_directory": str(spill)})
        # It would be drawn on standard output, which is the server's, of whatever takes two seconds; by cursors it is not.
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET GLOBAL disabled_optimizers = ?", [other_optimizers(connection, optimizers)])
        connection.execute(f"SET GLOBAL perfect_ht_threshold = {_array_bits(connection)}")
        connection.execute(f"ATTACH ':memory:' AS {KEPT} (COMPRESS)")
    except duckdb.Error as error:
        raise ConfigError(f"DuckDB does not start: {error}") from error
    return connection


def _array_bits(connection: duckdb.DuckDBPyConnection) -> int:
    """Return for how many units, as a power of two, there is memory to count them in arrays: up to 4 million."""
    row = connection.execute("SELECT current_setting('threads')").fetchone()
    assert row is not None
    entries = memory_of(connection) / (_PART * _ENTRY * row[0])
    return max(_LEAST_BITS, min(_MOST_BITS, int(math.log2(entries)))) if entries >= 1 else _LEAST_BITS


def memory_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many bytes of memory DuckDB may use."""
    row = connection.execute("SELECT current_setting('memory_limit')").fetchone()
    assert row is not None
    number, unit = row[0].split()  # 2.7 GiB
    return int(float(number) * _SIZES[unit])


def closed_off(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """Shut every door but that to some files; return the connection."""
    connection.execute("SET allowed_paths = ?", [[str(file) for file in files]])
    connection.execute("SET enable_external_access = false")
    # Times with a zone are read as UTC, for any zone of the machine.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    return connection
