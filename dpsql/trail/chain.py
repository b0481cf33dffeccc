"""The chain: each line has the hash of the line before it, and its own, which no change of a byte keeps right.

{"line":2,"time":…,"event":"statement",…,"previous":"<hash of line 1>","hash":"<SHA-256 of all before this key>"}
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

_LINE = re.compile(rb'(\{"line":.*),"hash":"([0-9a-f]{64})"\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Link:
    """A line's place in the chain."""

    number: int
    hash: str


BEGINNING = Link(0, "0" * 64)
"""The link that the first line follows."""


@dataclass(frozen=True, slots=True)
class ChainedLine:
    """A line that is as it was written."""

    link: Link
    previous: str
    fields: Mapping[str, object]
    size: int
    """Bytes, without its end."""

    def follows(self, before: Link) -> bool:
        """Return whether it is the line after another."""
        return self.link.number == before.number + 1 and self.previous == before.hash


def chained(fields: Mapping[str, object], before: Link) -> tuple[bytes, Link]:
    """Return the line that follows another, with its end, and its link."""
    number = before.number + 1
    whole = json.dumps(
        {"line": number, **fields, "previous": before.hash}, ensure_ascii=False, separators=(",", ":")
    ).encode()
    body = whole[:-1]  # the brace comes after the hash
    link = Link(number, hashlib.sha256(body).hexdigest())
    return body + f',"hash":"{link.hash}"}}\n'.encode(), link


def read_line(raw: bytes) -> ChainedLine | None:
    """Return a line, without its end, if it is as it was written; else None."""
    match = _LINE.fullmatch(raw)
    if match is None or hashlib.sha256(match[1]).hexdigest() != match[2].decode():
        return None
    try:
        fields = json.loads(match[1] + b"}")
        return ChainedLine(
            Link(int(fields.pop("line")), match[2].decode()), str(fields.pop("previous")), fields, len(raw)
        )
    except (ValueError, TypeError, KeyError):
        return None
