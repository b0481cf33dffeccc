"""Messages by hand, over the socket of a connection that a driver has logged in."""

import os
import socket
from types import TracebackType
from typing import Self

import psycopg

from dpsql.wire.protocol.messages import FLUSH, SYNC, bind_texts, message, text
from dpsql.wire.protocol.messages import close_message as close
from dpsql.wire.protocol.messages import describe_message as describe
from dpsql.wire.protocol.messages import execute_message as execute
from dpsql.wire.protocol.messages import parse_message as parse

__all__ = ["FLUSH", "SYNC", "Raw", "bind", "close", "describe", "execute", "parse", "query"]


def query(statement: str | bytes) -> bytes:
    """Build a simple Query."""
    return message(b"Q", text(statement))


def bind(portal: bytes, statement: bytes, *values: str | None) -> bytes:
    """Build a Bind of text values."""
    return message(b"B", text(portal), text(statement), bind_texts(values, "utf-8"))


class Raw:
    """A session as bytes; the driver's connection must not be used beside it."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._socket.settimeout(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, *messages: bytes) -> None:
        """Send messages, in one piece."""
        self._socket.sendall(b"".join(messages))

    def receive(self, until: bytes = b"Z") -> list[tuple[bytes, bytes]]:
        """Return the messages up to the first of kind `until`."""
        got: list[tuple[bytes, bytes]] = []
        while not got or got[-1][0] != until:
            header = self._exactly(5)
            got.append((header[:1], self._exactly(int.from_bytes(header[1:], "big") - 4)))
        return got

    def kinds(self, until: bytes = b"Z") -> bytes:
        """Return the kinds of the messages up to the first of kind `until`."""
        return b"".join(kind for kind, _ in self.receive(until))

    def rest(self) -> bytes:
        """Return what comes until the server hangs up."""
        received = b""
        while piece := self._socket.recv(65536):
            received += piece
        return received

    def _exactly(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            piece = self._socket.recv(count - len(received))
            assert piece, "the server hung up"
            received += piece
        return received
