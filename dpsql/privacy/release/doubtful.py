"""What in an answer is not distinguishable from zero: groups that may be empty, and statistics that noise has hidden."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dpsql.privacy.accuracy.emptiness import emptiness, is_told
from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.plan import MeasurementPlan, StatisticOutput
from dpsql.privacy.release.draws import Draws, Found
from dpsql.privacy.release.postprocess import CanHaveRows
from dpsql.rewrite.translate.rows.aggregates import Moment


def empty_groups(plan: MeasurementPlan, draws: Sequence[Draws], possible: CanHaveRows | None = None) -> tuple[int, int]:
    """Return how many of the groups may be empty, by their released counts, and of how many that are shown."""
    plan = replace(plan, parts=tuple(draw.measurement for draw in draws))
    groups, read = plan.groups.shown, [draw.reader() for draw in draws]
    margins = {
        i: of_draw
        for i, draw in enumerate(draws)
        if (of_draw := draw.margins_by_place(missing=False)(None)) is not None
    }
    may_be_empty = emptiness(plan, len(groups), margins)
    shown = [i for i, keys in enumerate(groups) if possible is None or possible(keys)]
    return sum(may_be_empty([estimates_of(i) for estimates_of in read]) for i in shown), len(shown)


def hidden(plan: MeasurementPlan, draws: Sequence[Draws]) -> Iterator[tuple[Moment, int, int]]:
    """Yield each statistic with the number of groups in which noise has hidden it, if there are some, and of all groups."""
    for output in plan.outputs if draws else ():
        if not isinstance(output, StatisticOutput) or output.part is None or output.margin:
            continue
        readout, draw = output.readout, draws[output.part]
        kind = statistic(readout.moment.name)
        if kind.hides:
            sums, margins = draw.reader(), draw.margins_by_place(missing=False)
            places = range(draws[0].groups)
            number = sum(kind.is_hidden(readout, sums(i)) and _is_shown(margins(i), readout, sums(i)) for i in places)
            if number:
                yield readout.moment, number, len(places)


def _is_shown(margins: Margins | None, readout: Readout, estimates: Found) -> bool:
    return margins is None or is_told(margins, *margins.own(readout, estimates))
