"""The description beside a copy, and whether the copy may be used: by the configuration and the file, never by a row."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from dpsql.engines.base import Edition
from dpsql.engines.snapshot.keeping import from_mapping
from dpsql.engines.source import source
from dpsql.policy.config import Config
from dpsql.rewrite.emit.kept import KeptColumns

_VERSION = 5
"""Counts the changes of what a copy holds."""


_NAME = re.compile(r"\d{8}T\d{12}Z")


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

    @property
    def edition(self) -> Edition:
        """Return which copy it is."""
        # A clock that was set back meanwhile says nothing of how long it took.
        taken, finished = (datetime.fromisoformat(text) for text in (self.taken, self.finished))
        return Edition(self.name, taken, max(taken, finished))

    def to_bytes(self) -> bytes:
        """Return it as JSON."""
        return json.dumps(asdict(self), indent=1).encode()

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
            manifest = cls(origin=origin, unique=unique, enforced=enforced, kept=kept, **fields)
            _ = manifest.edition
            if _NAME.fullmatch(manifest.name) is None:
                return None
        except (ValueError, TypeError, AttributeError, KeyError):
            return None
        return manifest
