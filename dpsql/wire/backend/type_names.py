"""PostgreSQL's own spelling of types, asked once for each type and modifier."""

from dataclasses import replace

from dpsql.question import ColumnDescription
from dpsql.remembered import Remembered
from dpsql.wire.backend.backend import Backend
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.replies import MessageKind

_NAME = b"_dpsql_types"
_MOST = 10_000  # names that are remembered
_FIRST_OF_USERS = 16384  # oids from here on belong to things made in the database, and may change
_MOST_COLUMNS = 2**20
"""Bytes of the row descriptions that are remembered."""
_PER_COLUMN = 300


class TypeNames:
    """The spellings known so far, for all sessions of one shadow."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str] = {}
        self._columns: Remembered[tuple[ColumnDescription, ...]] = Remembered(_MOST_COLUMNS, _size)
        """Columns by row description and codec, where none has a type that was made in the database."""

    async def spell(self, backend: Backend, types: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
        """Return `format_type(oid, typmod)` for each pair, under any search path; ask the shadow for those that are new.

        Raises:
            ShadowRefusedError: when the shadow can't be asked.
        """
        missing = [pair for pair in dict.fromkeys(types) if pair not in self._known]
        names = {pair: self._known[pair] for pair in types if pair in self._known}
        fresh = await _ask(backend, missing) if missing else {}
        names |= fresh
        if len(self._known) > _MOST:  # clients choose the modifiers
            self._known.clear()
        self._known |= {pair: name for pair, name in fresh.items() if pair[0] < _FIRST_OF_USERS}
        return tuple(names[pair] for pair in types)

    async def columns(self, backend: Backend, body: bytes, codec: str) -> tuple[ColumnDescription, ...]:
        """Read a RowDescription, its types spelled.

        Raises:
            ShadowRefusedError: when the shadow can't be asked.
        """
        kept = self._columns.get((body, codec))
        if kept is not None:
            return kept
        fields = messages.row_description(body, codec)
        names = await self.spell(backend, tuple((field.oid, field.typmod) for field in fields))
        spelled = tuple(replace(field, type=name) for field, name in zip(fields, names, strict=True))
        if all(field.oid < _FIRST_OF_USERS for field in fields):
            self._columns.keep((body, codec), spelled)
        return spelled


async def _ask(backend: Backend, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], str]:
    calls = (f"pg_dpsql.spell_type({oid}, {typmod})" for oid, typmod in pairs)
    replies = await backend.ask(
        (MessageKind.CLOSE, messages.close_message(b"S", _NAME)),
        (MessageKind.PARSE, messages.parse_message(_NAME, f"SELECT {', '.join(calls)}".encode())),
        (MessageKind.BIND, messages.bind_message(_NAME, _NAME, bytes(6))),
        (MessageKind.EXECUTE, messages.execute_message(_NAME)),
        (MessageKind.CLOSE, messages.close_message(b"P", _NAME)),
        (MessageKind.CLOSE, messages.close_message(b"S", _NAME)),
    )
    row = next(messages.data_row(body) for kind, body in replies if kind == b"D")
    return {pair: (name or b"text").decode() for pair, name in zip(pairs, row, strict=True)}


def _size(value: object) -> int:
    """Return the bytes of a row description, with its codec, or of the columns in one."""
    match value:
        case (bytes() as body, str()):
            return len(body)
        case tuple() as columns:
            return sum(_PER_COLUMN + 4 * len(column.name) for column in columns)
        case _:
            return 0
