"""The policy's views in PostgreSQL's catalogue: as views, with comments, for those who were granted them."""

from dataclasses import replace

import psycopg
import pytest

from dpsql.errors import ConfigError
from dpsql.policy.model import View
from dpsql.shadow.contents.schema import create_views
from dpsql.shadow.server.postgres import Postgres
from tests.support.fix_dirty import NewUser
from tests.support.fix_shadow import POLICY, shadow, shadow_directory  # noqa: F401


def test_clients_see_views(user: NewUser) -> None:
    """What psql and BI tools ask for says that they are views, with the columns and types of their queries."""
    ask = user("ana").connection.execute
    assert ask("SELECT relkind, obj_description(oid) FROM pg_class WHERE relname = 'card_rides'").fetchone() == (
        "v",
        "rides paid by card",
    )
    views = ask("SELECT table_name FROM information_schema.views WHERE table_schema = 'public' ORDER BY 1").fetchall()
    assert [name for (name,) in views] == ["boroughs", "card_rides", "card_zones", "late_cards", "riders"]
    columns = ask(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_name = 'card_rides' ORDER BY ordinal_position"
    ).fetchall()
    assert columns[:3] == [("zone", "bigint"), ("fare", "double precision"), ("tip", "double precision")]
    assert "FROM rides r" in str(ask("SELECT pg_get_viewdef('card_rides'::regclass)").fetchone())


def test_views_are_described(user: NewUser) -> None:
    """`dpsql.columns` has what the policy says of them, for those who may use them."""
    asked = "SELECT column_name, type, description FROM dpsql.columns WHERE table_name = '{}'"
    ask = user("nell").connection.execute
    assert ("total", "double precision", "fare and price") in ask(asked.format("card_rides").encode()).fetchall()
    assert ask(asked.format("riders").encode()).fetchall() == []
    assert ask(asked.format("rides").encode()).fetchall() == []


def test_views_have_the_bounds_of_their_tables(user: NewUser) -> None:
    """Columns that are a table's as they stand, also through another view; of what is computed nothing is declared."""
    ask = user("ana").connection.execute
    asked = (
        "SELECT lower_bound, upper_bound, \"values\" FROM dpsql.columns WHERE table_name = '{}' AND column_name = '{}'"
    )
    (fare,) = ask(asked.format("rides", "fare").encode()).fetchall()
    assert fare[1] is not None
    for view in ("card_rides", "late_cards"):
        assert ask(asked.format(view, "fare").encode()).fetchall() == [fare]
        assert ask(asked.format(view, "total").encode()).fetchall() == [(None, None, None)]
    assert ask(asked.format("card_zones", "fare").encode()).fetchall() == [(None, None, None)]


def test_public_views_have_rows(user: NewUser) -> None:
    """Everybody may read them, and what planning asks as well."""
    assert user("nell").connection.execute("SELECT sum(zones) FROM boroughs").fetchone() == (5,)


def test_no_view_of_a_name_can_be_put_before_another(user: NewUser) -> None:
    """A temporary table of a view's name would be read in its stead."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="card_rides"):
        user("nell").connection.execute("CREATE TEMP TABLE card_rides (fare int)")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT nothing FROM trips", 'column "nothing" does not exist'),
        ("SELECT fare + payment_type FROM trips", "operator does not exist: numeric + text"),
        ("SELECT 1; DROP TABLE trips", "cannot insert multiple commands into a prepared statement"),
    ],
)
def test_what_postgresql_does_not_take_is_told(shadow: Postgres, query: str, reason: str) -> None:  # noqa: F811
    """With file, line and view, before anything serves."""
    view = View("odd", query, file="schemas/odd.yaml", line=3)
    with psycopg.connect(shadow.dsn("taxi")) as connection, pytest.raises(ConfigError) as failed:
        create_views(connection, replace(POLICY, views={"odd": view}))
    assert failed.value.message.startswith(f'schemas/odd.yaml:3: view: "odd" can\'t be made: {reason}')
