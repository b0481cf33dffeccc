"""Opening DuckDB: a database in memory with the records attached or behind views, and every door closed afterwards.

Other things of a file besides its tables, such as macros that bear the names of functions, are in no statement's path.
"""

import math
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import duckdb

from dpsql.engines.base import NoEngine
from dpsql.engines.duckdb.files import TableFile, duckdb_literal, make_table
from dpsql.errors import ConfigError
from dpsql.policy.config import Resources
from dpsql.private_files import Scratch, make_directory
from dpsql.rewrite.emit.emitter import quote_name

# DuckDB's optimizers that may change a statement: those that the benchmarks need; all others are off.
#
# Also what a later version brings is off until somebody has measured what it is worth. Each was measured alone: what its
# absence costs the processor on the statements of `benchmarks/speed`, over a million trips, or of TPC-H.

ALLOWED_OPTIMIZERS: Mapping[str, str] = {
    "statistics_propagation": "keys of few values are counted in arrays instead of hashed",
    "unused_columns": "columns that nobody reads are not carried along",
    "filter_pushdown": "rows are left out where they are read, and joins of what WHERE compares become hash joins",
    "build_side_probe_side": "the smaller side of a join is the one that is kept",
    "join_order": "joins of several tables begin with those that leave few rows",
    "join_filter_pushdown": "a join with few keys reads only the parts of a table that may have them",
    "deliminator": "what EXISTS becomes reads its tables once",
    "distinct_aggregate_rewrite": "distinct values are counted by several threads",
    "common_subexpressions": "what stands in several sums of a row is computed once",
    "expression_rewriter": "constants are computed once, comparisons in their shortest form",
}
"""By name what it does for dpsql's statements; docs/engines.md has what each was measured to bring."""
CAREFULLY: Collection[str] = tuple(name for name in ALLOWED_OPTIMIZERS if name != "build_side_probe_side")
"""For what DuckDB has failed at by a mistake of its own.

2.0.0 fails where the rows of a RIGHT JOIN are another join's, because they come from two places. Nothing here says
RIGHT JOIN: a LEFT JOIN becomes one where its sides are exchanged. Some joins take twice as long without that.
"""


def other_optimizers(connection: duckdb.DuckDBPyConnection, allowed: Collection[str]) -> str:
    """Return all other optimizers that this version of DuckDB has, as its setting `disabled_optimizers` lists them."""
    optimizers = connection.execute("SELECT name FROM duckdb_optimizers() ORDER BY name").fetchall()
    return ",".join(name for (name,) in optimizers if name not in allowed)


# The database, opened in one of four ways, and closed off.

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
    return shut_doors(_with_file(path, spill, resources, optimizers, beside), [])


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
    return shut_doors(_with_tables(tables, spill, resources, optimizers), files)


def in_memory(
    resources: Resources, optimizers: Collection[str] = tuple(ALLOWED_OPTIMIZERS)
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB without records, with the doors open until `shut_doors` shuts them; it writes to no disk.

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
            connection.execute(f"ATTACH {duckdb_literal(str(file))} AS {quote_name(name)} (READ_ONLY)")
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
            make_table(connection, name, table)
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
        # Times are read as UTC, for any zone of the machine: also those of files that are loaded before the doors are shut.
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
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


def shut_doors(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """Shut every door but that to some files; return the connection."""
    connection.execute("SET allowed_paths = ?", [[str(file) for file in files]])
    connection.execute("SET enable_external_access = false")
    # The last setting of all: from now on no statement opens a door again.
    connection.execute("SET lock_configuration = true")
    return connection


# Where DuckDB puts what does not fit into memory: a private directory a process, which does not outlive it for long.
#
# Spilled data are records. The directory is emptied when the engine closes; after a kill the next one to open there does it.


def spill(place: Path | None) -> Scratch:
    """Make a directory below `place` that nobody else may enter; None: where the system has such things.

    Raises:
        ConfigError: it can't be made.
    """
    try:
        if place is None:
            return Scratch("dpsql-spill-")
        make_directory(place)
        return Scratch("spill-", place)
    except OSError as error:
        raise ConfigError(
            f"spilled records have no place at {place or tempfile.gettempdir()}: {error.strerror}",
            hint="state names a directory that dpsql may make and write to; engine.spill names one for spills alone.",
        ) from None
