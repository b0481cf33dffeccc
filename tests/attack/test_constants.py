"""What planning asks the shadow can't be turned into anything but a constant, whoever writes the statement."""

import psycopg
import pytest

from dpsql.errors import DpsqlError, Unsupported
from dpsql.policy.model import Policy
from dpsql.shadow.role import ORACLE
from tests.exactness import measurements
from tests.fix_world import World
from tests.memory import Memory

SMUGGLED = (
    "seats = ANY (array_append(NULL::int[], (SELECT length(set_config('role', 'none', false)))))",
    "seats = ANY ((SELECT array_agg(length(pg_read_file('/etc/passwd'))))::int[])",
    "note = ANY (string_to_array(set_config('role', 'none', false), ','))",
    "note <> ALL (array_fill('x'::text, ARRAY[100000000]))",
    "seats = ANY ((SELECT array_agg(zone_id) FROM zones)::int[])",
)


@pytest.mark.parametrize("condition", SMUGGLED)
def test_arrays_are_constants_too(condition: str, policy: Policy, world: World) -> None:
    """`ANY (…)` and `ALL (…)` take what any other constant may be made of, no query and no other function."""
    with pytest.raises(Unsupported):
        measurements(f"SELECT count(*) FROM rides WHERE {condition}", policy, world, Memory(policy))


def test_lists_of_points_are_constants_too(policy: Policy, world: World) -> None:
    """So do the points of percentiles."""
    points = "(SELECT ARRAY[length(set_config('role', 'none', false))])::float8[]"
    sql = f"SELECT percentile_cont({points}) WITHIN GROUP (ORDER BY fare) FROM rides"
    with pytest.raises(Unsupported):
        measurements(sql, policy, world, Memory(policy))


def test_planning_has_no_rights_to_go_back_to(world: World) -> None:
    """The session that evaluates constants belongs to nobody of importance, whatever is set in it."""
    dsn = world.server.dsn("taxi", ORACLE)
    with psycopg.connect(dsn, autocommit=True) as session:
        rights = "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = session_user"
        assert session.execute(rights).fetchone() == (False,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT set_config('role', 'dpsql_owner', false)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT pg_read_file('/etc/passwd')")


@pytest.mark.parametrize("text", ["lpad('a', 200000000)", "rpad(lpad('a', 3000000), 5000000)"])
def test_long_constants_are_refused(text: str, policy: Policy, world: World) -> None:
    """A short statement can't fill the gateway's memory."""
    with pytest.raises(DpsqlError, match=r"longer than|too long"):
        measurements(f"SELECT count(*) FROM rides WHERE note = {text}", policy, world, Memory(policy))
