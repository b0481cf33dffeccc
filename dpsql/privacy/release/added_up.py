"""Groups that are sums of measured ones: histograms between constants, added up to what each constant is compared with.

Post-processing. Counts of groups each of which holds the one before rise: they are made to, by isotonic regression in least
squares (pool adjacent violators; Ayer et al. 1955), which brings them no further from any numbers that rise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import sqrt

from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.feature import ONE
from dpsql.privacy.measurement.plan import AddedUp
from dpsql.privacy.release.draws import Found


def added_up(sums: AddedUp | None, read: Callable[[int], Found]) -> Callable[[int], Found]:
    """Return the function from a shown group's place to all sums that can be read of it, by those of measured groups."""
    if sums is None:
        return read
    measured = [
        read(place) for place in range(max((run.places.stop for line in sums.lines for run in line), default=1))
    ]
    through = {feature: [0.0, *accumulate(found[feature] for found in measured)] for feature in measured[0]}
    lines: list[Found] = [
        {
            feature: sum(run.factor * (sums_to[run.places.stop] - sums_to[run.places.start]) for run in line)
            for feature, sums_to in through.items()
        }
        for line in sums.lines
    ]
    for chain in sums.rising:
        if all(ONE in lines[place] for place in chain):
            for place, count in zip(chain, risen([lines[place][ONE] for place in chain]), strict=True):
                lines[place] = {**lines[place], ONE: count}
    return lines.__getitem__


def margins_of(sums: AddedUp | None, place: int, margins: Mapping[int, Margins]) -> Mapping[int, Margins]:
    """Return the margins of a shown group.

    Noise of n groups is √n times that of one, at most: its tail is no heavier.
    """
    if sums is None:
        return margins
    groups, noise = sums.number(place), sums.variance(place)
    return {
        part: replace(
            part_margins,
            unit=part_margins.unit * sqrt(noise),
            rows=part_margins.rows * groups,
            cut=part_margins.cut * groups,
        )
        for part, part_margins in margins.items()
    }


def risen(numbers: Sequence[float]) -> list[float]:
    """Return the numbers that never fall which are nearest in least squares."""
    pools: list[tuple[float, int]] = []
    for number in numbers:
        mean, size = number, 1
        while pools and pools[-1][0] > mean:
            before, many = pools.pop()
            mean, size = (mean * size + before * many) / (size + many), size + many
        pools.append((mean, size))
    return [mean for mean, size in pools for _ in range(size)]
