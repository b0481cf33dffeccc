"""The shadow's end, at any moment of what is asked of it."""

import asyncio
from typing import cast

import pytest

from dpsql.errors import ShuttingDown
from dpsql.wire.backend.backend import Backend, ShadowLostError, ShadowRefusedError
from dpsql.wire.backend.fair_share import FairShare
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.replies import MessageKind, PendingReply

END = messages.error(ShuttingDown("terminating connection due to unexpected postmaster exit"), "FATAL")


class Transport(asyncio.Transport):
    """Takes everything."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take it."""


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
