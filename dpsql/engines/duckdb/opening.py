"""Opening DuckDB: a database in memory with the records attached or behind views, and every door closed afterwards.

What a file brings along besides its tables, such as macros that bear the names of functions, is in no statement's path.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from dpsql.engines.base import NoEngine
from dpsql.engines.duckdb.files import TableFile, duckdb_literal, made
from dpsql.errors import ConfigError
from dpsql.policy.config import Resources

Setting = str | bool | int | float | list[str]
_LEAST_BITS, _MOST_BITS = 20, 22
_ENTRY = 64
"""Bytes that a unit's entry takes in an array at most, for some aggregates; each thread has an array of its own."""
_SIZES = {unit: 2.0 ** (10 * power) for power, unit in enumerate(("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"))}
_PART = 16
"""What part of the memory an array may take: DuckDB does not count it to its limit, and several statements run at once."""
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
    # It takes parts of a statement for the same that are not: where a table is joined with itself, 2.0.0 reads a column of
    # the one from the other. Rows then have keys that are not theirs, and removing a unit moves other units' rows.
    # projection_placement puts columns where 2.0.0's hash joins do not expect them (of a LEFT JOIN that another join reads):
    # DuckDB fails then, and closes its whole database.
    "disabled_optimizers": "common_subplan,projection_placement",
}
CAREFULLY: Mapping[str, Setting] = {
    **DUCKDB_SETTINGS,
    # 2.0.0 fails where the rows of a RIGHT JOIN are another join's, because they come from two places. Nothing here says
    # RIGHT JOIN: a LEFT JOIN becomes one where its sides are exchanged. Some joins take twice as long without that.
    "disabled_optimizers": f"{DUCKDB_SETTINGS['disabled_optimizers']},build_side_probe_side",
}
"""For what DuckDB has failed at by a mistake of its own."""
ATTACHED, MEMORY, KEPT = "records", "memory", "kept"
"""The names of an attached file, of DuckDB's own database in memory, and of what is kept there beside the records."""


def of_file(
    path: Path, spill: Path, resources: Resources, settings: Mapping[str, Setting] = DUCKDB_SETTINGS
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file, read-only.

    Raises:
        NoEngine: there is none.
        ConfigError: it is none.
    """
    return closed_off(_with_file(path, spill, resources, settings), [])


def of_tables(
    tables: Mapping[str, TableFile],
    files: Sequence[Path],
    spill: Path,
    resources: Resources,
    settings: Mapping[str, Setting] = DUCKDB_SETTINGS,
) -> duckdb.DuckDBPyConnection:
    """Open files as tables.

    Raises:
        ConfigError: they can't be read.
    """
    return closed_off(_with_tables(tables, spill, resources, settings), files)


def in_memory(resources: Resources, settings: Mapping[str, Setting] = DUCKDB_SETTINGS) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB without records, with the doors open until `closed_off` shuts them; it writes to no disk.

    Raises:
        ConfigError: it does not start.
    """
    return _empty("", resources, settings)


def to_copy(source: Path | Mapping[str, TableFile], spill: Path, resources: Resources) -> duckdb.DuckDBPyConnection:
    """Open either for dpsql's own copying, with the doors open: what is asked of it is no client's.

    Raises:
        ConfigError: as above.
    """
    if isinstance(source, Path):
        return _with_file(source, spill, resources, DUCKDB_SETTINGS)
    return _with_tables(source, spill, resources, DUCKDB_SETTINGS)


def _with_file(
    path: Path, spill: Path, resources: Resources, settings: Mapping[str, Setting]
) -> duckdb.DuckDBPyConnection:
    if not path.is_file():
        raise NoEngine(f"there is no DuckDB file {path}")
    connection = _empty(spill, resources, settings)
    try:
        connection.execute(f"ATTACH {duckdb_literal(str(path))} AS {ATTACHED} (READ_ONLY)")
    except duckdb.Error as error:
        connection.close()
        raise ConfigError(f"{path}: DuckDB can't open it: {error}") from error
    return connection


def _with_tables(
    tables: Mapping[str, TableFile], spill: Path, resources: Resources, settings: Mapping[str, Setting]
) -> duckdb.DuckDBPyConnection:
    connection = _empty(spill, resources, settings)
    try:
        for name, table in tables.items():
            made(connection, name, table)
    except BaseException:
        connection.close()
        raise
    return connection


def _empty(spill: Path | str, resources: Resources, settings: Mapping[str, Setting]) -> duckdb.DuckDBPyConnection:
    limits: dict[str, Setting | None] = {"memory_limit": resources.memory, "threads": resources.threads}
    given = {name: value for name, value in limits.items() if value is not None}
    try:
        connection = duckdb.connect(":memory:", config={**settings, **given, "temp_directory": str(spill)})
        connection.execute(f"SET GLOBAL perfect_ht_threshold = {_array_bits(connection)}")
        connection.execute(f"ATTACH ':memory:' AS {KEPT} (COMPRESS)")
    except duckdb.Error as error:
        raise ConfigError(f"DuckDB does not start: {error}") from error
    return connection


def _array_bits(connection: duckdb.DuckDBPyConnection) -> int:
    """Return for how many units, as a power of two, there is memory to count them in arrays: up to 4 million."""
    found = connection.execute("SELECT current_setting('threads')").fetchone()
    assert found is not None
    entries = memory_of(connection) / (_PART * _ENTRY * found[0])
    return max(_LEAST_BITS, min(_MOST_BITS, int(math.log2(entries)))) if entries >= 1 else _LEAST_BITS


def memory_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Return how many bytes of memory DuckDB may use."""
    found = connection.execute("SELECT current_setting('memory_limit')").fetchone()
    assert found is not None
    number, unit = found[0].split()  # 2.7 GiB
    return int(float(number) * _SIZES[unit])


def closed_off(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """Shut every door but that to some files; return the connection."""
    connection.execute("SET allowed_paths = ?", [[str(file) for file in files]])
    connection.execute("SET enable_external_access = false")
    # Times with a zone are read as UTC, whatever the machine's own is.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    return connection
