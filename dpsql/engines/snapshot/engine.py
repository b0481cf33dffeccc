"""The engine over a copy: DuckDB, on files that nobody but dpsql writes, and that only before they are served.

A newer copy takes the place of this one's file in the directory, not of what is open: who reads this one reads it to the end.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dpsql.engines.base import NoEngine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import Watched
from dpsql.engines.snapshot.manifest import Manifest
from dpsql.engines.snapshot.place import SnapshotPlace
from dpsql.policy.config import SnapshotConfig
from dpsql.policy.model import Table


class SnapshotEngine(DuckDb):
    """An `Engine` over a copy; see there."""

    def __init__(self, place: SnapshotPlace, manifest: Manifest, config: SnapshotConfig) -> None:
        """Open a copy.

        Raises:
            NoEngine: it is not there any more.
            ConfigError: it can't be opened.
        """
        # The file that DuckDB opens by its name next is this very one: names are never given twice.
        files = {name: place.file(name) for name in manifest.files}
        self._opened = _Opened([(files[name], *state) for name, state in manifest.files.items()])
        self.file = files.pop(manifest.name)
        self.beside = files
        try:
            super().__init__(self.file, config.resources, self.beside)
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
    """Files that are watched through descriptors: they may lose their names, and must not be written to."""

    def __init__(self, files: Sequence[tuple[Path, int, int]]) -> None:
        self._each: list[tuple[Path, tuple[int, int], int]] = []
        for file, *state in files:
            try:
                descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                self.close()
                raise NoEngine(f"there is no snapshot {file}") from None
            self._each.append((file, (state[0], state[1]), descriptor))

    def changed(self) -> Path | None:
        """Return the first file that is not what it was."""
        for file, wanted, descriptor in self._each:
            status = os.fstat(descriptor)
            if (status.st_size, status.st_mtime_ns) != wanted:
                return file
        return None

    def close(self) -> None:
        """Let go of the files."""
        for _, _, descriptor in self._each:
            os.close(descriptor)
