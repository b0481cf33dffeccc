"""The certificate that clients are shown, read from its files."""

import ssl

from dpsql.errors import ConfigError
from dpsql.policy.config import Tls
from dpsql.wire.protocol.certificate import Certificate


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
