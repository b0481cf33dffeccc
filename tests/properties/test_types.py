"""Rarer types as privacy units and as keys, exhaustively: taking one unit's rows away moves nothing further than claimed.

Units are UUIDs, and texts of a fixed length, of which those that differ in blanks at their end are one.
"""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.plan import Measurement
from tests.support.exactness import Measured, key_searches, measurements
from tests.support.fix_engines import ENGINES
from tests.support.fix_policy import with_rows
from tests.support.fix_types import BEYOND, DOORS, TypedEngines, marks
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import Row
from tests.support.served import Filled, Served

MOST = 3
"""How many rows of a unit count, of the eight that it has."""
UNITS = {"visitor": ("person", "owner", "explorer"), "badge": ("badge", "guard", "watch")}
"""By the column: the kind of unit, and the roles that protect it, without δ and with it."""
SUMS = (
    "SELECT count(*), count(opens), sum(length(code)) FROM marks WHERE stay > '-1 day' OR stay IS NULL",
    "SELECT mood, paid, avg(came::time), count(*) FROM marks GROUP BY 1, 2",
    "SELECT date_trunc('hour', came)::time, max(came::time) FROM marks GROUP BY 1",
    "SELECT count(*) FROM marks a JOIN marks b ON a.{unit} = b.{unit} AND a.came < b.came",
    "SELECT avg(n), count(*) FROM (SELECT {unit}, count(DISTINCT ticket) AS n FROM marks GROUP BY 1) AS t",
    "SELECT count(DISTINCT {unit}), count(DISTINCT opens), count(DISTINCT ticket) FROM marks",
)
KEYS = (
    "SELECT opens, stay, count(*) FROM marks GROUP BY 1, 2",
    "SELECT seen, code, sum(length(code)) FROM marks GROUP BY 1, 2",
    "SELECT ticket, mood, count(*) FROM marks GROUP BY 1, 2",
    "SELECT day, came::time, count(*) FROM marks GROUP BY 1, 2",
)


@pytest.fixture(scope="module")
def filled(typed_policy: Policy, typed_world: tuple[World, TypedEngines]) -> Iterator[Mapping[str, Filled]]:
    """Engines of our own, for rows that change."""
    memory = Memory(typed_policy, public={"doors": DOORS})
    served = Served(typed_world[0], "typed_neighbours", {"doors": DOORS})
    yield {"duckdb": memory, "postgres": served}
    served.close()
    memory.close()


def _rows() -> list[Row]:
    """Return rows of a few people, and of nobody; one has few."""
    rows = [row for row in marks(20) if row["badge"] is None or str(row["badge"]).strip() in {"0", "1", "2", "13"}]
    return [row for row in rows if str(row["badge"]).strip() != "2" or row["mood"] != "sad"]


def _moves(parts: Sequence[Measurement], unit: str, engine: Filled, world: World) -> Iterator[tuple[int, int]]:
    """Yield how far each unit's rows move each part, and how far they may; some values are none that answers have."""
    rows = _rows()
    for gone in (None, *{str(row[unit]).rstrip() for row in rows if row[unit] is not None}):
        engine.fill("marks", [row for row in rows if gone is None or str(row[unit]).rstrip() != gone])
        for place, (column, value) in enumerate(BEYOND):
            engine.execute(f"UPDATE marks SET {column} = {value} WHERE opens = '07:03' AND badge LIKE '{place % 2}%'")
        pairs = [(measured := Measured.of(part, engine, world), measured.exact()) for part in parts]
        if gone is None:
            whole = pairs
        for (measured, all_), (_, left) in zip(whole, pairs, strict=True):
            yield measured.distance(all_, left), measured.claim


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", UNITS)
def test_no_unit_moves_it_further_than_claimed(
    unit: str, engine: str, typed_policy: Policy, typed_world: tuple[World, TypedEngines], filled: Mapping[str, Filled]
) -> None:
    """Nor is the claim larger than what some unit does."""
    (kind, role, _), world = UNITS[unit], typed_world[0]
    policy = with_rows(typed_policy, "marks", kind, MOST)
    for sql in SUMS:
        parts = measurements(sql.format(unit=unit), policy, world, filled[engine], role)
        moves = list(_moves(parts, unit, filled[engine], world))
        assert all(moved <= claim for moved, claim in moves), sql
        assert any(moved for moved, _ in moves), sql


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_in_few_of_the_groups_found_out(
    unit: str, engine: str, typed_policy: Policy, typed_world: tuple[World, TypedEngines], filled: Mapping[str, Filled]
) -> None:
    """By the rows that are counted, and by the units that are."""
    (kind, _, role), world = UNITS[unit], typed_world[0]
    policy = with_rows(typed_policy, "marks", kind, MOST)
    for sql in KEYS:
        (sums,) = measurements(sql, policy, world, filled[engine], role)
        (search,) = key_searches(sql, policy, world, filled[engine], role)
        moves = list(_moves((sums, search), unit, filled[engine], world))
        assert all(moved <= claim for moved, claim in moves), sql
        assert any(moved == claim for moved, claim in moves), sql
