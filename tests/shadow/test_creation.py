"""What a client may create in the shadow, whatever the wire let through."""

from collections.abc import Callable

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres

Connect = Callable[[str], psycopg.Connection]

REFUSED = [
    "create view v as select 1",
    "create view public.v as select 1",
    "alter view pg_temp.seen rename to w",
    "alter table seen rename to w",
    "create materialized view pg_temp.v as select 1",
    "create temp sequence s",
    "create domain pg_temp.d as int",
    "create type pg_temp.c as (a int)",
    "create type pg_temp.e as enum ('a')",
    "create type pg_temp.r as range (subtype = int)",
    "create aggregate pg_temp.a(int) (sfunc = int4pl, stype = int)",
    "create operator pg_temp.=== (leftarg = int, rightarg = int, function = int4eq)",
    "create cast (text as int) with inout as implicit",
    'create collation pg_temp.c from "C"',
    "create text search dictionary pg_temp.d (template = simple)",
    "create schema authorization current_user",
    "create schema s create view v as select 1",
    "create extension vector",
    "create rule r as on select to kept do instead select 1",
    "create trigger t before insert on kept execute function suppress_redundant_updates_trigger()",
    "create index on kept (a)",
    "create statistics pg_temp.s on a, b from kept",
    "create policy p on kept",
    "create publication p",
    "create foreign data wrapper w",
    "create event trigger e on ddl_command_start execute function pg_dpsql.check_command()",
    "alter table kept rename to pg_authid",
    "alter table kept add check (a > 0)",
    "alter event trigger dpsql_command disable",
    "alter default privileges grant select on tables to public",
    "comment on table zones is 'hello'",
    "comment on column zones.zone is 'hello'",
    "comment on role ana is 'hello'",
    "comment on database taxi is 'hello'",
    "security label on table kept is 'x'",
    "grant select on kept to public",
    "drop schema dpsql cascade",
    "drop owned by current_user",
    "reassign owned by current_user to public",
    "import foreign schema s from server w into pg_temp",
]
PLANNING = [
    "select set_config('datestyle', 'German', false)",
    "create table public.t (a int)",
    "create function public.f() returns void language sql begin atomic select 1; end",
    "create function pg_temp.g() returns void language plpgsql as 'begin end'",
    "create or replace function pg_dpsql.masked() returns boolean language sql return true",
    "create temp table trips (a int)",
    "create temp table u as select 1 as a",
    "create temp view v as select 1",
    "drop table t",
    "alter table t add check (a > 0)",
    "select * from trips",
]
"""What is refused to the user as whom planning asks."""
ALLOWED = [
    "create temp table t (a int primary key, b text default 'x', check (a > 0))",
    "create temp table t on commit drop as select 1 as a",
    "create local temporary table if not exists t (like kept including all)",
    "select 1 as a into temp t",
    "create table pg_temp.t (a int)",
    "drop table kept cascade",
    "create temp view v as select 1 as a",
    "create or replace temp view seen as select a, a as b from kept",
    "create temp recursive view v (n) as select 1",
    "create view pg_temp.v as select 1",
    "drop view seen",
]
TAKEN = ["pg_authid", "pg_database", "pg_class", "pg_stat_activity", "text", "date", "int4", "bool", "trips", "zones"]


@pytest.fixture
def client(connect: Connect) -> psycopg.Connection:
    """Give a client's session with a temporary table."""
    session = connect("ana")
    session.execute("create temp table kept (a int, b int)")
    session.execute("create temp view seen as select a from kept")
    return session


@pytest.mark.parametrize("statement", REFUSED)
def test_only_temporary_tables_are_created(client: psycopg.Connection, statement: str) -> None:
    """Everything else that would be in the catalogue is refused by the server itself."""
    with pytest.raises(psycopg.Error) as caught:
        client.execute(statement.encode())
    assert caught.value.sqlstate in ("42501", "0A000", "42704", "2BP01", "42710")


@pytest.mark.parametrize("statement", ALLOWED)
def test_temporary_tables_are_created(client: psycopg.Connection, statement: str) -> None:
    """In every way to write it."""
    client.execute(statement.encode())


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize(
    "form",
    [
        "create temp table {} (a int)",
        "create temp table {} as select 1 as a",
        "select 1 as a into temp {}",
        "create or replace temp view {} as select 1 as a",
    ],
)
def test_names_of_others_are_not_taken(client: psycopg.Connection, name: str, form: str) -> None:
    """Neither a table nor a type of PostgreSQL's, nor a declared table, is hidden by a temporary one."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="another's name"):
        client.execute(form.format(f'"{name}"').encode())
    assert client.execute(
        "select count(*) from pg_class where relname = %s and relpersistence = 't'", (name,)
    ).fetchone() == (0,)


def test_comments_are_taken_and_not_kept(client: psycopg.Connection, shadow: Postgres) -> None:
    """Nothing that one client writes is read by another; and the client hears that."""
    told: list[str | None] = []
    client.add_notice_handler(lambda notice: told.append(notice.message_primary))
    with psycopg.connect(shadow.dsn("taxi"), autocommit=True) as owner:
        before = owner.execute("select * from pg_description").fetchall()
        for thing in ("table kept", "column kept.a", "view seen", "type kept"):
            client.execute(f"comment on {thing} is 'hello'".encode())
        assert owner.execute("select * from pg_description").fetchall() == before
    assert told == ["comments of temporary tables are not kept, because all clients would see them"] * 4


def test_explain_fires_no_event_trigger(client: psycopg.Connection) -> None:
    """The server lets EXPLAIN ANALYZE take any name for a temporary table, which is why the wire does not pass it on."""
    client.execute("explain analyze select 1 as a into temp pg_database")
    assert client.execute("select * from pg_temp.pg_database").fetchall() == [(1,)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        client.execute("explain analyze create materialized view public.m as select 1")


def test_settings_can_not_be_stored_by_privilege_of_planning(connect: Connect) -> None:
    """The session that plans creates nothing but temporary tables and functions, and sets nothing by function."""
    session = connect("dpsql_oracle")
    session.execute("create temp table t (a int)")
    session.execute("create function pg_temp.f() returns void language sql begin atomic select 1; end")
    for statement in PLANNING:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(statement.encode())


def test_a_name_that_was_taken_is_noticed(connect: Connect, shadow: Postgres) -> None:
    """Were a declared table's name taken all the same, the wire asks `pg_dpsql.masked` before each private statement."""
    session = connect("ana")
    with psycopg.connect(shadow.dsn("taxi"), autocommit=True) as owner:
        owner.execute("alter event trigger dpsql_names disable")
        try:
            assert session.execute("select pg_dpsql.masked()").fetchone() == (False,)
            session.execute("create temp table trips (a int)")
        finally:
            owner.execute("alter event trigger dpsql_names enable")
    assert session.execute("select pg_dpsql.masked()").fetchone() == (True,)
