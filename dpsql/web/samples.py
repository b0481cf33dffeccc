"""The data of the story on the page Explore: built-in samples, whose raw counts may be shown, and public numbers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from dpsql.plots.density import SMOOTHING
from dpsql.plots.samples import SAMPLE_BUCKETS, SIZE, samples
from dpsql.policy.model import NoiseLevel
from dpsql.web.curves import Json

LEAST_SAMPLE_EPSILON, MOST_SAMPLE_EPSILON = Fraction(1, 100), Fraction(10)
"""The ends of the slider."""
FIRST_EPSILON = Fraction(1, 10)
"""Where the slider stands at first: the noise is seen, and so is the data behind it."""
SMOOTHINGS = {"none": 0.0, "light": SMOOTHING, "strong": 0.05}
"""The widths of the kernel that a visitor may choose, as shares of the range; both lines of a picture have the same."""
ROLES = {NoiseLevel.LOW: "owner", NoiseLevel.MEDIUM: "collaborator", NoiseLevel.HIGH: "third party"}
"""The usual role of each level of noise."""


@dataclass(frozen=True, slots=True)
class SampleUnit:
    """The privacy unit of a sample's rows, and the most rows that count for one."""

    name: str
    rows: int

    @property
    def plain(self) -> str:
        """Return its name for samples that are no trips."""
        return "1 row" if self.rows == 1 else f"{self.rows} rows"


SAMPLE_UNITS = (SampleUnit("row", 1), SampleUnit("passenger", 5), SampleUnit("driver", 40), SampleUnit("medallion", 80))


@cache
def story_data() -> Json:
    """Return all that the browser draws the story from; the noise it draws itself, since the records are nobody's secret."""
    return {
        "buckets": SAMPLE_BUCKETS,
        "size": SIZE,
        "samples": [
            {
                "name": sample.name,
                "title": sample.title,
                "axis": sample.unit,
                "low": sample.low,
                "high": sample.high,
                "group": sample.group,
                "sizes": list(sample.by_size),
                "counts": [list(counts) for counts in sample.by_size.values()],
            }
            for sample in samples().values()
        ],
        "units": [{"name": unit.name, "plain": unit.plain, "rows": unit.rows} for unit in SAMPLE_UNITS],
        "roles": [{"name": ROLES[level], "level": level, "target": float(level.error)} for level in NoiseLevel],
        "smoothings": SMOOTHINGS,
        "epsilon": {
            "low": float(LEAST_SAMPLE_EPSILON),
            "high": float(MOST_SAMPLE_EPSILON),
            "first": float(FIRST_EPSILON),
        },
    }
