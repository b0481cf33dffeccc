"""Units over their bound: every row of theirs counts for less, and the statistics are those of the weighted rows, exactly."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from tests.properties.weighed import Aggregate, W, Weighed, on_lattice, statements
from tests.support import mutants
from tests.support.exactness import measurements, unnoised
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import of_unknown_size, with_rows
from tests.support.fix_world import World
from tests.support.mutants import Break, C
from tests.support.records import Maker, Row
from tests.support.served import Filled
from tests.support.strategies import tables

_SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
BOUNDS = (1, 2, 3, 5)


def agrees(statement: Weighed, rows: Sequence[Row], most: int, policy: Policy, world: World, engine: Filled) -> bool:
    """Return whether an engine's un-noised statistics are the weighted ones, and zero in groups without rows."""
    bounded = _bounded(policy, most)
    expected = statement.groups(rows, policy.tables["rides"], most)
    engine.fill("rides", rows)
    answer = unnoised(statement.sql, bounded, world, engine)
    nothing = [aggregate.of([]) for aggregate in statement.aggregates]
    pairs = [pair for key in answer for pair in zip(answer[key], expected.get(key, nothing), strict=True)]
    return expected.keys() <= answer.keys() and all(_same(value, wanted) for value, wanted in pairs)


def _bounded(policy: Policy, most: int) -> Policy:
    return of_unknown_size(with_rows(policy, "rides", "passenger", most), "rides")


def _same(value: float | None, wanted: Fraction | None) -> bool:
    if value is None or wanted is None:
        return value is None and wanted is None
    return math.isclose(value, wanted, rel_tol=1e-9, abs_tol=1e-9)


def check(statement: Weighed, most: int, data: st.DataObject, policy: Policy, world: World, engines: Engines) -> None:
    """Compare on both engines, on a random table in which some rows stand several times.

    Sums from 0, which are taken where they are more exact, weigh a heavy unit's rows by what these add: of such statements
    tables are looked at in which nobody has too many rows.
    """
    table = policy.tables["rides"]
    drawn, first, times = data.draw(st.tuples(tables(table, statement.names), st.integers(0, 5), st.integers(0, 2)))
    note(statement.sql)
    rows = on_lattice(drawn, table)
    rows += rows[:first] * times
    heaviest = max(Counter(row["rider"] for row in rows if row["rider"] is not None).values(), default=0)
    assume(heaviest <= most or not _weighs_values(statement, most, policy, world, engines["duckdb"]))
    assert all(agrees(statement, rows, most, policy, world, engine) for engine in engines.values())


def _weighs_values(statement: Weighed, most: int, policy: Policy, world: World, engine: Filled) -> bool:
    parts = measurements(statement.sql, _bounded(policy, most), world, engine)
    return any(isinstance(part, Sums) and part.valued for part in parts)


@_SETTINGS
@given(statement=statements(), most=st.sampled_from(BOUNDS), data=st.data())
def test_weighted_statistics(
    statement: Weighed, most: int, data: st.DataObject, policy: Policy, world: World, tiny: Engines
) -> None:
    """Counts, sums, means and variances of any such statement, on any small table, on both engines."""
    check(statement, most, data, policy, world, tiny)


@pytest.mark.slow
@settings(_SETTINGS, derandomize=False, max_examples=5_000)
@given(statement=statements(), most=st.sampled_from(BOUNDS), data=st.data())
def test_many_more_weighted_statistics(
    statement: Weighed, most: int, data: st.DataObject, policy: Policy, world: World, tiny: Engines
) -> None:
    """The same for thousands, others each time."""
    check(statement, most, data, policy, world, tiny)


COUNTS = Weighed((Aggregate("count"),))
BY_PAID = Weighed((Aggregate("count"), Aggregate("sum", "fare")), "paid", "late IS NOT TRUE")
SPREAD = Weighed((Aggregate("count"), Aggregate("var_pop", "fare")), "to_zone")
PRESENT = Weighed((Aggregate("count"), Aggregate("avg", "tip"), Aggregate("count", "weight")))
MUTANTS: Sequence[tuple[Break, Weighed]] = (
    (mutants.no_cap, COUNTS),
    (mutants.cap_off_by_one, COUNTS),
    (mutants.cap_before_where, BY_PAID),
    (mutants.no_clamp, BY_PAID),
    (mutants.clamped_sum, BY_PAID),
    (mutants.squares_of_the_unclamped, SPREAD),
    (mutants.null_as_zero, PRESENT),
    (mutants.merged_units, COUNTS),
)


def _dirty(policy: Policy) -> Sequence[Row]:
    """Return rows of light, full and heavy units and of nobody, a third of the cells dirty."""
    maker = Maker(3, dirt=0.3, edges=0.2)
    units = [1] * C + [2] * (C + 1) + [3] * (5 * C) + [None] * 2 + [4, 5, 6, 7] * C
    table = policy.tables["rides"]
    return on_lattice([maker.row(table) | {"rider": unit} for unit in units] * 2, table)


RIGHT = list(dict.fromkeys(statement for _, statement in MUTANTS))
Agrees = Callable[[Weighed], bool]


@pytest.fixture(params=ENGINES)
def on_dirt(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Agrees:
    """Give a function that compares a statement on the dirty rows."""
    return lambda statement: agrees(statement, _dirty(policy), C, policy, world, tiny[request.param])


@pytest.mark.parametrize("statement", RIGHT, ids=[statement.sql for statement in RIGHT])
def test_what_is_right_agrees(statement: Weighed, on_dirt: Agrees) -> None:
    """Without a mistake, on the rows on which mistakes are tried."""
    assert on_dirt(statement)


@pytest.mark.parametrize(("mutant", "statement"), MUTANTS, ids=lambda case: getattr(case, "__name__", "sql"))
def test_what_is_wrong_does_not(
    mutant: Break, statement: Weighed, on_dirt: Agrees, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake changes a statistic."""
    mutant(monkeypatch)
    assert not on_dirt(statement)


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("most", [1, 2, 20])
def test_a_unit_in_many_groups_counts_for_less_in_each(
    most: int, dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """Units are counted once a group; one in g groups counts for ⌊W·C / max(g, C)⌋ / W in each, C at most their number."""
    domain, engine = (1, 2, 5), tiny[dialect]
    rows = [row | {"stars": domain[n % 7 % 3]} for n, row in enumerate(_dirty(policy))]
    engine.fill("rides", rows)
    answer = unnoised(
        "SELECT stars, count(DISTINCT rider) FROM rides GROUP BY stars",
        with_rows(policy, "rides", "passenger", most),
        world,
        engine,
    )
    pairs = {(row["rider"], row["stars"]) for row in rows if row["rider"] is not None}
    groups = Counter(unit for unit, _ in pairs)
    bound = min(most, len(domain))
    share = {unit: Fraction(W * bound // max(number, bound), W) for unit, number in groups.items()}
    assert max(groups.values()) == len(domain)
    assert answer == {(star,): [sum(share[unit] for unit, s in pairs if s == star)] for star in domain}
