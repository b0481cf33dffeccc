"""What planning asks the shadow can't be turned into anything but a constant, whoever writes the statement."""

import contextlib

import psycopg
import pytest

from dpsql.errors import DpsqlError, Unsupported
from dpsql.policy.model import Policy
from dpsql.question import Settings
from dpsql.rewrite.ir.literal import SpelledSql
from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.read.parse import parse
from dpsql.rewrite.translate.public.speller import spell
from dpsql.shadow.contents.role import ORACLE
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

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
            session.execute("SET role = dpsql_owner")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("SELECT pg_read_file('/etc/passwd')")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("replace(lpad('a', 100000, 'a'), 'a', rpad('b', 20, 'b'))", "longer than"),
        ("replace(lpad('a', 100000, 'a'), 'a', rpad('b', 100000, 'b'))", "too long"),
        ("left(translate(lpad('0', 100000, 'a'), lpad('', 100000, 'b'), 'c'), 1)", "too long"),
        ("left(btrim(lpad('0', 100000, 'a'), lpad('', 100000, 'b')), 1)", "too long"),
        ("lpad('a', 200000000)", "can't stand beside"),
        ("rpad('a', 20000 * 10000)", "can't stand beside"),
    ],
)
def test_long_constants_are_refused(text: str, words: str, policy: Policy, world: World) -> None:
    """A short statement can't fill the gateway's memory, nor keep the shadow busy where it can't be interrupted."""
    with pytest.raises(DpsqlError, match=words):
        measurements(f"SELECT count(*) FROM rides WHERE note = {text}", policy, world, Memory(policy))


TRICKS = (
    """extract("epoch from now()) + length(set_config('datestyle', 'German', false)) + extract(epoch" from now())""",
    """extract('epoch from now()) + length(set_config(''datestyle'', ''German'', false)) + extract(epoch' from now())""",
    """interval '1' "day'; set datestyle = 'German'; --\"""",
    """'a' collate "C\"\" ; set datestyle = German; --\"""",
    """'1'::"integer; set datestyle = German; --\"""",
    """make_interval("days => 1); set datestyle = German; --" => 1)""",
    """"now(); set datestyle = German; --"()""",
    """pg_catalog."now(); set datestyle = German; --"()""",
    """(SELECT max(zone_id) AS "a; set datestyle = German; --" FROM zones)""",
    """(SELECT max("a; set datestyle = German; --".zone_id) FROM zones AS "a; set datestyle = German; --")""",
    """(SELECT max(zone_id) FROM zones; set datestyle = German; --)""",
    """E'\\'; set datestyle = German; --'""",
    """'\\'; set datestyle = German; --'""",
)
"""Constants that try to leave the place that they are put in."""
_STATE = """
  SELECT current_setting('DateStyle'), current_setting('statement_timeout'), current_setting('extra_float_digits'),
         (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors)
"""


@pytest.mark.parametrize("constant", TRICKS)
def test_no_constant_leaves_its_place(constant: str, policy: Policy, world: World) -> None:
    """Whatever becomes of it, the sessions that all users share are as they were, and keep nothing."""
    with contextlib.suppress(DpsqlError):
        measurements(f"SELECT count(*) FROM rides WHERE fare > {constant}", policy, world, Memory(policy))
    for session in world.session._all:
        state = session._opened().execute(_STATE).fetchone()
        assert state is not None
        assert [str(value) for value in state] == ["ISO, MDY", "2s", "1", "0", "0"]


def test_the_old_way_would_have_left(world: World) -> None:
    """The same text, put together without quotes and with a client's rights, changes the session."""
    with world.connect("ana") as session:
        session.execute(f"SELECT {TRICKS[0].replace(chr(34), '')}".encode())
        assert session.execute("SHOW datestyle").fetchone() == ("German, DMY",)


@pytest.mark.parametrize("constant", ["'now'::timestamp", "now()", "('n' || 'ow')::timestamp", "'{now}'::timestamp[]"])
def test_the_time_does_not_stand_still(constant: str, world: World) -> None:
    """However often it is asked, on one session; and a plan made of it is made again."""
    statement = parse(f"SELECT {constant}", parse_query)
    assert statement is not None
    asked, seen = spell(statement.queries[0].tree.expressions[0]), set()
    for _ in range(8 * len(world.session._all)):
        oracle = world.oracle()
        seen.add(oracle.constant(asked)[0])
        assert oracle.volatile
    assert len(seen) == 8 * len(world.session._all)


def test_each_question_has_its_own_settings(world: World) -> None:
    """Time zone and order of dates are the asking session's, whoever asked before."""
    midnight = SpelledSql("CAST('2020-01-01 00:00+00' AS timestamptz)")
    day = SpelledSql("CAST('01-02-2020' AS date)")
    for _ in range(8):
        for zone, shown in (("UTC", "2020-01-01 00:00:00+00"), ("Asia/Tokyo", "2020-01-01 09:00:00+09")):
            assert world.oracle(Settings(time_zone=zone)).constant(midnight)[0] == shown
        for order, shown in (("MDY", "2020-01-02"), ("DMY", "2020-02-01")):
            assert world.oracle(Settings(date_order=order)).constant(day)[0] == shown


def test_a_session_is_reset_after_an_error(world: World) -> None:
    """What failed leaves no transaction open."""
    for _ in range(6):
        with pytest.raises(DpsqlError):
            world.oracle().constant(SpelledSql("(1 / 0)"))
        assert world.oracle().constant(SpelledSql("1")) == ("1", "integer")
