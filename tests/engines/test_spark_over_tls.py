"""A Spark Connect server that wants a token, over TLS: Sail behind a gate that looks at both, as platforms have it."""

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

TOKEN = "the reader's own"  # noqa: S105  (of a gate that lives for one test)
_ASK = """
import sys
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import DpsqlError
try:
    engine = SparkEngine(sys.argv[1], {})
    print([tuple(row) for row in engine._connection.session.sql("SELECT 1 + 1").collect()])
    engine.close()
except DpsqlError as failed:
    print(type(failed).__name__, failed.message, failed.hint)
"""


class Gate(grpc.GenericRpcHandler):  # type: ignore[misc]  # untyped
    """Hands calls with the token on, as they are, and refuses all others."""

    def __init__(self, behind: grpc.Channel) -> None:
        self.behind, self.refused = behind, 0

    def service(self, details: Any) -> Any:
        """Return what answers a call."""
        given = dict(details.invocation_metadata)

        def handed_on(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            if given.get("authorization") != f"Bearer {TOKEN}":
                self.refused += 1
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "no such token")
            kept = [(name, value) for name, value in given.items() if name != "authorization"]
            call = self.behind.stream_stream(details.method)(requests, metadata=kept)
            try:
                yield from call
            except grpc.RpcError as failed:
                context.set_trailing_metadata(failed.trailing_metadata())
                context.abort(failed.code(), failed.details())

        return grpc.stream_stream_rpc_method_handler(handed_on)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine, in a file with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    itself = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a gate")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder().subject_name(itself).issuer_name(itself).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - dt.timedelta(hours=1))
    made = made.not_valid_after(now + dt.timedelta(hours=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    signed = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, SHA256())
    place = tmp_path_factory.mktemp("gate") / "gate.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    place.write_bytes(signed.public_bytes(Encoding.PEM))
    place.with_suffix(".key").write_bytes(secret)
    return place


@contextmanager
def gate(server: str, certificate: Path) -> Iterator[tuple[int, Gate]]:
    """Serve before another server, over TLS; give the port."""
    with ThreadPoolExecutor(16) as threads, grpc.insecure_channel(server.removeprefix("sc://")) as behind:
        handler, served = Gate(behind), grpc.server(threads)
        pair = (certificate.with_suffix(".key").read_bytes(), certificate.read_bytes())
        port = served.add_secure_port("localhost:0", grpc.ssl_server_credentials([pair]))
        served.add_generic_rpc_handlers((handler,))
        served.start()
        try:
            yield port, handler
        finally:
            served.stop(None).wait()


def _said(address: str, believed: Path | None, environment: dict[str, str]) -> str:
    """Return what a process of its own says, which reads the authorities that it believes when it begins."""
    more = {} if believed is None else {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(believed)}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _ASK, address], capture_output=True, text=True, check=True, env={**environment, **more}
    )
    return done.stdout.strip()


def test_a_token_goes_over_tls(spark_server: str, certificate: Path) -> None:
    """It opens what nothing else does; a wrong one, and a certificate that is not believed, are told, and no token is."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with gate(spark_server, certificate) as (port, handler):
        right = f"sc://localhost:{port}/;use_ssl=true;token={TOKEN.replace(' ', '%20')}"
        assert _said(right, certificate, environment) == "[(2,)]"
        before = handler.refused
        wrong = _said(right.replace("own", "else's"), certificate, environment)
        assert wrong.startswith("NoEngine")
        assert "UNAUTHENTICATED" in wrong
        assert "else's" not in wrong
        assert handler.refused > before
        seen = handler.refused
        said = _said(right, None, environment)
        assert said.startswith("NoEngine"), said
        assert TOKEN not in said
        assert handler.refused == seen
