"""The statistics whose disclosure risk can be studied, and what the model's adversary knows: everybody's value."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Self, assert_never

import numpy as np
from numpy.typing import NDArray

from dpsql.epsilon.numbers import BadInput

Floats = NDArray[np.float64]
_PERCENTILE = re.compile(r"p\d{1,4}(\.\d{0,12})?", re.ASCII)


class StatisticFamily(StrEnum):
    """The families; each has its own closed forms."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    DEVIATION = "std"
    QUANTILE = "quantile"


_NAMES = {
    "count": (StatisticFamily.COUNT, 0),
    "sum": (StatisticFamily.SUM, 0),
    "mean": (StatisticFamily.MEAN, 0),
    "avg": (StatisticFamily.MEAN, 0),
    "variance": (StatisticFamily.VARIANCE, 1),
    "var_samp": (StatisticFamily.VARIANCE, 1),
    "var_pop": (StatisticFamily.VARIANCE, 0),
    "std": (StatisticFamily.DEVIATION, 1),
    "stddev": (StatisticFamily.DEVIATION, 1),
    "stddev_samp": (StatisticFamily.DEVIATION, 1),
    "stddev_pop": (StatisticFamily.DEVIATION, 0),
}


@dataclass(frozen=True, slots=True)
class StudiedStatistic:
    """One statistic of a list of numbers.

    `lost` is the degrees of freedom that a variance gives up: 0 for the population's, 1 for the sample's.
    `fraction` is the rank of a quantile, from 0 to 1.
    """

    kind: StatisticFamily
    lost: int = 0
    fraction: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        if not 0 <= self.fraction <= 1:
            raise BadInput(f"percentile {float(100 * self.fraction):g} is not between 0 and 100")

    @classmethod
    def named(cls, name: str) -> Self:
        """Read SQL's names, `median`, and `p90` for the 90th percentile."""
        word = name.strip().lower()
        if word in _NAMES:
            kind, lost = _NAMES[word]
            return cls(kind, lost)
        if word == "median":
            return cls(StatisticFamily.QUANTILE)
        if _PERCENTILE.fullmatch(word):
            return cls(StatisticFamily.QUANTILE, fraction=Fraction(word[1:]) / 100)
        names = ", ".join([*_NAMES, "median"])
        raise BadInput(f'unknown statistic "{name}"; known are {names} and p0 to p100')

    @property
    def least_size(self) -> int:
        """Return how many values it needs to be defined."""
        return 1 + self.lost


def evaluate_samples(statistic: StudiedStatistic, samples: Floats) -> Floats:
    """Return the statistic of each sample, which runs along the last axis; quantiles interpolate as numpy's do."""
    match statistic.kind:
        case StatisticFamily.COUNT:
            return np.full(samples.shape[:-1], float(samples.shape[-1]))
        case StatisticFamily.SUM:
            return np.asarray(samples.sum(axis=-1))
        case StatisticFamily.MEAN:
            return np.asarray(samples.mean(axis=-1))
        case StatisticFamily.VARIANCE:
            return np.asarray(samples.var(axis=-1, ddof=statistic.lost))
        case StatisticFamily.DEVIATION:
            return np.asarray(samples.std(axis=-1, ddof=statistic.lost))
        case StatisticFamily.QUANTILE:
            return np.asarray(np.quantile(samples, float(statistic.fraction), axis=-1))
    assert_never(statistic.kind)


# The knowledge of the disclosure model's adversary: everybody's value, and how many are missing from the release.
#
# Source: Lee & Clifton 2011, section 4. A *world* is one choice of the people who are missing.


@dataclass(frozen=True, slots=True, eq=False)
class Universe:
    """`values` has one number a person, in the order given; `missing` of them are not in the release.

    Neighbouring releases differ in `distance` people (the Hamming distance k): as many as are missing, or fewer.
    """

    values: Floats
    missing: int
    distance: int

    @classmethod
    def of(cls, values: Iterable[float], missing: int = 1, distance: int | None = None) -> Self:
        """Check and freeze.

        Raises:
            BadInput: numbers that are not finite, or too few people.
        """
        array = np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
        if array.ndim != 1 or not np.isfinite(array).all():
            raise BadInput("the values must be a list of finite numbers")
        if missing < 1:
            raise BadInput(f"{missing} people are missing: it must be at least 1")
        if distance is not None and not 1 <= distance <= missing:
            raise BadInput(f"a distance of {distance} people must lie between 1 and the {missing} who are missing")
        # A study reads them again whenever a curve is drawn: they must not change under it.
        array.flags.writeable = False
        return cls(array, missing, missing if distance is None else distance)

    @property
    def people(self) -> int:
        """Return how many people there are, n."""
        return len(self.values)

    @property
    def released(self) -> int:
        """Return how many of them are in the release, m."""
        return self.people - self.missing

    @property
    def worlds(self) -> int:
        """Return how many choices of the missing people there are."""
        return math.comb(self.people, self.missing)

    def require(self, statistic: StudiedStatistic) -> None:
        """Refuse a statistic that is undefined for the smallest neighbour of a release.

        Raises:
            BadInput: too few people.
        """
        least = statistic.least_size + self.distance + self.missing
        if self.people < least:
            raise BadInput(f"{self.people} people are too few: this statistic needs at least {least}")
