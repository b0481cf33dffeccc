"""The explorer's built-in distributions: made-up samples, and one that is public, whose raw counts may be shown.

Each has a declared range that does not come from the sample. The synthetic taxi columns imitate New York's trips: most are
short, flat fares to the airport stand out, and tips come in round percentages. The real ones are 6,433 trips of March 2019,
open data of New York's Taxi & Limousine Commission as the seaborn project samples them: `real_trips.json` has their counts.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from dpsql.epsilon.databases.statistic import Floats

SIZE = 2_000
"""How many rows a sample has where nothing else is chosen."""
SIZES = (200, 500, 1_000, SIZE, 5_000, 10_000, 30_000, 100_000)
"""How many rows may be chosen: the first ones of the same rows."""
SAMPLE_BUCKETS = 100
MADE_UP, MADE_UP_TRIPS, REAL_TRIPS = (
    "Textbook (synthetic)",
    "Taxi trips (synthetic)",
    "Taxi trips (New York, March 2019)",
)
_SEED = 2013
_REAL = Path(__file__).with_name("real_trips.json")


@dataclass(frozen=True, slots=True)
class Sample:
    """One distribution: its counts in equal buckets over the declared range, for each number of rows."""

    name: str
    title: str
    unit: str
    low: float
    high: float
    group: str
    by_size: Mapping[int, tuple[int, ...]]

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the counts of the usual number of rows."""
        return self.by_size[SIZE]


@cache
def samples() -> Mapping[str, Sample]:
    """Return all samples by name, the same ones every time."""
    rng, rows = np.random.default_rng(_SEED), SIZES[-1]
    # One stream of draws, whose order makes the samples what they are; each is drawn in its largest size, of which smaller
    # ones are the first rows.
    fare, miles, minutes, tip = _taxi(rng, rows)
    two_peaks = np.where(rng.random(rows) < 0.6, rng.normal(-2, 0.7, rows), rng.normal(2.2, 1.0, rows))
    made = (
        _sample("normal", "Normal, mean 0, deviation 1", "", (-4, 4), rng.normal(0, 1, rows)),
        _sample("normal_50", "Normal, mean 50, deviation 10", "", (0, 100), rng.normal(50, 10, rows)),
        _sample("uniform", "Uniform", "", (0, 1), rng.random(rows)),
        _sample("exponential", "Exponential, rate 2", "", (0, 4), rng.exponential(0.5, rows)),
        _sample("log_normal", "Log-normal", "", (0, 8), rng.lognormal(0, 0.6, rows)),
        _sample("bimodal", "Bimodal", "", (-6, 6), two_peaks),
        _sample("fare", "Taxi fare", "dollars", (0, 60), fare),
        _sample("distance", "Taxi trip distance", "miles", (0, 15), miles),
        _sample("duration", "Taxi trip duration", "minutes", (0, 60), minutes),
        _sample("tip", "Taxi tip", "dollars", (0, 15), tip),
    )
    return {sample.name: sample for sample in (*made, *_real())}


def _sample(name: str, title: str, unit: str, bounds: tuple[float, float], values: Floats) -> Sample:
    # As an answer clamps: what lies beyond the range counts at its end.
    placed = np.clip(values, *bounds)
    by_size = {
        size: tuple(np.histogram(placed[:size], bins=SAMPLE_BUCKETS, range=bounds)[0].tolist()) for size in SIZES
    }
    group = MADE_UP_TRIPS if unit else MADE_UP
    return Sample(name, title, unit, float(bounds[0]), float(bounds[1]), group, by_size)


def _real() -> tuple[Sample, ...]:
    """Return the real trips; there are 6,433 of them, for any larger choice."""
    return tuple(
        Sample(
            name=f"real_{sample['name']}",
            title=f"{sample['title']}, real",
            unit=sample["unit"],
            low=sample["low"],
            high=sample["high"],
            group=REAL_TRIPS,
            by_size={int(size): tuple(counts) for size, counts in sample["counts"].items()},
        )
        for sample in json.loads(_REAL.read_text(encoding="utf-8"))
    )


def _taxi(rng: np.random.Generator, rows: int) -> tuple[Floats, Floats, Floats, Floats]:
    miles = np.clip(rng.lognormal(0.62, 0.78, rows), 0.3, 30)
    airport = rng.random(rows) < 0.02
    miles[airport] = rng.normal(17, 2, int(airport.sum()))
    speed = np.clip(rng.normal(11.5, 3.5, rows) + 0.45 * miles, 4, 40)
    minutes = miles / speed * 60
    fare = 2.5 + 0.5 * np.ceil(4.1 * miles + 0.28 * minutes)
    fare[airport] = 52.0
    rate = rng.choice([0, 0.10, 0.15, 0.20, 0.25, 0.30], rows, p=[0.04, 0.08, 0.13, 0.50, 0.18, 0.07])
    tip = np.where(rng.random(rows) < 0.55, np.round(fare * rate, 2), 0.0)
    return fare, miles, minutes, tip
