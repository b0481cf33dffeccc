"""Previews: refused with what to ask instead, or, for roles that want that, rows that are made up from the policy alone."""

import json
from dataclasses import replace
from fractions import Fraction

import psycopg
import pytest

from dpsql.errors import AccessDenied, DpsqlError
from dpsql.gateway.catalogue.made_up import MOST_ROWS, MadeUp, told_of
from dpsql.policy.model import Policy, Preview
from dpsql.question import Argument
from tests.gateway.engines import Watched, fail
from tests.support.fix_json import JsonEngines
from tests.support.fix_shop import Shops
from tests.support.fix_types import TypedEngines
from tests.support.fix_wide import Engines
from tests.support.fix_world import NewClient, World, replied
from tests.support.memory import Memory
from tests.support.records import Maker

ALL = "SELECT * FROM rides LIMIT 100"
SHOWN = [
    ALL,
    "SELECT * FROM rides LIMIT 1",
    "SELECT rider, paid AS how FROM public.rides AS r LIMIT 3 OFFSET 2",
    'SELECT "source"."paid" FROM (SELECT "rides"."paid", "rides"."day" FROM "public"."rides") AS "source" LIMIT 2000',
    "WITH source AS (SELECT * FROM rides), few AS (SELECT rider, fare FROM source) SELECT * FROM few LIMIT 7",
    "WITH source AS (SELECT * FROM rides), other AS (SELECT * FROM rides WHERE fare > 9) SELECT * FROM source LIMIT 5",
    "SELECT * FROM (WITH source AS (SELECT * FROM rides) SELECT fare FROM source) AS limited LIMIT 7",
    "SELECT day::text, tip::numeric(10,2) FROM rides FETCH FIRST 5 ROWS ONLY",
    """SELECT "source"."substring1" FROM (SELECT SUBSTRING("rides"."paid", 1, 1234) AS "substring1", "rides"."fare"
       FROM "public"."rides") AS "source" LIMIT 10000""",
    'SELECT "public"."rides"."rider", "public"."rides"."paid" FROM "public"."rides" WHERE 1=1 LIMIT 3 OFFSET 0',
    "SELECT left(paid, 100), substring(paid FROM 1 FOR 3) FROM rides LIMIT 5",
    "EXPLAIN SELECT * FROM rides LIMIT 100",
    "EXPLAIN (FORMAT JSON) SELECT * FROM rides LIMIT 100",
]
NOT_SHOWN = [
    "SELECT * FROM rides",
    "SELECT * FROM rides WHERE fare > 100 LIMIT 100",
    "SELECT * FROM rides WHERE 1 = 1 AND fare > 100 LIMIT 100",
    "SELECT * FROM rides WHERE 1 = 2 OR fare = fare LIMIT 100",
    "SELECT * FROM rides ORDER BY fare DESC LIMIT 1",
    "SELECT fare + 1 FROM rides LIMIT 100",
    "SELECT left(paid, rider) FROM rides LIMIT 100",
    "SELECT left(paid, (SELECT count(*) FROM rides)::integer) FROM rides LIMIT 100",
    "SELECT 1 FROM rides LIMIT 2",
    "SELECT * FROM rides JOIN zones ON zone_id = from_zone LIMIT 100",
    "SELECT * FROM rides AS a, rides AS b LIMIT 100",
    "SELECT * FROM rides AS r (a, b) LIMIT 100",
    "SELECT r FROM rides AS r LIMIT 1",
    "WITH source AS (SELECT * FROM rides WHERE fare > 100) SELECT * FROM source LIMIT 5",
    "WITH source AS (SELECT * FROM rides) SELECT a.fare FROM source AS a, source AS b LIMIT 5",
    "SELECT * FROM card_rides LIMIT 100",
    "SELECT * FROM rides LIMIT (SELECT count(*) FROM rides)",
    "SELECT * FROM rides LIMIT 100 FOR UPDATE",
    "COPY (SELECT * FROM rides LIMIT 100) TO STDOUT",
    "CREATE TEMP TABLE kept AS SELECT * FROM rides LIMIT 100",
    "SELECT * INTO TEMP kept FROM rides LIMIT 100",
    "SELECT count(*) FROM (SELECT * FROM rides LIMIT 100) AS t",
    "INSERT INTO kept SELECT * FROM rides LIMIT 100",
]


@pytest.fixture(scope="module")
def previewed(policy: Policy) -> Policy:
    """The policy whose owner sees previews."""
    roles = {name: replace(role, preview=Preview.MADE_UP) for name, role in policy.roles.items() if name != "explorer"}
    return replace(policy, roles={**policy.roles, **roles})


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Some rides."""
    engine, maker = Memory(policy), Maker(5)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n // 5} for n in range(200)])
    return engine


@pytest.mark.parametrize("sql", SHOWN)
def test_made_up_rows_depend_on_nothing_but_the_policy(
    sql: str, policy: Policy, previewed: Policy, rides: Memory, new_client: NewClient
) -> None:
    """They are the same over any records and none, each time, for every role; free, and the engine is not asked."""
    transcripts = []
    for engine in (rides, Memory(policy)):
        watched = Watched(engine, before=fail)
        for user in ("ana", "tess", "leo"):
            client = new_client(watched, user, policy=previewed)
            transcripts += [client.ask(sql) for _ in range(2)]
            assert client.charges == watched.readied == watched.runs == 0
    assert transcripts[0].rows
    assert all(other == transcripts[0] for other in transcripts)
    described = client.describe(sql)
    assert [column.name for column in described] == list(transcripts[0].names)
    assert [column.oid for column in described] == list(transcripts[0].types)


@pytest.mark.parametrize("sql", NOT_SHOWN)
def test_nothing_else_is_made_up(sql: str, previewed: Policy, rides: Memory, new_client: NewClient) -> None:
    """Neither what chooses rows or computes with them, nor what would keep them where nobody says that they are made up."""
    with pytest.raises((DpsqlError, psycopg.errors.InsufficientPrivilege)):
        new_client(rides, policy=previewed).ask(sql)


def test_rows_are_those_of_any_number(previewed: Policy, rides: Memory, new_client: NewClient) -> None:
    """A page is a page of the same rows, by LIMIT of any form; there are never more than so many."""
    client = new_client(rides, policy=previewed)
    rows = client.ask("SELECT * FROM rides LIMIT 1000000").rows
    assert len(rows) == MOST_ROWS
    assert client.ask(ALL).rows == rows[:100]
    assert client.ask("SELECT * FROM rides LIMIT 5 OFFSET 40").rows == rows[40:45]
    question = client.gateway.examine("SELECT * FROM rides LIMIT $1::integer", client.asker)
    assert question is not None
    text = client.text(question, arguments=(Argument("7", "integer"),))
    assert psycopg.RawCursor(client.connection).execute(text, (7,)).fetchall() == rows[:7]


def test_a_cursor_passes_over_them(previewed: Policy, rides: Memory, new_client: NewClient) -> None:
    """As tools read that show a page at a time."""
    client = new_client(rides, policy=previewed)
    client.connection.execute("BEGIN")
    client.ask("DECLARE c CURSOR FOR SELECT * FROM rides LIMIT 100")
    assert client.connection.execute("FETCH 100 FROM c").fetchall() == client.ask(ALL).rows
    client.connection.execute("ROLLBACK")


def test_who_gets_made_up_rows_is_told_so(previewed: Policy, rides: Memory, new_client: NewClient) -> None:
    """Each time."""
    client = new_client(rides, policy=previewed)
    question = client.gateway.examine(ALL, client.asker)
    assert question is not None
    for _ in range(2):
        (notice,) = replied(client.gateway, client.request(question)).notices
        assert notice == told_of(previewed.tables["rides"])
        assert "made up" in notice


def test_roles_see_previews_of_their_own_tables(previewed: Policy, rides: Memory, new_client: NewClient) -> None:
    """And those without previews none; the message itself says what to do."""
    for user in ("eve", "cleo", "nell"):
        with pytest.raises(AccessDenied) as refused:
            new_client(rides, user, policy=previewed).ask(ALL)
        assert refused.value.message == "rows of rides are protected; ask for count(*), sum(x), avg(x) … GROUP BY"
        assert refused.value.because == "rows-of-protected-table"


def _checked(world: World) -> None:
    """See that the shadow reads made-up rows of all tables, which keep what is declared."""
    made = MadeUp(world.policy, world.public.rows)
    with world.connect("dpsql_owner", world.policy.dataset) as owner:
        kept = "CREATE TEMP TABLE {0} (LIKE public.{1})"
        for name, table in world.policy.tables.items():
            if table.public:
                continue
            owner.execute(kept.format(f"made_{name}", name).encode())
            owner.execute(f"INSERT INTO made_{name} SELECT * FROM {made.item(table, None)} AS t".encode())
            ((rows,),) = owner.execute(f"SELECT count(*) FROM made_{name}".encode()).fetchall()
            assert rows == MOST_ROWS
            for key in table.keys:
                columns = ", ".join(key)
                told = owner.execute(f"SELECT count(DISTINCT ({columns})) FROM made_{name}".encode()).fetchall()
                assert told == [(MOST_ROWS,)], name
        _check_references(world.policy, owner)


def _check_references(policy: Policy, owner: psycopg.Connection) -> None:
    for name, table in policy.tables.items():
        to = [
            (declared.references.table, {column: declared.references.column})
            for column, declared in table.columns.items()
            if declared.references is not None
        ]
        for target, pairs in () if table.public else (*to, *table.references.items()):
            seen = target if policy.tables[target].public else f"made_{target}"
            joined = " AND ".join(f"a.{column} = b.{key}" for column, key in pairs.items())
            filled = " AND ".join(f"a.{column} IS NOT NULL" for column in pairs)
            missed = (
                f"SELECT FROM made_{name} AS a WHERE {filled} AND NOT EXISTS (SELECT FROM {seen} AS b WHERE {joined})"
            )
            assert owner.execute(missed.encode()).fetchall() == [], (name, target)


def test_values_are_those_that_are_declared(policy: Policy) -> None:
    """Within the bounds, of the domain, NULL where that may be; and not all alike."""
    made = MadeUp(policy, {"zones": {"zone_id": [3, 5, 8], "zone": ["a", "b", "c"], "borough": ["x", "x", "y"]}})
    for table in policy.tables.values():
        rows = [made.row(table, at) for at in range(200)]
        for column, *values in () if table.public else zip(table.columns.values(), *rows, strict=True):
            name, told = column.name, {value for value in values if value is not None}
            assert (None in values) == column.nullable, name
            assert len(told) > 1, name
            if column.values is not None:
                assert told <= set(column.values)
            if column.bounds is not None:
                assert all(Fraction(each) in column.bounds for each in told)
            if column.references is not None:
                assert told == {3, 5, 8}


def test_made_up_json_has_the_declared_paths(json_policy: Policy) -> None:
    """Their values are those that are declared, and some are missing."""
    made, events = MadeUp(json_policy, {}), json_policy.tables["events"]
    texts = [made.row(events, at)[2] for at in range(300)]
    assert None in texts
    objects = [json.loads(str(text)) for text in texts if text is not None]
    assert {each.get("plan") for each in objects} == {"free", "pro", "team", None}
    assert {each["address"]["city"] for each in objects if "address" in each} == {"Oslo", "Rome"}
    assert {type(each["active"]) for each in objects if "active" in each} == {bool}
    for path, low, high in (("age", 0, 120), ("score", -5, 10), ("weight", 0, 1)):
        assert all(low <= each[path] <= high for each in objects if path in each), path
    assert all("2019-01-01" <= each["since"] <= "2019-12-31" for each in objects if "since" in each)
    assert not any("secret" in each for each in objects)


def test_the_shadow_reads_made_up_rows_of_every_type_and_reference(
    world: World,
    shops: Shops,
    typed_world: tuple[World, TypedEngines],
    wide: Engines,
    json_world: tuple[World, JsonEngines],
) -> None:
    """They have room in their columns, keys are unique, and references point to rows of public tables or to made-up ones."""
    for each in (world, shops["duckdb"].world, typed_world[0], wide["duckdb"].world, json_world[0]):
        _checked(each)
