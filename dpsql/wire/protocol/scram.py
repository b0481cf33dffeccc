"""SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677) from the server's side, with verifiers as PostgreSQL stores them.

A user without a verifier goes through the same steps and fails at the last one, so that nobody can find out names.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import stringprep
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Self

from dpsql.errors import AuthFailed

MECHANISM = "SCRAM-SHA-256"
BOUND = "SCRAM-SHA-256-PLUS"
"""The mechanism that binds a log-in to the connection's TLS, and fails where somebody stands in the middle of it."""
# RFC 7677 asks for at least 4,096, and PostgreSQL's own verifiers have as many by default (`scram_iterations`).
_ITERATIONS = 4096
_SALT = 16
_KEY = 32
_VERIFIER = re.compile(r"SCRAM-SHA-256\$([1-9][0-9]*):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")
_HEADER = r"(?P<header>(?P<binding>[ny]|p=tls-server-end-point),[^,]*,)"
# client-first-message: n,,n=user,r=nonce. The header says whether the client binds to TLS: `n` it can't, `y` it can and
# thinks that we can't, `p=…` it does. PostgreSQL's clients leave the name empty: the start packet has it.
_FIRST = re.compile(_HEADER + r"(?P<bare>(?:m=[^,]*,)?n=[^,]*,r=(?P<nonce>[!-+\--~]+)(?:,.*)?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verifier:
    """The verifier of a password, which does not reveal it."""

    iterations: int
    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    @classmethod
    def of(cls, password: str, *, iterations: int = _ITERATIONS) -> Self:
        """Make one for `password`, with a new salt."""
        salt = os.urandom(_SALT)
        # In RFC 5802 the salted password is PBKDF2 of the password. Two keys are made of it: "Client Key", of which the
        # hash is stored, and "Server Key". What is stored is the verifier: with it a server can check a log-in, and
        # nobody can log in.
        salted = hashlib.pbkdf2_hmac("sha256", _normalise(password), salt, iterations)
        client_key = _mac(salted, b"Client Key")
        return cls(iterations, salt, hashlib.sha256(client_key).digest(), _mac(salted, b"Server Key"))

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read PostgreSQL's spelling, as in `pg_authid.rolpassword`.

        Raises:
            ValueError: when it is not one.
        """
        match = _VERIFIER.fullmatch(written)
        if match is None:
            raise ValueError("not a SCRAM-SHA-256 verifier")
        try:
            salt, stored, server = (base64.b64decode(part, validate=True) for part in match.groups()[1:])
        except binascii.Error:  # what Python takes for one differs by its version
            raise ValueError("not a SCRAM-SHA-256 verifier") from None
        if len(stored) != _KEY or len(server) != _KEY:
            raise ValueError("not a SCRAM-SHA-256 verifier")
        return cls(int(match[1]), salt, stored, server)

    @classmethod
    def of_nobody(cls, name: str, secret: bytes, others: Collection["Verifier"] = ()) -> Self:
        """Return one that no password matches, the same for a name each time (`secret` is the server's).

        It looks like one of `others`: a number of iterations that nobody has would tell that nobody has the name.
        """
        forms = sorted({(other.iterations, len(other.salt)) for other in others}) or [(_ITERATIONS, _SALT)]
        chosen = int.from_bytes(_mac(secret, b"form:" + name.encode()))
        iterations, length = forms[chosen % len(forms)]
        salt = hashlib.pbkdf2_hmac("sha256", secret, b"salt:" + name.encode(), 1, length)
        return cls(iterations, salt, os.urandom(_KEY), os.urandom(_KEY))

    def is_of(self, password: str) -> bool:
        """Return whether it is of this password; that takes as long as PostgreSQL wants it to."""
        salted = hashlib.pbkdf2_hmac("sha256", _normalise(password), self.salt, self.iterations)
        return hmac.compare_digest(hashlib.sha256(_mac(salted, b"Client Key")).digest(), self.stored_key)

    def __str__(self) -> str:
        return f"{MECHANISM}${self.iterations}:{_b64(self.salt)}${_b64(self.stored_key)}:{_b64(self.server_key)}"


class Exchange:
    """One log-in: `challenge` answers the client's first message, `conclude` its last."""

    def __init__(self, verifier: Verifier, *, end_point: bytes | None = None, bound: bool = False) -> None:
        """`end_point` is what a log-in could be bound to, if that was offered; `bound` says whether the client did it."""
        self._verifier = verifier
        self._end_point = end_point
        self._bound = bound
        self._header = ""
        self._bare = ""
        self._nonce = ""
        self._challenge = ""

    def challenge(self, first: bytes) -> bytes:
        """Return the server's first message.

        Raises:
            AuthFailed: when the client's is not one, or it binds otherwise than was offered.
        """
        match = _FIRST.fullmatch(_ascii_or_utf8(first))
        if match is None or match["bare"].startswith("m="):
            raise AuthFailed
        if match["binding"].startswith("p") != self._bound:
            raise AuthFailed
        if match["binding"] == "y" and self._end_point is not None:
            # The client could bind and believes that we can't: somebody has removed our offer.
            raise AuthFailed
        self._header, self._bare = match["header"], match["bare"]
        self._nonce = match["nonce"] + secrets.token_urlsafe(18)
        self._challenge = f"r={self._nonce},s={_b64(self._verifier.salt)},i={self._verifier.iterations}"
        return self._challenge.encode()

    def conclude(self, last: bytes) -> bytes:
        """Return the server's last message.

        Raises:
            AuthFailed: when the client does not know the password.
        """
        # ClientProof = ClientKey XOR HMAC(StoredKey, all messages so far). Whoever knows StoredKey gets ClientKey out
        # of it, and H(ClientKey) has to be StoredKey. A proof that was recorded is of no use: both sides put a nonce
        # into the messages.
        without_proof, comma, proof = _ascii_or_utf8(last).rpartition(",p=")
        binding = self._end_point if self._bound and self._end_point is not None else b""
        expected = f"c={_b64(self._header.encode() + binding)},r={self._nonce}"
        signed = f"{self._bare},{self._challenge},{without_proof}".encode()
        key = _xor(_unb64(proof), _mac(self._verifier.stored_key, signed))
        proven = hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored_key)
        # One error for all mistakes: what was wrong is nobody's to know.
        if not comma or without_proof != expected or not proven:
            raise AuthFailed
        return b"v=" + _b64(_mac(self._verifier.server_key, signed)).encode()


def _normalise(password: str) -> bytes:
    """Prepare a password as clients do (RFC 4013), or leave it unchanged where that is not allowed, as they also do."""
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char for char in password if not stringprep.in_table_b1(char)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    return (password if _is_prohibited(prepared) else prepared).encode()


def _is_prohibited(prepared: str) -> bool:
    tables = (
        stringprep.in_table_c12,
        stringprep.in_table_c21_c22,
        stringprep.in_table_c3,
        stringprep.in_table_c4,
        stringprep.in_table_c5,
        stringprep.in_table_c6,
        stringprep.in_table_c7,
        stringprep.in_table_c8,
        stringprep.in_table_c9,
        stringprep.in_table_a1,
    )
    right_to_left = any(map(stringprep.in_table_d1, prepared))
    mixed = right_to_left and (
        any(map(stringprep.in_table_d2, prepared))
        or not (stringprep.in_table_d1(prepared[0]) and stringprep.in_table_d1(prepared[-1]))
    )
    return not prepared or mixed or any(table(char) for char in prepared for table in tables)


def _mac(key: bytes, signed: bytes) -> bytes:
    return hmac.digest(key, signed, "sha256")


def _xor(left: bytes, right: bytes) -> bytes:
    if len(left) != len(right):
        raise AuthFailed
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _unb64(written: str) -> bytes:
    try:
        return base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        raise AuthFailed from None


def _ascii_or_utf8(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise AuthFailed from None
