"""Opens the copy that a configuration wants; where there is none that may be used, it is made first."""

import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dpsql.accounting.sliding import ReadDays
from dpsql.clock import Clock, system_clock
from dpsql.engines.base import NoEngine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import WatchedFiles
from dpsql.engines.snapshot.copying import Tell
from dpsql.engines.snapshot.directory import Manifest, Origin, SnapshotBusy, SnapshotDirectory
from dpsql.engines.snapshot.writing import write_missing_snapshot
from dpsql.errors import InternalError
from dpsql.policy.config import Config, SnapshotConfig
from dpsql.policy.model import Table
from dpsql.question import Cancellation

# The engine over a copy: DuckDB, on files that nobody but dpsql writes, and that only before they are served.
#
# A newer copy takes the place of this one's file in the directory, not of what is open: who reads this one reads it to the
# end.


class SnapshotEngine(DuckDb):
    """An `Engine` over a copy; see there."""

    def __init__(self, place: SnapshotDirectory, manifest: Manifest, config: SnapshotConfig) -> None:
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

    def enforced_columns(self, table: Table) -> frozenset[str]:
        """Return the columns that the records' engine kept as declared when the copy was begun."""
        return frozenset(self._enforced.get(table.name, ()))

    def columns(self, table: str) -> Mapping[str, str]:
        """Return the columns that were copied, and not those that are kept beside them."""
        hidden = self.kept(table).names
        return {name: type_ for name, type_ in super().columns(table).items() if name not in hidden}

    def _remove(self) -> None:
        super()._remove()
        self._opened.close()


class _Opened(WatchedFiles):
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


# Opening the copy that is there, or making it.

_LOG = logging.getLogger("dpsql.engine")
_AGAIN = 0.2
"""Seconds until somebody else's writing is looked at again."""


def current_snapshot(config: Config) -> Manifest | None:
    """Return the copy that may be used; None: one has to be made.

    Raises:
        ConfigError: there is no place for one.
    """
    if config.snapshot is None:
        raise InternalError
    return SnapshotDirectory(config.snapshot.directory).current(Origin.of(config))


def days_of_copy(config: Config) -> ReadDays | None:
    """Return the days on which the copy was made that would answer; None if there is none, or the records do themselves."""
    manifest = None if config.snapshot is None else current_snapshot(config)
    return None if manifest is None else manifest.edition.read


def ensure_snapshot(config: Config, tell: Tell, cancellation: Cancellation, clock: Clock = system_clock) -> Manifest:
    """Return the copy that may be used, made now if need be; who finds another process at it waits for that one.

    Raises:
        ConfigError: it can't be made.
        QueryCanceled: somebody cancelled.
    """
    waiting = False
    while (manifest := current_snapshot(config)) is None:
        try:
            return write_missing_snapshot(config, tell, cancellation, clock)
        except SnapshotBusy as busy:
            if not waiting:
                tell(f"{busy.message}, which is waited for")
            waiting = True
            time.sleep(_AGAIN)
    return manifest


def open_snapshot(config: Config, clock: Clock = system_clock) -> SnapshotEngine:
    """Open the copy that may be used, made now if need be.

    Raises:
        ConfigError: it can't be made, or opened.
    """
    if config.snapshot is None:
        raise InternalError
    place = SnapshotDirectory(config.snapshot.directory)
    place.tidy()
    with suppress(NoEngine):  # a newer one has just taken its place
        return _opened(config, place, clock)
    return _opened(config, place, clock)


def _opened(config: Config, place: SnapshotDirectory, clock: Clock) -> SnapshotEngine:
    assert config.snapshot is not None
    manifest = ensure_snapshot(config, _LOG.info, Cancellation(), clock)
    return SnapshotEngine(place, manifest, config.snapshot)
