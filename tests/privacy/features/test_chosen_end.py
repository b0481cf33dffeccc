"""The end of a number's bounds that is chosen: what is measured within it says what is read in the wide bounds."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType
from dpsql.privacy.features.chosen_end import ChosenEnd
from dpsql.privacy.features.feature import (
    CELLS,
    ONE,
    Feature,
    Number,
    PartialSum,
    Readout,
    ScaledExpr,
    Shape,
    cells,
    readable_features,
)
from dpsql.privacy.features.known_statistics import statistic
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.translate.rows.aggregates import Moment

_NUMBERS = (1, 1, 2, 3, 5, 8, 13)
"""What units have; with C = 8 the last counts as 8."""


def _ref(name: str, low: int, high: int) -> Ref:
    return Ref(0, "t", name, Column(name, SqlType.BIGINT, "bigint", bounds=Interval.of(low, high), step=Fraction(1)))


_N, _M = _ref("n", 1, 400), _ref("m", 0, 10)
_END = ChosenEnd(_N, Interval.of(1, 400), Fraction(1), 8, 400)
_WIDE, _OTHER = ScaledExpr(_N, _END.wide, Fraction(1)), ScaledExpr(_M, Interval.of(0, 10))
_FEATURES = (
    ONE,
    Feature(Shape.VALUE, x=_WIDE),
    Feature(Shape.SQUARE, x=_WIDE),
    Feature(Shape.SIGNED, x=_WIDE),
    Feature(Shape.VALUE, x=_OTHER),
    Feature(Shape.PRODUCT, x=_WIDE, y=_OTHER),
)


def _u(value: int, scaled: ScaledExpr) -> Fraction:
    within = min(max(Fraction(value), scaled.interval.low), scaled.interval.high)
    return (within - scaled.interval.middle) / scaled.interval.half


def _sum(feature: Feature) -> Fraction:
    """Return a feature's sum over units, each clamped to the feature's own bounds, the other value being 1, 2 …."""
    total = Fraction(0)
    for place, number in enumerate(_NUMBERS, 1):
        values = [_u(number if s.expr == _N else place, s) for s in (feature.x, feature.y) if s is not None]
        match feature.shape, values:
            case Shape.ONE, _:
                total += 1
            case Shape.VALUE, [u]:
                total += u
            case Shape.SQUARE, [u]:
                total += 2 * u**2 - 1
            case Shape.PRODUCT, [u, v]:
                total += u * v
            case Shape.SIGNED, _:
                assert feature.x is not None
                total += min(Fraction(number), feature.x.interval.high) / feature.x.interval.high
            case _, [u]:
                t = (u + 1) / 2
                total += {Shape.LOW: (1 - t) ** 2, Shape.BETWEEN: 2 * t * (1 - t), Shape.HIGH: t**2}[feature.shape]
    return total


def _clamped(feature: Feature) -> Fraction:
    """Return the sum of a wide feature over units that count as 8 at most."""
    narrow = _END.narrowed([feature])[0]
    weights = _END.made_of(feature, _END.narrow)
    assert set(weights) <= {narrow, ONE, *_END.narrowed(_FEATURES)}
    return sum((Fraction(weight) * _sum(of) for of, weight in weights.items()), Fraction(0))


def _exact(feature: Feature, numbers: Sequence[int]) -> Fraction:
    """Return the sum of a wide feature over numbers, which are within the wide bounds."""
    wide, total = _END.wide, Fraction(0)
    for place, number in enumerate(numbers, 1):
        u, v = (number - wide.middle) / wide.half, _u(place, _OTHER)
        each: Mapping[Shape, Fraction] = {
            Shape.ONE: Fraction(1),
            Shape.VALUE: u if feature.x == _WIDE else v,
            Shape.SQUARE: 2 * u**2 - 1,
            Shape.SIGNED: number / wide.high,
            Shape.PRODUCT: u * v,
        }
        total += each[feature.shape]
    return total


@pytest.mark.parametrize("feature", _FEATURES, ids=lambda feature: feature.shape.name)
def test_wide_features_are_sums_of_narrow_ones(feature: Feature) -> None:
    """To the last digit: those of numbers that count up to C."""
    assert _clamped(feature) == _exact(feature, [min(number, 8) for number in _NUMBERS])


def test_coordinates_are_read_as_wide_features() -> None:
    """Those of a cube, and the cells of one value."""
    for measured in (_END.narrowed(_FEATURES), _END.narrowed(cells(_WIDE))):
        coordinates = [_sum(feature) for feature in measured]
        read = _END.readable(measured)
        assert read.keys() == {_END.widened(feature) for feature in readable_features(measured)}
        for wide, combination in read.items():
            made = sum((Fraction(times) * coordinates[place] for place, times in combination.items()), Fraction(0))
            assert made == _exact(wide, [min(number, 8) for number in _NUMBERS])


@pytest.mark.parametrize("rows", [1, 2, 8, 400])
@pytest.mark.parametrize("name", ["avg", "var_pop", "sum"])
def test_statistics_of_either_are_the_same(name: str, rows: int) -> None:
    """With C = 1 all numbers of rows are 1."""
    end = ChosenEnd(_N, _END.wide, _END.each, rows, _END.up_to)
    value, square = Feature(Shape.VALUE, x=_WIDE), Feature(Shape.SQUARE, x=_WIDE)
    parts = ((PartialSum.U, value), (PartialSum.UU, square))
    readout = Readout(Moment(name, (_N,)), ONE, parts[: 2 if name == "var_pop" else 1])  # type: ignore[arg-type] # one of them
    numbers = [min(number, rows) for number in _NUMBERS]
    estimates = {feature: float(_exact(feature, numbers)) for feature in (ONE, value, square)}
    kind = statistic(readout.moment.name)
    mean = sum(numbers) / len(numbers)
    true = {"avg": mean, "sum": sum(numbers), "var_pop": sum((n - mean) ** 2 for n in numbers) / len(numbers)}[name]
    assert kind.estimate(readout, estimates) == pytest.approx(true, abs=1e-6)
    assert kind.estimate(*end.own(readout, estimates)) == pytest.approx(true, abs=1e-6)


def test_a_weighted_sum_of_narrow_features_is_one_of_wide_ones() -> None:
    """So margins are the same, whichever of them a statistic is read off."""
    narrow = _END.narrowed(_FEATURES)
    weighted: dict[Feature, Number] = {feature: Fraction(place, 7) for place, feature in enumerate(narrow, 1)}
    wide = _END.onto_wide(weighted)
    assert sum((Fraction(weight) * _clamped(feature) for feature, weight in wide.items()), Fraction(0)) == sum(
        (Fraction(weight) * _sum(feature) for feature, weight in weighted.items()), Fraction(0)
    )


def test_what_is_cut_off_is_told_in_rows() -> None:
    """13 counts as 8: five rows more would be the exact sum. Squares are of a unit of twice as many."""
    value, square = Feature(Shape.VALUE, x=_WIDE), Feature(Shape.SQUARE, x=_WIDE)
    estimates = {feature: float(_clamped(feature)) for feature in (ONE, value, square)}
    assert _END.total(estimates) == pytest.approx(28)
    more = _END.with_cut(estimates, 5.0)
    assert _END.total(more) == pytest.approx(33)
    twice = [1, 1, 2, 3, 5, 8, 16]
    assert _END.with_cut(estimates, 8.0)[square] == pytest.approx(float(_exact(square, twice)))
    alone = {Feature(Shape.SIGNED, x=_WIDE): float(_clamped(Feature(Shape.SIGNED, x=_WIDE)))}
    assert _END.total(alone) == pytest.approx(28)
    assert _END.total({ONE: 7.0}) == 0


def test_cells_are_no_wide_features() -> None:
    """What is read off them is."""
    assert not {feature.shape for feature in _END.readable(_END.narrowed(cells(_WIDE)))} & set(CELLS)
