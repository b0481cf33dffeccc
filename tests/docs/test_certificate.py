"""The certificate that docs/how-to/certificate.md makes: its commands are run, and clients believe the server that has it."""

import ssl
import stat
import subprocess
from pathlib import Path

import pytest

from dpsql.policy.config import Tls
from dpsql.wire.protocol.certificate import certificate_of
from tests.docs.pages import ROOT, _blocks

NAME = "db.example.org"
"""The name that clients use there."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the page's commands in a directory of their own, and return it."""
    (commands,) = (block for block in _blocks(ROOT / "docs" / "how-to" / "certificate.md") if "openssl" in block.text)
    place = tmp_path_factory.mktemp("certificate")
    subprocess.run(["/bin/sh", "-e", "-c", commands.text], cwd=place, check=True, capture_output=True)  # noqa: S603  (our own page)
    return place


def _handshake(server: ssl.SSLContext, authority: Path, name: str) -> None:
    """Let a client that checks certificate and name greet a server, in memory.

    Raises:
        ssl.SSLCertVerificationError: the client does not believe the server.
    """
    client = ssl.create_default_context(cafile=authority)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server, server_hostname=name)]
    ends.append(server.wrap_bio(to_server, to_client, server_side=True))
    while ends:
        end = ends.pop(0)
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            ends.append(end)


def test_the_key_is_its_owners_alone(made: Path) -> None:
    """Else dpsql's key could be read by others."""
    assert stat.S_IMODE((made / "server.key").stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR


def test_clients_believe_the_server(made: Path) -> None:
    """By the certificate itself, as `sslrootcert=server.pem`, and under the name that they connect to."""
    certificate = certificate_of(Tls(made / "server.pem", made / "server.key"))
    assert certificate is not None
    _handshake(certificate.context, made / "server.pem", NAME)
    with pytest.raises(ssl.SSLCertVerificationError):
        _handshake(certificate.context, made / "server.pem", "other.example.org")
