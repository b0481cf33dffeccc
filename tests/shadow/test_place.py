"""Whose the shadow's files are; what its account plants in its directories leads root nowhere."""

import json
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.errors import ConfigError
from dpsql.shadow.server.directory import ACCOUNT_NAME, SystemAccount, home_of, last_words
from dpsql.shadow.server.postgres import OWNER, Postgres
from tests.support import clusters
from tests.support.ordinary import NOBODY, ordinary_python

SECRET = "a record of a person"  # noqa: S105

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes accounts")


@pytest.fixture
def home() -> Iterator[Path]:
    """Give a directory that every account may pass through."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-place-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def account() -> SystemAccount:
    """Return the account that the shadow has under root."""
    system_account = SystemAccount.for_server()
    assert system_account is not None
    return system_account


def _modes(home: Path) -> dict[str, tuple[int, str]]:
    """Return the owner and the mode of the directory and of what is in it."""
    statuses = {path.name: path.stat() for path in home.iterdir()} | {".": home.stat()}
    return {name: (status.st_uid, f"{stat.S_IMODE(status.st_mode):o}") for name, status in statuses.items()}


@as_root
def test_root_keeps_all_but_two_directories(home: Path) -> None:
    """The server's account owns its data and its socket's directory; it may read two files, and change none."""
    server = Postgres.start(home / "shadow")
    theirs = Path(f"/proc/{server.pid}").stat().st_uid
    assert _modes(home / "shadow") == {
        ".": (0, "711"),
        "data": (theirs, "700"),
        "sockets": (theirs, "700"),
        "log": (0, "600"),
        "lock": (0, "600"),
        "cluster": (0, "600"),
        "pg_hba.conf": (0, "640"),
        "pg_ident.conf": (0, "640"),
    }
    socket = Path(server.address.path).stat()
    assert (socket.st_uid, stat.S_IMODE(socket.st_mode)) == (theirs, 0o700)
    server.stop()


_AS_USER = """
import json, sys
from pathlib import Path
from dpsql.shadow.server.postgres import Postgres
from tests.shadow.test_place import _modes
server = Postgres.start(Path(sys.argv[1]))
print(json.dumps(_modes(Path(sys.argv[1]))))
server.stop()
"""


@as_root
def test_ordinary_user_keeps_everything_private(home: Path) -> None:
    """Without root there is one account, and nobody else enters."""
    os.chown(home, NOBODY, NOBODY)
    done = subprocess.run(  # noqa: S603
        [ordinary_python(), "-c", _AS_USER, str(home / "shadow")],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env={
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    directories = {name: [NOBODY, "700"] for name in (".", "data", "sockets")}
    files = {name: [NOBODY, "600"] for name in ("log", "lock", "cluster", "pg_hba.conf", "pg_ident.conf")}
    assert json.loads(done.stdout) == directories | files


def _as_account(account: SystemAccount, code: str, *arguments: object) -> str:
    """Run a little Python as the shadow's account; return its complaint."""
    return subprocess.run(  # noqa: S603
        [ordinary_python(), "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        user=account.uid,
        group=account.gid,
        extra_groups=[],
    ).stderr


_PLANT = """
import os, sys
place, target = sys.argv[1:]
if os.path.lexists(place): os.rename(place, place + ".old")
os.symlink(target, place)
"""
_RESTORE = """
import os, sys
place = sys.argv[1]
if os.path.lexists(place): os.unlink(place)
if os.path.lexists(place + ".old"): os.rename(place + ".old", place)
"""
_READ_BY_ROOT_BEFORE = (
    "postmaster.pid",
    "PG_VERSION",
    "postgresql.conf",
    "postgresql.auto.conf",
    "pg_hba.conf",
    "base",
)


def _refusal(directory: Path) -> str:
    """Start and stop a server; return why it did not start, if it did not."""
    try:
        Postgres.start(directory).stop()
    except ConfigError as refused:
        return f"{refused} {refused.hint}"
    return ""


@as_root
def test_planted_links_are_not_followed(home: Path, account: SystemAccount, caplog: pytest.LogCaptureFixture) -> None:
    """The account puts links to root's file where root used to read and write; the file stays as it was, and unread."""
    clusters.start(home / "shadow").stop()
    victim = home / "victim"
    victim.write_text(SECRET)
    victim.chmod(0o600)
    before = victim.stat()
    for place in (home / "shadow" / "data" / name for name in _READ_BY_ROOT_BEFORE):
        assert _as_account(account, _PLANT, place, victim) == ""
        with caplog.at_level(logging.DEBUG):
            said = _refusal(home / "shadow")
        assert SECRET not in said + caplog.text + (home / "shadow" / "log").read_text()
        assert _as_account(account, _RESTORE, place) == ""
    after = victim.stat()
    assert victim.read_text() == SECRET
    assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (before.st_mode, before.st_uid, before.st_mtime_ns)


@as_root
def test_what_root_writes_can_not_be_replaced(home: Path, account: SystemAccount) -> None:
    """The directory itself is root's: the account can put nothing in the place of another file."""
    clusters.start(home / "shadow").stop()
    for name in ("log", "lock", "cluster", "pg_hba.conf", "pg_ident.conf", "data", "sockets", "password"):
        assert "PermissionError" in _as_account(account, _PLANT, home / "shadow" / name, "/etc/passwd")


@as_root
def test_process_that_the_account_names_lives_on(home: Path, account: SystemAccount) -> None:
    """A process id in the server's own file is not believed, whatever the process is called."""
    clusters.start(home / "shadow").stop()
    data = home / "shadow" / "data"
    command = ["/bin/sh", "-c", "read line", "postgres", "-D", str(data)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd="/") as roots:  # noqa: S603
        note = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
        assert _as_account(account, note, data / "postmaster.pid", f"{roots.pid}\n{data}\n") == ""
        Postgres.start(home / "shadow").stop()
        assert roots.poll() is None
        roots.kill()


@as_root
def test_foreign_directory_is_refused(home: Path) -> None:
    """Whoever owns the directory could put links into it while root works there."""
    (home / "shadow").mkdir()
    os.chown(home / "shadow", NOBODY, NOBODY)
    with pytest.raises(ConfigError, match="belongs to another account"):
        Postgres.start(home / "shadow")


@as_root
@pytest.mark.parametrize(("owner", "mode"), [(NOBODY, 0o711), (0, 0o777), (0, 0o700)], ids=["owned", "open", "closed"])
def test_root_moves_out_of_a_directory_that_is_not_fit(home: Path, owner: int, mode: int) -> None:
    """Whoever can replace the directory could lead root elsewhere; and its account has to get there."""
    account = SystemAccount.for_server()
    os.chown(home, owner, owner)
    home.chmod(mode)
    moved = home_of(home / "below" / "shadow", account)
    assert moved.parent == Path("/var/cache/dpsql")
    assert list(home.iterdir()) == []
    moved.rmdir()
    home.chmod(0o711)
    os.chown(home, 0, 0)
    assert home_of(home / "below" / "shadow", account) == home / "below" / "shadow"


@as_root
def test_account_is_the_shadows_own(home: Path, account: SystemAccount) -> None:
    """Root makes one if there is none; never nobody, which is not one alone, and never root."""
    assert account == SystemAccount.for_server(ACCOUNT_NAME)
    assert account.uid not in (0, NOBODY)
    for name in ("root", "nobody"):
        with pytest.raises(ConfigError, match="can't run as"):
            Postgres.start(home / "shadow", account=name)
    with pytest.raises(ConfigError, match='no account "dpsql-missing"'):
        Postgres.start(home / "shadow", account="dpsql-missing")


def test_log_is_shown_without_what_terminals_obey(tmp_path: Path) -> None:
    """Code in the server can write to its log, as much as it likes; the operator is shown the end."""
    log = tmp_path / "log"
    log.write_bytes(b"x" * 10_000_000 + b"\nFATAL: no\x1b]0;title\x07 \xff\n")
    shown = last_words(log)
    assert shown.endswith("x\nFATAL: no?]0;title? \N{REPLACEMENT CHARACTER}\n")
    assert len(shown) < 5000


def test_only_root_names_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who isn't root has one account, and naming it changes nothing."""
    monkeypatch.setattr("os.geteuid", lambda: NOBODY)
    assert SystemAccount.for_server("nobody") is None
    with pytest.raises(ConfigError, match="because dpsql is not root"):
        SystemAccount.for_server("root")


def test_log_in_needs_the_secret(shadow: Postgres) -> None:
    """Who reaches the socket is not let in; no role has another way, not even the owner."""
    where = f"host='{shadow.address.directory}' dbname=postgres"
    for user in (OWNER, "ana"):
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(f"{where} user={user}")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(f"{where} user={user} password=guess")
    with psycopg.connect(shadow.dsn("postgres")) as connection:
        rules = connection.execute("SELECT type, database, user_name, auth_method, error FROM pg_hba_file_rules")
        assert rules.fetchall() == [("local", ["all"], ["all"], "password", None)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("server_too", [True, False])
def test_sessions_that_hang_are_ended(home: Path, *, server_too: bool) -> None:
    """A session that heeds nothing outlives its server and keeps the next from starting; it is ended first."""
    first = clusters.start(home / "shadow")
    with psycopg.connect(first.dsn("postgres")) as connection:
        session = connection.info.backend_pid
        os.kill(session, signal.SIGSTOP)
        if server_too:
            os.kill(first.pid, signal.SIGKILL)
        first._lock.close()  # as if its dpsql had been killed
        second = Postgres.start(home / "shadow")
        assert second.alive
        assert not Path(f"/proc/{session}").exists() or "Z" in Path(f"/proc/{session}/stat").read_text().split()[2]
    second.stop()
    first._child.wait(10)
