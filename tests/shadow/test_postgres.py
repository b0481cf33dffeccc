"""The server as a child: it starts, goes with its parent, and never meets another of its kind."""

import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from dpsql.errors import ConfigError
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Role, Table
from dpsql.shadow.contents.build import Change, ensure_shadow, needed_change
from dpsql.shadow.server import directory as server_directory
from dpsql.shadow.server.directory import SystemAccount
from dpsql.shadow.server.postgres import Postgres
from tests.support import clusters
from tests.support.fix_shadow import POLICY, USERS, zone_rows
from tests.support.forked import Forked

START = """
import signal
from pathlib import Path
from dpsql.shadow.server.postgres import Postgres
print(Postgres.start(Path({directory!r})).pid, flush=True)
signal.pause()
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")


def started_elsewhere(directory: Path) -> tuple[Forked, int]:
    """Start the server in another process; return that process and the server's id."""
    parent = Forked([], before=START.format(directory=str(directory)))
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


def kill(parent: Forked) -> None:
    """Kill a process so that it can't do anything about it."""
    assert parent.stdout is not None
    with parent.stdout:
        parent.kill()
        parent.wait(30)


@linux
def test_server_stops_when_its_parent_is_killed(shadow_directory: Path) -> None:
    """After kill -9 of dpsql no PostgreSQL is left."""
    clusters.prepare(shadow_directory / "killed")
    parent, server = started_elsewhere(shadow_directory / "killed")
    watched = os.pidfd_open(server)
    kill(parent)
    assert select.select([watched], [], [], 20)[0] == [watched]
    os.close(watched)


def test_server_starts_again_after_a_kill(shadow_directory: Path) -> None:
    """What a killed dpsql left behind does not stop the next one, even when the server is killed as well."""
    clusters.prepare(shadow_directory / "again")
    parent, server = started_elsewhere(shadow_directory / "again")
    os.kill(server, signal.SIGKILL)
    kill(parent)
    second = Postgres.start(shadow_directory / "again")
    assert second.alive
    second.stop()
    assert not second.alive


def test_two_can_not_share_a_directory(shadow: Postgres, shadow_directory: Path) -> None:
    """A second dpsql on the same directory is told so, and the first goes on."""
    with pytest.raises(ConfigError, match="another dpsql"):
        Postgres.start(shadow_directory / "shadow")
    assert shadow.alive


def test_socket_is_private(shadow: Postgres) -> None:
    """Only the server's own account and root get to the socket, and there is no other way in."""
    assert stat.S_IMODE(Path(shadow.address.directory).stat().st_mode) == 0o700
    with psycopg.connect(shadow.dsn("postgres")) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes accounts")
def test_root_does_not_run_the_server(shadow: Postgres) -> None:
    """The server's account is not root's."""
    assert Path(f"/proc/{shadow.pid}").stat().st_uid != 0


def test_long_path_gets_a_short_socket(shadow_directory: Path) -> None:
    """A socket's path has about a hundred bytes; the directory may have more."""
    server = clusters.start(shadow_directory / ("long" * 30) / "shadow")
    with psycopg.connect(server.dsn("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop()
    assert not Path(server.address.directory).exists()


@pytest.mark.parametrize("name", ["it's mine", 'a "place"', "back\\slash", "ü", "a b=c"])
def test_any_place_will_do(shadow_directory: Path, name: str) -> None:
    """As a home directory may be called."""
    server = clusters.start(shadow_directory / name / "shadow")
    with psycopg.connect(server.dsn("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PGCLIENTENCODING", "LATIN1"),
        ("PGOPTIONS", "-c search_path=nowhere -c default_transaction_read_only=on"),
        ("PGSSLMODE", "require"),
        ("PGGSSENCMODE", "require"),
        ("PGHOSTADDR", "192.0.2.1"),
        ("PGTARGETSESSIONATTRS", "standby"),
        ("PGREQUIREAUTH", "none"),
        ("PGCHANNELBINDING", "require"),
    ],
)
def test_the_environment_is_meant_for_other_servers(
    shadow: Postgres, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """An owner sets it for theirs."""
    monkeypatch.setenv(name, value)
    with psycopg.connect(shadow.dsn("postgres")) as connection:
        assert connection.execute("SELECT '€', current_setting('search_path')").fetchone() == ("€", '"$user", public')


def test_same_policy_is_built_once(shadow: Postgres) -> None:
    """The stamps tell that nothing is to do."""
    assert ensure_shadow(shadow, POLICY, USERS, zone_rows) is Change.NONE


def test_change_that_keeps_the_columns_is_made_in_place(shadow: Postgres) -> None:
    """Others make the database anew; so does another order of columns."""
    trips = POLICY.tables["trips"]

    def needed(table: Table = trips, users: Mapping[str, str] = USERS, epoch: str = "", **roles: Role) -> Change:
        policy = replace(POLICY, tables={**POLICY.tables, "trips": table}, roles={**POLICY.roles, **roles})
        return needed_change(shadow, policy, users, epoch=epoch)

    def with_column(column: Column) -> Table:
        return replace(trips, columns={**trips.columns, column.name: column})

    fare, guest = trips.columns["fare"], POLICY.roles["guest"]
    assert needed(replace(trips, description="other words")) is Change.IN_PLACE
    assert needed(with_column(replace(fare, description="other words"))) is Change.IN_PLACE
    assert needed(with_column(replace(fare, bounds=Interval.of(0, 7)))) is Change.IN_PLACE
    assert needed(users={**USERS, "new": "guest"}) is Change.IN_PLACE
    assert needed(guest=replace(guest, tables=frozenset())) is Change.IN_PLACE
    assert needed(epoch="another") is Change.IN_PLACE
    assert needed(with_column(replace(fare, declared="numeric(12,2)"))) is Change.ANEW
    assert needed(with_column(replace(fare, nullable=not fare.nullable))) is Change.ANEW
    assert needed(with_column(replace(fare, name="more"))) is Change.ANEW
    assert needed(replace(trips, columns=dict(reversed(list(trips.columns.items()))))) is Change.ANEW


def test_copied_programs_start(tmp_path: Path) -> None:
    """An account that can't reach the programs gets a copy that works."""
    account = SystemAccount(os.getuid() or 65534, os.getgid() or 65534)
    installed = server_directory.find_binaries()
    hidden = server_directory.Binaries(_unreachable(tmp_path, installed.directory), installed.major)
    copied = server_directory.executable_for(account, hidden, tmp_path)
    assert copied.directory.is_relative_to(tmp_path / f"postgresql-{installed.major}")
    for program in ("postgres", "initdb"):
        done = subprocess.run([copied.directory / program, "-V"], check=False, capture_output=True)  # noqa: S603
        assert done.returncode == 0, done.stderr


def _unreachable(tmp_path: Path, directory: Path) -> Path:
    """Return a path to the same programs through a directory that others may not enter."""
    home, package = tmp_path / "home", directory.parent.parent
    home.mkdir(mode=0o700)
    for path in (package, package.with_name(f"{package.name}.libs")):
        if path.exists():
            (home / path.name).symlink_to(path)
    return home / directory.relative_to(package.parent)
