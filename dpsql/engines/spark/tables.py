"""Where a cluster's tables are, in its catalogue or below a path, and what must stay as it was when it was opened."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpsql.engines.spark.client import SparkConnection, client, is_gone, is_missing
from dpsql.rewrite.emit.columns import quoted

_PINNED = re.compile(r"(.+)@(\d+)")
_NAMES: Mapping[str, str] = {"int": "integer"}
"""Types that SQL calls otherwise than Spark does."""


def spelled(place: str) -> str:
    """Return a table of the cluster as statements write it.

    lake.taxi.trips          →  "lake"."taxi"."trips"
    delta:s3a://lake/trips@7 →  "delta"."s3a://lake/trips" VERSION AS OF 7
    """
    pinned = _PINNED.fullmatch(place)
    if pinned:
        return f"{spelled(pinned[1])} VERSION AS OF {pinned[2]}"
    written, colon, path = place.partition(":")
    return f"{quoted(written)}.{quoted(path)}" if colon else ".".join(map(quoted, place.split(".")))


@dataclass(frozen=True, slots=True)
class Seen:
    """A table as the engine shows it: its columns, and the files that it consists of unless its version is pinned."""

    types: Mapping[str, str]
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, connection: SparkConnection, place: str) -> "Seen":
        """Ask the server; where there is no such table there are no columns.

        Raises:
            Exception: Spark's own; there is no server, or no permission.
        """
        try:
            frame = connection.asked(f"SELECT * FROM {spelled(place)}")  # noqa: S608
        except client().error as error:
            if is_gone(error) or not is_missing(error):
                raise
            return cls({})
        types = {field.name: _type(field.dataType) for field in frame.schema.fields}
        return cls(types, () if _PINNED.fullmatch(place) else tuple(sorted(frame.inputFiles())))


def is_watched(place: str, seen: Seen) -> bool:
    """Return whether a change of a table's rows is seen by its files, or not to be feared; without columns it is no table."""
    return bool(seen.files) or not seen.types or _PINNED.fullmatch(place) is not None


def _type(type_: Any) -> str:
    name = str(type_.simpleString())
    return _NAMES.get(name, name)
