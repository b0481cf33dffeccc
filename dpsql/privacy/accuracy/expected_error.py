"""How noisy an answer will be, before anything is measured: from the plan and the expected number of rows alone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from dpsql.privacy.accuracy.margin import Margins, distinct_half_width, largest_share, least_told
from dpsql.privacy.features.feature import ONE, Readout, Shape, add_weights, scale_weights
from dpsql.privacy.features.known_statistics import ANYWHERE, noise_ratio, statistic
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import (
    DistinctCountOutput,
    Measurement,
    MeasurementPlan,
    Output,
    QuantileOutput,
    StatisticOutput,
    VoteOutput,
)
from dpsql.privacy.measurement.rows_per_unit import ChosenBound
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.law import CubeLaw
from dpsql.rewrite.functions.table import describe
from dpsql.rewrite.ir.expr import TRUE
from dpsql.rewrite.ir.relation import reads_all


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The expected error of one output of a group of the expected size."""

    output: str
    margin: float
    """Half the width of the 95 % interval, in units of the output."""
    relative: float | None
    """The same as a share of the expected value; None where nobody says what to expect: not of what WHERE keeps."""
    unit: str = ""
    """The things that the margin counts, where it is not in units of the output, or the number of rows for which it is
    told."""
    compared: str = ""
    """The quantity of which the expected value is a share."""
    up_to: float | None = None
    """The margin for the most that C may be, where that will be chosen and nobody knows it; `margin` is for the least."""
    given: str = ""
    """The C for which it is told, where that will be chosen."""


@dataclass(frozen=True, slots=True)
class DetectionLimit:
    """From how many rows on one output says that there is any."""

    output: str
    rows: int
    """For the least that C may be."""
    up_to: int | None
    """For the most that C may be, where that will be chosen and nobody knows it."""
    given: str
    """The C for which it is told, where that will be chosen."""


@dataclass(frozen=True, slots=True)
class ForeseenBound:
    """The C that will be chosen for a measurement, or the least that it may be, and the most."""

    least: ChosenBound
    most: ChosenBound | None
    why: str

    @property
    def text(self) -> str:
        """Return which C errors are told for."""
        if self.most is None:
            return f", if C is {self.least.rows:,}, {self.why}"
        return f", for C from {self.least.rows:,} to {self.most.rows:,}: {self.why}"


_Bounds = Mapping[int, ChosenBound]
"""By the place of a part the C that is taken for it."""
ForeseenBounds = Mapping[int, ForeseenBound]
"""By the place of a part the C that will be chosen for it."""


def expected_errors(plan: MeasurementPlan, bounds: ForeseenBounds = MappingProxyType({})) -> list[ExpectedError]:
    """Return the expected errors of the outputs that are read off sums, and of quantiles by their ranks."""
    least, most = (
        {place: bound.least for place, bound in bounds.items()},
        {place: bound.most or bound.least for place, bound in bounds.items()},
    )
    at_least = _expected(plan, least)
    at_most = at_least if most == least else _expected(plan, most)
    return [
        replace(error, up_to=other.margin if other.margin > error.margin else None, given=_given(plan, output, bounds))
        for (output, error), (_, other) in zip(at_least, at_most, strict=True)
    ]


def _expected(plan: MeasurementPlan, bounds: _Bounds) -> list[tuple[Output, ExpectedError]]:
    found = [
        (output, expected_error)
        for output in plan.outputs
        for expected_error in (_of(plan, output, bounds), *_ranks(plan, output, bounds))
    ]
    found += [(plan.outputs[whole], _quotient(plan, part, whole, bounds)) for part, whole in plan.quotients]
    return [(output, error) for output, error in found if error is not None]


def detection_limits(plan: MeasurementPlan, bounds: ForeseenBounds = MappingProxyType({})) -> Iterator[DetectionLimit]:
    """Yield what is decided by whether there is any row, and from how many on it is told."""
    for output in plan.outputs:
        if not isinstance(output, VoteOutput) or output.part is None or not plan.parts or output.margin:
            continue
        sums, foreseen = plan.parts[output.part], bounds.get(output.part)
        if isinstance(sums, Sums) and output.readouts:
            chosen = (None,) if foreseen is None else (foreseen.least, foreseen.most or foreseen.least)
            rows = [_rows_told(sums, output.readouts, max(len(plan.groups.grouped), 1), bound) for bound in chosen]
            name = "count(DISTINCT …)" if output.name == "count" else f"{output.name}(…)"
            yield DetectionLimit(name, rows[0], rows[-1] if rows[-1] > rows[0] else None, _given(plan, output, bounds))


def _rows_told(sums: Sums, readouts: Sequence[Readout], groups: int, bound: ChosenBound | None) -> int:
    """Return how many rows are above the noise in half of the answers, and mostly so twice as many."""
    sums, cut, readouts = _settled(sums, bound, *readouts)
    margins = Margins.of(sums, cut)
    return max(math.ceil(2 * max(least_told(margins, readout, groups) for readout in readouts)), 1)


def _given(plan: MeasurementPlan, output: Output, bounds: ForeseenBounds) -> str:
    """Return for which C an error is told; nothing where it is declared."""
    place = getattr(output, "part", None)
    if isinstance(place, int) and place in bounds:
        return bounds[place].text
    part = plan.parts[place] if isinstance(place, int) and plan.parts else None
    rows = part.worth if isinstance(part, Sums) else part.bound.rows if part is not None else 0
    return f", if C is {rows:,}" if part is not None and part.bound.up_to is not None else ""


def _ranks(plan: MeasurementPlan, output: Output, bounds: _Bounds) -> Iterator[ExpectedError]:
    """Give by how many ranks chosen points may be off; by how much in value depends on where the values lie."""
    if not isinstance(output, QuantileOutput) or output.part is None or not plan.parts:
        return
    buckets = plan.parts[output.part]
    if not isinstance(buckets, Histogram):
        return
    cut = 0.0
    if output.part in bounds:
        bound = bounds[output.part]
        buckets = buckets.settled(bound.rows)
        cut = (bound.cut + bound.doubt) / largest_share(len(buckets.groups.grouped))
    for q in buckets.points:
        noise = buckets.ranks(q)
        if noise is not None:
            # All rows that a C takes off may lie on one side.
            ranks = math.hypot(noise, float(max(q, 1 - q)) * cut)
            name = "median" if 2 * q == 1 else f"{float(q):g}-quantile"
            yield ExpectedError(f"{name}({describe(buckets.x.expr)})", ranks, None, " ranks")


def _of(plan: MeasurementPlan, output: Output, bounds: _Bounds) -> ExpectedError | None:
    match output:
        case StatisticOutput(part=part, readout=readout, margin=False) if part is not None and plan.parts:
            sums = plan.parts[part]
            noise = 1.0 if plan.added_up is None else plan.added_up.noise
            told = _statistic(sums, readout, noise, bounds.get(part)) if isinstance(sums, Sums) else None
            if told is None or not output.shrunk:
                return told
            # What is gained depends on how groups differ, of which nothing is known before.
            return replace(told, output=f"dpsql.shrunk({told.output}), over all groups no more than the average's")
        case DistinctCountOutput(part=part) if part is not None and plan.parts:
            sums = plan.parts[part]
            if not isinstance(sums, Sums):
                return None
            return ExpectedError(f"distinct {sums.distinct.value}", distinct_half_width(sums), None)
    return None


def _quotient(plan: MeasurementPlan, part: int, whole: int, bounds: _Bounds) -> ExpectedError | None:
    """Return how far a quotient is off, of values in the middle of their bounds: its derivative says.

    A/B moves by (dA − (A/B)·dB)/B, where both are sums of the same coordinates.
    """
    match plan.outputs[part], plan.outputs[whole]:
        case StatisticOutput(part=place, readout=over), StatisticOutput(part=other, readout=under) if place == other:
            sums = plan.parts[place] if place is not None and plan.parts else None
        case _:
            return None
    if not isinstance(sums, Sums) or place is None:
        return None
    sums, _, both = _settled(sums, bounds.get(place), over, under)
    rows, kinds = _rows(sums, under), [statistic(readout.moment.name) for readout in both]
    a, b = (kind.typical(readout, rows or 0.0) or 0.0 for kind, readout in zip(kinds, both, strict=True))
    if rows is None or not a or not b or any(kind.located for kind in kinds):
        return None
    weights = [kind.gradient(readout, ANYWHERE) for kind, readout in zip(kinds, both, strict=True)]
    margins = Margins.of(sums).times(Fraction(1.0 if plan.added_up is None else plan.added_up.noise))
    moved = add_weights(scale_weights(weights[0], 1 / b), scale_weights(weights[1], -a / b**2))
    margin, number = margins.reached({ONE: rows})(moved), _number(rows)
    name = " / ".join(map(_name, both))
    if not all(_keeps_all(sums, readout) for readout in both):
        return ExpectedError(name, margin, None, f" if all {number} match, more if fewer do,")
    return ExpectedError(name, margin, margin * b / a, compared=f"{number} with values in the middle of their bounds")


def _settled(sums: Sums, bound: ChosenBound | None, *readouts: Readout) -> tuple[Sums, int, tuple[Readout, ...]]:
    """Return sums with the C that will be chosen, as it seems, what that takes off, and how outputs are read then."""
    cut = 0
    if bound is not None:
        # With C the lattice and the scale of noise change, too, so that the error is that of the settled measurement.
        sums, cut = sums.settled(bound.rows), bound.cut + bound.doubt
    if sums.end is not None:
        return replace(sums, end=None), cut, tuple(map(sums.end.within, readouts))
    return sums, cut, readouts


def _name(readout: Readout) -> str:
    return f"{readout.moment.name}({', '.join(describe(arg) for arg in readout.moment.args) or '*'})"


def _number(rows: float) -> str:
    return f"{rows:,.0f} {'row' if rows == 1 else 'rows'}"


def _statistic(sums: Sums, readout: Readout, noise: float, bound: ChosenBound | None) -> ExpectedError | None:
    sums, cut, (readout,) = _settled(sums, bound, readout)
    rows, kind = _rows(sums, readout), statistic(readout.moment.name)
    # Values are measured from the middle of their bounds, so that sums of 0 are those of a group with values in the
    # middle. Noise does not depend on them for counts and sums; for means and spreads this is the case that is told.
    estimates = dict.fromkeys(readout.features, 0.0) | {
        f: rows or 0.0 for f in readout.features if f.shape is Shape.ONE
    }
    margins = Margins.of(sums, cut, groups=max(len(sums.groups.grouped), 1))
    margin = margins.times(Fraction(noise)).shown(readout, estimates)
    if margin is None:
        return None
    name = _name(readout)
    if rows is None:
        return ExpectedError(name, margin, None)
    number = _number(rows)
    if not _keeps_all(sums, readout):
        fixed = kind.counts or kind.adds_up  # whose noise is the same, however many rows there are
        return ExpectedError(name, margin, None, "" if fixed else f" if all {number} match, more if fewer do,")
    middle = number if kind.counts else f"{number} with values in the middle of their bounds"
    relative = _relative(readout, margin, rows)
    unit = f" of {middle}" if relative is None and not (kind.counts or kind.adds_up) else ""
    return ExpectedError(name, margin, relative, unit, compared=middle)


def _keeps_all(sums: Sums, readout: Readout) -> bool:
    """Return whether a statistic is of all rows: nothing is said of how many a condition keeps."""
    return reads_all(sums.relation, sums.where) and readout.moment.where == TRUE


def _rows(sums: Sums, readout: Readout) -> float | None:
    """Return how many rows a group is expected to have, or one of its blocks."""
    whole = sums.relation.expected_rows
    # Nothing is known of how large groups are: rows are taken to be spread evenly over them, and over the blocks of
    # one.
    blocks = len(sums.blocks) if any(feature.block is not None for feature in readout.features) else 1
    return None if whole is None else whole / max(len(sums.groups.grouped), 1) / blocks


def _relative(readout: Readout, margin: float, rows: float | None) -> float | None:
    """Compare a margin with the size that the statistic is expected to have."""
    typical = None if rows is None else statistic(readout.moment.name).typical(readout, rows)
    return margin / typical if typical else None


# How much ε a first look at an answer takes for the error that is aimed at, by public numbers alone.

_PILOT = 10
"""Where nothing public tells how much a target takes, the first look pays this part of the most."""


def first_look(plans: Sequence[MeasurementPlan], error: Fraction, most: Fraction, least: Fraction) -> Fraction:
    """Return the ε of a statement that public numbers promise to be enough for a relative error.

    Of a group of the expected size n the error is r at ε = C/(r·n), four times that for variances (the sound form of
    PyDPLib's levels); at `most`, and no less than the `least` for each part. n comes from the policy; where that does not
    say it, a tenth of the most finds out.
    """
    wanted = [_level_epsilon(plan, part, error) for plan in plans for part in plan.parts]
    costs = [epsilon for epsilon in wanted if epsilon is not None]
    if not costs or len(costs) < len(wanted):
        return max(most / _PILOT, min(most, least * len(wanted)))
    return min(most, max(*costs, least) * len(wanted))


def _level_epsilon(plan: MeasurementPlan, part: Measurement, error: Fraction) -> Fraction | None:
    rows = part.relation.expected_rows
    if rows is None:
        return None
    rows_of_group = Fraction(rows, max(len(part.groups.grouped), 1))
    exact = part.bound.rows / (error * rows_of_group)
    return _rounded_up(exact * _wider(plan, part) if isinstance(part, Sums) else exact)


def _wider(plan: MeasurementPlan, sums: Sums) -> Fraction:
    """Return how much more ε a measurement needs than a lone count for the same error.

    Four times as much for variances; and a cube of d statistics has noise sqrt((d + 1)(d + 2)/6) times a lone count's.
    The three cells of a value are taken where they are less noisy than a cube of three. A sum over blocks has the
    noise of all of them.
    """
    of_each = [CubeLaw(len(block.places)).variance for block in sums.blocks]
    readouts = [output.readout for output in plan.outputs if isinstance(output, StatisticOutput)]
    added_up = any(feature.block is None for readout in readouts for feature in readout.features)
    noise = noise_ratio(sum(of_each, Fraction(0)) if added_up else max(of_each))
    # A row's norm is more than S where squares, products or cells are measured: see `lattice.row_norm`.
    return max(noise, Fraction(1)) * (4 if sums.row_norm > sums.lattice else 1)


def _rounded_up(epsilon: Fraction) -> Fraction:
    """Return the next number with six digits after the point, which people can read in the ledger."""
    return Fraction(-(-epsilon * 10**6 // 1), 10**6)
