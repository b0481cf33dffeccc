"""The explorer's built-in samples with noise on them, drawn as for any answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpsql.plots.density import distance
from dpsql.plots.samples import samples
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.web.curves import SMOOTHINGS, Json, curves, drawn, noise_facts
from dpsql.web.inputs import fraction, one_of

LEAST_SAMPLE_EPSILON, MOST_SAMPLE_EPSILON = Fraction(1, 100), Fraction(10)
"""The ends of the slider."""


@dataclass(frozen=True, slots=True)
class SampleUnit:
    """The privacy unit of the made-up rows, and the most rows that count for one."""

    name: str
    rows: int

    @property
    def plain(self) -> str:
        """Return its name for samples that are no trips."""
        return "1 row" if self.rows == 1 else f"{self.rows} rows"


SAMPLE_UNITS = {
    unit.name: unit for unit in (SampleUnit("row", 1), SampleUnit("passenger", 5), SampleUnit("driver", 40))
}


def noisy_sample(given: Mapping[str, str], entropy: Entropy) -> Json:
    """Return the raw and the private curve of a sample; the records are made up, so both may be shown.

    Raises:
        BadInput: an unknown sample or unit, or an ε beyond the slider.
    """
    sample = samples()[one_of(given, "sample", tuple(samples()))]
    unit = SAMPLE_UNITS[one_of(given, "unit", tuple(SAMPLE_UNITS))]
    epsilon = fraction(given, "epsilon", LEAST_SAMPLE_EPSILON, MOST_SAMPLE_EPSILON)
    noise = discrete_laplace(entropy, unit.rows / epsilon, len(sample.counts))
    noisy = [count + z for count, z in zip(sample.counts, noise, strict=True)]
    raw, private = (curves(counts, sample.low, sample.high) for counts in (sample.counts, noisy))
    return {
        "title": sample.title,
        "axis": sample.unit,
        "low": sample.low,
        "high": sample.high,
        "raw": drawn(raw),
        "private": drawn(private),
        "distance": {name: distance(raw[name], private[name]) for name in SMOOTHINGS},
        **noise_facts(unit.rows, epsilon),
    }
