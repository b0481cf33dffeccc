"""What marks heavy units: each of them is found, whatever type they have and however they are written."""

import duckdb
import psycopg
import pytest

from dpsql.policy.model import SqlType
from dpsql.shadow.contents.role import ORACLE
from tests.support.dialects import DUCKDB, POSTGRES
from tests.support.fix_world import World

MOST = 3
UNITS = {
    SqlType.SMALLINT: ("{n}::smallint - 200", "{n}::smallint - 200"),
    SqlType.INTEGER: ("{n} * 65536 - 2147483648", "{n} * 65536 - 2147483648"),
    SqlType.BIGINT: ("({n} - 100)::bigint << 40", "({n} - 100)::bigint << 40"),
    SqlType.NUMERIC: ("{n}::numeric / 4", "{n}::numeric(20, 2) / 4 + 0.000"),
    SqlType.TEXT: ("(CAST('u' || {n} AS VARCHAR) COLLATE \"C\")", "(CAST('u' || {n} AS VARCHAR) COLLATE \"C\")"),
    SqlType.DATE: ("DATE '0001-01-01' + {n} * 9999", "DATE '0001-01-01' + {n} * 9999"),
    SqlType.TIMESTAMPTZ: (
        "TIMESTAMPTZ '2000-01-01 00:00 UTC' + {n} * INTERVAL '1 hour'",
        "TIMESTAMPTZ '2000-01-01 02:00+02' + {n} * INTERVAL '60 minutes'",
    ),
}
"""Ways to write the same unit."""


@pytest.mark.parametrize("type_", UNITS, ids=lambda type_: type_.name)
@pytest.mark.parametrize("slots", [2**10, 2**12])
def test_each_heavy_unit_is_marked(world: World, type_: SqlType, slots: int) -> None:
    """And few others are; of 300 units those with more than three rows are heavy."""
    rows = " UNION ALL ".join(
        f"SELECT n, {way.format(n='n')} AS u FROM generate_series(1, 300) AS n, generate_series({i}, n % 6, 2) AS m"
        for i, way in enumerate(UNITS[type_], 1)
    )
    marking = POSTGRES.maybe_heavy(
        "s0.u", type_, f"FROM ({rows}) AS s0 WHERE TRUE", most=MOST, slots=slots, normed=False, alone=True
    )
    assert marking is not None
    marked, test = marking
    with psycopg.connect(world.server.dsn("taxi", ORACLE)) as connection:
        sql = f"WITH {marked} SELECT n, count(*), bool_and({test}), bool_or({test}) FROM ({rows}) AS s0 GROUP BY n"
        units = connection.execute(sql.encode()).fetchall()
    assert all(alike == some for _, _, alike, some in units)
    heavy = {n for n, number, _, _ in units if number > MOST}
    mistaken = {n for n, _, alike, _ in units if alike} - heavy
    assert heavy == {n for n in range(1, 301) if n % 6 > MOST}
    assert heavy <= {n for n, _, alike, _ in units if alike}
    assert len(mistaken) < 60


@pytest.mark.parametrize("type_", [SqlType.INTERVAL, SqlType.TIME, SqlType.DOUBLE, SqlType.BOOLEAN])
def test_units_without_a_hash_of_ours_are_weighed_row_by_row(type_: SqlType) -> None:
    """Equal intervals have several texts; such a unit could be heavy under none of them."""
    assert (
        POSTGRES.maybe_heavy("s0.u", type_, "FROM t AS s0 WHERE TRUE", most=MOST, slots=1024, normed=False, alone=True)
        is None
    )


@pytest.mark.parametrize("type_", [SqlType.BIGINT, SqlType.TEXT], ids=lambda type_: type_.name)
def test_duckdb_marks_each_heavy_unit(type_: SqlType) -> None:
    """And no other, unless its hash is that of a heavy one."""
    unit = {SqlType.BIGINT: "n - 2", SqlType.TEXT: "CAST('u' || n AS VARCHAR)"}[type_]
    rows = f"(SELECT {unit} AS u, n FROM range(300) AS a (n), range(6) AS b (m) WHERE m <= n % 6)"
    marking = DUCKDB.maybe_heavy(
        "s0.u", type_, f"FROM {rows} AS s0 WHERE TRUE", most=MOST, slots=1024, normed=True, alone=True
    )
    assert marking is not None
    with duckdb.connect() as connection:
        marked = connection.execute(
            f"WITH {marking[0]} SELECT DISTINCT n FROM {rows} AS s0 WHERE {marking[1]}"
        ).fetchall()
    assert {n for (n,) in marked} == {n for n in range(300) if n % 6 >= MOST}


@pytest.mark.parametrize(
    ("type_", "normed"), [(SqlType.INTEGER, False), (SqlType.DOUBLE, True), (SqlType.NUMERIC, True)]
)
def test_duckdb_weighs_every_row_where_that_is_as_fast(type_: SqlType, *, normed: bool) -> None:
    """It counts whole numbers in memory as fast as it finds heavy units; of other types equal units may look otherwise."""
    rows = "FROM t AS s0 WHERE TRUE"
    assert DUCKDB.maybe_heavy("s0.u", type_, rows, most=MOST, slots=1024, normed=normed, alone=False) is None
