"""What a role is told of in part, asked by somebody who wants the rest: columns by other names, rows in other ways."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction

import psycopg
import pytest

from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy, Preview, Privacy
from dpsql.question import Asker
from dpsql.rewrite.ir.relation import scan
from dpsql.rewrite.translate.rows import relations
from tests.properties.test_sensitivity import databases
from tests.support.exactness import Measured, measurements, moves_of_each
from tests.support.fix_dirty import Records
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_rights import holds, in_part
from tests.support.fix_world import Client, World, noon
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.samples import some
from tests.support.schema import SCHEMA, of
from tests.support.served import Filled
from tests.support.shapes import SHAPES

WITHHELD = (
    "SELECT avg(tip) FROM rides",
    f"SELECT avg(r.tip) FROM {SCHEMA}.rides AS r",
    "SELECT avg(c10) FROM rides AS r (c1, c2, c3, c4, c5, c6, c7, c8, c9, c10)",
    "SELECT avg(x) FROM (SELECT * FROM rides) AS r (c1, c2, c3, c4, c5, c6, c7, c8, c9, x)",
    "SELECT avg(tip) FROM (SELECT * FROM rides) AS r",
    "WITH r AS (SELECT * FROM rides) SELECT avg(tip) FROM r",
    "WITH r (a, b, c, d, e, f, g, h, i, j) AS (TABLE rides) SELECT avg(j) FROM r",
    "SELECT avg(tip) FROM (SELECT * FROM rides UNION ALL SELECT * FROM rides) AS r",
    "SELECT count(*) FROM rides WHERE tip > 1",
    "SELECT count(*) FILTER (WHERE tip > 1) FROM rides",
    "SELECT count(*) FROM rides GROUP BY floor(tip)",
    "SELECT count(*) FROM rides GROUP BY ROLLUP (stars)",
    "SELECT paid, count(*) FROM rides GROUP BY paid HAVING avg(tip) > 1",
    "SELECT paid, count(*) FROM rides GROUP BY paid ORDER BY avg(tip)",
    "SELECT paid, count(*), rank() OVER (ORDER BY avg(tip)) FROM rides GROUP BY paid",
    "SELECT count(DISTINCT driver) FROM rides",
    "SELECT count(r) FROM rides AS r",
    "SELECT count(r.*) FILTER (WHERE fare > 2) FROM rides AS r",
    "SELECT sum(CASE WHEN shared THEN 1 ELSE 0 END) FROM rides",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM rides",
    "SELECT dpsql.margin(avg(tip)) FROM rides",
    "SELECT avg(n) FROM (SELECT rider, max(tip) AS n FROM rides GROUP BY rider) AS u",
    "SELECT avg(n) FROM (SELECT rider, row_number() OVER (PARTITION BY rider ORDER BY tip) AS n FROM rides) AS u",
    "SELECT avg(fare) FROM (SELECT DISTINCT ON (rider) rider, fare FROM rides ORDER BY rider, tip) AS u",
    "SELECT count(*) FROM rides r WHERE EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider AND s.tip > 1)",
    "SELECT count(*) FROM rides WHERE rider IN (SELECT rider FROM rides WHERE tip > 1)",
    "SELECT count(*) FROM rides WHERE fare > (SELECT avg(tip) FROM rides)",
    "SELECT count(*) FROM rides r JOIN trips t ON t.passenger_id = r.rider AND r.tip < t.fare",
    "SELECT count(*) FROM rides r LEFT JOIN trips t ON t.passenger_id = r.rider AND t.tip = 1",
    "SELECT count(*) FROM rides r LEFT JOIN zones z ON z.zone_id = r.to_zone",
    "SELECT count(*) FROM rides JOIN rides s USING (rider, tip)",
    "SELECT count(*) FROM rides NATURAL JOIN trips",
    "SELECT z.zone, count(*) FROM zones z JOIN rides ON to_zone = zone_id GROUP BY 1",
    "SELECT count(*) FROM rides a FULL JOIN rides b ON a.rider = b.rider AND a.tip = b.tip",
    "SELECT avg(tip) FROM card_rides",
    "SELECT rides FROM card_zones",
    "EXPLAIN SELECT avg(tip) FROM rides",
    "COPY (SELECT avg(tip) FROM rides) TO STDOUT",
    "SELECT driver FROM rides LIMIT 5",
    "SELECT * FROM rides LIMIT 5",
    "SELECT * FROM rides LIMIT 0",
    "SELECT r.tip FROM rides AS r WHERE false",
)
"""Each names or stands for a column that the role may not name."""
WHOLE_ROWS = (
    "SELECT r FROM rides AS r",
    "SELECT count(DISTINCT r) FROM rides AS r",
    "SELECT r, count(*) FROM rides AS r GROUP BY r",
    "SELECT max(r) FROM rides AS r",
    "SELECT max(to_json(r)->>'tip') FROM rides AS r",
    "SELECT count((r).tip) FROM rides AS r",
    "SELECT avg((to_jsonb(r)->>'tip')::float8) FROM rides AS r",
    "SELECT string_agg(r::text, ',') FROM rides AS r",
    "SELECT sum(v.tip) FROM rides AS r, LATERAL (SELECT r.*) AS v",
)


@pytest.fixture(scope="module")
def asking(world: World, dirty: Memory) -> Iterator[dict[str, Client]]:
    """Clients of roles that share a ledger; the shadow would let each ask for everything."""
    policy = in_part(world)
    columns = replace(policy.roles["columns"], preview=Preview.MADE_UP)
    policy = replace(policy, roles={**policy.roles, "columns": columns})
    with ExitStack() as until:
        ledger = until.enter_context(quick_ledger(noon))
        gateway = world.gateway(dirty, ledger, policy=policy)
        owner = until.enter_context(world.connect("dpsql_owner"))
        connection = until.enter_context(world.connect("ana"))
        yield {
            role: Client(gateway, ledger, connection, owner, Asker("ana", role))
            for role in ("owner", "in_part", "columns")
        }


@pytest.mark.parametrize("sql", WITHHELD)
def test_no_other_name_leads_to_a_column(sql: str, asking: dict[str, Client]) -> None:
    """Whatever it is called, and wherever it stands: the refusal costs nothing, and says what may be named."""
    client = asking["columns"]
    before = client.charges
    with pytest.raises(DpsqlError, match="permission denied for column") as refused:
        client.ask(sql)
    assert (refused.value.sqlstate, refused.value.because) == ("42501", "column-not-granted")
    assert 'the role "columns" may name: ' in str(refused.value.hint)
    assert client.charges == before


@pytest.mark.parametrize("sql", WHOLE_ROWS)
def test_no_row_is_named_as_a_whole(sql: str, asking: dict[str, Client]) -> None:
    """Columns that are not named are in it."""
    client = asking["columns"]
    before = client.charges
    with pytest.raises((DpsqlError, psycopg.Error)):
        client.ask(sql)
    assert client.charges == before


def test_what_may_be_named_is_answered(asking: dict[str, Client]) -> None:
    """Also beneath a star, of which nothing else is told, and in previews."""
    client = asking["columns"]
    ((whole,),) = client.ask("SELECT count(*) FROM (SELECT * FROM rides) AS r").rows
    assert whole == asking["owner"].ask("SELECT count(*) FROM rides").rows[0][0]
    assert client.ask("SELECT avg(fare) FROM (SELECT * FROM rides) AS r WHERE paid = 'card'").rows
    assert len(client.ask("SELECT fare, paid FROM rides LIMIT 5").rows) == 5


FREE_OF_OTHERS = "SELECT paid, late, count(*), sum(fare) FROM rides GROUP BY 1, 2"
FOLLOWS = "SELECT count(*) FROM rides"


def test_nothing_is_read_off_what_was_told_of_all_rows(asking: dict[str, Client]) -> None:
    """Neither the owner's answers nor, under the same question, those of other rows are the role's."""
    owner, client = asking["owner"], asking["in_part"]
    client.ledger.advance("new records")
    for asker in (owner, client):
        before = asker.charges
        asker.ask(FREE_OF_OTHERS)
        assert asker.charges == before + 1
    assert _number(owner, FOLLOWS) > _number(client, FOLLOWS) > 0


def _number(client: Client, sql: str) -> int:
    ((number,),) = client.ask(sql).rows
    assert isinstance(number, int)
    return number


def test_what_a_role_was_told_before_it_had_a_condition_is_of_other_rows(world: World, dirty: Memory) -> None:
    """The same role asks the same after a reload: it is measured anew, and then of the rows that it is told of."""
    policy = in_part(world)
    free = replace(policy, roles={**policy.roles, "in_part": replace(policy.roles["in_part"], where={})})
    with ExitStack() as until:
        ledger = until.enter_context(quick_ledger(noon))
        owner, connection = (until.enter_context(world.connect(user)) for user in ("dpsql_owner", "ana"))
        before, after = (
            Client(world.gateway(dirty, ledger, policy=rights), ledger, connection, owner, Asker("ana", "in_part"))
            for rights in (free, policy)
        )
        every = before.ask(FREE_OF_OTHERS).rows
        assert after.ask(FREE_OF_OTHERS).rows != every
        assert after.charges == 2
        assert _number(before, FOLLOWS) > _number(after, FOLLOWS)
        assert after.charges == 4  # of dirty records neither is read off groups that leave rows out


EXPLAINED = "EXPLAIN SELECT count(*) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY rider) AS u WHERE n > 2"


def test_explain_says_which_rows_are_meant(asking: dict[str, Client]) -> None:
    """Who reads an answer has to know that it is of some rows only."""
    said = {role: [str(line) for (line,) in asking[role].ask(EXPLAINED).rows] for role in ("in_part", "owner")}
    assert any(line.startswith(f"Rows: of {of('rides')} those for which (paid = 'card'") for line in said["in_part"])
    assert not any(line.startswith("Rows: of") for line in said["owner"])


KNOWN = f"SELECT column_name, what, value FROM dpsql.profile WHERE table_name = '{of('rides')}'"


def test_a_profile_is_of_what_a_role_is_told_of(world: World, dirty: Memory, records: Records) -> None:
    """Of its rows, and of the columns that it may name; each role takes its own."""
    policy = in_part(world)
    budgets = {**policy.budgets, "passenger": replace(policy.budgets["passenger"], profile=Fraction(10**6))}
    roles = {name: replace(role, per_query=Privacy(Fraction(10**6))) for name, role in policy.roles.items()}
    policy = replace(policy, budgets=budgets, roles=roles)
    with ExitStack() as until:
        ledger = until.enter_context(quick_ledger(noon))
        owner, connection = (until.enter_context(world.connect(user)) for user in ("dpsql_owner", "ana"))
        gateway = world.gateway(dirty, ledger, policy=policy)
        told = {}
        for role in ("owner", "in_part", "columns"):
            client = Client(gateway, ledger, connection, owner, Asker("ana", role))
            assert client.ask(KNOWN).rows == []
            client.ask("SELECT dpsql.take_profile()")
            told[role] = {(column, what): value for column, what, value in client.ask(KNOWN).rows}
    table = world.policy.tables[of("rides")]
    for role, rows in (
        ("owner", [row for row in records["rides"] if row["rider"] is not None]),
        ("in_part", [row for row in records["rides"] if row["rider"] is not None and holds(table, row)]),
    ):
        assert told[role][None, "number of rows"] == pytest.approx(len(rows), rel=0.02)
        assert ("tip", "share of values below the bounds") in told[role]
    columns = {column for column, _ in told["columns"]}
    assert columns == {None, "fare", "day", "seats"}


TINY = [*some({sql: (sql,) for sql in SHAPES}, 6)]


@pytest.fixture(scope="module")
def part(world: World) -> Policy:
    """The policy with the role."""
    return in_part(world)


def _measured(sql: str, policy: Policy, world: World, engine: Filled) -> Sequence[Measured]:
    return [
        Measured.of(measurement, engine, world) for measurement in measurements(sql, policy, world, engine, "in_part")
    ]


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", TINY)
def test_other_rows_move_nothing_and_units_no_more_than_claimed(
    sql: str, dialect: str, part: Policy, world: World, tiny: Engines
) -> None:
    """On tiny databases full of edge cases: what is measured is as if they were not there."""
    policy, table = with_rows(part, "rides", "passenger", 3), world.policy.tables[of("rides")]
    measured = _measured(sql, policy, world, tiny[dialect])
    for rows in databases(table, "rider", 3, sql):
        assert all(
            max(moved) <= moving.claim
            for moving, *moved in zip(measured, *moves_of_each(measured, "rides", rows, "rider"), strict=True)
        )
        tiny[dialect].fill("rides", rows)
        whole = [measured_part.exact() for measured_part in measured]
        tiny[dialect].fill("rides", [row for row in rows if holds(table, row)])
        for each, before in zip(measured, whole, strict=True):
            assert each.distance(before, each.exact()) == 0


def test_a_condition_that_is_forgotten_is_noticed(
    part: Policy, world: World, tiny: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else these tests would hold nothing."""
    monkeypatch.setattr(relations.Tracker, "_rows", lambda _, table: scan(table))
    with pytest.raises(AssertionError):
        test_other_rows_move_nothing_and_units_no_more_than_claimed(SHAPES[0], "duckdb", part, world, tiny)
