"""Which way to measure is chosen, by predicted noise alone."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, MechanismName, Policy, SqlType
from dpsql.privacy.features.design import Prediction, design
from dpsql.privacy.features.feature import (
    CELLS,
    Feature,
    MeanAndVariance,
    PartialSum,
    Readout,
    Shape,
    readable_features,
    variance_weights,
)
from dpsql.privacy.features.known_statistics import coordinate_variances, sum_variance
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.law import CubeLaw
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.ir.expr import Expr, Facts, Ref
from dpsql.rewrite.translate.rows.aggregates import Moment
from tests.support.exactness import measurements
from tests.support.fix_policy import of_unknown_size
from tests.support.fix_world import World
from tests.support.memory import Memory

ONE_, VALUE_, SQUARE_ = (Feature(shape) for shape in (Shape.ONE, Shape.VALUE, Shape.SQUARE))
ONE, SIGN, VALUE, SQUARE = (shape.name for shape in (Shape.ONE, Shape.SIGN, Shape.VALUE, Shape.SQUARE))
CELL = tuple(shape.name for shape in CELLS)
A, B = "FILTER (WHERE paid = 'cash')", "FILTER (WHERE paid = 'card')"

Shapes = Sequence[Sequence[str]]
CHOSEN: Sequence[tuple[str, Shapes]] = (
    (f"count(*) {A}, count(*) {B}", [[ONE], [ONE]]),
    (f"count(*) {A}, count(*) {B}, count(*)", [[ONE], [ONE], [ONE]]),
    (f"count(*) {A}, count(*)", [[ONE, SIGN]]),
    (f"count(*) {A}, count(*) FILTER (WHERE late)", [[ONE, SIGN, SIGN]]),
    (f"count(*) {A}, avg(fare) {B}", [[ONE], [ONE, VALUE]]),
    (f"avg(age) {A}, count(*) {A}, count(age) {B}", [[ONE, SIGN, VALUE], [ONE]]),
    ("sum(CASE WHEN seats = 1 THEN 1 ELSE 0 END), count(CASE WHEN seats = 2 THEN seats END)", [[ONE], [ONE]]),
    ("count(*) FILTER (WHERE shared), count(*) FILTER (WHERE NOT shared), count(*)", [[ONE], [ONE]]),
    ("mode() WITHIN GROUP (ORDER BY paid)", [[ONE], [ONE], [ONE]]),
    ("sum(CASE WHEN late THEN 1 ELSE 0 END)", [[ONE]]),
    ("sum(CASE WHEN seats > 0 THEN fare / seats END), count(*)", [[ONE, VALUE]]),
    ("sum(CASE WHEN seats < 2 THEN seats END), count(CASE WHEN seats > 4 THEN 1 END)", [[ONE, VALUE, SIGN]]),
    ("variance(fare)", [CELL]),
    ("stddev(age), avg(age)", [CELL]),
    ("var_pop(fare), avg(fare), sum(fare), count(fare), count(*)", [CELL]),
    ("variance(age), count(*)", [[ONE, SIGN, VALUE, SQUARE]]),
    ("variance(fare), variance(weight)", [[ONE, VALUE, SQUARE, SIGN, VALUE, SQUARE]]),
    (f"stddev(fare) {A}, count(*) {B}", [CELL, [ONE]]),
    ("sum(fare), avg(fare + 1), avg(2 + fare - 5)", [[ONE, VALUE]]),
    ("avg(age - 1), avg(age)", [[ONE, VALUE]]),
    ("avg(age - 1), sum(age), count(*)", [[ONE, SIGN, VALUE]]),
    ("variance(fare), avg(fare + 1)", [CELL]),
    (", ".join(f"sum(seats + {n})" for n in range(50)), [[ONE, VALUE]]),
    (f"stddev(fare) {A}, stddev(fare) {B}, stddev(fare)", [CELL, CELL, CELL]),
)


def _sums(select: str, policy: Policy, world: World, role: str = "owner") -> Sums:
    policy = of_unknown_size(policy, "rides")  # noise alone decides
    (sums,) = measurements(f"SELECT {select} FROM rides", policy, world, Memory(policy), role)
    assert isinstance(sums, Sums)
    return sums


def _shapes(sums: Sums) -> Shapes:
    return [[sums.features[i].shape.name for i in block.places] for block in sums.blocks]


@pytest.mark.parametrize(("select", "expected"), CHOSEN, ids=[select for select, _ in CHOSEN])
def test_chosen(select: str, expected: Shapes, policy: Policy, world: World) -> None:
    """The shapes of each block's features."""
    assert [list(block) for block in _shapes(_sums(select, policy, world))] == [list(block) for block in expected]


def test_what_is_known_of_a_whole_is_used(policy: Policy, world: World) -> None:
    """Where a condition is about the number with a constant added, that is what is measured, in its narrower interval."""
    (sums,) = measurements("SELECT avg(fare + 1) FROM rides WHERE fare + 1 < 5", policy, world, Memory(policy))
    assert isinstance(sums, Sums)
    (interval,) = {feature.x.interval for feature in sums.features if feature.x is not None}
    assert interval.high <= 5


def test_groups_found_out_have_one_cube(policy: Policy, world: World) -> None:
    """A threshold is made for a count of all rows in one cube, so there are neither blocks nor cells."""
    for select in (f"note, count(*) {A}, count(*) {B}", "note, variance(fare)"):
        (sums,) = measurements(f"SELECT {select} FROM rides GROUP BY note", policy, world, Memory(policy), "explorer")
        assert isinstance(sums, Sums)
        assert len(sums.blocks) == 1
        assert sums.features[0].shape is Shape.ONE
        assert not {f.shape for f in sums.features} & set(CELLS)


def test_independent_noise_is_divided_by_the_largest_block(policy: Policy, world: World) -> None:
    """A row moves the statistics of one block, so ε is in as many parts as the largest has; a variance's cells are one."""
    policy = replace(
        policy, roles={**policy.roles, "owner": replace(policy.roles["owner"], mechanism=MechanismName.LAPLACE)}
    )
    for select, parts in (
        (f"count(*) {A}, avg(fare) {A}, count(*) {B}", 2),
        ("variance(fare)", 1),
        ("count(*), sum(fare)", 2),
    ):
        sums = replace(_sums(select, policy, world), epsilon=Fraction(1))
        assert sums.scale == parts * sums.sensitivity


def test_blocks_have_the_noise_of_their_own_sums(policy: Policy, world: World) -> None:
    """Nine counts of bands have the noise of one each; in one cube of ten they would have eleven times the variance."""
    bands = ", ".join(f"count(*) FILTER (WHERE age BETWEEN {10 * n} AND {10 * n + 9})" for n in range(9))
    sums = _sums(bands, policy, world)
    assert coordinate_variances(sums.features, MechanismName.CUBE) == [2] * 9
    assert CubeLaw(10).variance / 2 == 11 * 2


def _of_cells(t: Fraction, v: Fraction) -> Fraction:
    a = t**2 - v
    return 2 * (a**2 + (a - t) ** 2 + (a + 1 - 2 * t) ** 2)


def _of_cube(t: Fraction, v: Fraction) -> Fraction:
    mean = 2 * t - 1
    return Fraction(20, 3) / 16 * (Fraction(1, 4) + 4 * mean**2 + (mean**2 - 4 * v + Fraction(1, 2)) ** 2)


@pytest.mark.parametrize("n", range(1, 8))
def test_prediction_of_a_variance(n: int, policy: Policy, world: World) -> None:
    """By the closed forms, for means in eighths of the bounds: cells are better in the outer quarters, cubes between."""
    cells, cube = _sums("variance(fare)", policy, world).features, (ONE_, VALUE_, SQUARE_)
    x = cells[0].x
    sums = ((PartialSum.U, replace(VALUE_, x=x)), (PartialSum.UU, replace(SQUARE_, x=x)))
    t, v = Fraction(n, 8), Fraction(n * (8 - n), 8**3)
    weighted = variance_weights(Readout(Moment("var_pop", ()), ONE_, sums), MeanAndVariance(2 * t - 1, 4 * v))
    variances = [
        sum_variance(weighted, readable_features(features), coordinate_variances(features, MechanismName.CUBE)) / 16
        for features in (cells, [replace(f, x=x if f != ONE_ else None) for f in cube])
    ]
    assert variances == [_of_cells(t, v), _of_cube(t, v)]
    assert (variances[0] < variances[1]) == (n in {1, 2, 6, 7})


def test_the_order_of_aggregates_does_not_matter(policy: Policy, world: World) -> None:
    """The same statistics in another order are measured in the same blocks."""
    designed = _sums(f"avg(fare) {A}, count(*), sum(tip) {B}", policy, world)
    other = _sums(f"sum(tip) {B}, avg(fare) {A}, count(*)", policy, world)
    assert sorted(sorted(block) for block in _shapes(designed)) == sorted(sorted(block) for block in _shapes(other))


def test_columns_of_one_name_are_designed_as_each_is_declared() -> None:
    """A design that is remembered is that of the same declarations: statements may make columns of one name."""
    fare = Column("fare", SqlType.NUMERIC, "numeric(10,2)", Interval.of(0, 150), step=Fraction(1, 100))
    ref = Ref(0, "t", "fare", fare)
    coarse = replace(ref, column=replace(fare, step=Fraction(1, 2)))
    assert coarse == ref
    declared = DeclaredFacts({})
    for column, step in ((ref, fare.step), (coarse, Fraction(1, 2)), (ref, fare.step)):
        facts: dict[Expr, Facts] = {column: declared.facts_of(column)}
        designed = design(
            [Moment("sum", (column,))], facts.__getitem__, Prediction(MechanismName.CUBE), thresholded=False
        )
        (feature,) = designed.features
        assert feature.x is not None
        assert feature.x.step == step
        assert feature.x.expr.column is column.column  # type: ignore[union-attr]  # it is a column
