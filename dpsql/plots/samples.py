"""The explorer's built-in distributions: made-up samples whose raw line may be shown.

Each has a declared range that does not come from the sample. The taxi columns imitate New York's trips: most are
short, flat fares to the airport stand out, and tips come in round percentages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpsql.epsilon.databases.statistic import Floats

SIZE = 2_000
SAMPLE_BUCKETS = 100
_SEED = 2013


@dataclass(frozen=True, slots=True)
class Sample:
    """One distribution: its counts in equal buckets over the declared range."""

    name: str
    title: str
    unit: str
    low: float
    high: float
    counts: tuple[int, ...]


@cache
def samples() -> Mapping[str, Sample]:
    """Return all samples by name, the same ones every time."""
    rng = np.random.default_rng(_SEED)
    fare, miles, minutes, tip = _taxi(rng)
    two_peaks = np.where(rng.random(SIZE) < 0.6, rng.normal(-2, 0.7, SIZE), rng.normal(2.2, 1.0, SIZE))
    made = (
        _sample("normal", "Normal, mean 0, deviation 1", "", (-4, 4), rng.normal(0, 1, SIZE)),
        _sample("normal_50", "Normal, mean 50, deviation 10", "", (0, 100), rng.normal(50, 10, SIZE)),
        _sample("uniform", "Uniform", "", (0, 1), rng.random(SIZE)),
        _sample("exponential", "Exponential, rate 2", "", (0, 4), rng.exponential(0.5, SIZE)),
        _sample("log_normal", "Log-normal", "", (0, 8), rng.lognormal(0, 0.6, SIZE)),
        _sample("bimodal", "Bimodal", "", (-6, 6), two_peaks),
        _sample("fare", "Taxi fare", "dollars", (0, 60), fare),
        _sample("distance", "Taxi trip distance", "miles", (0, 15), miles),
        _sample("duration", "Taxi trip duration", "minutes", (0, 60), minutes),
        _sample("tip", "Taxi tip", "dollars", (0, 15), tip),
    )
    return {sample.name: sample for sample in made}


def _sample(name: str, title: str, unit: str, bounds: tuple[float, float], values: Floats) -> Sample:
    counts, _ = np.histogram(np.clip(values, *bounds), bins=SAMPLE_BUCKETS, range=bounds)
    return Sample(name, title, unit, float(bounds[0]), float(bounds[1]), tuple(counts.tolist()))


def _taxi(rng: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    miles = np.clip(rng.lognormal(0.62, 0.78, SIZE), 0.3, 30)
    airport = rng.random(SIZE) < 0.02
    miles[airport] = rng.normal(17, 2, int(airport.sum()))
    speed = np.clip(rng.normal(11.5, 3.5, SIZE) + 0.45 * miles, 4, 40)
    minutes = miles / speed * 60
    fare = 2.5 + 0.5 * np.ceil(4.1 * miles + 0.28 * minutes)
    fare[airport] = 52.0
    rate = rng.choice([0, 0.10, 0.15, 0.20, 0.25, 0.30], SIZE, p=[0.04, 0.08, 0.13, 0.50, 0.18, 0.07])
    tip = np.where(rng.random(SIZE) < 0.55, np.round(fare * rate, 2), 0.0)
    return fare, miles, minutes, tip
