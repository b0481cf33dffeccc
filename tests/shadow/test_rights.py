"""A role's columns in PostgreSQL's catalogue, and its conditions as PostgreSQL takes them."""

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from dpsql.errors import ConfigError
from dpsql.gateway.plans.views import with_checked_conditions
from dpsql.policy.model import Policy, RowCondition
from dpsql.shadow.contents.role import change_roles, require_indexable_conditions
from tests.support.fix_rights import NAMED, in_part
from tests.support.fix_world import USERS, World


@pytest.fixture
def granted(world: World) -> Iterator[Policy]:
    """The policy with the roles, which users have for as long as a test lasts."""
    policy = in_part(world)
    with world.connect("dpsql_owner") as owner:
        change_roles(owner, policy, {**USERS, "ana": "columns", "cleo": "in_part"})
        yield policy
        change_roles(owner, world.policy, USERS)


SHOWN = "SELECT table_name, column_name FROM {} WHERE table_name IN ('rides', 'trips')"


@pytest.mark.usefixtures("granted")
def test_a_view_shows_no_columns_of_its_tables_that_a_role_may_not_name(world: World) -> None:
    """It can't name them in the view either; what the view computes has a name, and no bounds or values."""
    of_view = "SELECT column_name FROM {} WHERE table_name = 'card_rides'"
    with world.connect("cleo") as other:
        every = {name for (name,) in other.execute(of_view.format("dpsql.columns").encode()).fetchall()}
    assert {"fare", "day", "late", "shared"} <= every
    with world.connect("ana") as client:
        for where in ("dpsql.columns", "information_schema.columns"):
            assert {name for (name,) in client.execute(of_view.format(where).encode()).fetchall()} == every - {"shared"}
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            client.execute("SELECT shared FROM card_rides")


@pytest.mark.usefixtures("granted")
def test_the_catalogue_shows_what_a_role_may_name(world: World) -> None:
    """Tools see these columns, and PostgreSQL itself refuses the others, where nobody else would."""
    expected = {(table, name) for table, names in NAMED.items() for name in names}
    with world.connect("ana") as client:
        for where in ("dpsql.columns", "information_schema.columns"):
            assert set(client.execute(SHOWN.format(where).encode()).fetchall()) == expected
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table rides"):
            client.execute("SELECT tip FROM rides")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="are protected"):
            client.execute("SELECT fare FROM rides")
    with world.connect("cleo") as client:
        assert len(client.execute(SHOWN.format("dpsql.columns").encode()).fetchall()) == 20 + 11


def test_what_a_role_may_name_again_is_granted_again(granted: Policy, world: World) -> None:
    """Rights that were taken away come back, and more than there were do not stay."""
    change = {**USERS, "ana": "owner"}
    with world.connect("dpsql_owner") as owner, world.connect("ana") as client:
        for users, number in ((change, 31), ({**USERS, "ana": "columns"}, 12)):
            change_roles(owner, granted, users)
            assert len(client.execute(SHOWN.format("dpsql.columns").encode()).fetchall()) == number


def _checked(policy: Policy, world: World) -> Policy:
    with world.connect("dpsql_owner") as owner:
        require_indexable_conditions(owner, policy)
    return with_checked_conditions(policy, world.oracle())


WRONG = (
    ("fares > 1", 'column "fares" does not exist'),
    ("fare", "argument of WHERE must be type boolean, not type double precision"),
    ("fare >", "syntax error at or near"),
    ("fare > 1; SELECT 1", "syntax error at or near"),
    ("fare > 1) WHERE (true", "syntax error at or near"),
    ("seats BETWEEN 0 AND 6", "holds of every row, by the bounds and values that rides declares"),
    ("true", "holds of every row"),
    ("rider IN (SELECT rider FROM trips)", "cannot use subquery in index predicate"),
    ("fare > avg(fare)", "aggregate functions are not allowed in index predicates"),
    ("row_number() OVER () = 1", "window functions are not allowed in index predicates"),
    ("fare > $1", "there is no parameter $1"),
    ("day > current_date - 30", "depends on more than the row: on the time, or on settings of the session"),
    ("note = current_user", "depends on more than the row"),
    ("picked AT TIME ZONE current_setting('TimeZone') > '2019-03-02'", "depends on more than the row"),
    ("picked::timestamptz > '2019-03-02 UTC'", "depends on more than the row"),
    ("random() < 0.5", "depends on more than the row"),
    ("day > 'yesterday'", "names a time that moves"),
    ("seats > 9", "holds of no row, by the bounds and values that rides declares"),
    ("paid = 'cheque'", "holds of no row"),
    ("note ~ '(a'", "rides.note ~ CAST('(a' AS TEXT): engines read this regular expression otherwise"),
    ("md5(number::text) < '8'", "md5(CAST(rides.number AS TEXT)) needs a column whose possible values are declared"),
    ("ctid = '(0,1)'", "index creation on system columns is not supported"),
)


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_a_condition_that_is_none_is_told(text: str, why: str, world: World) -> None:
    """With its place; nothing is served then."""
    role = replace(
        world.policy.roles["owner"], where={"rides": RowCondition(text, "config.yaml:9: roles.x.where.rides")}
    )
    policy = replace(world.policy, roles={"x": role})
    with pytest.raises(ConfigError) as told:
        _checked(policy, world)
    assert told.value.message.startswith(f"config.yaml:9: roles.x.where.rides: {why}")


RIGHT = (
    "fare > 1 -- a comment",
    "fare > 1 OR paid IS NULL",
    "age BETWEEN -3 AND 100",
    "(rides.fare > 1) AND (seats > 1)",
    "day BETWEEN '2019-03-02' AND '2019-03-05'",
    "lower(paid) LIKE 'c%'",
    "extract(hour FROM picked) < 12",
    "note IS NOT NULL",
)


@pytest.mark.parametrize("text", RIGHT)
def test_conditions_are_read_as_postgresql_reads_them(text: str, world: World) -> None:
    """Over the columns of one table, whatever functions dpsql knows."""
    role = replace(world.policy.roles["owner"], where={"rides": RowCondition(text)})
    policy = replace(world.policy, roles={"x": role})
    assert _checked(policy, world).roles["x"].where["rides"].tree is not None
