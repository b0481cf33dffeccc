"""Views as a way round: to rows of several units, to columns that they hide, to tables that a role was not granted."""

from dataclasses import replace

import psycopg
import pytest
from sqlglot import exp

from dpsql.errors import DpsqlError
from dpsql.gateway.plans import planning
from dpsql.rewrite.syntax.read.dialect import ViewedTable, ViewRead, parse_query
from dpsql.rewrite.translate.rows import relations
from tests.support.exactness import Measured, measurements
from tests.support.fix_dirty import NewUser
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.schema import APART

WRITTEN = (
    (
        "SELECT count(*), sum(total) FROM card_rides WHERE late",
        (
            "SELECT count(*), sum(total) FROM (SELECT fare + price AS total, late FROM rides WHERE paid = 'card' "
            "AND seats > 0) AS card_rides WHERE late"
        ),
    ),
    (
        "SELECT avg(rides), max(spent) FROM riders",
        (
            "SELECT avg(rides), max(spent) FROM (SELECT count(*) AS rides, sum(fare) AS spent FROM rides GROUP BY rider "
            "HAVING count(*) > 1) AS r"
        ),
    ),
    (
        "SELECT borough, median(fare) FROM late_cards GROUP BY 1",
        (
            "SELECT borough, median(fare) FROM rides JOIN zones ON zone_id = from_zone WHERE paid = 'card' AND seats > 0 "
            "AND late GROUP BY 1"
        ),
    ),
)


@pytest.mark.parametrize(("view", "written"), WRITTEN)
def test_a_view_is_measured_as_its_query(view: str, written: str, world: World, dirty: Memory) -> None:
    """The unit that a view does not show still bounds what is measured, and whatever else is claimed is the same."""
    claims = [
        [(part.bound, Measured.of(part, dirty, world).claim) for part in measurements(sql, world.policy, world, dirty)]
        for sql in (view, written)
    ]
    assert claims[0] == claims[1]


ROUND = (
    "SELECT count(*) FROM card_rides a JOIN card_rides b ON a.zone = b.zone",
    "SELECT count(*) FROM card_rides a, late_cards b",
    "SELECT count(*) FROM riders r JOIN card_rides c ON r.spent = c.fare",
    "SELECT fare, count(*) FROM card_rides GROUP BY card_rides",
    "SELECT count(*) FROM card_rides WHERE zone IN (SELECT zone FROM late_cards)",
    "SELECT rider, count(*) FROM riders GROUP BY rider",
    "SELECT max(c) FROM card_rides AS c",
    "SELECT fare FROM card_rides UNION ALL SELECT fare FROM card_rides",
    "SELECT x.fare FROM (SELECT fare FROM card_rides ORDER BY fare LIMIT 1) AS x",
    "TABLE card_rides",
)


@pytest.mark.parametrize("sql", ROUND)
def test_no_view_leads_to_rows(sql: str, user: NewUser) -> None:
    """Nothing about single units or single rows is said through a view."""
    client = user("ana")
    before = client.charges
    with pytest.raises((DpsqlError, psycopg.Error)):
        client.ask(sql)
    assert client.charges == before


HIDDEN = (
    "SELECT count(*) FROM rides",
    "SELECT avg(rider) FROM card_rides",
    "SELECT avg(rides.rider) FROM card_rides",
    "SELECT avg(r.age) FROM card_rides AS r",
    "SELECT avg(age) FROM card_rides, rides",
    "SELECT avg(age) FROM card_rides NATURAL JOIN rides",
    "SELECT count(*) FROM card_rides WHERE EXISTS (SELECT 1 FROM rides WHERE rides.fare = card_rides.fare)",
    "SELECT count(*) FROM card_rides WHERE fare > (SELECT avg(age) FROM rides)",
    "WITH rides AS (SELECT * FROM public.rides) SELECT avg(age) FROM rides",
    "SELECT avg(age) FROM (SELECT * FROM card_rides) AS r",
    "SELECT count(*) FROM late_cards",
    "SELECT count(*) FROM riders",
    "SELECT count(*) FROM card_rides /* sqlglot.meta view=late_cards,public=True */ , late_cards",
    "SELECT count(*) FROM card_zones JOIN riders ON spent = 1",
    "EXPLAIN SELECT count(*) FROM rides",
    "SELECT count(rides) FROM rides LIMIT 0",
)


@pytest.mark.parametrize("sql", HIDDEN)
def test_a_role_reaches_no_further_than_its_views(sql: str, user: NewUser) -> None:
    """Neither PostgreSQL nor the planner knows what a view does not show, or what was not granted beside it."""
    client = user("nell")
    before = client.charges
    with pytest.raises((DpsqlError, psycopg.Error)) as refused:
        client.ask(sql)
    assert getattr(refused.value, "sqlstate", None) in {"42501", "42703", "42P01"}
    assert client.charges == before


@pytest.mark.parametrize(
    "sql", ["SELECT count(*) FROM late_cards", "SELECT count(*) FROM rides", "SELECT * FROM card_zones, riders"]
)
def test_the_planner_asks_for_grants_by_itself(sql: str, world: World, dirty: Memory) -> None:
    """Even where PostgreSQL has said nothing."""
    with pytest.raises(DpsqlError, match="permission denied"):
        measurements(
            sql.replace("* FROM card_zones, riders", "sum(z.rides) FROM card_zones z, (SELECT count(*) FROM riders) r"),
            world.policy,
            world,
            dirty,
            "narrow",
        )


def test_no_text_is_read_as_a_view() -> None:
    """What says that something was granted is made by nobody but the policy."""
    tree = parse_query(
        'SELECT * FROM "public"."v" AS v /* sqlglot.meta view=v */, (SELECT CAST(NULL AS int) AS a) AS t'
    )
    assert tree is not None
    assert tree.find(ViewRead, ViewedTable) is None


@pytest.mark.parametrize("sql", ["SELECT * FROM card_rides", "SELECT count(*) FROM riders", "SELECT * FROM card_zones"])
def test_the_tripwire_holds_in_views(sql: str, user: NewUser) -> None:
    """What reached the shadow as it was sent fails there: views are read as somebody whom the tripwire binds."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="are protected"):
        user("ana").connection.execute(sql.encode())


def test_a_role_would_reach_tables_if_nobody_asked_for_grants(
    world: World, dirty: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL describes what it does not run: the planner's own check is what keeps a role to its views."""
    asked = (
        "SELECT count(*) FROM late_cards",
        "SELECT count(*) FROM card_rides, riders WHERE fare = spent",
        "SELECT avg(age) FROM rides",
    )
    monkeypatch.setattr(planning, "require_views", lambda *_: None)
    monkeypatch.setattr(relations, "require_table", lambda *_: None)
    assert measurements(asked[0], world.policy, world, dirty, "narrow")
    assert measurements(asked[2], world.policy, world, dirty, "narrow")
    monkeypatch.undo()
    for sql in asked:
        with pytest.raises(DpsqlError, match="permission denied"):
            measurements(sql, world.policy, world, dirty, "narrow")


CAPTURED = (
    "WITH rides AS (SELECT passenger_id AS rider, fare, tip, fare AS price, 1 AS from_zone, 'card' AS paid, 9 AS seats, "
    "DATE '2019-03-02' AS day, true AS late, true AS shared FROM trips) SELECT count(*) FROM card_rides"
)


@pytest.mark.skipif(APART, reason="no bare name is that of a view's table")
def test_no_cte_is_read_in_the_place_of_a_views_table(world: World, dirty: Memory) -> None:
    """Were a view's tables not written with their schema, a client would say what is in the view."""
    plain = "SELECT count(*) FROM card_rides"
    (right,), (captured,) = (measurements(sql, world.policy, world, dirty) for sql in (plain, CAPTURED))
    assert captured == right
    view = world.policy.views["card_rides"]
    assert isinstance(view.tree, exp.Query)
    tree = view.tree.copy()
    for table in tree.find_all(exp.Table):
        table.set("db", None)
    broken = replace(world.policy, views={"card_rides": replace(view, tree=tree)})
    (captured,) = measurements(CAPTURED, broken, world, dirty)
    assert captured != right
