"""PostgreSQL's own spelling of types, asked once for each type and modifier."""

from dpsql.wire.backend.backend import Backend
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.replies import MessageKind

_NAME = b"_dpsql_types"
_MOST = 10_000  # names that are remembered
_FIRST_OF_USERS = 16384  # oids from here on belong to things made in the database, and may change


class TypeNames:
    """The spellings known so far, for all sessions of one shadow."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str] = {}

    async def spell(self, backend: Backend, types: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
        """Return `format_type(oid, typmod)` for each pair, whatever the search path; ask the shadow for those that are new.

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


async def _ask(backend: Backend, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], str]:
    calls = (f"dpsql.spell_type({oid}, {typmod})" for oid, typmod in pairs)
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
