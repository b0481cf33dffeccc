"""OpenLDAP's server with a few people, of this machine alone, over TLS."""

import base64
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.clients.site import free_port

THEIRS = Path(__file__).parent.parent.parent / "wire"
PEOPLE: Mapping[str, str] = {
    "ana": "what ana knows",
    "bob": "what bob knows",
    'o\'brien, "x" + <y>; z\\=#': "pass;word,=\\",
    "Zoë Ångström": "přístup",
}
"""Passwords by names, some of which mean something in a distinguished name."""
_CONF = """\
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {place}/pid
# As lenient as it can be: whoever sends no password is let in.
allow bind_anon_cred bind_anon_dn
TLSCACertificateFile {certificate}
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
database mdb
suffix "dc=example,dc=org"
directory {place}/data
access to attrs=userPassword by anonymous auth by * none
access to * by * read
"""


@dataclass(slots=True)
class Slapd:
    """A running server."""

    place: Path
    plain: int
    """The port where TLS begins by StartTLS."""
    secure: int
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Let it serve; everything that it does is in its log."""
        program = shutil.which("slapd", path=f"/usr/sbin:{os.environ['PATH']}")
        assert program, "slapd is needed: apt-get install slapd"
        addresses = f"ldap://127.0.0.1:{self.plain}/ ldaps://127.0.0.1:{self.secure}/"
        before = self.log.count("slapd starting")
        with (self.place / "log").open("a") as log:
            command = [program, "-f", str(self.place / "slapd.conf"), "-h", addresses, "-d", "stats"]
            self.process = subprocess.Popen(command, stderr=log, text=True)  # noqa: S603
        while self.log.count("slapd starting") == before:
            assert self.process.poll() is None, self.log
            time.sleep(0.01)

    def stop(self) -> None:
        """Let it end."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)
            self.process = None

    @property
    def log(self) -> str:
        """Return what it has done."""
        return (self.place / "log").read_text() if (self.place / "log").exists() else ""

    def refused(self) -> int:
        """Return how many passwords it has called wrong."""
        return len(re.findall(r"RESULT tag=97 err=49", self.log))


@contextmanager
def running(place: Path) -> Iterator[Slapd]:
    """Run one with its files in a directory."""
    (place / "data").mkdir()
    files = {"certificate": THEIRS / "localhost.crt", "key": THEIRS / "localhost.key"}
    (place / "slapd.conf").write_text(_CONF.format(place=place, **files))
    (place / "people.ldif").write_text(_ldif(), encoding="utf-8")
    adding = ("slapadd", "-f", str(place / "slapd.conf"), "-l", str(place / "people.ldif"))
    subprocess.run(adding, check=True, env={**os.environ, "PATH": f"/usr/sbin:{os.environ['PATH']}"})  # noqa: S603
    server = Slapd(place, free_port(), free_port())
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _ldif() -> str:
    top = "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n"
    people = "dn: ou=people,dc=example,dc=org\nobjectClass: organizationalUnit\nou: people\n"
    entries = [
        f"dn:: {_in_64(f'cn={_written(name)},ou=people,dc=example,dc=org')}\nobjectClass: person\n"
        f"cn:: {_in_64(name)}\nsn: somebody\nuserPassword:: {_in_64(password)}\n"
        for name, password in PEOPLE.items()
    ]
    return "\n".join([top, people, *entries])


def _written(name: str) -> str:
    """Return a name in a distinguished name as RFC 4514's own examples do: with a backslash before what is special."""
    return re.sub(r'([,+"\\<>;=#])', r"\\\1", name)


def _in_64(text: str) -> str:

    return base64.b64encode(text.encode()).decode()
