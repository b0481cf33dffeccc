"""Whoever becomes superuser of the shadow finds nothing: the kernel shuts it in. Each way is first shown to lead out."""

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from dpsql.errors import ConfigError
from dpsql.policy.config import Config, EmbeddedShadow, SandboxNeed
from dpsql.policy.load import load
from dpsql.server import Server
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.server.sandbox import Sandbox
from tests.clients.site import configure, with_shadow
from tests.support import clusters

pytestmark = pytest.mark.skipif(not Sandbox.of_kernel().is_whole, reason="the kernel has no sandbox")

SECRET = "a record of a person"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Prison:
    """A superuser's session in a shadow, and what is around it, all of the server's own account."""

    session: psycopg.Connection
    outside: Path
    """A directory with the file `records`."""
    process: int
    """A process of the same account, with a secret in its environment."""
    shut: bool
    """Whether the server is in a sandbox."""

    def tries(self, statement: str) -> str | None:
        """Return the server's objection to a statement; None if it was done."""
        try:
            self.session.execute(statement.encode())
        except psycopg.Error as error:
            return error.diag.message_primary
        return None


@pytest.fixture(scope="module", params=[True, False], ids=["shut", "open"])
def prison(request: pytest.FixtureRequest) -> Iterator[Prison]:
    """Give a superuser's session, once in the sandbox and once without."""
    home = Path(tempfile.mkdtemp(prefix="dpsql-prison-"))
    home.chmod(0o711)
    clusters.prepare(home / "shadow")
    server = Postgres.start(home / "shadow", sandbox=Sandbox.of_kernel() if request.param else Sandbox.none())
    owner = Path(f"/proc/{server.pid}").stat()
    outside = home / "outside"
    (outside / "place").mkdir(parents=True)
    (outside / "records").write_text(SECRET)
    for path in (outside, *outside.iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)
        path.chmod(0o700)
    other = subprocess.Popen(
        ["/bin/sleep", "300"],
        user=owner.st_uid,
        group=owner.st_gid,
        extra_groups=[] if os.geteuid() == 0 else None,
        env={"KEY": SECRET},
    )
    try:
        with psycopg.connect(server.dsn("postgres"), autocommit=True) as session:
            assert session.execute("SHOW is_superuser").fetchone() == ("on",)
            session.execute("SELECT lo_from_bytea(77777, 'x')")
            yield Prison(session, outside, other.pid, request.param)
    finally:
        other.kill()
        other.wait()
        server.stop()
        shutil.rmtree(home)
        Path(f"/dev/shm/dpsql-test-{other.pid}").unlink(missing_ok=True)  # noqa: S108


WAYS = (
    "SELECT pg_read_file('{outside}/records')",
    "SELECT pg_read_binary_file('{outside}/records')",
    "SELECT pg_ls_dir('{outside}')",
    "SELECT lo_import('{outside}/records')",
    "SELECT lo_export(77777, '{outside}/exported')",
    "COPY (SELECT 1) TO '{outside}/copied'",
    "COPY (SELECT 1) TO '{outside}/records'",
    "CREATE TEMPORARY TABLE IF NOT EXISTS loot (line text); COPY loot FROM '{outside}/records'",
    "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'",
    "CREATE TEMPORARY TABLE IF NOT EXISTS loot (line text); COPY loot FROM PROGRAM 'id'",
    "CREATE TABLESPACE away LOCATION '{outside}/place'",
    "SELECT pg_read_binary_file('/proc/{process}/environ')",
    "SELECT pg_read_binary_file('/proc/{process}/cmdline')",
    "SELECT pg_read_binary_file('/proc/self/environ')",
    "SELECT pg_read_binary_file('/proc/self/maps')",
    "SELECT pg_ls_dir('/proc')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/etc')",
    "SELECT pg_ls_dir('/tmp')",
    "COPY (SELECT 1) TO '/dev/shm/dpsql-test-{process}'",
)


@pytest.mark.parametrize("way", WAYS)
def test_superuser_of_the_shadow_stays_inside(prison: Prison, way: str) -> None:
    """Neither files nor programs nor processes are in reach of SQL; without the sandbox all are."""
    objection = prison.tries(way.format(outside=prison.outside, process=prison.process))
    if not prison.shut:
        assert objection is None
        return
    assert objection is not None
    assert objection.startswith("could not ")
    assert {path.name for path in prison.outside.iterdir()} == {"place", "records"}
    assert (prison.outside / "records").read_text() == SECRET


def test_its_environment_is_empty(prison: Prison) -> None:
    """The server inherits nothing of ours, with the sandbox or without."""
    server = prison.session.info.backend_pid
    assert Path(f"/proc/{server}/environ").read_bytes().strip(b"\0") == b""
    assert os.environ


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_it_connects_to_nobody(prison: Prison, family: socket.AddressFamily) -> None:
    """A subscription would connect to other servers, over TCP or by a socket in the file system."""
    place = prison.outside / ".s.PGSQL.7654"
    place.unlink(missing_ok=True)
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.bind(str(place) if family == socket.AF_UNIX else ("127.0.0.1", 0))
        if family == socket.AF_UNIX:
            place.chmod(0o777)
        listening.listen()
        port = 7654 if family == socket.AF_UNIX else listening.getsockname()[1]
        host = prison.outside if family == socket.AF_UNIX else "127.0.0.1"
        came: list[bool] = []
        waiting = threading.Thread(target=_answer, args=(listening, came))
        waiting.start()
        objection = prison.tries(
            f"CREATE SUBSCRIPTION s CONNECTION 'host={host} port={port} user=x' PUBLICATION p",
        )
        with socket.socket(family, socket.SOCK_STREAM) as last:
            last.connect(listening.getsockname())
            last.sendall(b"end")
        waiting.join()
    place.unlink(missing_ok=True)
    assert objection is not None
    assert came == ([] if prison.shut else [True])


def _answer(listening: socket.socket, came: list[bool]) -> None:
    """Note who comes, until the test itself does."""
    while True:
        caller, _ = listening.accept()
        with caller:
            if caller.recv(3) == b"end":
                return
            came.append(True)


STOPPED = frozenset(
    "read write chmod chown setxattr truncate rename signal limit pidfd trace unix tcp udp udp6 netlink datagram pair"
    " execute memfd inotify".split()
)
LEFT = frozenset({"stat"})
"""What Landlock does not cover: whether a file is there, how large it is, and when it changed."""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
def test_foreign_code_in_the_server_stays_inside(prison: Prison, tmp_path: Path) -> None:
    """Code that the superuser writes into the server's own directory does run, and reaches nothing that matters."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    place = prison.outside / "socket"
    listening.bind(str(place))
    place.chmod(0o777)
    listening.listen()
    names = {"PROCESS": str(prison.process), "SOCKET": f'"{place}"', "RECORDS": f'"{prison.outside}/records"'}
    defined = [f"-D{name}={value}" for name, value in names.items()]
    source = Path(__file__).with_name("native.c")
    subprocess.run(["cc", "-shared", "-fPIC", *defined, "-o", tmp_path / "native.so", source], check=True)  # noqa: S603, S607
    session = prison.session
    (row,) = session.execute("SELECT lo_from_bytea(0, %s)", [(tmp_path / "native.so").read_bytes()])
    session.execute("SELECT lo_export(%s, 'native.so')", row)
    objection = prison.tries(f"LOAD '{session.execute('SHOW data_directory').fetchall()[0][0]}/native.so'")
    listening.close()
    place.unlink()
    assert objection is not None
    assert "magic block" in objection  # it was loaded, and ran
    told = session.execute("SELECT pg_read_file('attempts')").fetchall()[0][0]
    results = {name: int(number) for name, number in (line.split() for line in told.splitlines())}
    assert results.keys() == STOPPED | LEFT
    done = {name for name, number in results.items() if number == 0}
    assert done == (LEFT if prison.shut else STOPPED | LEFT)


@pytest.fixture
def bare_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that the kernel has no Landlock."""
    monkeypatch.setattr("dpsql.shadow.server.sandbox.landlock_version", lambda: 0)


def test_required_sandbox_is_a_condition(bare_kernel: None, tmp_path: Path) -> None:  # noqa: ARG001
    """A server whose configuration wants one does not start without."""
    config = load(configure(tmp_path))
    shadow = EmbeddedShadow(tmp_path / "shadow", sandbox=SandboxNeed.REQUIRED)
    with pytest.raises(ConfigError, match=r"requires a sandbox: .* no Landlock"):
        asyncio.run(_sandbox_of(replace(config, shadow=shadow)))


@pytest.fixture
def config() -> Iterator[Config]:
    """Give a configuration in a directory that the shadow's account can enter."""
    with tempfile.TemporaryDirectory(prefix="dpsql-sandbox-") as place:
        Path(place).chmod(0o711)
        yield load(with_shadow(configure(Path(place))))


def test_missing_sandbox_is_told(bare_kernel: None, config: Config, caplog: pytest.LogCaptureFixture) -> None:  # noqa: ARG001
    """Else it starts, and says in one line what is missing and what that means."""
    sandbox = asyncio.run(_sandbox_of(config))
    assert sandbox == Sandbox(0, filtered=True)
    told = [record.getMessage() for record in caplog.records if record.name == "dpsql.server"]
    assert told == [f"the sandbox is not whole: {sandbox}"]
    assert "because this kernel has no Landlock: a superuser of it" in told[0]


def test_whole_sandbox_is_the_default(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    """A server without a word about it in its configuration shuts the shadow in, and has nothing to say."""
    sandbox = asyncio.run(_sandbox_of(config))
    assert sandbox == Sandbox.of_kernel()
    assert caplog.records == []


async def _sandbox_of(config: Config) -> Sandbox:
    async with Server(config) as server:
        return server._shadow.sandbox
