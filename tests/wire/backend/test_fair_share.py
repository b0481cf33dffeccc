"""No user has more of a turn of the event loop than their share, and whoever waits longest comes first."""

import asyncio
from collections import Counter

from dpsql.wire.backend.backend import Backend
from dpsql.wire.backend.fair_share import _EACH, FairShare, FairShares
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.replies import MessageKind, PendingReply


class Processor:
    """A clock that stands still but for what messages take."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def _turns(number: int) -> "asyncio.Future[Counter[int]]":
    """Count turns of the loop until so many have been."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Counter[int]] = loop.create_future()

    def turn(left: int) -> None:
        if left:
            loop.call_soon(turn, left - 1)
        else:
            done.set_result(Counter())

    loop.call_soon(turn, number)
    return done


async def _sending(share: FairShare, clock: Processor, took: float, log: list[str], name: str) -> None:
    """Handle one message after the other, none of which waits for anything."""
    while True:
        with await share.begin():
            clock.now += took
            log.append(name)


def test_a_user_has_no_more_of_a_turn_than_their_share() -> None:
    """With any number of connections; every one of them gets on."""

    async def run() -> None:
        clock, log = Processor(), list[str]()
        share = FairShare(clock)
        senders = [asyncio.create_task(_sending(share, clock, _EACH / 4, log, str(n))) for n in range(10)]
        await _turns(100)
        for sender in senders:
            sender.cancel()
        assert 100 <= len(log) <= 100 * 6
        assert set(Counter(log)) == {str(n) for n in range(10)}

    asyncio.run(run())


def test_what_took_long_is_left_out_later() -> None:
    """One message of ten turns' time has the user wait for some nine."""

    async def run() -> None:
        clock, log = Processor(), list[str]()
        share = FairShare(clock)
        sender = asyncio.create_task(_sending(share, clock, 10 * _EACH, log, "a"))
        await _turns(100)
        sender.cancel()
        assert 8 <= len(log) <= 12

    asyncio.run(run())


def test_a_user_alone_is_not_held_up() -> None:
    """Short messages of one who is within the share take no turn of their own."""

    async def run() -> None:
        clock = Processor()
        share = FairShare(clock)
        for _ in range(10):
            with await share.begin():
                clock.now += _EACH / 20
        # What waits while others are busy counts as little, however long that is.
        with await share.begin(), FairShare(clock).taken():
            clock.now += 1.0
        assert share.has_time

    asyncio.run(asyncio.wait_for(run(), 10))


def test_what_is_done_before_something_waits_counts() -> None:
    """What the processor does meanwhile is for others."""

    async def run() -> None:
        clock = Processor()
        share, other = FairShare(clock), FairShare(clock)
        with await share.begin():
            clock.now += _EACH / 2
            other.suspend()  # not its own
            share.suspend()
            clock.now += 1.0
        assert share.has_time
        with await share.begin():
            clock.now += _EACH
            share.suspend()
        assert not share.has_time
        await _turns(2)
        assert share.has_time

    asyncio.run(run())


def test_who_gives_up_keeps_nobody_waiting() -> None:
    """A connection that is closed while it waits for its turn."""

    async def run() -> None:
        clock, log = Processor(), list[str]()
        share = FairShare(clock)
        first, second, third = (
            asyncio.create_task(_sending(share, clock, 3 * _EACH, log, name)) for name in ("a", "b", "c")
        )
        await _turns(2)
        second.cancel()
        await _turns(40)
        first.cancel()
        third.cancel()
        assert {"a", "c"} <= set(log)

    asyncio.run(run())


def test_shares_are_of_users() -> None:
    """All connections of one have the same."""
    shares = FairShares()
    assert shares.of("ana") is shares.of("ana")
    assert shares.of("ana") is not shares.of("gus")


class Transport(asyncio.Transport):
    """Says whether it is read from."""

    reading = True

    def pause_reading(self) -> None:
        """Read no more."""
        self.reading = False

    def resume_reading(self) -> None:
        """Read."""
        self.reading = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take it."""


def _row(number: int) -> bytes:
    return messages.message(b"D", number.to_bytes(4, "big"))


def test_rows_wait_for_their_turn_too() -> None:
    """In the order in which they came; meanwhile nothing more is read, and what waits at the end is passed on."""

    async def run() -> None:
        clock, told, transport = Processor(), list[bytes](), Transport()

        def deliver(data: bytes) -> None:
            clock.now += _EACH
            told.append(data)

        backend = Backend(deliver, lambda _: None, lambda: None, lambda *_: None, FairShare(clock))
        backend.connection_made(transport)
        backend.send(b"", PendingReply(MessageKind.QUERY))
        for number in range(5):
            backend.data_received(_row(number))
        assert (told, transport.reading) == ([_row(0)], False)
        await _turns(1)
        assert 1 < len(told) < 5
        backend.pause()
        await _turns(10)
        assert (told, transport.reading) == ([_row(number) for number in range(5)], False)
        backend.resume()
        assert transport.reading
        for number in range(5, 8):
            backend.data_received(_row(number))
        backend.connection_lost(None)
        assert told == [_row(number) for number in range(8)]
        await _turns(3)
        assert len(told) == 8

    asyncio.run(run())
