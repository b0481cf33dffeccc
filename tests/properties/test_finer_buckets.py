"""Buckets that are finer near the lower end, or near 0: no unit moves them further than claimed, and engines agree."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.histogram import Histogram
from tests.properties.test_sensitivity import databases
from tests.support.exactness import Measured, measurements, moves_of_each
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World, running
from tests.support.memory import Memory
from tests.support.prepared import Prepared
from tests.support.records import Maker
from tests.support.served import Filled, Served

FAR: Mapping[str, Interval] = {
    "fare": Interval.of(0, 10**6),
    "price": Interval.of(0, 10**5),
    "seats": Interval.of(0, 2**31 - 1),
    "tip": Interval.of(-(10**6), 10**5),
    "weight": Interval.of(0, 10**30),
    "age": Interval.of(100, 32_767),
}
MEDIANS = (
    *("SELECT median(fare) FROM rides", "SELECT paid, median(fare) FROM rides GROUP BY paid"),
    "SELECT late, percentile_cont(0.25) WITHIN GROUP (ORDER BY price) FROM rides GROUP BY late",
    "SELECT median(seats), median(fare) FILTER (WHERE late), dpsql.margin(median(weight)) FROM rides",
    "SELECT percentile_disc(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY age) FROM rides",
    "SELECT z.borough, median(r.fare) FROM rides r JOIN zones z ON z.zone_id = r.from_zone GROUP BY 1",
    "SELECT late, median(s) FROM (SELECT rider, late, sum(fare) AS s FROM rides GROUP BY rider, late) t GROUP BY late",
    "SELECT median(tip), percentile_disc(0.9) WITHIN GROUP (ORDER BY dropped - picked) FROM rides",
    "SELECT late, percentile_disc(0.5) WITHIN GROUP (ORDER BY dropped - picked) FROM rides GROUP BY late",
    "SELECT median(f) FROM (SELECT fare AS f FROM rides UNION ALL SELECT price FROM rides) t",
)
MOST = 3


def with_far_bounds(policy: Policy) -> Policy:
    """Return the policy with bounds far beyond what most values are, and many rows."""
    rides = policy.tables["rides"]
    columns = {n: replace(c, bounds=FAR[n], step=None) if n in FAR else c for n, c in rides.columns.items()}
    far = replace(rides, columns=columns, expected_rows=1_000_000)
    return with_rows(replace(policy, tables={**policy.tables, "rides": far}, views={}), "rides", "passenger", MOST)


def _engines(world: World) -> Mapping[str, Filled]:
    memory, snapshot = Memory(world.policy), Prepared(world.policy)
    return {"duckdb": memory, "snapshot": snapshot, "postgres": Served(world, "finer_buckets")}


def test_no_unit_moves_finer_buckets_further_than_claimed(policy: Policy) -> None:
    """The claim is attained, and all engines put each row into the same bucket, dirty ones too."""
    with running(with_far_bounds(policy)) as world:
        rides, engines = world.policy.tables["rides"], _engines(world)
        asked = [(sql, part) for sql in MEDIANS for part in measurements(sql, world.policy, world, engines["duckdb"])]
        assert all(isinstance(part, Histogram) and part.grid.parts > 1 for _, part in asked)
        exact = {}
        for name, engine in engines.items():
            measured = [Measured.of(part, engine, world) for _, part in asked]
            filled = list(databases(rides, "rider", MOST, "finer"))
            moves = [moved for rows in filled for moved in moves_of_each(measured, "rides", rows, "rider")]
            for (sql, _), each, moved in zip(asked, measured, zip(*moves, strict=True), strict=True):
                assert max(moved) <= each.claim, (name, sql)
            assert max(max(moved) for moved in moves) == max(each.claim for each in measured)
            engine.fill("rides", [row for rows in filled for row in rows])
            exact[name] = [each.exact() for each in measured]
            engine.close()
    assert exact["duckdb"] == exact["snapshot"] == exact["postgres"]


def test_engines_find_the_bucket_that_a_value_is_in(policy: Policy) -> None:
    """The middle of each bucket, far from rounding, and of values at the very end of one the bucket at most beside it."""
    with running(with_far_bounds(policy)) as world:
        rides, engines = world.policy.tables["rides"], _engines(world)
        (part,) = measurements(MEDIANS[0], world.policy, world, engines["duckdb"])
        assert isinstance(part, Histogram)
        grid, row = part.grid, Maker(1).row(rides)
        of_ends = sorted({0, grid.number - 1, *range(0, grid.number, 331), *(grid.each * n for n in range(grid.parts))})
        for engine in engines.values():
            measured = Measured.of(part, engine, world)
            for index in of_ends[:: len(of_ends) // 12]:
                for value, near in ((grid.middle(index), 0), (grid.end(index), 1), (grid.end(index + 1), 1)):
                    engine.fill("rides", [row | {"rider": 1, "fare": float(value)}])
                    (counts,) = measured.exact().values()
                    found = next(place for place, count in enumerate(counts) if count)
                    assert grid.end(max(found - near, 0)) <= Fraction(value) <= grid.end(found + 1)
            engine.close()
