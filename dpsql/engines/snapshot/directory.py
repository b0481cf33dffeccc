"""The directory of a copy: the file that is served, with its parts, named by a manifest, and perhaps what is being written.

Promise: nothing half written is ever used. A file counts from the moment at which the manifest that names it has taken
the earlier one's place, by a rename; it lay on the disk whole before. The files that a killed process has left go when
a copy is opened or written next. They are records: the directory and all in it belong to our account alone.
"""

import contextlib
import fcntl
import json
import logging
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from dpsql.engines.base import SnapshotVersion
from dpsql.engines.snapshot.kept_columns import from_mapping
from dpsql.engines.snapshot.parts import Part, Parts, oldest
from dpsql.engines.source import source
from dpsql.errors import ConfigError
from dpsql.policy.config import Config
from dpsql.private_files import make_directory
from dpsql.rewrite.emit.kept_columns import KeptColumns

# The description beside a copy, and whether the copy may be used: by the configuration and the file, never by a row.

_VERSION = 5
"""Counts the changes of what a copy holds."""


_NAMED = "%Y%m%dT%H%M%S%fZ"
_NAME, _PART = re.compile(r"\d{8}T\d{12}Z"), re.compile(r"\d{8}T\d{12}Z-\d+")


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a copy: another data set's copy, or one that was made by another policy or dpsql, is not used."""

    dataset: str
    source: str
    """Where the records are."""
    fingerprint: str
    """The policy's."""
    version: int = _VERSION

    @classmethod
    def of(cls, config: Config) -> "Origin":
        """Return what is to be copied."""
        return cls(config.policy.dataset, source(config.engine), config.policy.fingerprint)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A whole copy; only what a manifest names is ever used."""

    name: str
    taken: str
    """When it was begun: what was written to the records later is not in it."""
    finished: str
    """When all of it was on the disk."""
    origin: Origin
    unique: Mapping[str, tuple[tuple[str, ...], ...]]
    """By table, the keys that the records' engine keeps unique, as was seen on the copy."""
    enforced: Mapping[str, tuple[str, ...]]
    """By table, the columns of which the records' engine let no row lack a declared value when the copy was begun."""
    kept: Mapping[str, KeptColumns]
    """By table, what is in it beside the declared columns."""
    size: int
    changed: int
    """When the file was changed last, in nanoseconds: by dpsql, or it is not used."""
    parts: Mapping[str, Parts] = field(default_factory=dict)
    """By table that is kept in parts, those of its closed periods."""

    @property
    def named_at(self) -> datetime:
        """Return the time that its name says, which may be a little later than that at which it was begun."""
        return datetime.strptime(self.name, _NAMED).replace(tzinfo=UTC)

    @property
    def files(self) -> Mapping[str, tuple[int, int]]:
        """Return what the files of the copy are called, each with its size and when it was changed."""
        every = {part.name: (part.size, part.changed) for parts in self.parts.values() for part in parts.each}
        return {self.name: (self.size, self.changed), **every}

    @property
    def edition(self) -> SnapshotVersion:
        """Return which copy it is."""
        # A clock that was set back meanwhile says nothing of how long it took.
        taken, finished = (datetime.fromisoformat(text) for text in (self.taken, self.finished))
        begun = {table: min(taken, oldest(parts.each) or taken).date() for table, parts in self.parts.items()}
        return SnapshotVersion(self.name, taken, max(taken, finished), parts=begun)

    def to_bytes(self) -> bytes:
        """Return it as JSON."""
        return json.dumps(asdict(self), indent=1, default=_as_text).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> "Manifest | None":
        """Read one; None if it is none."""
        try:
            fields = json.loads(text)
            unique = {
                str(table): tuple(tuple(map(str, key)) for key in keys) for table, keys in fields.pop("unique").items()
            }
            kept, origin = from_mapping(fields.pop("kept")), Origin(**fields.pop("origin"))
            enforced = {str(table): tuple(map(str, names)) for table, names in fields.pop("enforced").items()}
            parts = {str(table): _parts(of_table) for table, of_table in fields.pop("parts").items()}
            manifest = cls(origin=origin, unique=unique, enforced=enforced, kept=kept, parts=parts, **fields)
            # Dates that can't be read are found out here, where that means that there is no copy, and not when it is
            # served.
            _ = manifest.edition, manifest.named_at
            names = [part.name for of_table in parts.values() for part in of_table.each]
            # A name becomes a path. One with a slash in it would lead out of the directory.
            if _NAME.fullmatch(manifest.name) is None or any(_PART.fullmatch(name) is None for name in names):
                return None
        except (ValueError, TypeError, AttributeError, KeyError):
            return None
        return manifest


def name_at(moment: datetime) -> str:
    """Return what a copy is called that is begun at a moment."""
    return moment.astimezone(UTC).strftime(_NAMED)


def _as_text(value: object) -> str:
    if isinstance(value, date):  # or a moment
        return value.isoformat()
    raise TypeError


def _parts(fields: Mapping[str, Any]) -> Parts:
    each = []
    for of_part in fields["each"]:
        first, end = (date.fromisoformat(of_part[name]) for name in ("first", "end"))
        taken = datetime.fromisoformat(of_part["taken"])
        each.append(Part(**{**of_part, "first": first, "end": end, "taken": taken}))
    return Parts(str(fields["basis"]), tuple(each))


# The directory, which one process writes at a time.

_LOG = logging.getLogger("dpsql.engine")
_MANIFEST, _LOCK = "manifest.json", "lock"
_WHOLE = "whole"
"""A file that says that the next copy is to have nothing of the one before."""
_PATIENCE, _AGAIN = 1.0, 0.02
"""Seconds until a lock that is held is one of a writer, and until it is tried again."""
_HINT = "state names a directory that dpsql may make and write to."


class SnapshotBusy(ConfigError, sqlstate="F0000"):
    """Another process is writing a copy."""


class SnapshotDirectory:
    """Where a data set's copy is."""

    def __init__(self, directory: Path) -> None:
        """Make the directory if there is none.

        Raises:
            ConfigError: it can't be made, or belongs to somebody else.
        """
        self.directory = directory
        try:
            make_directory(directory.parent)
            make_directory(directory)
            # lstat and not stat: a link that another account has put there would lead the records to a place of its
            # choice.
            status = directory.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                raise ConfigError(f"the snapshot's directory {directory} belongs to another account, or is none")
            if status.st_mode & 0o077:
                directory.chmod(0o700)
        except OSError as error:
            raise ConfigError(f"the snapshot has no place at {directory}: {error.strerror}", hint=_HINT) from None

    def new_name(self, now: datetime) -> str:
        """Return what a copy is called that is begun now: whatever the clock says, no name is given twice."""
        last = self.last()
        return name_at(now if last is None else max(now, last.named_at + timedelta(microseconds=1)))

    def file(self, name: str) -> Path:
        """Return where the copy of a name is."""
        return self.directory / f"{name}.duckdb"

    def current(self, origin: Origin) -> Manifest | None:
        """Return the copy that may be used; None if there is none of this origin, or somebody has changed it."""
        manifest = self.last()
        # Another policy declares other columns, or other bounds, in which kept numbers are: its copy is of no use here.
        if manifest is None or manifest.origin != origin:
            return None
        for name, state in manifest.files.items():
            wrong = _wrong(self.file(name), state)
            if wrong is not None:
                _LOG.warning("the snapshot %s is not used: %s", self.file(name), wrong)
                return None
        return manifest

    def last(self) -> Manifest | None:
        """Return the copy that was finished last, of any records; None if there is none."""
        try:
            return Manifest.from_bytes((self.directory / _MANIFEST).read_bytes())
        except OSError:
            return None

    def request_whole_copy(self) -> None:
        """Let the next copy read all of the records again, also what was copied in parts.

        Raises:
            ConfigError: it can't be written.
        """
        try:
            os.close(os.open(self.directory / _WHOLE, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise ConfigError(
                f"the snapshot's directory {self.directory} can't be written to: {error.strerror}"
            ) from None

    @property
    def is_whole_demanded(self) -> bool:
        """Return whether the next copy is to read all of the records again."""
        return (self.directory / _WHOLE).exists()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other writers away, also those of other processes, and remove what dead ones have left.

        Raises:
            SnapshotBusy: there is one.
        """
        lock = os.open(self.directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            self._take(lock)
            # Before: what a killed writer has left. After: the copy that was replaced, or the half of one that failed.
            # Readers of a file that is removed keep it until they close it.
            self._sweep()
            try:
                yield
            finally:
                self._sweep()
        finally:
            os.close(lock)

    def tidy(self) -> None:
        """Remove what dead writers have left, unless somebody is writing."""
        with contextlib.suppress(SnapshotBusy), self.writing():
            pass

    def _take(self, lock: int) -> None:
        """Take the lock; who only tidies gives it back in a moment."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(_AGAIN)
                    continue
                raise SnapshotBusy(
                    f"another dpsql is writing a snapshot in {self.directory}", hint="Wait until it is done."
                ) from None
            return

    def switch(self, manifest: Manifest, *, whole: bool = False) -> None:
        """Let a copy that is finished take the place of the one before; readers of that one may go on.

        `whole` says that nothing of it is of the one before.
        """
        fresh = self.directory / f"{_MANIFEST}.new"
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(manifest.to_bytes())
            # File, rename, directory: the new manifest is whole on the disk before it has the name, and the rename
            # itself lasts only once the directory is on the disk, too. After a power cut there is the old one or the
            # new one.
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(self.directory / _MANIFEST)
        if whole:
            (self.directory / _WHOLE).unlink(missing_ok=True)
        directory = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _sweep(self) -> None:
        """Remove all but the files that the manifest names."""
        last = self.last()
        kept = {_MANIFEST, _LOCK, _WHOLE, *(() if last is None else (self.file(name).name for name in last.files))}
        for entry in self.directory.iterdir():
            if entry.name not in kept:
                with contextlib.suppress(OSError):
                    entry.unlink()


def _wrong(file: Path, state: tuple[int, int]) -> str | None:
    """Return why a file is not the copy that dpsql wrote."""
    try:
        status = file.lstat()
    except OSError as error:
        return str(error.strerror)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        return "others may read it, or it is not ours"
    if (status.st_size, status.st_mtime_ns) != state:
        return "somebody has changed it"
    return None
