"""The shadow's end, at any moment of what is asked of it."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from dpsql.errors import ShuttingDown, SyntaxFailed
from dpsql.wire.backend.backend import Backend, ShadowLostError, ShadowRefusedError, SkippedError
from dpsql.wire.backend.fair_share import FairShare
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.replies import MessageKind, PendingReply

END = messages.error(ShuttingDown("terminating connection due to unexpected postmaster exit"), "FATAL")


class Transport(asyncio.Transport):
    """Takes everything."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take it."""
        self.written.append(bytes(data))

    def close(self) -> None:
        """Close nothing."""


async def _asked(*replies: bytes, first: PendingReply | None) -> object:
    """Ask after having sent `first`; return what comes of it."""
    told: list[bytes] = []
    backend = Backend(told.append, lambda _: None, lambda: None, lambda *_: None, FairShare())
    backend.connection_made(cast("asyncio.BaseTransport", Transport()))
    if first is not None:
        backend.send(messages.close_message(b"S", b""), first)
    asking = asyncio.ensure_future(backend.ask((MessageKind.PARSE, messages.parse_message(b"", b"select 1"))))
    await asyncio.sleep(0)
    for reply in replies:
        backend.data_received(reply)
    return await asking


def test_end_for_something_before_is_the_end_of_what_is_asked() -> None:
    """The client was told already; nobody reads replies that did not come."""
    with pytest.raises(ShadowLostError):
        asyncio.run(_asked(END, first=PendingReply(MessageKind.CLOSE)))


def test_end_for_what_is_asked_is_told() -> None:
    """In the shadow's own words."""
    with pytest.raises(ShadowRefusedError, match="unexpected postmaster exit"):
        asyncio.run(_asked(messages.message(b"3"), END, first=PendingReply(MessageKind.CLOSE)))
    with pytest.raises(ShadowRefusedError, match="unexpected postmaster exit"):
        asyncio.run(_asked(END, first=None))


def test_replies_that_come_are_returned() -> None:
    """Those to what was sent before are not among them."""
    assert asyncio.run(
        _asked(messages.message(b"3"), messages.message(b"1"), first=PendingReply(MessageKind.CLOSE))
    ) == ((b"1", b""),)


def test_what_fails_before_what_is_asked_leaves_that_out() -> None:
    """The client has the error; what was asked behind it has no reply."""
    failed = messages.error(SyntaxFailed("no such name"))
    with pytest.raises(SkippedError):
        asyncio.run(_asked(failed, first=PendingReply(MessageKind.BIND)))


def test_messages_go_together() -> None:
    """In the loop's next turn at the latest, or at once where replies are waited for, they are many, or it is the end."""

    async def run() -> None:
        transport = Transport()
        backend = Backend(lambda _: None, lambda _: None, lambda: None, lambda *_: None, FairShare())
        backend.connection_made(transport)
        for kind in (b"B", b"D"):
            backend.send(kind)
        assert transport.written == []
        await asyncio.sleep(0)
        assert transport.written == [b"BD"]

        async def executed_and_asked() -> None:
            backend.send(b"E")
            await backend.ask((MessageKind.PARSE, b"P"))

        asking = asyncio.ensure_future(executed_and_asked())
        await asyncio.sleep(0)
        assert transport.written[1:] == [b"EP" + messages.FLUSH]
        asking.cancel()
        backend.send(bytes(2**17))
        backend.send(b"S")
        backend.close()
        await asyncio.sleep(0)
        assert transport.written[2:] == [bytes(2**17), b"S" + messages.TERMINATE]

    asyncio.run(run())


def test_what_was_said_before_the_end_is_told(tmp_path: Path) -> None:
    """Also where the end is met by a message that can't be sent any more: what has come before that is there to be read."""

    async def told() -> bytes:
        said, lost = list[bytes](), asyncio.Event()

        def ended(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(END)
            writer.close()

        async with await asyncio.start_unix_server(ended, tmp_path / "shadow"):
            backend = Backend(said.append, lambda _: None, lost.set, lambda *_: None, FairShare())
            backend.pause()  # as if other sessions kept the loop busy
            await asyncio.get_running_loop().create_unix_connection(lambda: backend, str(tmp_path / "shadow"))
            backend.pause()
            await asyncio.sleep(0.1)
            backend.send(messages.message(b"S"), PendingReply(MessageKind.SYNC))
            await asyncio.wait_for(lost.wait(), 10)
        return b"".join(said)

    assert asyncio.run(told()) == END
