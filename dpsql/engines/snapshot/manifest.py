"""The description beside a copy, and whether the copy may be used: by the configuration and the file, never by a row."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from dpsql.engines.base import Edition
from dpsql.engines.snapshot.keeping import from_mapping
from dpsql.engines.snapshot.parts import Part, Parts, oldest
from dpsql.engines.source import source
from dpsql.policy.config import Config
from dpsql.rewrite.emit.kept import KeptColumns

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
    def edition(self) -> Edition:
        """Return which copy it is."""
        # A clock that was set back meanwhile says nothing of how long it took.
        taken, finished = (datetime.fromisoformat(text) for text in (self.taken, self.finished))
        begun = {table: min(taken, oldest(parts.each) or taken).date() for table, parts in self.parts.items()}
        return Edition(self.name, taken, max(taken, finished), parts=begun)

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
            _ = manifest.edition, manifest.named_at
            names = [part.name for of_table in parts.values() for part in of_table.each]
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
