"""What is sent to a client, and in how many pieces."""

import asyncio
import socket

from dpsql.wire.protocol.transport import ClientTransport


async def _got(other: socket.socket) -> bytes:
    """Return what the client has got by now."""
    await asyncio.sleep(0)
    try:
        return other.recv(2**17)
    except BlockingIOError:
        return b""


async def _connected() -> tuple[ClientTransport, socket.socket]:
    ours, other = socket.socketpair()
    other.setblocking(False)
    accepted = list[ClientTransport]()
    await asyncio.get_running_loop().connect_accepted_socket(lambda: ClientTransport(accepted.append), ours)
    return accepted[0], other


def test_what_is_written_later_goes_with_what_comes_next() -> None:
    """In its order, and once; what is much does not wait."""

    async def spoken() -> list[bytes]:
        transport, other = await _connected()
        with other:
            transport.write_later(b"1")
            transport.write_later(b"2")
            pieces = [await _got(other)]
            transport.write(b"3")
            pieces.append(await _got(other))
            transport.write_later(b"x" * 9_000)
            pieces.append(await _got(other))
            transport.write(b"4")
            pieces.append(await _got(other))
            transport.abort()
        return pieces

    assert asyncio.run(spoken()) == [b"", b"123", b"x" * 9_000, b"4"]


def test_who_hangs_up_has_said_everything() -> None:
    """Nothing that was kept is lost when the connection is closed."""

    async def spoken() -> bytes:
        transport, other = await _connected()
        with other:
            transport.write_later(b"last")
            transport.close()
            return await _got(other)

    assert asyncio.run(spoken()) == b"last"
