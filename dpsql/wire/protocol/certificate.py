"""The certificate that clients are shown, read from its files, and what ties a log-in to it (RFC 5929)."""

import hashlib
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from dpsql.errors import ConfigError
from dpsql.policy.config import Tls

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_PSS = "2a864886f70d01010a"
# By the algorithm of the signature, or of its hash, as DER has its identifier; MD5 and SHA-1 give way to SHA-256.
_HASHES = {
    "2a864886f70d010104": "sha256", "2a864886f70d010105": "sha256", "2a864886f70d01010e": "sha224",
    "2a864886f70d01010b": "sha256", "2a864886f70d01010c": "sha384", "2a864886f70d01010d": "sha512",
    "2a8648ce3d0401": "sha256", "2a8648ce3d040301": "sha224",
    "2a8648ce3d040302": "sha256", "2a8648ce3d040303": "sha384", "2a8648ce3d040304": "sha512",
    "2b0e03021a": "sha256", "608648016503040204": "sha224",
    "608648016503040201": "sha256", "608648016503040202": "sha384", "608648016503040203": "sha512",
}  # fmt: skip
_IDENTIFIER, _HASH_OF_PSS = 0x06, 0xA0
_VERSION = 0xA0
_SHORT_TIME = 0x17
"""A time whose year has two digits."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The side that speaks TLS with a certificate, and the hash that a log-in is bound to."""

    context: ssl.SSLContext
    end_point: bytes | None
    """None where the signature has no hash, as Ed25519 has none: then binding is not offered."""
    ends: datetime
    """When it is no longer valid."""

    @classmethod
    def of(cls, context: ssl.SSLContext, pem: str) -> "Certificate":
        """Build from the text of the file whose first certificate `context` shows.

        Raises:
            ValueError: it has none that can be read.
        """
        block = _PEM.search(pem)
        if block is None:
            raise ValueError("it has no BEGIN CERTIFICATE")
        shown = ssl.PEM_cert_to_DER_cert(block[0])
        return cls(context, end_point(shown), valid_until(shown))


def end_point(certificate: bytes) -> bytes | None:
    """Return the hash of a certificate (DER) by its own signature's algorithm; None if that has none that is known."""
    (_, whole), *_ = _elements(certificate)
    _, (_, algorithm), *_ = _elements(whole)
    name = _hash(algorithm)
    return None if name is None else hashlib.new(name, certificate).digest()


def valid_until(certificate: bytes) -> datetime:
    """Return until when a certificate (DER) is valid."""
    (_, whole), *_ = _elements(certificate)
    (_, signed), *_ = _elements(whole)
    # Its number, the algorithm, who issued it, and the times, after a version that may be left out.
    _, _, _, (_, times), *_ = (element for element in _elements(signed) if element[0] != _VERSION)
    _, (kind, written) = _elements(times)
    text = written.decode("ascii")
    if kind == _SHORT_TIME:
        text = ("19" if text >= "50" else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _hash(algorithm: bytes) -> str | None:
    (tag, identifier), *parameters = _elements(algorithm)
    if tag != _IDENTIFIER:
        return None
    if identifier.hex() != _PSS:
        return _HASHES.get(identifier.hex())
    given = [inside for _, fields in parameters for tag, inside in _elements(fields) if tag == _HASH_OF_PSS]
    return _hash(next(_elements(given[0]))[1]) if given else "sha256"  # SHA-1, where nothing is said


def _elements(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the elements that stand one behind the other: each one's tag, and what is in it."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(der[at : at + size]), at + size
        yield tag, der[at : at + length]
        at += length


# The certificate that clients are shown, read from its files.


def certificate_of(files: Tls | None) -> Certificate | None:
    """Return what speaks TLS with a certificate; None without one.

    Raises:
        ConfigError: it can't be used.
    """
    if files is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key, password="")  # or the terminal would be asked
        return Certificate.of(context, files.certificate.read_text(encoding="latin-1"))
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(
            f"{files.certificate}: can't be used as the server's certificate: {error}",
            hint=f"It has to be a PEM file with the chain, and {files.key} its private key, without a password.",
        ) from error
