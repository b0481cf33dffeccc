"""Exhaustive, without statistics: what C is chosen by is moved by no unit further than its noise is made for.

Nor is what is measured with the C that was chosen, whichever of the ladder it is.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.features.chosen_end import ChosenEnd
from dpsql.privacy.measurement.engine_sql import BoundedScan, UnitNumbers, numbers_of_units
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch, Measurement, as_chosen
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit, rungs
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.release.exact import exact_sums, whole_number
from dpsql.privacy.release.noisy_ladder import powers_of_two
from tests.properties.test_sensitivity import databases
from tests.support.exactness import Measured, measurements, moves_of_each, plans
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_chosen_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import Row
from tests.support.samples import slow, spread
from tests.support.shapes import SHAPES

ENDS = (2**20, 7)
"""A ladder that nobody comes to the end of, and one whose last gap is no power of two."""
_LARGE = 9
"""What a unit may have in the synthetic databases: rows at and between rungs, and beyond the end of the short ladder."""


@pytest.fixture(scope="module")
def planned(policy: Policy, world: World) -> Iterator[Callable[[str, int], tuple[Measurement, ...]]]:
    """Give a function that plans a statement whose C is chosen up to a number."""
    engine = Memory(policy)

    @cache
    def planned(sql: str, up_to: int) -> tuple[Measurement, ...]:
        return measurements(sql, with_chosen_rows(policy, "rides", "passenger", up_to), world, engine)

    yield planned
    engine.close()


Planned = Callable[[str, int], tuple[Measurement, ...]]


def _searches(parts: Sequence[Measurement]) -> list[RowsPerUnit]:
    return [RowsPerUnit(p) for p in parts if isinstance(p, (Sums, Histogram)) and p.bound.up_to is not None]


def _shapes() -> Iterator[pytest.ParameterSet]:
    """Yield ten shapes at a time with each engine and ladder, half of them quick."""
    for place, own_engine in enumerate(ENGINES):
        shapes = [sql for sql in SHAPES if spread(sql, len(ENGINES)) == place]
        for first, engine, end in itertools.product(range(0, len(shapes), 10), ENGINES, ENDS):
            marks = () if engine == own_engine and end == ENDS[first // 10 % 2] else slow
            yield pytest.param(
                shapes[first : first + 10], engine, end, id=f"{own_engine}'s {first}-{engine}-{end}", marks=marks
            )


def _rows(world: World, seed: str) -> Iterator[Sequence[Row]]:
    return databases(world.policy.tables["rides"], "rider", _LARGE, seed)


@pytest.mark.parametrize(("shapes", "dialect", "up_to"), list(_shapes()))
def test_no_unit_moves_the_cells_further_than_claimed(
    shapes: Sequence[str], dialect: str, up_to: int, world: World, tiny: Engines, planned: Planned
) -> None:
    """Nor by less, if it has any row that is measured: it adds to two cells what the claim is."""
    asked = [(sql, search) for sql in shapes for search in _searches(planned(sql, up_to))]
    measured = [Measured.of(search, tiny[dialect], world) for _, search in asked]
    moves = [moved for rows in _rows(world, shapes[0]) for moved in moves_of_each(measured, "rides", rows, "rider")]
    for (sql, _), part, moved in zip(asked, measured, zip(*moves, strict=True), strict=True):
        assert set(moved) <= {0, part.claim}, sql
        assert max(moved) == part.claim, sql


@pytest.mark.parametrize("rung", [1, 2, 3, 6])
@pytest.mark.parametrize("dialect", [ENGINES[0], pytest.param(ENGINES[1], marks=slow)])
def test_no_unit_moves_what_is_measured_with_the_chosen_bound(
    dialect: str, rung: int, world: World, tiny: Engines, planned: Planned
) -> None:
    """The claim is that of the C that was chosen."""
    of = 1 if rung == rungs(ENDS[0])[2] else 6
    asked = [
        (sql, as_chosen(part, rung))
        for sql in SHAPES
        if spread(sql, of) == 0
        for part in planned(sql, ENDS[0])
        if part.bound.up_to is not None
    ]
    measured = [Measured.of(part, tiny[dialect], world) for _, part in asked]
    settled = {p.worth if isinstance(p, Sums) else p.bound.rows for p in (each.measurement for each in measured)}
    assert settled == {rung}
    moves = [moved for rows in _rows(world, "chosen") for moved in moves_of_each(measured, "rides", rows, "rider")]
    for (sql, _), each, moved in zip(asked, measured, zip(*moves, strict=True), strict=True):
        assert max(moved) <= each.claim, sql


_OF_EACH = (
    "(SELECT rider, count(*) AS n, sum(fare) AS s, count(DISTINCT seats) AS d, bool_or(late) AS late, max(tip) AS m "
)
NUMBERS = [
    f"SELECT {asked} FROM {_OF_EACH}FROM rides {where}GROUP BY rider) AS t{key}"
    for where in ("", "WHERE fare > 2 ")
    for asked, key in (
        ("avg(n)", ""),
        ("sum(n), count(*)", ""),
        ("sum(s)", ""),
        ("avg(s), variance(s)", ""),
        ("late, avg(n), sum(n)", " GROUP BY late"),
        ("covar_pop(s, m), avg(s)", ""),
        ("avg(d) FILTER (WHERE late), avg(d) FILTER (WHERE NOT late)", ""),
    )
] + [
    f"SELECT {asked} FROM (SELECT rider, {key}, count(*) AS n, sum(fare) AS s FROM rides GROUP BY rider, {key}) AS t{by}"
    for key in ("paid", "late")
    for asked, by in (("avg(n)", ""), (f"{key}, avg(n), count(*)", f" GROUP BY {key}"), ("sum(s)", ""))
]
"""Statements of a number of each unit's, or of each by a key with few values, in which the end of its bounds is chosen."""


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("rung", [None, 1, 2, 3, 2**20])
@pytest.mark.parametrize("up_to", ENDS)
def test_no_unit_moves_statistics_of_its_number_further_than_claimed(
    up_to: int, rung: int | None, dialect: str, world: World, tiny: Engines, planned: Planned
) -> None:
    """Nor what chooses (None), with the end that was chosen, whatever it is: of its only row, or of one for each key."""
    parts = [part for sql in NUMBERS for part in planned(sql, up_to) if isinstance(part, Sums) and part.end is not None]
    assert len(parts) == len(NUMBERS)
    asked = _searches(parts) if rung is None else [as_chosen(part, rung) for part in parts]
    measured = [Measured.of(measurement, tiny[dialect], world) for measurement in asked]
    moves = [moved for rows in _rows(world, "numbers") for moved in moves_of_each(measured, "rides", rows, "rider")]
    for each, moved in zip(measured, zip(*moves, strict=True), strict=True):
        assert max(moved) <= each.claim
        assert rung is not None or (set(moved) <= {0, each.claim} and max(moved) == each.claim)


EXTREMES = [
    f"SELECT {asked} FROM {_OF_EACH}FROM rides GROUP BY rider) AS t" for asked in ("max(n)", "min(n)", "max(d)")
] + ["SELECT paid, max(n) FROM (SELECT rider, paid, count(*) AS n FROM rides GROUP BY 1, 2) AS t GROUP BY 1"]


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("rung", [None, 1, 2, 2**20])
def test_no_unit_moves_extremes_of_its_number_further_than_claimed(
    rung: int | None, dialect: str, world: World, tiny: Engines, planned: Planned
) -> None:
    """Nor what chooses their end (None)."""
    parts = [part for sql in EXTREMES for part in planned(sql, ENDS[0]) if isinstance(part, Histogram) and part.end]
    assert len(parts) == len(EXTREMES)
    asked = _searches(parts) if rung is None else [as_chosen(part, rung) for part in parts]
    measured = [Measured.of(measurement, tiny[dialect], world) for measurement in asked]
    moves = [moved for rows in _rows(world, "extremes") for moved in moves_of_each(measured, "rides", rows, "rider")]
    for each, moved in zip(measured, zip(*moves, strict=True), strict=True):
        assert max(moved) <= each.claim


@pytest.mark.parametrize("dialect", ENGINES)
def test_the_cells_have_the_numbers_themselves(dialect: str, world: World, tiny: Engines, planned: Planned) -> None:
    """A unit with as many rows as a rung is in its cell alone, so that the chosen end is as far as numbers reach."""
    (search,) = _searches(planned(NUMBERS[0], ENDS[0]))
    row = next(row for rows in _rows(world, "numbers") for row in rows if row["rider"] is not None)
    tiny[dialect].fill("rides", [row] * 4)
    (cells,) = Measured.of(search, tiny[dialect], world).exact().values()
    assert list(cells) == [search.sensitivity if rung == 4 else 0 for rung in search.rungs]


WIDE = [
    f"SELECT {asked} FROM {_OF_EACH}FROM rides GROUP BY rider HAVING count(*) > 0) AS t {rest}"
    for asked, rest in (
        ("count(*), sum(m)", "WHERE n > 2"),
        ("count(*) FILTER (WHERE n > 2), count(*) FILTER (WHERE s < 9)", ""),
        ("median(n), avg(m)", ""),
        ("least(n, 3), count(*), avg(m)", "GROUP BY 1"),
        ("n > 1, count(*), sum(s)", "GROUP BY 1"),
        ("n, count(*)", "WHERE n BETWEEN 2 AND 5 GROUP BY n"),
        ("avg(n), count(*)", "WHERE n > 3"),
        ("count(DISTINCT n)", "WHERE s > 1"),
    )
]
"""Statements that read numbers of units in wide bounds, by conditions, keys and ranks; in some an end is chosen, too."""


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("rung", [1, 3, 2**20])
def test_no_unit_moves_what_depends_on_its_number_further_than_claimed(
    rung: int, dialect: str, world: World, tiny: Engines, planned: Planned
) -> None:
    """Whatever the number is, it decides in which group, block or bucket the unit's one row is."""
    parts = [planned(sql, 2**20) for sql in WIDE]
    assert {type(part).__name__ for each in parts for part in each} == {"Sums", "Histogram"}
    assert {part.relation.sources[0].made.wide for each in parts for part in each} == {True}  # type: ignore[union-attr] # all have
    asked = [as_chosen(part, rung) if part.bound.up_to is not None else part for each in parts for part in each]
    measured = [Measured.of(measurement, tiny[dialect], world) for measurement in asked]
    moves = [moved for rows in _rows(world, "wide") for moved in moves_of_each(measured, "rides", rows, "rider")]
    for each, moved in zip(measured, zip(*moves, strict=True), strict=True):
        assert max(moved) <= each.claim


FOUND = [
    f"SELECT {asked} FROM rides GROUP BY {key}"
    for key, asked in itertools.product(
        ("number", "note"), ("count(*)", "sum(fare)", "avg(tip), count(*)", "count(DISTINCT rider)", "median(fare)")
    )
]
"""Statements whose keys are found out, by a search for a number of keys that is not chosen."""


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("rung", [None, 1, 3])
def test_nor_where_keys_are_found_out(
    rung: int | None, dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """All keys of the engine are compared, of which those that were found are kept; None: what chooses."""
    chosen, engine = with_chosen_rows(policy, "rides", "passenger"), Memory(policy)
    others = [plan.by_units for sql in FOUND for plan in plans(sql, chosen, world, engine, "explorer")]
    every = [part for plan in others if plan for part in plan.parts]
    assert {part.bound.up_to for part in every if isinstance(part, KeySearch)} == {None}
    parts = [part for part in every if part.bound.up_to is not None]
    assert len(parts) >= len(FOUND) - 2
    asked = _searches(parts) if rung is None else [as_chosen(part, rung) for part in parts]
    measured = [Measured.of(measurement, tiny[dialect], world) for measurement in asked]
    moves = [moved for rows in _rows(world, "found") for moved in moves_of_each(measured, "rides", rows, "rider")]
    for each, moved in zip(measured, zip(*moves, strict=True), strict=True):
        assert max(moved) <= each.claim
    engine.close()


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("rung", [2**10, 3 * 2**18, 2**20, 2**40])
def test_a_large_bound_is_written_and_run(
    rung: int, dialect: str, world: World, tiny: Engines, planned: Planned
) -> None:
    """What was chosen is measured after all was paid: no C of a ladder fails, nor does the search for it."""
    tiny[dialect].fill("rides", next(_rows(world, "large")))
    for sql in (shape for shape in SHAPES if spread(shape, 8) == 0):
        for part in planned(sql, 2**20):
            if isinstance(part, (Sums, Histogram)) and part.bound.up_to is not None:
                search = RowsPerUnit(replace(part, bound=replace(part.bound, up_to=rung)))
                for measurement in (search, as_chosen(part, rung)):
                    Measured.of(measurement, tiny[dialect], world).exact()


@pytest.mark.parametrize("up_to", [1, 2, 3, 7, 20, 400, 2**20])
def test_what_each_rung_takes_off_is_read_off_exactly(up_to: int, planned: Planned) -> None:
    """Between rungs a unit is split, so that no rung takes off more or less than it does."""
    (counted,) = planned("SELECT count(*) FROM rides", 2**20)
    assert isinstance(counted, Sums)
    search = RowsPerUnit(replace(counted, bound=replace(counted.bound, up_to=up_to)))
    ladder, units = search.rungs, Counter({1: 3, 2: 1, 5: 2, 7: 1, 21: 1, 399: 1, 1000: 1})
    cells = search.cells([*units.items()])
    assert sum(cells) == search.sensitivity * units.total()
    for rung in ladder:
        read = sum(cell * max(other - rung, 0) for cell, other in zip(cells, ladder, strict=True))
        exact = sum(max(min(n, ladder[-1]) - rung, 0) * number for n, number in units.items())
        assert read == exact * search.sensitivity


COUNTS = (
    "SELECT count(*) FROM rides",
    "SELECT count(*) FROM rides WHERE fare > 2",
    "SELECT count(*) FROM rides WHERE late",
)


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("up_to", ENDS)
@pytest.mark.parametrize("sql", COUNTS)
def test_a_count_is_told_by_the_rows_that_its_bound_is_chosen_by(
    sql: str, up_to: int, dialect: str, world: World, tiny: Engines, planned: Planned
) -> None:
    """With each C that may be chosen it is the integer that the engine's own statement has, and no unit moves it further."""
    (counted,) = planned(sql, up_to)
    assert isinstance(counted, Sums)
    assert counted.counts_rows
    ladder, moved = Measured.of(RowsPerUnit(counted), tiny[dialect], world), set[bool]()
    settled = [counted.settled(rows) for rows in powers_of_two(up_to)[:5]]
    every = [Measured.of(each, tiny[dialect], world) for each in settled]
    for rows in _rows(world, sql):
        tiny[dialect].fill("rides", rows)
        whole = _told(ladder, settled)
        assert whole == [each.exact()[()][0] for each in every]
        for rider in {row["rider"] for row in rows}:
            tiny[dialect].fill("rides", [row for row in rows if row["rider"] != rider])
            moves = [abs(a - b) for a, b in zip(whole, _told(ladder, settled), strict=True)]
            assert all(move <= each.sensitivity for move, each in zip(moves, settled, strict=True))
            moved |= {move == each.sensitivity for move, each in zip(moves, settled, strict=True)}
    assert True in moved


def _told(ladder: Measured, settled: Sequence[Sums]) -> list[int]:
    search = ladder.measurement
    assert isinstance(search, RowsPerUnit)
    answer = [[*map(whole_number, row)] for row in ladder.rows()]
    told = (exact_sums(each, [[search.weighed(answer, each.bound)]]) for each in settled)
    return [exact.coordinates[0][0] for exact in told]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(fare) FROM rides",
        "SELECT count(*), sum(fare) FROM rides",
        "SELECT paid, count(*) FROM rides GROUP BY 1",
        "SELECT count(*), count(*) FILTER (WHERE fare > 2) FROM rides",
        "SELECT count(DISTINCT paid) FROM rides",
    ],
)
def test_nothing_else_is_told_by_them(sql: str, planned: Planned) -> None:
    """Sums, groups, and counts of some of the rows depend on more than how many rows each unit has."""
    assert not any(isinstance(part, Sums) and part.counts_rows for part in planned(sql, 2**20))


def test_ladders_end_where_they_are_to() -> None:
    """Whole numbers, each at most four times the one before."""
    assert rungs(1) == (1,)
    assert rungs(2) == (1, 2)
    assert rungs(7) == (1, 4, 7)
    assert rungs(2**20)[-3:] == (2**16, 2**18, 2**20)
    assert all(a < b <= 4 * a for a, b in itertools.pairwise(rungs(12_345)))


def test_what_is_bounded_already_has_no_search(planned: Planned) -> None:
    """Units counted once, and what a policy gives a number for."""
    (units,) = planned("SELECT count(DISTINCT rider) FROM rides", 2**20)
    (values,) = planned("SELECT count(DISTINCT extract(minute FROM picked)) FROM rides", 2**20)
    (pairs,) = planned("SELECT shared, count(DISTINCT rider) FROM rides GROUP BY 1", 2**20)
    assert units.bound.up_to is None
    assert values.bound.up_to == 60
    assert pairs.bound.up_to == 2
    assert isinstance(pairs, Sums)
    assert pairs.distinct is CountOf.UNITS


def _by_key(patch: pytest.MonkeyPatch) -> None:
    """Count a unit once for each of its days."""
    right = BoundedScan.per_unit

    def per_unit(scan: BoundedScan, rows: str | None = None, number: str = "count(*)") -> UnitNumbers:
        unit_numbers = right(scan, rows, number)
        return replace(unit_numbers, select=unit_numbers.select.replace("GROUP BY 1", "GROUP BY 1, s0.day"))

    patch.setattr(BoundedScan, "per_unit", per_unit)


def _half(patch: pytest.MonkeyPatch) -> None:
    """Claim half of what a unit adds."""
    patch.setattr(RowsPerUnit, "cells", lambda search, answer: [2 * cell for cell in _cells(search, answer)])


def _whole_at_both(patch: pytest.MonkeyPatch) -> None:
    """Leave a unit whole at the lower rung, and add its share to the upper one."""

    def cells(search: RowsPerUnit, answer: Sequence[tuple[int, int]]) -> list[int]:
        made = _cells(search, answer)
        for n, units in answer:
            if n > 1:
                below = sum(rung < n for rung in search.rungs) - 1
                made[min(below, len(made) - 1)] += units * search.sensitivity // 2
        return made

    patch.setattr(RowsPerUnit, "cells", cells)


def _gaps_missed(patch: pytest.MonkeyPatch) -> None:
    """Place units by another ladder than they are split by."""
    patch.setattr(
        "dpsql.privacy.measurement.rows_per_unit.bisect_left", lambda ladder, n: sum(r + 5 < n for r in ladder)
    )


def _twice(patch: pytest.MonkeyPatch) -> None:
    """Tell of each unit's number twice."""
    right = numbers_of_units

    def numbers(*told: Any) -> UnitNumbers:
        once = right(*told)
        return replace(once, select=f"{once.select} UNION ALL {once.select}")

    patch.setattr("dpsql.privacy.measurement.sums.numbers_of_units", numbers)


def _of_rows(patch: pytest.MonkeyPatch) -> None:
    """Let a number reach as far as it is read, and not as it was chosen."""
    patch.setattr(ChosenEnd, "narrowed", lambda end, features: tuple(map(end.widened, features)))
    patch.setattr(Sums, "sensitivity", property(lambda sums: sums.row_norm // sums.end.up_to if sums.end else 0))


@pytest.mark.parametrize(("mistake", "searching"), [(_twice, True), (_of_rows, False)])
def test_mistakes_with_numbers_are_caught(
    mistake: Callable[[pytest.MonkeyPatch], None],
    searching: bool,
    world: World,
    tiny: Engines,
    planned: Planned,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Likewise."""
    (averaged,) = planned(NUMBERS[0], 2**20)
    mistake(monkeypatch)
    assert isinstance(averaged, Sums)
    measured = Measured.of(RowsPerUnit(averaged) if searching else as_chosen(averaged, 3), tiny["duckdb"], world)
    moves = {move for rows in _rows(world, "mistakes") for move in measured.moves("rides", rows, "rider")}
    assert max(moves) > measured.claim


_cells = RowsPerUnit.cells


@pytest.mark.parametrize("mistake", [_by_key, _half, _whole_at_both, _gaps_missed])
def test_mistakes_are_caught(
    mistake: Callable[[pytest.MonkeyPatch], None],
    world: World,
    tiny: Engines,
    planned: Planned,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A test that can't fail is a defect."""
    (counted,) = planned("SELECT count(*) FROM rides", 2**20)
    mistake(monkeypatch)
    assert isinstance(counted, Sums)
    measured = Measured.of(RowsPerUnit(counted), tiny["duckdb"], world)
    moves = {move for rows in _rows(world, "mistakes") for move in measured.moves("rides", rows, "rider")}
    assert max(moves) > measured.claim
