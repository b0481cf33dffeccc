"""Log-ins bound to the server's certificate: with libpq and drivers, certificates of each kind, and a liar between."""

import asyncio
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncpg
import pg8000.native
import psycopg
import pytest

from dpsql.policy.config import Tls
from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.protocol.certificate import certificate_of
from dpsql.wire.server.listener import Listener
from tests.wire.exact import Exact
from tests.wire.listening import listening

PASSWORD = "pw"  # noqa: S105 # of servers that live for one test
USUAL = 4096
"""Iterations, of which pg8000 takes no fewer."""
PLACE = Path(__file__).parent
KINDS = ("ecdsa-sha384", "rsa-sha512", "rsa-sha1", "pss-sha384", "pss-sha1")
"""Certificates by key and signature, each in a file with its key; made with openssl req -x509."""


def _file(kind: str) -> Path:
    return PLACE / "certificates" / f"{kind}.pem"


@pytest.fixture(scope="module")
def servers(shadow: Postgres, answers: Exact) -> Iterator[dict[str, Listener]]:
    """Give a listener for each kind of certificate."""
    with ExitStack() as stack:

        def listener(kind: str) -> Listener:
            tls = certificate_of(Tls(_file(kind), _file(kind)))
            return stack.enter_context(listening(answers, shadow, tls=tls, iterations=USUAL))[0]

        yield {kind: listener(kind) for kind in (*KINDS, "ed25519")}


def _dsn(port: int, binding: str, user: str = "ana", password: str = PASSWORD) -> str:
    where = f"host=localhost port={port} user={user} password={password} dbname=taxi"
    return f"{where} sslmode=require channel_binding={binding}"


def _asked(port: int, binding: str) -> object:
    with psycopg.connect(_dsn(port, binding)) as connection:
        return connection.execute("SELECT count(*) FROM trips").fetchone()


@pytest.mark.parametrize("binding", ["require", "prefer", "disable"])
@pytest.mark.parametrize("kind", KINDS)
def test_libpq_binds_to_each_certificate(servers: dict[str, Listener], kind: str, binding: str) -> None:
    """It and we agree on the hash; who does not want to bind need not."""
    assert _asked(servers[kind].port, binding) == (1000,)


def test_certificate_without_a_hash_offers_no_binding(servers: dict[str, Listener]) -> None:
    """Ed25519 has none: whoever requires binding is told by libpq, the others come in."""
    port = servers["ed25519"].port
    assert _asked(port, "prefer") == (1000,)
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        _asked(port, "require")


def test_binding_is_offered_with_tls_only(listener: Listener) -> None:
    """Without it there is nothing to bind to."""
    with pytest.raises(psycopg.OperationalError, match="channel binding"):
        psycopg.connect(_dsn(listener.port, "require").replace("sslmode=require", "sslmode=disable"))


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_binding_works_in_each_version_of_tls(servers: dict[str, Listener], version: str) -> None:
    """It depends on the certificate alone."""
    dsn = _dsn(servers["rsa-sha512"].port, "require")
    with psycopg.connect(f"{dsn} ssl_min_protocol_version={version} ssl_max_protocol_version={version}") as connection:
        assert connection.pgconn.used_password
        assert connection.execute("SELECT count(*) FROM trips").fetchone() == (1000,)


def test_other_drivers_log_in(servers: dict[str, Listener]) -> None:
    """pg8000, which binds, and asyncpg, which does not."""
    port = servers["ecdsa-sha384"].port
    trusting = ssl.create_default_context(cafile=_file("ecdsa-sha384"))
    with pg8000.native.Connection("ana", "localhost", "taxi", port, "pw", ssl_context=trusting) as connection:
        assert connection.run("SELECT count(*) FROM trips") == [[1000]]

    async def asked() -> object:
        session = await asyncpg.connect(
            user="ana",
            password=PASSWORD,
            host="localhost",
            port=port,
            database="taxi",
            ssl=trusting,
        )
        try:
            return await session.fetchval("SELECT count(*) FROM trips")
        finally:
            await session.close()

    assert asyncio.run(asked()) == 1000


@pytest.mark.parametrize("binding", ["require", "disable"])
def test_unknown_names_are_answered_alike(servers: dict[str, Listener], binding: str) -> None:
    """Bound or not, a name that nobody has fails as a wrong password does."""
    said = []
    for user in ("ana", "mallory"):
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(_dsn(servers["rsa-sha512"].port, binding, user, "wrong"))
        said.append(str(caught.value).replace(user, "…"))
    assert said[0] == said[1]
    assert "authentication failed" in said[0]


def test_who_stands_between_is_noticed(servers: dict[str, Listener]) -> None:
    """A relay with a certificate of its own can't pass a bound log-in on; without binding nobody would notice."""
    with _relay(servers["rsa-sha512"].port, _file("ecdsa-sha384")) as port:
        assert _asked(port, "disable") == (1000,)
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            _asked(port, "require")


@contextmanager
def _relay(port: int, certificate: Path) -> Iterator[int]:
    """Decrypt what clients send with a certificate of the relay's own, and send it on encrypted anew."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    request = bytes.fromhex("0000000804d2162f")

    def serve(client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as server:
            assert client.recv(8) == request
            client.sendall(b"S")
            server.sendall(request)
            assert server.recv(1) == b"S"
            with context.wrap_socket(client, server_side=True) as near, trusting.wrap_socket(server) as far:
                ways = {near: far, far: near}
                while True:
                    for source in [w for w in ways if w.pending()] or select.select(list(ways), [], [], 10)[0]:
                        data = source.recv(65536)
                        if not data:
                            return
                        ways[source].sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listening_here:

        def accept() -> None:
            for _ in range(2):
                client, _ = listening_here.accept()
                with client:
                    serve(client)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield int(listening_here.getsockname()[1])
        thread.join(10)
