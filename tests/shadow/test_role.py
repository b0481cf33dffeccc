"""What a client's role may not do, each tried."""

from collections.abc import Callable

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres

Connect = Callable[[str], psycopg.Connection]

DENIED = [
    "select pg_sleep(1)",
    "select pg_sleep_for('1 s')",
    "select pg_advisory_lock(1)",
    "select pg_advisory_xact_lock(1)",
    "select pg_try_advisory_lock(1)",
    "select pg_notify('x', 'y')",
    "select pg_notification_queue_usage()",
    "select pg_stat_get_activity(null)",
    "select pg_stat_get_backend_activity(1)",
    "select pg_lock_status()",
    "select pg_safe_snapshot_blocking_pids(1)",
    "select pg_prepared_xact()",
    "select pg_stat_get_wal()",
    "select pg_stat_get_io()",
    "select pg_stat_get_slru()",
    "select pg_stat_get_buf_alloc()",
    "select ev_action from pg_rewrite",
    "select dpsql_pg_get_viewdef('pg_views'::regclass)",
    "select dpsql_pg_get_expr(adbin, adrelid) from pg_attrdef",
    "select dpsql_pg_blocking_pids(1)",
    "set temp_file_limit = -1",
    "set session authorization dpsql_owner",
    "set role dpsql_owner",
    "do $$begin end$$",
    "create function pg_temp.f() returns int language sql as 'select 1'",
    "create function pg_temp.f() returns int language plpgsql as 'begin return 1; end'",
    "create function pg_temp.g() returns int language sql return 1",
    "create table x (a int)",
    "create schema s",
    "create database d",
    "create role r",
    "select lo_create(0)",
    "select lo_from_bytea(0, 'x')",
    "select pg_read_file('/etc/passwd')",
    "select pg_read_binary_file('/etc/passwd')",
    "select pg_stat_file('.')",
    "select pg_ls_dir('.')",
    "select * from pg_ls_waldir()",
    "copy zones to '/tmp/x'",
    "copy (select 1) to program 'id'",
    "load 'plpgsql'",
    "select current_setting('data_directory')",
    "select * from pg_authid",
    "select * from pg_hba_file_rules",
    "select * from pg_file_settings",
    "comment on table trips is 'x'",
    "grant select on secrets to gus",
    "create temp table t (a int); create index on t (a)",
    "select * from ts_stat('select null::tsvector')",
    "select ts_rewrite('a'::tsquery, 'select null::tsquery, null::tsquery')",
    "begin; lock table zones in access exclusive mode",
    "select pg_export_snapshot()",
    "select pg_switch_wal()",
    "select pg_reload_conf()",
    "alter system set fsync = on",
    "begin; prepare transaction 'x'",
    "truncate zones",
    "insert into zones values (99, 'x')",
    "set session_replication_role = replica",
    "set log_statement = 'all'",
    "select pg_stat_reset()",
    "select pg_logical_emit_message(false, 'a', 'b')",
    "select pg_log_backend_memory_contexts(1)",
    "select query_to_xml('select 1', true, true, '')",
    "select table_to_xml('trips', true, true, '')",
    "select * from pg_dpsql.declared",
    "select * from pg_dpsql.stamp",
    "alter table trips disable row level security",
    "drop policy dpsql on trips",
    "create or replace function pg_dpsql.tripwire(t text) returns bool language plpgsql as 'begin return true; end'",
]


@pytest.mark.parametrize("statement", DENIED)
def test_role_is_denied(connect: Connect, statement: str) -> None:
    """It fails, and not because the statement is misspelt."""
    with pytest.raises(psycopg.Error) as caught:
        connect("ana").execute(statement.encode())
    assert caught.value.sqlstate in ("42501", "0A000", "55000", "25001", "2F003")


def test_what_only_warns_does_nothing(connect: Connect) -> None:
    """PostgreSQL answers this with a warning and leaves the table alone."""
    connection = connect("ana")
    connection.execute("analyze trips")
    assert connection.execute("select 1 from pg_stats where tablename = 'trips'").fetchall() == []


def test_role_reads_and_keeps_temporary_tables(connect: Connect) -> None:
    """What tools need works."""
    connection = connect("ana")
    connection.execute("create temp table kept as select * from zones")
    assert connection.execute("select count(*) from kept").fetchone() == (10,)
    connection.execute("select pg_advisory_unlock_all()")
    connection.execute("discard all")


def test_own_sessions_are_seen_and_signalled_and_no_others(connect: Connect) -> None:
    """A tool's stop button finds the session of its user, and nobody else's."""
    ours, same, other = connect("ana"), connect("ana"), connect("gus")
    seen = {pid for (pid,) in ours.execute("select pid from pg_stat_activity").fetchall()}
    assert {ours.info.backend_pid, same.info.backend_pid} <= seen
    assert other.info.backend_pid not in seen
    for function in ("pg_cancel_backend", "pg_terminate_backend"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ours.execute(f"select {function}(%s)".encode(), (other.info.backend_pid,))
    ours.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid = %s", (same.info.backend_pid,))
    with pytest.raises(psycopg.OperationalError):
        same.execute("select 1")


def test_other_databases_are_closed(shadow: Postgres) -> None:
    """A client's role gets into the data set's database only."""
    for database in ("postgres", "template1"):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            psycopg.connect(shadow.dsn(database, "ana"))


OTHERS = ["dpsql_clients", "dpsql_views", "dpsql_oracle", "dpsql_owner", "gus", "pg_monitor"]
AS_ANOTHER = [
    "set {setting} = '{role}'",
    "set local {setting} to '{role}'",
    "select set_config('{setting}', '{role}', false)",
    "select pg_catalog.set_config('{setting}', '{role}', true)",
    "select pg_catalog.dpsql_set_config('{setting}', '{role}', false)",
    "with a as materialized (select set_config(upper('{setting}'), lower('{role}'), false)) select * from a",
    "select set_config(left('{setting}', 2) || substr('{setting}', 3), n, false) from (values ('{role}')) v(n)",
    "prepare p as select set_config($1, $2, false); execute p ('{setting}', '{role}')",
    "create temp table t as select set_config('{setting}', '{role}', false)",
    "begin; declare c cursor for select set_config('{setting}', '{role}', false); fetch c",
    "copy (select set_config('{setting}', '{role}', false)) to stdout",
    "select set_config(E'\\x{first:x}' || substr('{setting}', 2), '{role}', false)",
]
"""Ways to be somebody else, also those that the wire does not pass on."""


@pytest.mark.parametrize("setting", ["role", "session_authorization"])
@pytest.mark.parametrize("way", AS_ANOTHER)
def test_no_session_becomes_another(connect: Connect, shadow: Postgres, way: str, setting: str) -> None:
    """Whatever it says: there is no role that a user's could take, not even that of which all users are members."""
    for role in OTHERS:
        connection = connect("ana")
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(way.format(setting=setting, role=role, first=ord(setting[0])).encode())
        assert caught.value.sqlstate in ("42501", "22023"), (role, caught.value)
        connection.execute("rollback")
        assert connection.execute("select current_user, session_user").fetchone() == ("ana", "ana")
        with pytest.raises(psycopg.OperationalError, match=r"permission denied|must be"):
            psycopg.connect(shadow.dsn("taxi", "ana"), options=f"-c {setting}={role}")


def test_settings_of_who_a_session_is_have_no_rows_to_change(connect: Connect) -> None:
    """`UPDATE pg_settings` sets what the view shows, by PostgreSQL's own function."""
    connection = connect("ana")
    for setting in ("role", "session_authorization"):
        connection.execute("update pg_settings set setting = 'dpsql_clients' where name = %s", (setting,))
    assert connection.execute("select current_user, session_user").fetchone() == ("ana", "ana")


def test_drivers_may_say_that_nobody_else_is_meant(connect: Connect) -> None:
    """Pools reset a session so; the words of SET, and nothing at all."""
    connection = connect("ana")
    for words in ("'role', 'none'", "'role', null", "'session_authorization', null"):
        connection.execute(f"select set_config({words}, false)".encode())
    for statement in ("reset role", "set role none", "reset session authorization", "discard all"):
        connection.execute(statement.encode())
    assert connection.execute("select current_user, session_user").fetchone() == ("ana", "ana")
