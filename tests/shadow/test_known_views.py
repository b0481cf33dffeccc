"""What PostgreSQL says of the policy's views: what they read, in which order, and which columns are a table's."""

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from psycopg import Connection

from dpsql.errors import ConfigError
from dpsql.policy.model import Policy, View, ViewColumn
from dpsql.shadow.contents.schema import create_views, known_views
from tests.support.fix_world import World

FARE, TIP, ZONE = ("rides", "fare"), ("rides", "tip"), ("zones", "zone_id")


@pytest.fixture
def owner(world: World) -> Iterator[Connection]:
    """A session of the owner's in which nothing stays."""
    with psycopg.connect(world.server.dsn("taxi")) as connection:
        yield connection
        connection.rollback()


def made_views(owner: Connection, policy: Policy, *views: View) -> Policy:
    """Return what is known of views that are made now."""
    policy = replace(policy, views={view.name: view for view in views})
    create_views(owner, policy)
    return known_views(owner, policy)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT r.fare, tip AS t, fare + tip AS total FROM rides AS r", {"fare": FARE, "t": TIP}),
        ("SELECT avg(fare) AS fare, tip FROM rides GROUP BY tip", {"tip": TIP}),
        ("SELECT f FROM (SELECT fare AS f FROM (SELECT * FROM rides) AS a) AS b", {"f": FARE}),
        ("WITH w AS (SELECT fare AS f FROM rides) SELECT w.f, zone_id FROM w, zones", {"f": FARE, "zone_id": ZONE}),
        ("WITH rides AS (SELECT 1 AS fare) SELECT fare FROM rides", {}),
        ("WITH w (tip) AS (SELECT fare FROM rides) SELECT tip FROM w", {"tip": FARE}),
        ("SELECT tip FROM (SELECT fare FROM rides) AS r (tip)", {"tip": FARE}),
        ("SELECT fare FROM rides UNION ALL SELECT tip FROM rides", {}),
        ("SELECT f FROM (SELECT fare AS f FROM rides UNION ALL SELECT tip FROM rides) AS u", {}),
        ("SELECT b.fare FROM rides AS a, rides AS b", {"fare": FARE}),
        ("SELECT fare AS f FROM card_rides", {"f": FARE}),
        ("SELECT relname FROM pg_class", {}),
    ],
)
def test_what_is_computed_comes_from_nowhere(
    sql: str, expected: dict[str, tuple[str, str]], policy: Policy, owner: Connection
) -> None:
    """Nor does what stands in a union; a view's columns are those of the tables behind it."""
    views = [View("v", sql)]
    if "card_rides" in sql:
        owner.execute("DROP VIEW late_cards, card_zones, card_rides")
        views.append(policy.views["card_rides"])
    assert made_views(owner, policy, *views).views["v"].origins == expected


def test_views_stand_behind_those_that_they_read(policy: Policy, owner: Connection) -> None:
    """In whichever order the files are; and a view is public if all that it reads is."""
    made = made_views(
        owner,
        policy,
        View("a", "SELECT n, 1 AS k FROM b", {"k": ViewColumn("bigint")}),
        View("b", "SELECT n FROM public.c"),
        View("c", "SELECT count(*) AS n FROM zones"),
        View("d", "WITH c AS (SELECT fare FROM rides) SELECT zone FROM zones"),
    )
    assert [(view.name, view.public) for view in made.views.values()] == [
        ("c", True),
        ("d", False),
        ("b", True),
        ("a", True),
    ]
    assert made.views["b"].query.split() == "SELECT n FROM public.c".split()
    assert "(k)::bigint AS k" in made.views["a"].query


def test_all_that_can_not_be_made_are_told(policy: Policy, owner: Connection) -> None:
    """A line for each."""
    views = View("a", "SELECT n FROM b"), View("b", "SELECT farre AS n FROM rides"), View("c", "SELECT 1 AS x")
    with pytest.raises(ConfigError) as failed:
        made_views(owner, policy, *(replace(view, file=f"{view.name}.yaml") for view in views))
    assert failed.value.message.splitlines() == [
        'a.yaml:1: view: reads the view "b", which can\'t be read',
        'b.yaml:1: view: "b" can\'t be made: column "farre" does not exist',
    ]
