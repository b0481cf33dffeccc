"""A certificate is renewed while people work: they notice nothing, and what can't be used changes nothing."""

import datetime as dt
import hashlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

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


def _made(place: Path, name: str, ends: dt.datetime) -> Path:
    """Make a certificate that is believed until then, with its key, for this machine."""
    key = ec.generate_private_key(ec.SECP256R1())
    itself = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(itself).issuer_name(itself).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(ends - dt.timedelta(days=1))
    made = made.not_valid_after(ends).add_extension(names, critical=False)
    signed = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, SHA256())
    plain = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (place / name).write_bytes(signed.public_bytes(Encoding.PEM) + key.private_bytes(*plain))
    return place / name


@pytest.mark.slow
def test_a_certificate_of_a_minutes_life_is_renewed_under_load(renewed: Renewed) -> None:
    """Clients that check it never meet one that has ended, nor is any session broken when one does."""
    with TemporaryDirectory() as made:
        place, failed, over = Path(made), list[str](), threading.Event()
        believed = place / "believed.pem"

        def begin(number: int, ends: dt.datetime) -> None:
            file = _made(place, f"{number}.pem", ends)
            new = believed.with_suffix(".new")
            new.write_bytes((believed.read_bytes() if believed.exists() else b"") + file.read_bytes())
            new.replace(believed)
            renewed.put(file, file)
            reload(renewed.site)

        def ask(stays: bool) -> None:
            dsn = f"{renewed.dsn.replace('sslmode=require', 'sslmode=verify-full')} sslrootcert={believed}"
            try:
                with psycopg.connect(dsn, autocommit=True) as connection:
                    while not over.is_set():
                        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
                        if not stays:
                            psycopg.connect(dsn).close()
            except BaseException as error:  # noqa: BLE001
                failed.append(repr(error))

        first = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)
        begin(0, first)
        threads = [threading.Thread(target=ask, args=(number % 2 == 0,)) for number in range(SESSIONS)]
        for thread in threads:
            thread.start()
        try:
            over.wait((first - dt.datetime.now(dt.UTC)).total_seconds() - 15)
            begin(1, first + dt.timedelta(minutes=1))
            over.wait((first - dt.datetime.now(dt.UTC)).total_seconds() + 3)  # until the first has ended
        finally:
            over.set()
            for thread in threads:
                thread.join()
        assert failed == []
        old = f"{renewed.dsn.replace('sslmode=require', 'sslmode=verify-full')} sslrootcert={place / '0.pem'}"
        renewed.put(place / "0.pem", place / "0.pem")
        reload(renewed.site)
        with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
            psycopg.connect(old)
