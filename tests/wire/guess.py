"""A log-in that stops before its last message."""

import base64
import hashlib
import hmac
import socket
import struct

from dpsql.wire.server.listener import Listener

_BARE = "n=,r=rOprNGfwEbeRWgbNEkqO"


def proof(password: str, challenge: bytes, bare: str, without_proof: str) -> bytes:
    """Compute a client's proof from the definition (RFC 5802, section 3)."""
    salt, iterations = challenge.split(b",s=")[1].split(b",i=")
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(iterations))
    client = hmac.digest(salted, b"Client Key", "sha256")
    signed = f"{bare},{challenge.decode()},{without_proof}".encode()
    signature = hmac.digest(hashlib.sha256(client).digest(), signed, "sha256")
    return base64.b64encode(bytes(a ^ b for a, b in zip(client, signature, strict=True)))


class Guess:
    """A client that has got its challenge."""

    def __init__(self, listener: Listener, password: str, user: str = "ana") -> None:
        self._password = password
        self._socket = socket.create_connection(("127.0.0.1", listener.port), timeout=20)
        start = f"user\0{user}\0database\0taxi\0\0".encode()
        first = b"n,," + _BARE.encode()
        self._socket.sendall(struct.pack("!II", len(start) + 8, 0x30000) + start)
        self._say(b"SCRAM-SHA-256\0" + struct.pack("!I", len(first)) + first)
        self._message()
        self.challenge = self._message()[4:]

    def is_let_in(self) -> bool:
        """Send the proof; return whether it was taken."""
        nonce = self.challenge.split(b",")[0].decode()
        without_proof = f"c={base64.b64encode(b'n,,').decode()},{nonce}"
        self._say(without_proof.encode() + b",p=" + proof(self._password, self.challenge, _BARE, without_proof))
        with self._socket:
            return self._message().startswith(struct.pack("!I", 12))

    def close(self) -> None:
        """Go without an answer."""
        self._socket.close()

    def _say(self, body: bytes) -> None:
        self._socket.sendall(b"p" + struct.pack("!I", len(body) + 4) + body)

    def _message(self) -> bytes:
        header = self._exactly(5)
        return self._exactly(int.from_bytes(header[1:], "big") - 4)

    def _exactly(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            piece = self._socket.recv(count - len(received))
            assert piece, "the server hung up"
            received += piece
        return received
