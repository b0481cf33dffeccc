"""The tripwire below the analyser: what reads a protected table in the shadow fails, and tools may still look at it."""

from collections.abc import Callable

import psycopg
import pytest

Connect = Callable[[str], psycopg.Connection]

READS = [
    "select * from trips",
    "select * from trips where trip_id = 5",
    "select * from trips t where trip_id in (1, 2, 3)",
    "select count(*) from trips",
    "select count(*) from trips where trip_id = 7",
    "select count(*) from trips where fare > 10 and trip_id = 9 and payment_type = 'x'",
    "select x from (values (1)) v(x) where x in (select trip_id from trips)",
    "select z.* from zones z join trips t on t.pickup_zone = z.zone_id",
    "select z.* from zones z where exists (select 1 from trips t where t.pickup_zone = z.zone_id)",
    "select null = any (select trip_id from trips)",
    "select * from zones z, lateral (select * from trips t where t.trip_id = length(z.zone)) q",
    "select 1 where exists (select from trips)",
    "select * from secrets where kept",
    "select * from secrets where not kept",
    "select * from secrets where kept is true",
    "select count(*) from secrets where case when kept then true else false end",
    "select count(*) from trips where pickup_zone is not null",
    "select count(*) from trips where fare is null",
    "select count(*) from trips where trips is null",
    "select * from trips where ctid = '(99,1)'",
    "table secrets",
    "explain analyze select * from trips",
]


@pytest.mark.parametrize("statement", READS)
def test_read_raises(connect: Connect, statement: str) -> None:
    """No read of a protected table comes back, not even empty."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="are protected"):
        connect("ana").execute(statement.encode())


LOOKS = [
    "select * from trips limit 0",
    "select * from trips where 1 = 0",
    "select * from trips where null",
    "explain select * from trips",
]


@pytest.mark.parametrize("statement", LOOKS)
def test_look_passes(connect: Connect, statement: str) -> None:
    """Statements that need no row are PostgreSQL's to answer."""
    cursor = connect("ana").execute(statement.encode())
    assert cursor.description is not None


def test_ungranted_table_is_denied(connect: Connect) -> None:
    """A role that may not use a table gets PostgreSQL's own refusal, and does not see its columns described."""
    connection = connect("gus")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table secrets"):
        connection.execute("select count(*) from secrets limit 0")
    assert connection.execute("select distinct table_name from dpsql.columns order by 1").fetchall() == [
        ("trips",),
        ("zones",),
    ]


def test_columns_are_described(connect: Connect) -> None:
    """dpsql.columns shows bounds and values as the policy has them."""
    rows = connect("ana").execute(
        "select column_name, type, lower_bound, upper_bound, values, nullable, description"
        " from dpsql.columns where table_name = 'trips'"
    )
    shown = {row[0]: row[1:] for row in rows}
    assert shown["fare"] == ("numeric(10,2)", "0", "150", None, False, "metered fare")
    assert shown["payment_type"] == ("text", None, None, ["cash", "credit card"], True, None)
    assert shown["pickup_ts"][1:3] == ("2019-03-01 00:00:00", "2019-03-31 23:59:59.999999")


def test_units_are_described(connect: Connect) -> None:
    """`dpsql.tables` says whose the rows are that a role may ask about, and of no other table."""
    asked = "select table_name, unit_kind, unit_columns, max_rows, expected_rows from dpsql.tables"
    rows = connect("ana").execute(asked).fetchall()
    assert ("trips", "passenger", ["passenger_id"], 20, None) in rows
    assert {row[0] for row in rows} > {"trips"}
    assert {row[0] for row in connect("gus").execute(asked).fetchall()} == {"trips"}


def test_public_rows_are_there(connect: Connect) -> None:
    """Public tables have their rows."""
    assert connect("gus").execute("select count(*) from zones").fetchone() == (10,)


def test_median_of_public_rows(connect: Connect) -> None:
    """median() is an ordinary aggregate for what is public."""
    assert connect("ana").execute("select median(zone_id), median(zone_id::numeric) from zones").fetchone() == (
        5.5,
        5.5,
    )


def test_margin_can_be_described_but_not_run(connect: Connect) -> None:
    """dpsql.margin exists so that Describe works."""
    connection = connect("ana")
    assert connection.execute("select dpsql.margin(count(*)) from zones limit 0").description is not None
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("select dpsql.margin(count(*)) from zones")
