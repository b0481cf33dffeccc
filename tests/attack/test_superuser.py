"""Whoever is superuser of a running dpsql's shadow reaches neither records nor ledger nor configuration nor dpsql itself.

The secret that lets the superuser in is read here by root, who may; the wall's other layers are left out on purpose.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from dpsql.shadow.server.postgres import OWNER
from dpsql.shadow.server.sandbox import Sandbox
from tests.clients.site import Site, configure, serving
from tests.support.ordinary import NOBODY, ordinary_python

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root runs dpsql as two users"),
    pytest.mark.skipif(not Sandbox.of_kernel().is_whole, reason="the kernel has no sandbox"),
]


@dataclass(frozen=True, slots=True)
class Broken:
    """A dpsql whose shadow has fallen."""

    site: Site
    directory: Path
    uid: int
    """Who dpsql is."""
    superuser: psycopg.Connection

    @property
    def process(self) -> Path:
        """Return what the kernel tells of dpsql's process."""
        assert self.site.process is not None
        return Path(f"/proc/{self.site.process.pid}")


@pytest.fixture(scope="module", params=[0, NOBODY], ids=["root", "ordinary"])
def broken(request: pytest.FixtureRequest) -> Iterator[Broken]:
    """Serve as root, then as an ordinary user, and be superuser of the shadow."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-broken-"))
    directory.chmod(0o711)
    config = configure(directory)
    for path in (directory, *directory.iterdir()):
        os.chown(path, request.param, request.param)
    python, uid = (sys.executable, None) if request.param == 0 else (ordinary_python(), NOBODY)
    with serving(config, python=python, uid=uid) as site:
        shadow = directory / "shadow"
        secret = (shadow / "cluster").read_text().partition("\n")[2]
        dsn = f"host={shadow}/sockets user={OWNER} password={secret} dbname=taxi"
        with psycopg.connect(dsn, autocommit=True) as superuser:
            assert superuser.execute("SHOW is_superuser").fetchone() == ("on",)
            yield Broken(site, directory, request.param, superuser)
    shutil.rmtree(directory)


FILES = ("taxi.duckdb", "ledger.db", "config.yaml", "shadow/cluster", "shadow/log", "shadow/lock")
OF_PROCESS = ("environ", "cmdline", "maps", "status", "mem")


@pytest.mark.parametrize("name", FILES)
def test_files_of_dpsql_are_out_of_reach(broken: Broken, name: str) -> None:
    """Neither read nor overwritten, though dpsql itself can do both."""
    place = broken.directory / name
    copy = "import sys; open(sys.argv[1], 'rb').read(1); open(sys.argv[1], 'ab')"
    subprocess.run([ordinary_python(), "-c", copy, place], user=broken.uid, group=broken.uid, check=True)  # noqa: S603
    before = place.read_bytes()
    for way in (f"SELECT pg_read_binary_file('{place}')", f"COPY (SELECT 1) TO '{place}'"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="Permission denied"):
            broken.superuser.execute(way.encode())
    assert place.read_bytes() == before


@pytest.mark.parametrize("name", OF_PROCESS)
def test_process_of_dpsql_is_out_of_reach(broken: Broken, name: str) -> None:
    """Its memory, its environment and its arguments are nobody's; what everybody may read of a process is not read."""
    assert os.access(broken.process / name, os.R_OK)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="Permission denied"):
        broken.superuser.execute(f"SELECT pg_read_binary_file('{broken.process / name}')".encode())


@pytest.mark.parametrize("place", ["/", "/proc", "/etc", "/home", "/root", "/var/log", "..", "../.."])
def test_directories_are_not_listed(broken: Broken, place: str) -> None:
    """Nothing above its own directory, nor beside it."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="Permission denied"):
        broken.superuser.execute("SELECT pg_ls_dir(%s)", [place])


def test_settings_can_not_be_stored(broken: Broken) -> None:
    """What it stores for itself has no effect: what matters stands on the command line."""
    for setting, value in (("listen_addresses", "*"), ("hba_file", "x"), ("session_preload_libraries", "x")):
        broken.superuser.execute(f"ALTER SYSTEM SET {setting} = '{value}'".encode())
    broken.superuser.execute("SELECT pg_reload_conf()")
    with psycopg.connect(broken.superuser.info.dsn, password=broken.superuser.info.password) as later:
        rows = later.execute(
            "SELECT setting FROM pg_settings WHERE name ~ 'listen_a|^hba|session_pre' ORDER BY name"
        ).fetchall()
    broken.superuser.execute("ALTER SYSTEM RESET ALL")
    assert rows == [(str(broken.directory / "shadow" / "pg_hba.conf"),), ("",), ("",)]
