"""Rows that a subquery makes of single units: each has one owner, and no unit changes another's.

Each attack is first shown to succeed where one mistake was put in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy
from tests.support import unit_mutants
from tests.support.exactness import Measured, measurements
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.mutants import Break
from tests.support.records import Maker, Row
from tests.support.schema import of
from tests.support.served import Filled

C = 2
BY_COUNT = "SELECT n, count(*) FROM (SELECT count(*) AS n FROM rides GROUP BY rider) AS t GROUP BY n"
BY_BOTH = (
    "SELECT n, m, count(*) FROM (SELECT count(*) AS n, max(seats) AS m FROM rides GROUP BY rider) AS t GROUP BY n, m"
)
BY_NUMBER = "SELECT shared, count(*) FROM (SELECT DISTINCT rider, number, shared FROM rides) AS t GROUP BY shared"
BY_ZONE = "SELECT count(*) FROM (SELECT rider, from_zone, stars FROM rides GROUP BY 1, 2, 3) AS t"

BY_PLACE = (
    "SELECT n, seats, count(*) FROM (SELECT seats, row_number() OVER (PARTITION BY rider ORDER BY shared) AS n FROM rides) "
    "AS t GROUP BY n, seats"
)

RUNNING = (
    "SELECT n, f, count(*) FROM (SELECT sum(seats) OVER (PARTITION BY rider ORDER BY shared ROWS 1 PRECEDING) AS n, "
    "first_value(seats) OVER (PARTITION BY rider ORDER BY shared) AS f FROM rides) AS t GROUP BY n, f"
)
FIRST = (
    "SELECT seats, count(*) FROM (SELECT DISTINCT ON (rider) rider, seats FROM rides ORDER BY rider, shared) AS t "
    "GROUP BY seats"
)

_AT = "SELECT seats, count(*) FROM (SELECT seats, {} OVER (PARTITION BY {}) AS n FROM rides) AS t WHERE n = {} GROUP BY seats"
BY_RANK = _AT.format("rank()", "rider ORDER BY shared", 1)
BY_PART = _AT.format("row_number()", "rider, seats ORDER BY shared", 1)
BY_LAST = _AT.format("row_number()", "rider ORDER BY shared", C)

ATTACKS: Sequence[tuple[Break, str]] = (
    (unit_mutants.owner_lost, BY_NUMBER),
    (unit_mutants.first_units_only, BY_COUNT),
    (unit_mutants.numbered_among_all, BY_BOTH),
    (unit_mutants.merged_owners, BY_BOTH),
    (unit_mutants.one_row_for_all_keys, BY_ZONE),
    (unit_mutants.any_value_of_many, BY_COUNT),
    (unit_mutants.order_by_others, BY_PLACE),
    (unit_mutants.window_of_all, BY_PLACE),
    (unit_mutants.order_by_others, RUNNING),
    (unit_mutants.window_of_all, RUNNING),
    (unit_mutants.order_by_others, FIRST),
    (unit_mutants.ties_have_places, BY_RANK),
    (unit_mutants.places_of_parts, BY_PART),
    (unit_mutants.last_place_is_one_row, BY_LAST),
)


def _rows(policy: Policy) -> Sequence[Row]:
    """Return the rows of a unit that shares a number with each of six others, which have from one to three rows."""
    maker, table = Maker(1), policy.tables[of("rides")]
    shared = [(1, number) for number in range(1, 7)] + [(1 + number, number) for number in range(1, 7)]
    alone = [(rider, 100 * rider + n) for rider in range(2, 8) for n in range(rider % 3)]
    return [
        maker.row(table)
        | {"rider": rider, "number": number, "shared": number < 100, "seats": n % 5 + 1}
        | {"from_zone": (1, 2, 4, 5, 9)[number % 5], "stars": (1, 2, 5)[n % 3]}
        for n, (rider, number) in enumerate([*shared, *alone])
    ]


@dataclass(frozen=True, slots=True)
class Target:
    """Where an attack is tried."""

    policy: Policy
    world: World
    engine: Filled

    def falls(self, sql: str) -> bool:
        """Return whether some unit moves what is measured further than the noise is made for."""
        (part,) = measurements(sql, self.policy, self.world, self.engine)
        measured = Measured.of(part, self.engine, self.world)
        return max(measured.moves("rides", _rows(self.policy), "rider")) > measured.claim


@pytest.fixture(params=ENGINES)
def target(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Target:
    """A target where a unit may have `C` rows."""
    return Target(with_rows(policy, "rides", "passenger", C), world, tiny[request.param])


@pytest.mark.parametrize("sql", sorted({sql for _, sql in ATTACKS}))
def test_attack_fails(sql: str, target: Target) -> None:
    """No unit moves rows of units further than is claimed."""
    assert not target.falls(sql)


@pytest.mark.parametrize(("mistake", "sql"), ATTACKS, ids=lambda case: getattr(case, "__name__", "sql"))
def test_attack_succeeds_on_a_mistake(
    mistake: Break, sql: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attack moves more than is claimed where the mistake is that it is made for."""
    mistake(monkeypatch)
    assert target.falls(sql)


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT rider, count(*) AS n FROM rides GROUP BY rider LIMIT 5",
        "SELECT rider, count(*) AS n FROM rides GROUP BY rider ORDER BY n OFFSET 5",
        "SELECT DISTINCT count(*) AS n FROM rides GROUP BY rider",
        "SELECT DISTINCT ON (count(*)) rider, count(*) AS n FROM rides GROUP BY rider",
        "SELECT rider, row_number() OVER () AS n FROM rides GROUP BY rider",
        "SELECT row_number() OVER () AS n FROM rides",
        "SELECT lag(seats) OVER (ORDER BY rider) AS n FROM rides",
        "SELECT ntile(4) OVER (PARTITION BY paid ORDER BY seats) AS n FROM rides",
        "SELECT row_number() OVER (PARTITION BY rider + 1 ORDER BY seats) AS n FROM rides",
        "SELECT first_value(seats) OVER (PARTITION BY paid ORDER BY day) AS n FROM rides",
        "SELECT first_value(seats) OVER (PARTITION BY rider ORDER BY note) AS n FROM rides",
        "SELECT last_value(seats) OVER (PARTITION BY rider / 2 ORDER BY day) AS n FROM rides",
        "SELECT row_number() OVER w AS n FROM rides WINDOW w AS (PARTITION BY paid)",
        "SELECT row_number() OVER (w ORDER BY rider) AS n FROM rides WINDOW w AS ()",
        "SELECT sum(seats) OVER (ORDER BY rider) AS n FROM rides",
        "SELECT sum(seats) OVER () AS n FROM rides",
        "SELECT sum(seats) OVER (PARTITION BY rider RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM rides",
        "SELECT sum(seats) OVER (PARTITION BY rider ORDER BY day ROWS seats PRECEDING) AS n FROM rides",
        "SELECT array_agg(seats) OVER (PARTITION BY rider) AS n FROM rides",
        "SELECT DISTINCT ON (paid) seats AS n FROM rides ORDER BY paid, rider",
        "SELECT DISTINCT ON (rider + 1) seats AS n FROM rides ORDER BY rider + 1",
        "SELECT DISTINCT ON (rider) seats AS n FROM rides ORDER BY rider LIMIT 5",
        "SELECT DISTINCT ON (rider) seats AS n FROM rides ORDER BY rider, note",
        "SELECT seats AS n FROM rides UNION ALL SELECT zone_id FROM zones",
        "(SELECT seats AS n FROM rides UNION ALL SELECT seats FROM rides) LIMIT 3",
        "SELECT rider, rank() OVER (ORDER BY count(*)) AS n FROM rides GROUP BY rider",
        "SELECT rider, (array_agg(seats))[1] AS n FROM rides GROUP BY rider",
        "SELECT rider, string_agg(paid, '') AS n FROM rides GROUP BY rider",
        "SELECT rider, any_value(seats) AS n FROM rides GROUP BY rider",
        "SELECT rider, mode() WITHIN GROUP (ORDER BY seats) AS n FROM rides GROUP BY rider",
        "SELECT rider, count(*) AS n FROM rides GROUP BY rider HAVING count(*) > (SELECT avg(seats) FROM rides)",
        "SELECT rider, count(*) AS n FROM rides GROUP BY ROLLUP (rider)",
        "SELECT rider + 1 AS rider, count(*) AS n FROM rides GROUP BY rider + 1",
        "SELECT rider / 2 AS r, driver, count(*) AS n FROM rides GROUP BY 1, driver",
    ],
)
def test_rows_that_others_decide_are_refused(inner: str, policy: Policy, world: World, tiny: Engines) -> None:
    """What a unit's row is, or whether it is there, never hangs on another unit or on the order of rows."""
    with pytest.raises(DpsqlError):
        measurements(f"SELECT count(n), sum(n) FROM ({inner}) AS t", policy, world, tiny["duckdb"])


@pytest.mark.parametrize("function", ["lag(rider)", "lead(rider, 2)", "first_value(rider)", "last_value(rider)"])
def test_what_names_a_unit_names_it_behind_a_window_too(
    function: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """The unit of another row of the unit is the unit: nobody groups by it."""
    window = f"{function} OVER (PARTITION BY rider ORDER BY number)"
    with pytest.raises(DpsqlError) as caught:
        measurements(
            f"SELECT x, count(*) FROM (SELECT {window} AS x FROM rides) AS t GROUP BY x", policy, world, tiny["duckdb"]
        )
    assert caught.value.because == "key-is-unit"


PLACES = (
    "n < 2", "n <= 1.9", "NOT n > 1", "n <> 2", "n <> 1", "n BETWEEN 0 AND 1", "n IN (1, 3)", "n NOT IN (2)", "n >= 1",
    "n * 1.0 <= 1", "least(n, 1) = 1", "n % 2 = 1", "n / 3 = 0", "n * n = 1", "n::double precision < 1.5",
    "coalesce(n, 5) = 1",
    "n = 1 OR seats > 2", "(n, 1) = (1, 1)", "n IN (SELECT zone_id FROM zones)", "n = (SELECT min(zone_id) FROM zones)",
)  # fmt: skip


@pytest.mark.parametrize("condition", PLACES)
def test_conditions_on_places_leave_no_more_rows_than_is_said(condition: str, target: Target) -> None:
    """Whatever is understood of a condition: a unit's rows beyond its places are read as the last."""
    assert not target.falls(
        "SELECT seats, count(*) FROM (SELECT seats, row_number() OVER (PARTITION BY rider ORDER BY shared, fare) AS n "
        f"FROM rides) AS t WHERE {condition} GROUP BY seats"
    )
