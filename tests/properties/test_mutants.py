"""A test that can't fail is a defect: mistakes in the heart, put in on purpose, are caught by the exhaustive check.

Mistakes that only statistics can show (the noise itself) are in tests/audit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from tests.support import key_mutants, mutants
from tests.support.exactness import Measured, key_searches, measurements
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.mutants import Break, C
from tests.support.records import Maker, Row
from tests.support.samples import in_one_way
from tests.support.served import Filled

COUNTS = "SELECT count(*) FROM rides"
BY_SHARED = "SELECT shared, count(*) FROM rides GROUP BY shared"
SUMS = "SELECT sum(fare), count(*) FROM rides"
LONE = "SELECT sum(fare) FROM rides"
MEANS = "SELECT avg(fare), count(*) FROM rides"
BESIDE = "SELECT paid, sum(price), count(*) FROM rides GROUP BY paid"
SCATTERED = "SELECT stars, seats, late, sum(price), count(*) FROM rides GROUP BY stars, seats, late"
SQUARES = "SELECT variance(fare) FROM rides"
MIXED = "SELECT variance(fare), sum(tip) FROM rides"
JOINED = "SELECT z.borough, count(*) FROM rides LEFT JOIN zones z ON z.zone_id = to_zone GROUP BY 1"
FANNED = "SELECT count(*) FROM rides JOIN (VALUES (-1), (-2)) AS v (low) ON fare > v.low"
COMPUTED = "SELECT sum(fare + tip) FROM rides"
COMPUTED_COUNTED = "SELECT sum(fare + tip), count(*) FROM rides"
FRACTIONS = "SELECT CASE WHEN shared THEN 1 ELSE 1.2 END, count(*) FROM rides GROUP BY 1"
MEDIAN = "SELECT paid, median(fare) FROM rides GROUP BY paid"
UNITS = "SELECT stars, count(DISTINCT rider) FROM rides GROUP BY stars"
VALUES = "SELECT count(DISTINCT number) FROM rides"
UNION = "SELECT count(*) FROM (SELECT fare FROM rides UNION ALL SELECT tip FROM rides) AS t"
EACH_VALUE = "SELECT avg(DISTINCT price + extract(epoch FROM picked)) FROM rides"
SUM_OF_VALUES = "SELECT sum(DISTINCT fare) FROM rides"
FOUND = "SELECT number, count(*) FROM rides GROUP BY number"
PIVOT = "SELECT sum(fare) FILTER (WHERE fare > 1), count(*) FILTER (WHERE fare > 0) FROM rides"

MUTANTS: Sequence[tuple[Break, str]] = (
    (mutants.half, COUNTS),
    (mutants.half, SUMS),
    (mutants.forgotten_rows, COUNTS),
    (mutants.forgotten_size, SUMS),
    (mutants.forgotten_square, SQUARES),
    (mutants.forgotten_square, MIXED),
    (mutants.squares_of_the_unclamped, MIXED),
    (mutants.no_cap, COUNTS),
    (mutants.cap_off_by_one, COUNTS),
    (mutants.cap_before_where, JOINED),
    (mutants.cap_before_where, FANNED),
    (mutants.no_cap, FANNED),
    (mutants.no_clamp, SUMS),
    (mutants.clamped_sum, SUMS),
    (mutants.no_norms, LONE),
    (mutants.half_norms, LONE),
    (mutants.no_norms, COMPUTED),
    (mutants.no_norms, BESIDE),
    (mutants.half_norms, BESIDE),
    (mutants.no_norms, SUMS),
    (mutants.half, BESIDE),
    (mutants.half_means, BESIDE),
    (mutants.no_cap_on_sums, BESIDE),
    (mutants.no_cap_on_sums, SUMS),
    (mutants.best_group_for_all, BESIDE),
    (mutants.norms_without_groups, BESIDE),
    (mutants.half, SCATTERED),
    (mutants.half_norms, SCATTERED),
    (mutants.half_means, SCATTERED),
    (mutants.no_cap_on_sums, SCATTERED),
    (mutants.mean_of_all_groups, SCATTERED),
    (mutants.half, MEANS),
    (mutants.forgotten_size, MEANS),
    (mutants.no_clamp, MEANS),
    (mutants.clamped_sum, MEANS),
    (mutants.a_block_for_each_coordinate, MEANS),
    (mutants.independent_noise, MEANS),
    (mutants.clamped_to_the_wrong_bounds, COMPUTED_COUNTED),
    (mutants.no_clamp, LONE),
    (mutants.one_hides_another, FRACTIONS),
    (mutants.merged_units, BY_SHARED),
    (mutants.half, PIVOT),
    (mutants.half, SQUARES),
    (mutants.blocks_by_conditions, PIVOT),
    (mutants.a_block_for_each_coordinate, SUMS),
    (mutants.a_block_for_each_coordinate, PIVOT),
    (mutants.independent_noise, SUMS),
    (mutants.no_clamp, SQUARES),
    (mutants.forgotten_rows, MEDIAN),
    (mutants.no_cap, MEDIAN),
    (mutants.cap_off_by_one, MEDIAN),
    (mutants.forgotten_rows, UNITS),
    (mutants.no_cap, UNITS),
    (mutants.cap_off_by_one, UNITS),
    (key_mutants.no_selection, VALUES),
    (key_mutants.selection_off_by_one, VALUES),
    (mutants.no_cap, UNION),
    (mutants.half, UNION),
    (key_mutants.no_selection, EACH_VALUE),
    (key_mutants.selection_off_by_one, EACH_VALUE),
    (mutants.half, EACH_VALUE),
    (mutants.no_clamp, SUM_OF_VALUES),
    (key_mutants.no_selection, FOUND),
    (key_mutants.selection_off_by_one, FOUND),
    (key_mutants.weights_where_selection_is_due, FOUND),
)


MARKS: Sequence[Break] = (mutants.heavy_units_missed, mutants.marks_in_other_places, mutants.marks_turned_round)
"""What marks heavy units must not do."""
SEARCHES: Sequence[Break] = (
    key_mutants.no_selection,
    key_mutants.selection_off_by_one,
    key_mutants.full_for_each_key,
    key_mutants.rows_for_units,
    key_mutants.keys_before_selection,
    mutants.merged_units,
)
"""What a search for keys by units must not do."""


SEEDS = (2, 1, 3)
"""Of which rows a mistake is looked for, first where most are noticed; each of these is the only one that shows some."""
MOVED = ("3", "2", "1")
"""The units that are taken away: with many more rows than they may have, with one more and with as many; others stay."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a mutant is tried: units with as many rows as they may have, one more, and many more; edges of all types."""

    policy: Policy
    world: World
    engine: Filled

    def caught(self, sql: str) -> bool:
        """Return whether some unit moves a measurement too far, is in too many groups, or the integers are not whole."""
        role = "explorer" if "number, " in sql else "owner"
        try:
            (measurement,) = measurements(sql, self.policy, self.world, self.engine, role)
            measured = Measured.of(measurement, self.engine, self.world)
            return self._too_far(measured)
        except DpsqlError:
            return True

    def caught_searching(self) -> bool:
        """Return whether some unit moves a search for keys by units too far, or is in too many groups."""
        for sql in (FOUND, "SELECT DISTINCT note FROM rides"):
            (search,) = key_searches(sql, self.policy, self.world, self.engine, "explorer")
            measured = Measured.of(search, self.engine, self.world)
            if self._too_far(measured):
                return True
        return False

    def _too_far(self, measured: Measured) -> bool:
        for seed in SEEDS:
            rows = self._rows(seed)
            if any(moved > measured.claim for moved in measured.moves("rides", rows, "rider", MOVED)):
                return True
            if not measured.measurement.groups.grouped:  # they are found out
                self.engine.fill("rides", [row for row in rows if row["rider"] == 3])
                if len(measured.exact()) > C:
                    return True
        return False

    def _rows(self, seed: int) -> Sequence[Row]:
        maker, table = Maker(seed, dirt=0.2, edges=0.5), self.policy.tables["rides"]
        units = [1] * C + [2] * (C + 1) + [3] * (5 * C) + [4, 5, 6] * C
        large, beyond = (1 + seed, (151.0, 1e9)) if seed < 3 else (3, (-1.0, -1e9))
        return [
            maker.row(table)
            | {"rider": unit, "shared": (unit == 3) == (seed > 1), "number": n}
            | {"fare": beyond[n % 2] if unit == large else 0.0}
            for n, unit in enumerate(units)
        ]


@pytest.fixture(params=ENGINES)
def bench(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Bench:
    """A bench with a bound of `C` rows."""
    return Bench(with_rows(policy, "rides", "passenger", C), world, tiny[request.param])


@pytest.mark.parametrize(
    ("sql", "bench"), in_one_way({sql: (sql,) for _, sql in MUTANTS}, ENGINES, ENGINES), indirect=["bench"]
)
def test_what_is_right_passes(bench: Bench, sql: str) -> None:
    """Without a mistake nothing is caught."""
    assert not bench.caught(sql)


@pytest.mark.parametrize(
    ("mutant", "sql", "bench"),
    in_one_way({f"{mutant.__name__} {sql}": (mutant, sql) for mutant, sql in MUTANTS}, ENGINES, ENGINES),
    indirect=["bench"],
)
def test_what_is_wrong_is_caught(bench: Bench, monkeypatch: pytest.MonkeyPatch, mutant: Break, sql: str) -> None:
    """Each mistake is caught on its statement."""
    mutant(monkeypatch)
    assert bench.caught(sql)


def test_a_right_search_passes(bench: Bench) -> None:
    """Without a mistake nothing is caught."""
    assert not bench.caught_searching()


@pytest.mark.parametrize("mutant", SEARCHES, ids=lambda case: case.__name__)
def test_a_wrong_search_is_caught(bench: Bench, monkeypatch: pytest.MonkeyPatch, mutant: Break) -> None:
    """Each mistake in finding keys by units moves too much, or too many keys."""
    mutant(monkeypatch)
    assert bench.caught_searching()


@pytest.mark.parametrize(
    ("bench", "sql", "mutant"),
    [
        *(("postgres", sql, mutant) for sql in (COUNTS, BESIDE, MEDIAN) for mutant in MARKS),
        *(("duckdb", sql, mutant) for sql in (BESIDE, LONE) for mutant in (MARKS[0], MARKS[2])),
    ],
    indirect=["bench"],
)
def test_a_heavy_unit_that_goes_unnoticed_is_caught(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, sql: str, mutant: Break
) -> None:
    """Where only heavy units' rows are weighed, each of them has to be found."""
    mutant(monkeypatch)
    assert bench.caught(sql)


NOTHING: Sequence[Break] = ()
BOTH = (mutants.no_condition, mutants.left_join)


@pytest.mark.parametrize(
    "sql", [PIVOT, "SELECT variance(fare) FILTER (WHERE late), sum(tip) FILTER (WHERE shared) FROM rides"]
)
def test_conditions_that_overlap_are_harmless(bench: Bench, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    """A row is in one block whatever the conditions are: a proof that went wrong would cost meaning, not privacy."""
    mutants.overlapping(monkeypatch)
    (measurement,) = measurements(sql, bench.policy, bench.world, bench.engine)
    assert isinstance(measurement, Sums)
    assert len(measurement.blocks) > 1
    assert not bench.caught(sql)


@pytest.mark.parametrize(
    ("sql", "broken", "harmless"),
    [
        (COUNTS, NOTHING, True),
        (COUNTS, (mutants.left_join,), True),
        (COUNTS, BOTH, False),
        (SUMS, BOTH, False),
        (LONE, (mutants.left_join,), True),
        (LONE, BOTH, False),
        (VALUES, NOTHING, True),
        (VALUES, (mutants.no_condition,), False),
    ],
)
def test_rows_of_nobody_do_not_count(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, sql: str, broken: Sequence[Break], *, harmless: bool
) -> None:
    """Rows without a unit are kept out by a condition; where each row has a weight by an inner join, too."""
    for mutant in broken:
        mutant(monkeypatch)
    (measurement,) = measurements(sql, bench.policy, bench.world, bench.engine)
    rows = [Maker(n, dirt=0).row(bench.policy.tables["rides"]) | {"rider": None} for n in range(3)]
    bench.engine.fill("rides", rows)
    exact = Measured.of(measurement, bench.engine, bench.world).exact()
    assert any(map(any, exact.values())) is not harmless


@pytest.mark.parametrize("sql", [COUNTS, LONE])
def test_where_every_row_has_a_weight_nobody_has_one(bench: Bench, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    """The inner join then keeps rows without a unit out by itself; in a plain scan the condition stands alone."""
    mutants.no_condition(monkeypatch)
    (measurement,) = measurements(sql, bench.policy, bench.world, bench.engine)
    bench.engine.fill("rides", [Maker(1, dirt=0).row(bench.policy.tables["rides"]) | {"rider": None}])
    measured = Measured.of(measurement, bench.engine, bench.world)
    assert any(map(any, measured.exact().values())) is ("heavy" in measured.sql)
