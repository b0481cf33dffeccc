"""What the first words of a statement say, and the names of prepared statements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.wire.intercept.classify import ExecuteNamed, LeftOut, Prepare, RefusedStatement, classify_statement
from dpsql.wire.intercept.prepared_statements import Allowance, PreparedStatement, PreparedStatements, SharedAllowance
from dpsql.wire.protocol.messages import Limits

PREPARES = [
    ("prepare p as select 1", "p", " select 1"),
    ('PREPARE "P p" (int, numeric(10,2)) AS select $1', "P p", " select $1"),
    ("/* a */ prepare\n-- b\n P\n as\nselect 1", "p", "\nselect 1"),
    (f"prepare {'x' * 70} as select 1", "x" * 63, " select 1"),
]


@pytest.mark.parametrize(("statement", "name", "inner"), PREPARES)
def test_prepare_is_taken_apart(statement: str, name: str, inner: str) -> None:
    """Name as PostgreSQL keeps it, and what is prepared."""
    assert classify_statement(statement) == Prepare(name, inner)


EXECUTES = [
    ("execute p", "p", ""),
    ("EXECUTE \"P\" (1, 'a)');", "P", "1, 'a)'"),
    ("execute p()", "p", ""),
]


@pytest.mark.parametrize(("statement", "name", "arguments"), EXECUTES)
def test_execute_is_taken_apart(statement: str, name: str, arguments: str) -> None:
    """Name and arguments."""
    assert classify_statement(statement) == ExecuteNamed(statement, name, arguments)


PLAIN = [
    "select 1",
    "prepare transaction 'x'",
    "set timezone = 'UTC'",
    "set standard_conforming_strings to on",
    "set session array_nulls = 'true'",
    "create temp table t (a int)",
    "create temp view v as select 1",
    "/* a */ create or replace local temporary view v (a, b) as select 1, 2",
    "; create global temp view v as select 1",
    "comment on table t is 'x'",
    "comment on column t.a is 'x'",
    "copy trips to stdout",
    "copy public.kept (a) from stdin with csv",
    "copy (select ')') to stdout",
    "unlisten *",
    "",
    "/* only a comment */ ;",
]


@pytest.mark.parametrize("statement", PLAIN)
def test_other_statements_are_not_decided(statement: str) -> None:
    """They are the shadow's, or the gateway's."""
    assert classify_statement(statement) is None


def test_what_is_there_is_not_made() -> None:
    """Tools that run a dump's first lines go on; the client hears what PostgreSQL says."""
    said = LeftOut(b"CREATE EXTENSION", 'extension "plpgsql" already exists, skipping')
    assert classify_statement("create extension if not exists plpgsql with schema pg_catalog;") == said
    assert isinstance(classify_statement("create extension if not exists hstore"), RefusedStatement)
    assert isinstance(classify_statement("create extension plpgsql"), RefusedStatement)


@pytest.mark.parametrize(
    "statement", ["analyze", "ANALYZE verbose t", "/* a */ analyse t (a)", "; analyze (verbose) t, u"]
)
def test_statistics_are_not_made(statement: str) -> None:
    """They would be everybody's to see."""
    assert classify_statement(statement) == LeftOut(b"ANALYZE")


DENIED = [
    ("listen x", "0A000"),
    ("ALTER ROLE ana SET x = 1", "42501"),
    ("alter system set x = 1", "42501"),
    ("create view v as select 1", "42501"),
    ("create or replace temp recursive view v (a) as select 1", "42501"),
    ("--\rcreate view v as select 1", "42501"),
    ("/* /* */ */ create temp recursive view v (a) as select 1", "42501"),
    ("; create view pg_temp.v as select 1", "42501"),
    ("create view temp as select 1", "42501"),
    ("create view temp.view as select 1", "42501"),
    ("explain (costs off, analyze) create materialized view v as select 1", "42501"),
    ("prepare p (int) as create temporary materialized view v as select 1", "42501"),
    ("\u00a0create view v as select 1", "42601"),
    ("/* only a comment", "42601"),
    ("executed", "42601"),
    ("set local session authorization bob", "42501"),
    ("set local role to 'bob'", "42501"),
    ("set U&\"!0073tandard_conforming_strings\" uescape '!' to off", "0A000"),
    ("set \"Standard_Conforming_Strings\" = E'\\157ff'", "0A000"),
    ("set names 'mule_internal'", "22021"),
    ("set client_encoding = 'Shift-JIS 2004'", "22021"),
    ("do $$begin end$$", "0A000"),
    ("comment on schema public is 'x'", "42501"),
    ("comment on role ana is 'x'", "42501"),
    ("vacuum", "42501"),
    ("copy trips to '/tmp/x'", "42501"),
    ("copy public.trips (fare, tip) from '/etc/passwd'", "42501"),
    ("copy (select 1) to program 'id'", "42501"),
    ("copy trips from program $$id$$ with csv", "42501"),
    ('set "standard_conforming_strings" = off', "0A000"),
    ("set local array_nulls = 0", "0A000"),
]


@pytest.mark.parametrize(("statement", "sqlstate"), DENIED)
def test_some_statements_are_denied(statement: str, sqlstate: str) -> None:
    """Those that the shadow can't forbid itself."""
    refused = classify_statement(statement)
    assert isinstance(refused, RefusedStatement)
    assert refused.refusal.error().sqlstate == sqlstate


@given(st.text(max_size=200))
def test_any_text_is_looked_at_without_harm(text: str) -> None:
    """Quickly, and without an exception."""
    for word in ("", "prepare ", "execute ", "set ", "create "):
        classify_statement(word + text)


def _prepared() -> PreparedStatement:
    return PreparedStatement("select 1", (), Prepare("x", ""))


def test_names_follow_what_the_shadow_confirms() -> None:
    """A statement is one of ours from its Parse to its Close; a portal until its transaction ends."""
    names = PreparedStatements(Allowance(SharedAllowance(Limits()), "ana"))
    names.expect_statement(b"s", 1_600)
    assert names.may_be_statement(b"s")
    assert b"s" not in names.statements
    names.parsed(b"s", _prepared())
    names.expect_portal(b"p", 4)
    names.bound(b"p", b"s", b"rest")
    assert names.portals[b"p"].rest == b"rest"
    names.ready(True, settled=True)
    assert names.may_be_portal(b"p")
    names.ready(False, settled=True)
    assert not names.may_be_portal(b"p")
    names.closed(b"S", b"s")
    names.ready(False, settled=True)
    assert not names.may_be_statement(b"s")


def test_name_used_again_is_what_it_was_last() -> None:
    """A plain statement under the name of one of ours is plain."""
    names = PreparedStatements(Allowance(SharedAllowance(Limits()), "ana"))
    names.parsed(b"", _prepared())
    names.bound(b"", b"", b"")
    names.parsed(b"", None)
    names.bound(b"", b"", b"")
    assert (names.statements, names.portals) == ({}, {})
