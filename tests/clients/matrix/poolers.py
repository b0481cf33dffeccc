"""Connection poolers before dpsql: each logs in there with the user's password, and speaks TLS."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.clients.matrix.place import CERTIFICATE
from tests.clients.site import Site, free_port

_PGBOUNCER = """\
[databases]
{site.database} = host={site.host} port={site.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {home}/users
server_tls_sslmode = verify-full
server_tls_ca_file = {certificate}
ignore_startup_parameters = extra_float_digits
pool_mode = session
"""
_PGPOOL = """\
listen_addresses = '127.0.0.1'
port = {port}
pcp_port = {more}
pcp_socket_dir = '{home}'
unix_socket_directories = '{home}'
pid_file_name = '{home}/pgpool.pid'
backend_clustering_mode = 'raw'
backend_hostname0 = '{site.host}'
backend_port0 = {site.port}
backend_flag0 = 'ALWAYS_PRIMARY|DISALLOW_TO_FAILOVER'
num_init_children = 6
allow_clear_text_frontend_auth = on
pool_passwd = ''
ssl = on
ssl_key = '{key}'
ssl_cert = '{certificate}'
health_check_period = 0
sr_check_period = 0
logdir = '{home}'
"""


@contextmanager
def pgbouncer(site: Site) -> Iterator[Site]:
    """Run pgbouncer before a server, with a pool for each session."""
    with _home() as home:
        port = free_port()
        settings = _PGBOUNCER.format(site=site, port=port, home=home, certificate=home / CERTIFICATE.name)
        _write(home, "pgbouncer.ini", settings)
        _write(home, "users", f'"{site.user}" "{site.password}"\n')
        with _running(home, ["pgbouncer", *_account(), str(home / "pgbouncer.ini")], port):
            yield replace(site, host="127.0.0.1", port=port)


@contextmanager
def pgpool(site: Site) -> Iterator[Site]:
    """Run pgpool before a server, which balances nothing and keeps connections."""
    with _home() as home:
        port = free_port()
        key = CERTIFICATE.with_suffix(".key").name
        settings = _PGPOOL.format(
            site=site, port=port, more=free_port(), home=home, certificate=home / CERTIFICATE.name, key=home / key
        )
        _write(home, "pgpool.conf", settings)
        _write(home, "pcp.conf", "")
        files = ["-f", "pgpool.conf", "-F", "pcp.conf"]
        with _running(home, ["pgpool", "-n", *(str(home / f) if "." in f else f for f in files)], port):
            yield replace(site, host="127.0.0.1", port=port)


def _found(program: str) -> str:
    """Return where a server's program is, which may not be on everybody's path."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") or program


def _account() -> list[str]:
    """Return the words that make pgbouncer somebody other than root."""
    return ["-u", "nobody"] if os.geteuid() == 0 else []


@contextmanager
def _home() -> Iterator[Path]:
    """Give a directory that a pooler's account can use, with the certificate in it."""
    home = Path(tempfile.mkdtemp(prefix="dpsql-pooler-"))
    home.chmod(0o711)
    for file in (CERTIFICATE, CERTIFICATE.with_suffix(".key")):
        shutil.copy(file, home)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _write(home: Path, name: str, text: str) -> None:
    (home / name).write_text(text, encoding="utf-8")


@contextmanager
def _running(home: Path, command: list[str], port: int) -> Iterator[None]:
    """Run a pooler until the block ends."""
    log = home / "log"
    program, *words = command
    with log.open("wb") as into, subprocess.Popen([_found(program), *words], stdout=into, stderr=into) as child:  # noqa: S603
        try:
            _await(child, port, log)
            yield
        finally:
            child.terminate()


def _await(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return when somebody listens."""
    for _ in range(100):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        if child.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"the pooler does not listen: {log.read_text(encoding='utf-8')[-2000:]}")
