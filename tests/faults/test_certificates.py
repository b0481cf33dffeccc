"""A certificate is renewed while people work: they notice nothing, and what can't be used changes nothing."""

import hashlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving
from tests.faults.controls import not_reloaded, reload, write

THEIRS = Path(__file__).parent.parent / "wire"
OTHER = THEIRS / "certificates" / "ecdsa-sha384.pem"
"""A certificate with its key, of another kind than the first one."""
SESSIONS, RENEWALS = 12, 8


@dataclass(frozen=True, slots=True)
class Renewed:
    """A server with pages, its certificate's files, and what it says on standard error."""

    site: Site
    place: Path
    log: Path

    @property
    def dsn(self) -> str:
        """Return key words that want the log-in bound to the certificate."""
        return self.site.dsn.replace("sslmode=disable", "sslmode=require channel_binding=require")

    def put(self, certificate: Path, key: Path) -> None:
        """Put files in the place of the ones that there are."""
        shutil.copy(certificate, self.place / "server.crt")
        shutil.copy(key, self.place / "server.key")

    def shown(self) -> str:
        """Return a hash of what clients are shown."""
        with socket.create_connection(("127.0.0.1", self.site.port), timeout=10) as raw:
            raw.sendall((8).to_bytes(4, "big") + (80877103).to_bytes(4, "big"))
            assert raw.recv(1) == b"S"
            return _hash(raw)

    def shown_by_pages(self) -> str:
        """Return a hash of what browsers are shown."""
        port = int(self.site.pages.rstrip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
            return _hash(raw)


def _hash(raw: socket.socket) -> str:
    with _trusting().wrap_socket(raw) as encrypted:
        return hashlib.sha256(encrypted.getpeercert(binary_form=True) or b"").hexdigest()


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _of(file: Path) -> str:
    text = file.read_text()
    text = text[text.index("-----BEGIN CERTIFICATE-----") :]
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text[: text.index("-----END CERTIFICATE-----") + 25])).hexdigest()


@pytest.fixture
def renewed() -> Iterator[Renewed]:
    """Give a server that shows a certificate."""
    with TemporaryDirectory(prefix="dpsql-tls-") as made:
        place = Path(made)
        place.chmod(0o711)
        config = configure(place, tls=", tls: {certificate: server.crt, key: server.key}")
        write(
            config,
            "shadow:",
            "web: {host: 127.0.0.1, port: 0, tls: {certificate: server.crt, key: server.key}}\nshadow:",
        )
        for name in ("crt", "key"):
            shutil.copy(THEIRS / f"localhost.{name}", place / f"server.{name}")
        with (place / "log").open("w") as log, serving(config, log=log) as site:
            yield Renewed(site, place, place / "log")


def test_a_hang_up_shows_the_new_certificate(renewed: Renewed) -> None:
    """To clients and browsers, while sessions go on; a log-in is bound to the new one."""
    first = _of(THEIRS / "localhost.crt")
    assert (renewed.shown(), renewed.shown_by_pages()) == (first, first)
    with psycopg.connect(renewed.dsn, autocommit=True) as asked:
        assert asked.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        renewed.put(OTHER, OTHER)
        reload(renewed.site)
        assert (renewed.shown(), renewed.shown_by_pages()) == (_of(OTHER), _of(OTHER))
        assert asked.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
    with psycopg.connect(renewed.dsn) as bound:
        assert bound.execute("SELECT 1").fetchone() == (1,)
    with urlopen(f"{renewed.site.pages}ready", context=_trusting()) as page:  # noqa: S310
        assert page.status == 200


@pytest.mark.parametrize("broken", ["garbage", "of another key", "half", "gone", "with a password"])
def test_what_can_not_be_used_keeps_the_old_one(renewed: Renewed, broken: str) -> None:
    """It is said which file is wrong, and that all else was read."""
    certificate, key = renewed.place / "server.crt", renewed.place / "server.key"
    match broken:
        case "garbage":
            certificate.write_bytes(b"\0garbage\xff" * 100)
        case "of another key":
            shutil.copy(OTHER, certificate)
        case "half":
            certificate.write_text(certificate.read_text()[:300])
        case "gone":
            key.unlink()
        case _:
            command = ["openssl", "pkey", "-in", str(key), "-aes256", "-passout", "pass:secret", "-out", f"{key}.new"]
            if shutil.which("openssl") is None:
                pytest.skip("no openssl to encrypt a key with")
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603
            shutil.copy(f"{key}.new", key)
    write(renewed.place / "config.yaml", "users:\n", "users:\n  # nothing new\n")
    said = not_reloaded(renewed.site, renewed.log)
    assert "server.crt: can't be used as the server's certificate" in said
    assert "the certificate before is shown" in said
    assert ("everything goes on as before" if broken == "gone" else "everything else was read again") in said
    assert (renewed.shown(), renewed.shown_by_pages()) == (_of(THEIRS / "localhost.crt"),) * 2
    renewed.put(OTHER, OTHER)
    reload(renewed.site)
    assert renewed.shown() == _of(OTHER)


def test_renewals_under_load_break_no_session(renewed: Renewed) -> None:
    """Sessions that ask go on, and nobody who logs in just then is turned away, whichever certificate they were shown."""
    failed: list[str] = []
    over = threading.Event()

    def ask(stays: bool) -> None:
        try:
            with psycopg.connect(renewed.dsn, autocommit=True) as connection:
                while not over.is_set():
                    assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
                    if not stays:
                        with psycopg.connect(renewed.dsn, autocommit=True) as another:
                            assert another.execute("SELECT 1").fetchone() == (1,)
        except BaseException as error:  # noqa: BLE001
            failed.append(repr(error))

    threads = [threading.Thread(target=ask, args=(number % 2 == 0,)) for number in range(SESSIONS)]
    for thread in threads:
        thread.start()
    try:
        for number in range(RENEWALS):
            renewed.put(*((OTHER, OTHER) if number % 2 == 0 else (THEIRS / "localhost.crt", THEIRS / "localhost.key")))
            reload(renewed.site)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert failed == []
