"""The figures of the noise levels on the synthetic registry: `python -m dpsql.plots.gallery DIRECTORY`.

The figures that Imtiaz et al. 2021 draw with noise on every record is drawn here with noise on the counts, which is
what the guarantee needs: one report a patient (C = 1), ε from the level by public numbers, noise from the product's
sampler. All figures of one level together would cost the sum of their ε.
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import numpy as np
import plotly.graph_objects as go
import typer
from plotly.subplots import make_subplots

from dpsql.epsilon.noise.outputs import OutputKind, expected_error, level_epsilon, rows_per_group, share_of
from dpsql.plots.answer import PlottedAnswer
from dpsql.plots.charts import Picture, Possible, Provenance, apply_style, box, caption, histogram, versus, write_page
from dpsql.plots.registry import AGES, PROSTATITIS, REPORTS, SCORES, Report, registry
from dpsql.policy.model import NoiseLevel
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy

STEP = 5
"""The width of an age bucket in years."""
AGE_BUCKETS = (AGES[1] - AGES[0]) // STEP
GRID = 1024
"""Sums are counted in units of 1/1024 of the declared range, as the gateway does."""
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_NORMAL = 1.96
_BARS = "error bars are 95 % confidence intervals, cut off at the statistic's range"
_ROLES = {NoiseLevel.LOW: "owner", NoiseLevel.MEDIUM: "collaborator", NoiseLevel.HIGH: "third party"}
"""The usual role of each level."""


def gallery(entropy: Entropy) -> tuple[Picture, ...]:
    """Return the four figures with fresh noise."""
    reports = registry()
    return (
        age_histogram(reports, entropy),
        age_by_score(reports, entropy),
        score_by_mean_age(reports, entropy),
        prostatitis_by_median_age(reports, entropy),
    )


def age_histogram(reports: Sequence[Report], entropy: Entropy) -> Picture:
    """Return the histogram of the ages at high noise."""
    epsilon = _epsilon(NoiseLevel.HIGH, OutputKind.COUNT, AGE_BUCKETS)
    rows = _noisy_rows(_age_counts(reports), epsilon, entropy)
    figure = histogram(
        PlottedAnswer(("age", "reports", "reports_margin"), rows), title="Age, high noise", possible=Possible(0.0)
    )
    return Picture(
        figure,
        _caption(
            f"COUNT by {AGE_BUCKETS} age groups", OutputKind.COUNT, AGE_BUCKETS, {NoiseLevel.HIGH: epsilon}, _BARS
        ),
    )


def age_by_score(reports: Sequence[Report], entropy: Entropy) -> Picture:
    """Return histograms of age by PI-RADS score at three levels."""
    charged = {level: _epsilon(level, OutputKind.COUNT, AGE_BUCKETS * len(SCORES)) for level in NoiseLevel}
    panels = {}
    for level, epsilon in charged.items():
        rows = [
            (*row, f"PI-RADS {score}")
            for score in SCORES
            for row in _noisy_rows(_age_counts([r for r in reports if r.pirads_score == score]), epsilon, entropy)
        ]
        answer = PlottedAnswer(("age", "reports", "reports_margin", "score"), tuple(rows))
        panels[level] = histogram(answer, series="score")
    figure = _side_by_side(panels, "Age by PI-RADS score<br><sub>noise level</sub>", "age", "reports").update_layout(
        barmode="stack"
    )
    return Picture(
        # Bars are stacked: an error bar at the top of one would seem to be that of the pile.
        figure.update_traces(error_y=None),
        _caption(
            f"COUNT by {AGE_BUCKETS} age groups and {len(SCORES)} scores",
            OutputKind.COUNT,
            AGE_BUCKETS * len(SCORES),
            charged,
        ),
    )


def score_by_mean_age(reports: Sequence[Report], entropy: Entropy) -> Picture:
    """Return the mean age of each PI-RADS score, with noise on the x axis, at three levels."""
    charged = {level: _epsilon(level, OutputKind.AVG, len(SCORES)) for level in NoiseLevel}
    panels = {}
    for level, epsilon in charged.items():
        rows = tuple(
            (*_noisy_mean([r.age for r in reports if r.pirads_score == score], epsilon, entropy), score)
            for score in SCORES
        )
        answer = PlottedAnswer(("mean_age", "margin", "score"), rows)
        panels[level] = versus(answer, x="mean_age", y="score", margin="margin", noised="x", possible=Possible(*AGES))
    figure = _side_by_side(panels, "PI-RADS score by mean age<br><sub>noise level</sub>", "mean age", "score")
    figure.update_xaxes(range=AGES).update_yaxes(dtick=1)
    return Picture(figure, _caption(f"AVG(age) by {len(SCORES)} scores", OutputKind.AVG, len(SCORES), charged, _BARS))


def prostatitis_by_median_age(reports: Sequence[Report], entropy: Entropy) -> Picture:
    """Return box plots of age by prostatitis at three levels, read off one noisy histogram a category."""
    charged = {level: _epsilon(level, OutputKind.COUNT, AGE_BUCKETS * len(PROSTATITIS)) for level in NoiseLevel}
    panels = {}
    for level, epsilon in charged.items():
        rows = []
        for kind in PROSTATITIS:
            counts = _noisy(_age_counts([r for r in reports if r.prostatitis == kind]), epsilon, entropy)
            rows.append((kind, *_quantiles(counts)))
        panels[level] = box(PlottedAnswer(("prostatitis", "p5", "p25", "p50", "p75", "p95"), tuple(rows)))
    figure = _side_by_side(panels, "Prostatitis by median age<br><sub>noise level</sub>", "prostatitis", "age")
    asked = f"quantiles of age by {len(PROSTATITIS)} categories, computed from the COUNT of {AGE_BUCKETS} age groups in each"
    note = "the box holds the middle half, the whiskers 90 %"
    return Picture(figure, _caption(asked, OutputKind.COUNT, AGE_BUCKETS * len(PROSTATITIS), charged, note))


def _epsilon(level: NoiseLevel, output: OutputKind, groups: int) -> Fraction:
    rows = rows_per_group(REPORTS, groups)
    return level_epsilon(level, [output], contribution=1, rows=rows, cap=Fraction(10))


def _age_counts(reports: Sequence[Report]) -> list[int]:
    # The upper end belongs to the last bucket.
    ages = [min((report.age - AGES[0]) // STEP, AGE_BUCKETS - 1) for report in reports]
    return [ages.count(bucket) for bucket in range(AGE_BUCKETS)]


def _noisy(counts: Sequence[int], epsilon: Fraction, entropy: Entropy) -> list[int]:
    """Return counts with noise, clamped to what a count can be."""
    drawn = discrete_laplace(entropy, 1 / epsilon, len(counts))
    return [max(count + noise, 0) for count, noise in zip(counts, drawn, strict=True)]


def _noisy_rows(counts: Sequence[int], epsilon: Fraction, entropy: Entropy) -> tuple[tuple[object, ...], ...]:
    """Return (age group, noisy count, margin): 95 % of Laplace noise lies within ln 20 times its scale."""
    margin = float(np.log(20) / epsilon)
    names = [f"{age}–{age + STEP}" for age in range(*AGES, STEP)]
    return tuple((name, count, margin) for name, count in zip(names, _noisy(counts, epsilon, entropy), strict=True))


def _noisy_mean(ages: Sequence[float], epsilon: Fraction, entropy: Entropy) -> tuple[float, float]:
    """Return a mean and its half-width from two cells: Σ t and Σ (1 − t), t an age's place in the declared range.

    The cells of one person add up to 1, so both have noise of scale 1/ε, and no ε is split.
    """
    low, high = AGES
    places = [round(GRID * (age - low) / (high - low)) for age in ages]
    # In units of 1/GRID: a person is `place` in one cell and GRID − `place` in the other, GRID together.
    drawn = discrete_laplace(entropy, GRID / epsilon, 2)
    upper = max(sum(places) + drawn[0], 0)
    lower = max(GRID * len(ages) - sum(places) + drawn[1], 0)
    # One person at least, or noise could make the quotient of next to nothing.
    total = max(upper + lower, GRID)
    place = min(upper / total, 1.0)
    # u/(u + l) moves by ((1 − p)·du − p·dl)/(u + l), and noise of scale s has the variance 2·s².
    spread = float(np.sqrt(2 * (place**2 + (1 - place) ** 2))) * GRID / float(epsilon) / total
    return low + (high - low) * place, min(_NORMAL * spread, 1.0) * (high - low)


def _quantiles(counts: Sequence[int]) -> tuple[float, ...]:
    """Return the five quantiles of a histogram, even inside a bucket."""
    below = np.append(0, np.cumsum(counts)).astype(float)
    edges = np.arange(AGES[0], AGES[1] + STEP, STEP, dtype=float)
    # Noise has left no count: the middle of the range for all five.
    if not below[-1]:
        return (float(np.mean(AGES)),) * len(_QUANTILES)
    return tuple(np.interp(np.array(_QUANTILES) * below[-1], below, edges).tolist())


def _side_by_side(panels: dict[NoiseLevel, go.Figure], title: str, x_title: str, y_title: str) -> go.Figure:
    joined = make_subplots(cols=len(panels), shared_yaxes=True, subplot_titles=[str(level) for level in panels])
    for place, panel in enumerate(panels.values(), start=1):
        for trace in panel.data:
            joined.add_trace(trace.update(showlegend=place == 1 and len(panel.data) > 1), col=place, row=1)
    apply_style(joined, title, "", "").update_layout(margin_t=100, legend_y=-0.35)
    # One title for all axes of a sort: three of them would lie over each other on a phone.
    return joined.update_xaxes(title=x_title, col=2 if len(panels) > 1 else 1).update_yaxes(title=y_title, col=1)


def _caption(asked: str, output: OutputKind, groups: int, charged: dict[NoiseLevel, Fraction], *notes: str) -> str:
    """Return the text under a figure: data, statistic, and for each level ε, role and expected error."""
    rows, levels = rows_per_group(REPORTS, groups), []
    for level, epsilon in charged.items():
        error = expected_error(output, epsilon, contribution=1, rows=rows)
        scale = f"noise scale {float(1 / epsilon):.3g} reports"
        levels.append(f"{level} noise: ε = {float(epsilon):.3g}, {scale}, about {100 * error:.2g} % {share_of(output)}")
    roles = " and ".join(f"{_ROLES[level]} ({level} noise)" for level in charged)
    source = Provenance(f"synthetic registry of {REPORTS} reports", (), asked, "; ".join(levels), roles)
    return caption(source, notes)


def main(directory: Annotated[Path, typer.Argument(help="where index.html is written")]) -> None:
    """Write the gallery with fresh noise."""
    directory.mkdir(parents=True, exist_ok=True)
    write_page(gallery(os.urandom), "What the noise levels do", directory / "index.html")


if __name__ == "__main__":
    typer.run(main)
