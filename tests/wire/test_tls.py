"""TLS: with a certificate, clients must speak it and may check it; without one they are told so."""

import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.policy.config import Tls
from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.protocol.certificate import certificate_of
from dpsql.wire.server.listener import Listener
from tests.wire.exact import Exact
from tests.wire.listening import listening

HERE = Path(__file__).parent
CERTIFICATE, KEY = HERE / "localhost.crt", HERE / "localhost.key"
"""Self-signed for localhost, and good for a hundred years; made with openssl req -x509."""


@pytest.fixture(scope="module")
def secure(shadow: Postgres, answers: Exact) -> Iterator[Listener]:
    """Give a listener with a certificate."""
    with listening(answers, shadow, tls=certificate_of(Tls(CERTIFICATE, KEY))) as (served, _):
        yield served


def _connect(listener: Listener, mode: str, root: Path = CERTIFICATE) -> psycopg.Connection:
    where = f"host=localhost port={listener.port} user=ana password=pw dbname=taxi"
    return psycopg.connect(f"{where} sslmode={mode} sslrootcert={root}")


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-ca", "verify-full"])
def test_encrypted_session_asks(secure: Listener, mode: str) -> None:
    """In each mode of libpq, with a question, a large value and a large result."""
    with _connect(secure, mode) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("select count(*) from trips where fare > %s", (0,)).fetchone() == (1000,)
        assert connection.execute("select length(%s)", ("x" * 3_000_000,)).fetchone() == (3_000_000,)
        assert len(connection.execute("select generate_series(1, 100000)").fetchall()) == 100_000


def test_certificate_that_is_not_known_is_refused_by_the_client(secure: Listener) -> None:
    """verify-full means it."""
    with pytest.raises(psycopg.OperationalError, match="certificate"):
        _connect(secure, "verify-full", HERE / "conftest.py")


def test_cancel_works_encrypted(secure: Listener) -> None:
    """A cancel request is encrypted as well."""
    with _connect(secure, "require") as connection:
        connection.cancel_safe()
        assert connection.execute("select 1").fetchone() == (1,)


def test_client_without_tls_does_not_come_in(secure: Listener) -> None:
    """Where there is a certificate no password crosses the network unencrypted."""
    with pytest.raises(psycopg.OperationalError, match="without TLS are refused"):
        _connect(secure, "disable")


def test_client_that_requires_tls_does_not_come_in_without(listener: Listener) -> None:
    """It hears that there is none, and libpq gives up."""
    with pytest.raises(psycopg.OperationalError, match="does not support SSL"):
        _connect(listener, "require")


REQUEST = struct.pack("!II", 8, 80877103)


def test_bytes_before_the_handshake_are_refused(secure: Listener) -> None:
    """What came unencrypted must not count as encrypted (CVE-2021-23214)."""
    with socket.create_connection(("127.0.0.1", secure.port), timeout=10) as raw:
        raw.sendall(REQUEST + struct.pack("!II", 8, 0x30000))
        received = b""
        while piece := raw.recv(1000):
            received += piece
    assert b"C08P01\0" in received


@pytest.mark.parametrize("sent", [b"", b"no handshake at all", b"\x16\x03\x01\x00\x05hello"])
def test_broken_handshake_ends_only_that_connection(secure: Listener, sent: bytes) -> None:
    """The others go on."""
    with socket.create_connection(("127.0.0.1", secure.port), timeout=10) as raw:
        raw.sendall(REQUEST)
        assert raw.recv(1) == b"S"
        raw.sendall(sent)
    with _connect(secure, "require") as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to look at the certificate with")
def test_certificate_is_for_localhost() -> None:
    """The file is what it is said to be."""
    command = ["openssl", "x509", "-in", str(CERTIFICATE), "-noout", "-checkhost", "localhost"]
    assert b"does match" in subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603
