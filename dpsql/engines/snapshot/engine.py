"""The engine over a copy: DuckDB, on a file that nobody but dpsql writes, and that only before it is served.

A newer copy takes the place of this one's file in the directory, not of what is open: who reads this one reads it to the end.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dpsql.engines.base import NoEngine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import Watched
from dpsql.engines.snapshot.manifest import Manifest
from dpsql.policy.config import SnapshotConfig
from dpsql.policy.model import Table


class SnapshotEngine(DuckDb):
    """An `Engine` over a copy; see there."""

    def __init__(self, file: Path, manifest: Manifest, config: SnapshotConfig) -> None:
        """Open a copy.

        Raises:
            NoEngine: it is not there any more.
            ConfigError: it can't be opened.
        """
        # The file that DuckDB opens by its name next is this very one: names are never given twice.
        self._opened = _Opened(file, manifest.size, manifest.changed)
        self.file = file
        try:
            super().__init__(file, config.resources)
        except BaseException:
            self._opened.close()
            raise
        self._watched = self._opened
        until = None if config.oldest is None else manifest.edition.taken + config.oldest
        self.edition = replace(manifest.edition, until=until)
        # As the records' engine keeps them, and as was seen on the copy, which has no constraints itself.
        self._unique = {table: frozenset(map(frozenset, keys)) for table, keys in manifest.unique.items()}
        self._kept, self._enforced = manifest.kept, manifest.enforced

    def _place(self, table: str) -> tuple[str, str]:
        """Return where a table was copied to: all of its name is the copy's."""
        return "main", table

    def enforced(self, table: Table) -> frozenset[str]:
        """Return the columns that the records' engine kept as declared when the copy was begun."""
        return frozenset(self._enforced.get(table.name, ()))

    def columns(self, table: str) -> Mapping[str, str]:
        """Return the columns that were copied, and not those that are kept beside them."""
        hidden = self.kept(table).names
        return {name: type_ for name, type_ in super().columns(table).items() if name not in hidden}

    def _remove(self) -> None:
        super()._remove()
        self._opened.close()


class _Opened(Watched):
    """A file that is watched through a descriptor: it may lose its name, and must not be written to."""

    def __init__(self, file: Path, size: int, changed: int) -> None:
        self._file, self._wanted = file, (size, changed)
        try:
            self._descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            raise NoEngine(f"there is no snapshot {file}") from None

    def changed(self) -> Path | None:
        """Return the file if it is not what it was."""
        status = os.fstat(self._descriptor)
        return None if (status.st_size, status.st_mtime_ns) == self._wanted else self._file

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)
