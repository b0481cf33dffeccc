"""The rows of `width_bucket(x, low, high, n)`: bucket 0 is below the range, n + 1 above it, and NULL nowhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpsql.plots.answer import PlottedAnswer


@dataclass(frozen=True, slots=True)
class ValueGrid:
    """Equal buckets of [low, high), as `width_bucket` numbers them from 1."""

    low: float
    high: float
    number: int

    def __post_init__(self) -> None:
        if not (self.low < self.high and self.number >= 1):
            raise ValueError("buckets need a range and a number of at least 1")

    @property
    def width(self) -> float:
        """Return the width of one."""
        return (self.high - self.low) / self.number

    def centre(self, bucket: int) -> float:
        """Return the middle of a bucket."""
        return self.low + (bucket - 0.5) * self.width

    def outside(self) -> Mapping[int | None, str]:
        """Return what stands outside the range, by its number; None is NULL."""
        return {0: f"below {self.low:g}", self.number + 1: f"from {self.high:g} on", None: "NULL"}

    def beside(self) -> Mapping[str, float]:
        """Return where on the axis a bar of what stands outside has its middle: not within the range, nor next to it."""
        places = (self.low - 1.5 * self.width, self.high + 1.5 * self.width, self.high + 3.5 * self.width)
        return dict(zip(self.outside().values(), places, strict=True))

    def edges(self, most: int = 6) -> Sequence[float]:
        """Return some edges of buckets, evenly spaced, both ends among them where that is possible."""
        step = -(-self.number // most)
        return [self.low + self.width * place for place in range(0, self.number + 1, step)]

    def split(self, answer: PlottedAnswer, x: str) -> tuple[PlottedAnswer, Mapping[str, PlottedAnswer]]:
        """Return the rows within the range in order of their buckets, and those outside by what they are called.

        Raises:
            ValueError: the column does not hold numbers of buckets.
        """
        place, names = answer.columns.index(x), self.outside()
        numbers = [None if number is None else int(number) for number in answer.numbers(x)]
        if any(number is not None and not 0 <= number <= self.number + 1 for number in numbers):
            raise ValueError(f'column "{x}" has other numbers than those of {self.number} buckets')
        within: dict[int, tuple[object, ...]] = {}
        outside: dict[str, list[tuple[object, ...]]] = {}
        for number, row in zip(numbers, answer.rows, strict=True):
            if number is None or number in (0, self.number + 1):
                outside.setdefault(names[number], []).append(row)
            else:
                within[number] = (*row[:place], self.centre(number), *row[place + 1 :])
        inside = PlottedAnswer(answer.columns, tuple(within[number] for number in sorted(within)))
        return inside, {name: PlottedAnswer(answer.columns, tuple(rows)) for name, rows in outside.items()}

    def counts(self, answer: PlottedAnswer, x: str, y: str) -> list[float]:
        """Return y of each bucket within the range; 0 where it has no row."""
        inside, _ = self.split(answer, x)
        heights = dict(zip(inside.numbers(x), inside.numbers(y), strict=True))
        return [heights.get(self.centre(number)) or 0.0 for number in range(1, self.number + 1)]
