"""`dpsql.noise`: one private statistic of values that the caller holds, by the very mechanisms that answers get.

The measured sums are whole numbers, so that the noise is exact: a value's place t within the bounds becomes k/G, and a
mean is read off the cells Σk and Σ(G − k), a variance off Σ(G − k)², Σ2k(G − k) and Σk². The cells of one value add up
to G, or G²: that is the most that it changes them in all, so each cell has noise of scale C·G/ε, or C·G²/ε, for C
values of one person. Nothing but the noisy cells, and what the caller declared, decides the value and everything
beside it.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Protocol, assert_never, runtime_checkable

import numpy as np

from dpsql.epsilon.noise.outputs import QUANTILE_BUCKETS, OutputKind, level_epsilon, rows_per_group
from dpsql.epsilon.numbers import BadInput
from dpsql.policy.model import NoiseLevel
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.quantile import quantile

# A value is off by half a part at most, a millionth of the range: nothing beside noise of the whole range.
PARTS = 2**20
"""Parts into which the declared range is divided."""
# Within 1.96 standard deviations lie 95 % of a normal law, and within ln 20 times its scale 95 % of a Laplace law.
_NORMAL = 1.959964
_ODDS = math.log(20)
_NAMES = {"average": "avg", "mean": "avg", "var": "variance"}
LEVELS = {
    **{str(level): level for level in NoiseLevel},
    **dict(zip(("owner", "collaborator", "third party"), NoiseLevel, strict=True)),
}
"""Noise levels by their own names, and by who usually has them."""


@runtime_checkable
class _Listed(Protocol):
    def tolist(self) -> list[object]:
        """Return the values, as numpy and pandas do."""


@dataclass(frozen=True, slots=True)
class NoisyValue:
    """A private statistic; unpacked it is value, ε, sensitivity and relative error, in this order."""

    value: float | int | dict[object, int] | None
    """None for a median of too few values; a count by value or bucket for a histogram."""
    epsilon: Fraction
    sensitivity: float
    """How far one person's values can move the statistic, in its own unit; of means and variances about."""
    error: float | None
    """The expected error as a share of the value (of a histogram's usual count); None where there is nothing to divide by."""
    margin: float | None
    """The half-width of a 95 % interval, of a median None."""
    statistic: str

    def __iter__(self) -> Iterator[object]:
        """Unpack as PyDPLib's `dp_calculate` returns them."""
        return iter((self.value, self.epsilon, self.sensitivity, self.error))

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        counts = self.value if isinstance(self.value, dict) else {self.statistic: self.value}
        margin = "" if self.margin is None else f" ± {self.margin:,.4g}"
        rows = "".join(
            f"<tr><th>{escape(str(name))}</th><td>{'NULL' if count is None else f'{count:,.6g}'}{margin}</td></tr>"
            for name, count in counts.items()
        )
        return f"<table><caption>{escape(self.statistic)}, ε = {float(self.epsilon):.4g}</caption>{rows}</table>"


@dataclass(frozen=True, slots=True)
class _Question:
    """A question about values, with the number of them that may be one person's."""

    low: Fraction
    high: Fraction
    epsilon: Fraction
    rows: int

    def places(self, values: Iterable[object]) -> list[int]:
        """Return the place of each value in the grid; what is no number has none, what is outside is clamped."""
        scale = PARTS / (self.high - self.low)
        numbers = (_number(value) for value in values)
        return [round((min(max(n, self.low), self.high) - self.low) * scale) for n in numbers if n is not None]

    def cells(self, exact: Sequence[int], unit: int) -> list[int]:
        """Return whole numbers with noise, of which one value changes all together by `unit` at most."""
        drawn = discrete_laplace(os.urandom, self.rows * unit / self.epsilon, len(exact))
        return [count + z for count, z in zip(exact, drawn, strict=True)]


def noise(
    values: Iterable[object],
    bounds: Sequence[object],
    epsilon: Fraction | str | float | None = None,
    statistic: str = "mean",
    *,
    level: str | int | None = None,
    expected_rows: int | None = None,
    max_rows: int = 1,
    buckets: int | None = None,
) -> NoisyValue:
    """Return one statistic of values with noise: count, sum, mean, median, variance or histogram.

    `values` is a list, an array, or a column of pandas or polars. `bounds` are the least and the greatest value, from
    knowledge of the world and not of the data; of a histogram also the list of its categories. `max_rows` of them may
    be one person's. In place of `epsilon`, `level` says how noisy the answer may be (low, medium or high; owner,
    collaborator or third party; 0, 1 or 2), for as many `expected_rows` as anybody may know of. Each call spends its ε
    anew.

    Raises:
        BadInput: what was asked makes no sense; the message says what would.
    """
    kind = _NAMES.get(statistic, statistic)
    if kind not in {*OutputKind, "histogram"}:
        raise BadInput(f'no statistic "{statistic}": count, sum, mean, median, variance or histogram')
    if max_rows < 1:
        raise BadInput(f"max_rows is how many values may be one person's: at least 1, not {max_rows}")
    # Categories are counted by what they are, so that no range is needed; buckets divide one.
    labels = _labels(kind, bounds, buckets)
    categories = labels is not None and buckets is None
    paid = _epsilon(epsilon, level, kind, expected_rows, max_rows, len(labels or (None,)))
    asked = _Question(*((Fraction(0), Fraction(1)) if categories else _ends(bounds)), paid, max_rows)
    listed = values.tolist() if isinstance(values, _Listed) else list(values)
    return _number_of(asked, OutputKind(kind), listed) if labels is None else _histogram(asked, listed, labels, buckets)


def _number_of(asked: _Question, kind: OutputKind, values: Sequence[object]) -> NoisyValue:
    match kind:
        case OutputKind.COUNT:
            return _count(asked, values)
        case OutputKind.SUM:
            return _sum(asked, values)
        case OutputKind.AVG:
            return _mean(asked, values)
        case OutputKind.VARIANCE:
            return _variance(asked, values)
        case OutputKind.MEDIAN:
            return _median(asked, values)
        case unknown:
            assert_never(unknown)


def _count(asked: _Question, values: Sequence[object]) -> NoisyValue:
    told = max(asked.cells([len(asked.places(values))], 1)[0], 0)
    scale = float(asked.rows / asked.epsilon)
    return NoisyValue(told, asked.epsilon, asked.rows, _share(_usual(scale), told), scale * _ODDS, "count")


def _sum(asked: _Question, values: Sequence[object]) -> NoisyValue:
    largest = max(abs(asked.low), abs(asked.high))
    # In units of largest/PARTS the greatest value, of either sign, is PARTS: that is the most that one value moves the sum.
    scale = largest / PARTS
    exact = sum(
        round((asked.low + (asked.high - asked.low) * Fraction(k, PARTS)) / scale) for k in asked.places(values)
    )
    told = float(asked.cells([exact], PARTS)[0] * scale)
    wide = float(asked.rows * largest / asked.epsilon)
    return NoisyValue(told, asked.epsilon, float(asked.rows * largest), _share(wide, told), wide * _ODDS, "sum")


def _mean(asked: _Question, values: Sequence[object]) -> NoisyValue:
    places = asked.places(values)
    # Of 25 and 75 within 0 and 100: Σk = G and Σ(G − k) = G, so that upper is half of both, and the mean 50. The number of
    # values, 2, is their sum divided by G; it is measured in the same cells, and costs nothing more.
    upper, lower = (max(cell, 0) for cell in asked.cells([sum(places), sum(PARTS - k for k in places)], PARTS))
    # Noise can leave 0 of a few values. The sum of one value, at least, is what is divided by.
    total = max(upper + lower, PARTS)
    place = min(upper / total, 1.0)
    wide = float(asked.high - asked.low)
    # The quotient's gradient, times √2 · scale, the standard deviation of Laplace noise.
    spread = math.hypot(place, 1 - place) * math.sqrt(2) * asked.rows * PARTS / float(asked.epsilon) / total
    told = float(asked.low) + wide * place
    margin, error = min(_NORMAL * spread, 1.0) * wide, min(spread * math.sqrt(2 / math.pi), 1.0) * wide
    return NoisyValue(told, asked.epsilon, asked.rows * wide * PARTS / total, _share(error, told), margin, "mean")


def _variance(asked: _Question, values: Sequence[object]) -> NoisyValue:
    places = asked.places(values)
    exact = [
        sum((PARTS - k) ** 2 for k in places),
        sum(2 * k * (PARTS - k) for k in places),
        sum(k * k for k in places),
    ]
    unit = PARTS * PARTS
    cells = [max(cell, 0) for cell in asked.cells(exact, unit)]
    total = max(sum(cells), unit)
    # (G − k)² + 2k(G − k) + k² = G²: the three cells of a value share out G², as one value of 0, ½ or 1 would be in one of
    # them.
    mean, squares = (cells[2] + cells[1] / 2) / total, cells[2] / total
    # Noise can make the difference negative. No variance of values within 0 and 1 is above a quarter.
    told = min(max(squares - mean**2, 0.0), 0.25)
    # How far one more in each of the cells moves the variance, to the first order: its gradient, times `total`.
    weights = [square - squares - 2 * mean * (place - mean) for place, square in ((0.0, 0.0), (0.5, 0.0), (1.0, 1.0))]
    spread = math.hypot(*weights) * math.sqrt(2) * asked.rows * unit / float(asked.epsilon) / total
    wide = float(asked.high - asked.low) ** 2
    margin, error = min(_NORMAL * spread, 0.25) * wide, min(spread * math.sqrt(2 / math.pi), 0.25) * wide
    moved = min(asked.rows * unit / total, 0.25) * wide
    return NoisyValue(told * wide, asked.epsilon, moved, _share(error, told * wide), margin, "variance")


def _median(asked: _Question, values: Sequence[object]) -> NoisyValue:
    counts = np.zeros((1, QUANTILE_BUCKETS), dtype=np.int64)
    for place in asked.places(values):
        counts[0, min(place * QUANTILE_BUCKETS // PARTS, QUANTILE_BUCKETS - 1)] += 1
    chosen = int(quantile(os.urandom, counts, Fraction(1, 2), asked.epsilon, asked.rows)[0])
    wide = asked.high - asked.low
    # Chosen is a bucket, of which the middle is told, or the place behind the last: too few values for any.
    told = (
        None if chosen == QUANTILE_BUCKETS else float(asked.low + wide * Fraction(2 * chosen + 1, 2 * QUANTILE_BUCKETS))
    )
    return NoisyValue(told, asked.epsilon, float(wide), None, None, "median")


def _histogram(asked: _Question, values: Sequence[object], labels: Sequence[object], buckets: int | None) -> NoisyValue:
    if buckets is None:
        # Equal as Python means it, so that 1, 1.0 and True are one category.
        exact = [sum(value == label for value in values) for label in labels]
    else:
        exact = [0] * buckets
        for place in asked.places(values):
            exact[min(place * buckets // PARTS, buckets - 1)] += 1
    told = [max(count, 0) for count in asked.cells(exact, 1)]
    scale = float(asked.rows / asked.epsilon)
    usual = sum(told) / len(told)
    named = dict(zip(labels, told, strict=True))
    return NoisyValue(named, asked.epsilon, asked.rows, _share(_usual(scale), usual), scale * _ODDS, "histogram")


def _labels(kind: str, bounds: Sequence[object], buckets: int | None) -> Sequence[object] | None:
    """Return what a histogram counts by: the declared categories, or where equal buckets begin; None for all else."""
    if kind != "histogram":
        return None
    if buckets is None:
        if not bounds or len(set(bounds)) < len(bounds):
            raise BadInput(
                "a histogram needs its categories, each once, as bounds; or bounds of two numbers, and buckets"
            )
        return bounds
    if buckets < 1:
        raise BadInput(f"a histogram has at least 1 bucket, not {buckets}")
    low, high = _ends(bounds)
    return [float(low + (high - low) * Fraction(bucket, buckets)) for bucket in range(buckets)]


def _ends(bounds: Sequence[object]) -> tuple[Fraction, Fraction]:
    match [_number(end) for end in bounds]:
        case [Fraction() as low, Fraction() as high] if low < high:
            return low, high
        case _:
            raise BadInput("bounds are the least and the greatest possible value: two numbers, as (0, 100)")


def _epsilon(
    given: Fraction | str | float | None,
    level: str | int | None,
    kind: str,
    expected: int | None,
    rows: int,
    groups: int,
) -> Fraction:
    match given, level:
        case None, None:
            raise BadInput("give epsilon, or a level and expected_rows")
        case None, _:
            if expected is None:
                raise BadInput("a level needs expected_rows, a public number: counted in the data it would cost ε, too")
            output = OutputKind.COUNT if kind == "histogram" else OutputKind(kind)
            share = rows_per_group(expected, groups)
            return level_epsilon(_level(level), [output], contribution=rows, rows=share, cap=None)
        case _, None:
            try:
                # By its text: 0.1 is a tenth, and not the number in double precision beside it. Infinity and NaN have no
                # fraction.
                epsilon = given if isinstance(given, Fraction) else Fraction(str(given))
            except (ValueError, ZeroDivisionError):
                epsilon = Fraction(0)
            if epsilon <= 0:
                raise BadInput(f"an ε of {given}: it must be a number above 0")
            return epsilon
        case _:
            raise BadInput("give epsilon or a level, not both")


def _level(level: str | int | None) -> NoiseLevel:
    if isinstance(level, int) and 0 <= level < len(NoiseLevel):
        return tuple(NoiseLevel)[level]
    noise_level = LEVELS.get(str(level).replace("_", " "))
    if noise_level is None:
        raise BadInput(f'no level "{level}": low, medium or high; owner, collaborator or third party; 0, 1 or 2')
    return noise_level


def _number(value: object) -> Fraction | None:
    """Return a value exactly; None for what is missing, endless or no number."""
    try:
        # NaN raises ValueError here, and infinity OverflowError: both count as missing, as no clamp would know where they
        # belong.
        return None if value is None else Fraction(float(value) if not isinstance(value, int | Fraction) else value)  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError, OverflowError):
        return None


def _usual(scale: float) -> float:
    """Return the mean size of discrete Laplace noise."""
    # E|Z| of P(Z = z) ∝ e^(−|z|/scale). Below a scale of a hundredth it is 0 for every purpose, and sinh soon overflows.
    return 1 / math.sinh(1 / scale) if scale > 1e-2 else 0.0


def _share(error: float, value: float) -> float | None:
    return error / abs(value) if value else None
