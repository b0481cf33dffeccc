"""Temporary tables are bounded, and what a client stored for later sessions is taken back."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch import warden as warden_module
from dpsql.shadow.watch.warden import SessionLimits, ShadowSessions, Warden, memory_to_be_had

Connect = Callable[[str], psycopg.Connection]
_MIB = 1 << 20
_FILL = "create temp table {} as select repeat('x', 1000) as a from generate_series(1, {})"
_PATIENCE = 20.0


@pytest.fixture
def warden(shadow: Postgres) -> Iterator[Warden]:
    """Give one with small limits."""
    watching = Warden(shadow.dsn("postgres"), ShadowSessions(), SessionLimits(session=20 * _MIB, all=30 * _MIB))
    yield watching
    watching.close()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _ended(session: psycopg.Connection) -> bool:
    try:
        session.execute("select 1")
    except psycopg.OperationalError:
        return True
    return False


@pytest.mark.usefixtures("warden")
def test_one_session_can_not_fill_the_disk(connect: Connect) -> None:
    """Not with one statement that has not ended yet, and not bit by bit; a small table stays."""
    small = connect("gus")
    small.execute(_FILL.format("small", 1000).encode())
    with pytest.raises(psycopg.OperationalError, match="terminating connection"):
        connect("ana").execute(_FILL.format("large", 3_000_000).encode())
    many = connect("ana")
    with suppress(psycopg.OperationalError):  # it may be ended before the last
        for number in range(12):
            many.execute(_FILL.format(f"t{number}", 2_500).encode())
    _until(lambda: _ended(many))
    assert small.execute("select count(*) from small").fetchone() == (1000,)


@pytest.mark.usefixtures("warden")
def test_all_sessions_together_can_not(connect: Connect) -> None:
    """Each below its own limit; the largest goes, which it is also while the other one grows."""
    larger, smaller = (connect("ana") for _ in range(2))
    larger.execute(_FILL.format("t", 16_500).encode())
    smaller.execute(_FILL.format("t", 15_500).encode())
    _until(lambda: _ended(larger))
    assert not _ended(smaller)


def test_one_user_can_not_take_all_memory(shadow: Postgres, connect: Connect) -> None:
    """Sessions that are each below their own limit: of who has most the largest ends, and others stay as they are."""
    mine = "declare c cursor for select repeat('x', {}); fetch c"
    others = connect("gus")
    others.execute("begin")
    others.execute(mine.format(120_000_000).encode())
    sessions = [connect("ana") for _ in range(4)]
    with closing(Warden(shadow.dsn("postgres"), ShadowSessions(), SessionLimits(memory=400 * _MIB))):
        for session in sessions:
            with suppress(psycopg.OperationalError):
                session.autocommit = False
                session.execute(mine.format(80_000_000).encode())
        _until(lambda: any(session.closed or _ended(session) for session in sessions))
        assert others.execute("select 1").fetchone() == (1,)


@pytest.mark.usefixtures("warden")
def test_stored_settings_are_taken_back(connect: Connect, shadow: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    """PostgreSQL lets every role store some for itself; the operator's log says who did."""
    with caplog.at_level(logging.ERROR, "dpsql.shadow"):
        connect("ana").execute("alter role ana set search_path = 'pg_temp'")
        with psycopg.connect(shadow.dsn("postgres"), autocommit=True) as owner:
            _until(
                lambda: owner.execute("select count(*) from pg_db_role_setting where setrole <> 0").fetchone() == (0,)
            )
        _until(lambda: "ana" in caplog.text)
    path = connect("ana").execute("show search_path").fetchone()
    assert path == ('"$user", public',)


def test_changed_password_is_set_back(connect: Connect, shadow: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    """PostgreSQL lets every role change its own, by which dpsql logs it in; its users would be locked out."""
    connect("ana").execute("alter role ana password 'mine'")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect("ana")
    with (
        caplog.at_level(logging.ERROR, "dpsql.shadow"),
        closing(Warden(shadow.dsn("postgres"), ShadowSessions())),
    ):
        _until(lambda: "password that ana" in caplog.text)
    assert connect("ana").execute("select 1").fetchone() == (1,)


def test_it_goes_on_after_its_session_is_lost(connect: Connect, shadow: Postgres, warden: Warden) -> None:
    """A shadow that was restarted is watched as before."""
    with psycopg.connect(shadow.dsn("postgres"), autocommit=True) as owner:
        _until(lambda: warden._connection is not None)
        owner.execute(
            "select pg_terminate_backend(pid) from pg_stat_get_activity(null) where usesysid = 10 and pid <> pg_backend_pid()"
        )
    with pytest.raises(psycopg.OperationalError, match="terminating connection"):
        connect("ana").execute(_FILL.format("large", 3_000_000).encode())


def test_a_file_that_goes_away_meanwhile_has_no_size(shadow: Postgres) -> None:
    """A session whose files are all gone by the time they are looked at takes nothing, and the others are looked at."""
    gone = warden_module._TEMPORARY_FILES.replace(
        warden_module._FILES, "SELECT NULL::integer, pg_backend_pid(), NULL::bigint"
    )
    with psycopg.connect(shadow.dsn("taxi")) as connection:
        rows = connection.execute(gone.encode()).fetchall()
    assert [size for _, size in rows] == [0]


def test_a_containers_memory_is_what_there_is(tmp_path: Path) -> None:
    """The least that this process's group, or one that it is in, may have; without one what the machine has."""
    own, inner = tmp_path / "own", tmp_path / "groups/a/b"
    inner.mkdir(parents=True)
    machine = memory_to_be_had(tmp_path / "groups", own)
    own.write_text("0::/a/b\n")
    assert memory_to_be_had(tmp_path / "groups", own) == machine
    (inner / "memory.max").write_text("max\n")
    assert memory_to_be_had(tmp_path / "groups", own) == machine
    (inner.parent / "memory.max").write_text("1048576\n")
    assert memory_to_be_had(tmp_path / "groups", own) == 2**20
