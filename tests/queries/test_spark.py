"""The golden statements on Spark: what Sail, a server of Spark Connect without Java, measures is what DuckDB measures."""

from dataclasses import replace
from itertools import accumulate

import pytest

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.emit.emitter import Emitter
from tests.support.dialects import SPARK
from tests.support.exactness import Exact, Measured, measurements
from tests.support.fix_world import World
from tests.support.golden import Golden, load, ways
from tests.support.memory import Memory
from tests.support.sailing import Sailing
from tests.support.samples import some

GOLDEN = {golden.name: (golden,) for golden in load() if golden.verdict == "answered" and golden.cost}
REFUSED = {
    "keys: common divisors and multiples",
    "times: months, days and hours since",
    "times: years since",
}
"""What Spark has no function for."""
LONG = {"arithmetic: labels of rounded numbers"}
"""What Sail reads for seconds: a list of ten thousand labels."""
FAULTY = {"any: ones and zeros", "any: by groups"}
"""What Sail's own check of its plans refuses: it takes a column for one that is never NULL, and then for one that may be."""


def _occurring(exact: Exact) -> Exact:
    """Return the groups that have something in them."""
    return {key: numbers for key, numbers in exact.items() if any(numbers)}


@pytest.mark.parametrize(
    "golden", some({n: golden for n, golden in GOLDEN.items() if n not in REFUSED | LONG | FAULTY}, 5)
)
def test_spark_measures_what_duckdb_measures(golden: Golden, world: World, dirty: Memory, dirty_spark: Sailing) -> None:
    """The integers are the same in every group, of rows with all kinds of dirt."""
    asked = [(Measured.of(part, dirty_spark, world), part) for part in ways(golden, world, dirty)]
    for measured, part in {each.sql: (each, part) for each, part in asked}.values():
        assert _occurring(measured.exact()) == _occurring(Measured.of(part, dirty, world).exact())


@pytest.mark.parametrize("golden", some({n: golden for n, golden in GOLDEN.items() if n not in REFUSED | LONG}, 15))
def test_spark_counts_rows_per_unit_as_duckdb_does(
    golden: Golden, world: World, dirty: Memory, dirty_spark: Sailing
) -> None:
    """What a C is chosen by: as exact on one engine as on the other."""
    for part in ways(golden, world, dirty):
        if isinstance(part, (Sums, Histogram)) and part.bound.form is Form.REWEIGHT:
            search = RowsPerUnit(replace(part, bound=replace(part.bound, up_to=100)))
            assert Measured.of(search, dirty_spark, world).exact() == Measured.of(search, dirty, world).exact()


@pytest.mark.parametrize("sql", ["SELECT max(fare), min(tip) FROM trips", "SELECT min(pickup_ts) FROM trips"])
def test_spark_reads_the_outermost_rows(
    sql: str, policy: Policy, world: World, dirty: Memory, dirty_spark: Sailing
) -> None:
    """As many units lie beyond each bucket as of all rows, up to the number that is told apart."""
    for part in measurements(sql, policy, world, dirty):
        assert isinstance(part, Histogram)
        (every,), (outermost,) = (
            Measured.of(measurement, engine, world).exact().values()
            for measurement, engine in ((part, dirty), (replace(part, told_apart=4), dirty_spark))
        )
        (few, most) = (
            [min(n, 4) for n in accumulate(numbers if part.points[0] == 0 else numbers[::-1])]
            for numbers in (outermost, every)
        )
        assert few == most


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_spark_lacks_is_refused(name: str, world: World, dirty: Memory) -> None:
    """When its statement is written, before anything is charged."""
    (golden,) = GOLDEN[name]
    emitter, parts = Emitter(SPARK, world.public.declared), ways(golden, world, dirty)
    with pytest.raises(Unsupported) as refusal:
        [part.sql(emitter) for part in parts]
    assert refusal.value.because == "not-on-this-engine"
    assert refusal.value.hint
