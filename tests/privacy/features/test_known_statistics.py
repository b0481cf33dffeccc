"""What is known of every statistic, held against the numbers of rows that can be counted."""

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.privacy.features.feature import (
    FIRST,
    ONE,
    SECOND,
    Feature,
    MeanAndVariance,
    PartialSum,
    Readout,
    ScaledExpr,
    Shape,
    Values,
)
from dpsql.privacy.features.known_statistics import statistic
from dpsql.rewrite.ir.expr import Const
from dpsql.rewrite.syntax.named.aggregate_names import OF_TWO, STATISTICS, StatisticName
from dpsql.rewrite.translate.rows.aggregates import Moment

NAMES: Sequence[StatisticName] = get_args(StatisticName)
X = ScaledExpr(Const(1, SqlType.INTEGER), Interval.of(-2, 6))
Y = ScaledExpr(Const(2, SqlType.INTEGER), Interval.of(0, 10))
FEATURES = {
    PartialSum.U: Feature(Shape.VALUE, x=X),
    PartialSum.V: Feature(Shape.VALUE, x=Y),
    PartialSum.UU: Feature(Shape.SQUARE, x=X),
    PartialSum.VV: Feature(Shape.SQUARE, x=Y),
    PartialSum.UV: Feature(Shape.PRODUCT, x=X, y=Y),
}
RNG = np.random.default_rng(3)
XS, YS = RNG.uniform(-2, 6, 40), RNG.uniform(0, 10, 40)
STEP = 1e-6


def _readout(name: StatisticName) -> Readout:
    args = (X.expr, Y.expr)[: 2 if name in OF_TWO else 1]
    return Readout(Moment(name, args), ONE, tuple((part, FEATURES[part]) for part in statistic(name).parts))


def _sums() -> Mapping[Feature, float]:
    u, v = (XS - 2) / 4, (YS - 5) / 5
    return {
        ONE: float(len(u)),
        FEATURES[PartialSum.U]: float(u.sum()),
        FEATURES[PartialSum.V]: float(v.sum()),
        FEATURES[PartialSum.UU]: float((2 * u**2 - 1).sum()),
        FEATURES[PartialSum.VV]: float((2 * v**2 - 1).sum()),
        FEATURES[PartialSum.UV]: float((u * v).sum()),
    }


def _values() -> Values:
    u, v = (XS - 2) / 4, (YS - 5) / 5
    first, second = (MeanAndVariance(float(z.mean()), float(z.var())) for z in (u, v))
    return Values(first, second, float(((u - u.mean()) * (v - v.mean())).mean()))


@pytest.mark.parametrize("name", NAMES)
def test_a_statistic_needs_no_argument_that_it_lacks(name: StatisticName) -> None:
    """Its parts are of the first argument alone unless it has two."""
    of_second = {SECOND.value, SECOND.square, PartialSum.UV}
    assert name in OF_TWO or not of_second & set(statistic(name).parts)
    assert set(STATISTICS.values()) == set(NAMES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("count", 40.0),
        ("sum", XS.sum()),
        ("avg", XS.mean()),
        ("var_pop", XS.var()),
        ("var_samp", XS.var(ddof=1)),
        ("stddev_pop", XS.std()),
        ("stddev_samp", XS.std(ddof=1)),
        ("covar_pop", np.cov(XS, YS, ddof=0)[0, 1]),
        ("covar_samp", np.cov(XS, YS)[0, 1]),
        ("corr", np.corrcoef(XS, YS)[0, 1]),
        ("regr_count", 40.0),
        ("regr_avgx", YS.mean()),
        ("regr_avgy", XS.mean()),
        ("regr_sxx", ((YS - YS.mean()) ** 2).sum()),
        ("regr_syy", ((XS - XS.mean()) ** 2).sum()),
        ("regr_sxy", ((XS - XS.mean()) * (YS - YS.mean())).sum()),
        ("regr_slope", np.polyfit(YS, XS, 1)[0]),
        ("regr_intercept", np.polyfit(YS, XS, 1)[1]),
        ("regr_r2", np.corrcoef(XS, YS)[0, 1] ** 2),
    ],
)
def test_estimate_of_exact_sums(name: StatisticName, expected: float) -> None:
    """Without noise a statistic is what it is called; of a regression the first argument is y, as in PostgreSQL."""
    assert statistic(name).estimate(_readout(name), _sums()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {"corr", "regr_r2"} and not n.endswith("_samp")])
def test_gradient_is_the_derivative(name: StatisticName) -> None:
    """A little more of a feature's sum changes the statistic by its weight, in one unit for all features.

    Correlations are predicted as covariances, to which they are proportional where there is none; and those by a sample
    as the population's, from which they differ by a factor that the count alone decides.
    """
    kind, readout, sums = statistic(name), _readout(name), _sums()
    weights = kind.gradient(readout, _values())
    before = kind.estimate(readout, sums)
    assert before is not None
    changes = {}
    for feature in (ONE, *(feature for _, feature in readout.sums)):
        after = kind.estimate(readout, {**sums, feature: sums[feature] + STEP})
        assert after is not None
        changes[feature] = (after - before) / STEP
    scale = sum(changes.values()) / sum(float(weights.get(feature, 0)) for feature in changes)
    for feature, change in changes.items():
        assert float(weights.get(feature, 0)) * scale == pytest.approx(change, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_no_rows(name: StatisticName) -> None:
    """A noisy count below one row has no mean, no variance and no covariance; counts and sums are numbers as they are."""
    kind, readout = statistic(name), _readout(name)
    estimate = kind.estimate(readout, dict.fromkeys(_sums(), 0.0))
    assert (estimate is None) == kind.located


@pytest.mark.parametrize("name", ["corr", "regr_slope", "regr_intercept", "regr_r2"])
def test_no_line_without_two_values_of_x(name: StatisticName) -> None:
    """Where x does not vary there is no slope, and where nothing but noise could make it vary no margin of one."""
    sums = dict(_sums())
    n, v = sums[ONE], sums[FEATURES[PartialSum.V]]
    sums[FEATURES[PartialSum.VV]] = 2 * v**2 / n - n - 1e-9
    assert statistic(name).estimate(_readout(name), sums) is None
    sure = statistic(name).half_width(_readout(name), sums, lambda weights: 1e-3 * bool(weights))
    assert sure is None or sure >= 1


def test_all_of_y_on_a_line_of_one_height() -> None:
    """PostgreSQL says 1 where y does not vary but x does."""
    sums = dict(_sums())
    n, u = sums[ONE], sums[FEATURES[PartialSum.U]]
    sums[FEATURES[PartialSum.UU]] = 2 * u**2 / n - n - 1e-9
    assert statistic("regr_r2").estimate(_readout("regr_r2"), sums) == 1


@pytest.mark.parametrize("name", NAMES)
def test_margins_vanish_with_the_noise(name: StatisticName) -> None:
    """Half the noise makes half the margin, to the errors that count by their products."""
    kind, readout, sums = statistic(name), _readout(name), _sums()

    def width(noise: float) -> float:
        half_width = kind.half_width(
            readout, sums, lambda weights: noise * sum(abs(float(w)) for w in weights.values())
        )
        assert half_width is not None
        return half_width

    assert width(0) == 0
    assert width(2e-4) / width(1e-4) == pytest.approx(2, rel=1e-3)


def test_typical_sizes() -> None:
    """A count is compared with the rows, a sum and a mean with values in the middle, and others with nothing."""
    sizes = {name: statistic(name).typical(_readout(name), 10.0) for name in NAMES}
    means = {"avg": 2.0, "regr_avgy": 2.0, "regr_avgx": 5.0}
    counts = {"count": 10.0, "regr_count": 10.0}
    assert {name: size for name, size in sizes.items() if size is not None} == {**counts, **means, "sum": 20.0}


def test_clamping() -> None:
    """Only what can't be negative, or positive, is cut off."""
    positive = Readout(Moment("sum", (Y.expr,)), ONE, ((PartialSum.U, Feature(Shape.VALUE, x=Y)),))
    assert statistic("count").clamped(_readout("count"), -3.0) == 0
    assert statistic("sum").clamped(positive, -3.0) == 0
    assert statistic("sum").clamped(_readout("sum"), -3.0) == -3
    assert statistic("avg").clamped(_readout("avg"), -3.0) == -3
    assert positive.scaled(FIRST) == Y
