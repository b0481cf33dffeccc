"""Random small universes for the comparisons with brute force: ties, negative values, outliers, equal values."""

from collections.abc import Iterator

import numpy as np

from dpsql.epsilon.databases.statistic import StudiedStatistic, Universe

LINEAR = tuple(map(StudiedStatistic.named, ("count", "sum", "mean")))
QUANTILES = tuple(map(StudiedStatistic.named, ("median", "p0", "p10", "p25", "p33.3", "p75", "p90", "p100")))
SPREADS = tuple(map(StudiedStatistic.named, ("var_pop", "var_samp", "stddev_pop", "stddev_samp")))


def universes(seed: int, count: int, *, most_missing: int = 1) -> Iterator[Universe]:
    """Yield universes of few people in five styles; up to `most_missing` are missing, at every distance."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        missing = int(rng.integers(1, most_missing + 1))
        people = int(rng.integers(2 * missing + 2, 9))
        styles = (
            rng.normal(0, 3, people),
            rng.integers(-5, 6, people).astype(float),
            rng.integers(0, 2, people).astype(float),
            np.full(people, 7.0),
            np.append(rng.integers(0, 4, people - 1), 1000.0),
        )
        distance = int(rng.integers(1, missing + 1))
        yield Universe.of(styles[int(rng.integers(len(styles)))], missing, distance)
