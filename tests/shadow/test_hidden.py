"""What one client's catalogue says of another client."""

from collections.abc import Callable

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres

Connect = Callable[[str], psycopg.Connection]

SIZES = [
    "pg_relation_size({oid}::regclass)",
    "pg_relation_size({oid}::regclass, 'main')",
    "pg_table_size({oid}::regclass)",
    "pg_indexes_size({oid}::regclass)",
    "pg_total_relation_size({oid}::regclass)",
    "pg_database_size(current_database())",
    "pg_tablespace_size('pg_default')",
]
_REPLACED = """
  select count(*) from pg_proc
   where proname ~ '^pg_(relation|table|indexes|total_relation|database|tablespace)_size$' and prosqlbody is null"""


@pytest.mark.parametrize("size", SIZES)
def test_sizes_say_nothing_of_temporary_tables(connect: Connect, size: str) -> None:
    """They are the same before and after somebody fills one."""
    ana, gus = connect("ana"), connect("gus")
    ana.execute("create temp table kept (a text, primary key (a))")
    ((oid,),) = ana.execute("select 'kept'::regclass::oid").fetchall()
    asked = f"select {size}".format(oid=oid).encode()
    before = gus.execute(asked).fetchone()
    ana.execute("insert into kept select n::text from generate_series(1, 10000) as n")
    assert gus.execute(asked).fetchone() == before
    ana.execute("drop table kept")


def test_sizes_would_tell(shadow: Postgres) -> None:
    """PostgreSQL's own function, under another name, sees the rows: that no client has it is what counts."""
    with psycopg.connect(shadow.dsn("taxi")) as owner:
        owner.execute(
            "create function pg_temp.size(regclass, text) returns bigint language internal as 'pg_relation_size'"
        )
        owner.execute("create temp table kept as select generate_series(1, 10000)")
        assert owner.execute("select pg_temp.size('kept', 'main') > 100000").fetchone() == (True,)
        assert owner.execute(_REPLACED).fetchone() == (0,)
        owner.rollback()


def test_sizes_of_declared_tables_are_shown(connect: Connect) -> None:
    """Tools show them beside names."""
    row = (
        connect("ana")
        .execute("select pg_size_pretty(pg_table_size('zones')), pg_total_relation_size('zones')")
        .fetchone()
    )
    assert row == ("8192 bytes", 24576)


COUNTED = (
    "select reltuples, relpages from pg_class where oid = {oid}",
    "select * from pg_stat_all_tables where relid = {oid}",
    "select * from pg_stat_user_tables where relid = {oid}",
    "select * from pg_statio_all_tables where relid = {oid}",
    "select * from pg_stat_all_indexes where relid = {oid}",
    "select pg_stat_get_live_tuples({oid}), pg_stat_get_tuples_inserted({oid}), pg_stat_get_blocks_hit({oid})",
    "select tup_inserted, tup_returned, temp_bytes from pg_stat_database where datname = 'taxi'",
    "select * from pg_stat_io",
    "select last_value from pg_sequences",
)


@pytest.mark.parametrize("asked", COUNTED)
def test_counters_say_nothing_of_temporary_tables(connect: Connect, shadow: Postgres, asked: str) -> None:
    """How many rows one has is the number of groups of an answer, which partition selection may have found."""
    ana, gus = connect("ana"), connect("gus")
    ana.execute("create temp table kept (a text, n serial primary key)")
    ((oid,),) = ana.execute("select 'kept'::regclass::oid").fetchall()
    query = asked.format(oid=oid).encode()
    before = gus.execute(query).fetchall()
    with psycopg.connect(shadow.dsn("taxi"), autocommit=True) as owner:
        owner.execute("grant execute on function pg_stat_force_next_flush() to ana")
        ana.execute("insert into kept select n::text from generate_series(1, 10000) as n")
        ana.execute("select count(*) from kept; select pg_stat_force_next_flush()")
        owner.execute("revoke execute on function pg_stat_force_next_flush() from ana")
    assert gus.execute(query).fetchall() == before


def test_activity_is_bound_when_it_is_made(connect: Connect, shadow: Postgres) -> None:
    """A temporary object with the name of what it reads changes nothing, even where one can be made."""
    ana, gus = connect("ana"), connect("gus")
    with psycopg.connect(shadow.dsn("taxi"), autocommit=True) as owner:
        owner.execute("alter event trigger dpsql_command disable")
        owner.execute("alter event trigger dpsql_names disable")
        try:
            ana.execute("create temp table pg_authid as select 1 as oid, 'ana'::name as rolname")
            ana.execute("create temp view pg_database as select 1::oid as oid, (1 / 0)::text::name as datname")
        finally:
            owner.execute("alter event trigger dpsql_command enable")
            owner.execute("alter event trigger dpsql_names enable")
        seen = {pid for (pid,) in ana.execute("select pid from pg_catalog.pg_stat_activity").fetchall()}
        assert ana.info.backend_pid in seen
        assert gus.info.backend_pid not in seen
        owner.execute(_BROKEN)
        try:
            with pytest.raises(psycopg.errors.DivisionByZero):
                ana.execute("select dpsql.broken_activity()")
        finally:
            owner.execute("drop function dpsql.broken_activity")


_BROKEN = """
CREATE FUNCTION dpsql.broken_activity() RETURNS SETOF name LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS
  'SELECT datname FROM pg_stat_get_activity(NULL) AS s LEFT JOIN pg_database AS d ON true'
"""
"""What the function must not be: the names in it are looked up when it runs, temporary objects first."""


OWN = ("pg_stat_activity", "pg_stat_ssl", "pg_stat_gssapi")
_VIEWS = """
select relname from pg_class where relnamespace = 'pg_catalog'::regnamespace and relkind = 'v'
   and (relname ~ '^pg_stat_(progress|replication$|subscription|wal)' or relname in ('pg_locks', 'pg_prepared_xacts'))"""


def test_views_of_the_server_show_nothing(connect: Connect) -> None:
    """Tools ask them for dashboards, and get no error; not even what is going on for the asker."""
    ana, gus = connect("ana"), connect("gus")
    views = [name for (name,) in gus.execute(_VIEWS).fetchall()]
    assert {"pg_locks", "pg_prepared_xacts", "pg_stat_replication", "pg_stat_wal", "pg_stat_progress_copy"} <= set(
        views
    )
    ana.execute("create temp table kept as select 1 as n")
    with ana.transaction():
        ana.execute("lock table kept in access exclusive mode")
        for view in views:
            assert gus.execute(f"select * from pg_catalog.{view}".encode()).fetchall() == [], view
        waits = f"select pg_blocking_pids({ana.info.backend_pid}), pg_blocking_pids(pg_backend_pid())"
        assert gus.execute(waits.encode()).fetchone() == ([], [])
    ana.execute("drop table kept")


@pytest.mark.parametrize("view", OWN)
def test_views_of_sessions_show_ones_own(view: str, connect: Connect) -> None:
    """As pgAdmin reads them when it connects."""
    ana, gus = connect("ana"), connect("gus")
    seen = {pid for (pid,) in gus.execute(f"select pid from pg_catalog.{view}".encode()).fetchall()}
    assert gus.info.backend_pid in seen
    assert ana.info.backend_pid not in seen


def test_stand_ins_have_the_columns_of_the_views(connect: Connect, shadow: Postgres) -> None:
    """Names and types are PostgreSQL's own, as the database template1 has them."""
    columns = """
      select c.relname, attname, format_type(atttypid, atttypmod) from pg_class c join pg_attribute a on attrelid = c.oid
       where relnamespace = 'pg_catalog'::regnamespace and relkind = 'v' and attnum > 0 order by c.relname, attnum"""
    with psycopg.connect(shadow.dsn("postgres")) as owner:
        assert connect("ana").execute(columns).fetchall() == owner.execute(columns.encode()).fetchall()


def test_the_tripwire_is_no_part_of_a_schema_that_programs_write(connect: Connect) -> None:
    """drizzle-kit writes what pg_policies has; pgAdmin, which looks into the table behind too, needs to find it in both."""
    ana = connect("ana")
    assert ana.execute("select * from pg_policies").fetchall() == []
    ana.execute("set application_name = 'pgAdmin 4 - DB:taxi'")
    shown = ana.execute("select policyname, cmd from pg_policies where tablename = 'trips'").fetchall()
    assert (
        shown == ana.execute("select polname, 'ALL' from pg_policy where polrelid = 'trips'::regclass").fetchall() != []
    )
    ana.execute("reset application_name")
