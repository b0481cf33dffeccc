"""The knowledge of the disclosure model's adversary: everybody's value, and how many are missing from the release.

Source: Lee & Clifton 2011, section 4. A *world* is one choice of the people who are missing.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpsql.epsilon.databases.statistic import Floats, StudiedStatistic
from dpsql.epsilon.refusal import BadInput


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
