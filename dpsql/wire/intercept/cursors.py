"""Cursors over answers, whose rows FETCH describes by the client's own query: columns come from the tables that it reads.

DECLARE c CURSOR FOR SELECT payment_type, count(*) …; FETCH 2 FROM c   →   the first comes from column 6 of trips

In the shadow the cursor runs the answer, whose columns come from no table.
"""

from collections.abc import Iterator

from dpsql.lexer.reader import Reader

_ORIGIN, _FIXED = 6, 18
"""Bytes of a column's description: its table and number; all behind the name."""
_NONE = bytes(_ORIGIN)
_MOST = 2**17
"""Bytes of descriptions that are kept for a session; the oldest go first."""


class Cursors:
    """The cursors of a session that were declared over answers, by name.

    Of those that were closed some stay, until another takes the name: FETCH finds none of them in the shadow.
    """

    def __init__(self) -> None:
        self._described: dict[str, bytes] = {}

    def declare(self, text: str, described: bytes = b"") -> None:
        """Note that a statement is to run, which may declare a cursor; of ours `described` has the columns of its query."""
        name = _declared(text) if described or self._described else None
        if name is None:
            return
        self._described.pop(name, None)
        if described:
            self._described[name] = described
        while sum(map(len, self._described.values())) > _MOST:
            del self._described[next(iter(self._described))]

    def may_have(self, name: str) -> bool:
        """Return whether a cursor of this name may be one of these."""
        return name in self._described

    def shown(self, text: str, body: bytes) -> bytes:
        """Return a statement's RowDescription; of a FETCH with its columns' origins, where they are those of the query."""
        reader = Reader(text) if self._described else None
        name = fetched(reader) if reader is not None and reader.skip("fetch") else None
        if name is None:
            return body
        ours, theirs = (tuple(_columns(description)) for description in (body, self._described.get(name, b"\0\0")))
        if [column for _, *column in ours] != [column for _, *column in theirs]:
            return body
        told = bytearray(body)
        for (at, *_), (there, *_) in zip(ours, theirs, strict=True):
            if body[at : at + _ORIGIN] == _NONE:
                told[at : at + _ORIGIN] = self._described[name][there : there + _ORIGIN]
        return bytes(told)


def fetched(reader: Reader) -> str | None:
    """Return the cursor that a FETCH names, which is its last word; its first is taken."""
    cursor = None
    while not reader.is_at_end:
        name = reader.name()
        if name is None:
            reader.take()
        else:
            cursor = name
    return cursor


def _declared(text: str) -> str | None:
    """Return the cursor that a statement declares; None where it declares none, or one whose rows are binary."""
    reader = Reader(text)
    while reader.skip(";"):
        pass
    name = reader.name() if reader.skip("declare") else None
    return None if reader.word == "binary" else name


def _columns(body: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield of each column where its origin stands, its name and its type."""
    at = 2
    while at < len(body):
        end = body.index(b"\0", at) + 1
        yield end, body[at:end], body[end + _ORIGIN : end + _ORIGIN + 4]
        at = end + _FIXED
