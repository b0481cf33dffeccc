"""The pictures: of an answer, with its margins as error bars, of risk by ε, and of an audit; and the file that holds them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Literal, Unpack

import numpy as np
import plotly.graph_objects as go
from plotly.io import to_html
from plotly.offline import get_plotlyjs

from dpsql.epsilon.advising.rule import Promises, belief_after
from dpsql.epsilon.risks.study import Study, risk_curve
from dpsql.plots.answer import AnswerSource, Layout, PlotColumns, PlottedAnswer, ValueGrid
from dpsql.plots.density import SMOOTHING, Density, density

# One HTML file with pictures that needs no network: the drawing library is written into it once.

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; color: #1c1f24 }
figure { margin: 2rem 0; border: 1px solid #d8dbe0; border-radius: 6px; padding: .5rem; background: #fff }
figcaption { padding: .25rem .5rem; color: #444b55 }
"""
_OPTIONS = {
    "displaylogo": False,
    "responsive": True,
    # the library's own button would upload the picture's numbers to its maker
    "modeBarButtonsToRemove": ["sendChartToCloud"],
}
_WIDE, _HIGH, _LINE, _LETTERS = 900, 560, 15, 140
"""Pixels of an image, of a line of the text under it, and how many letters such a line has."""
# Inline, since the file has all of it; data: and blob: are how the library makes the image that a reader can save.
_NO_NETWORK = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
"""A content security policy under which a browser fetches and sends nothing."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with the text under it."""

    figure: go.Figure
    caption: str = ""


def gallery_page(pictures: Sequence[Picture], title: str) -> str:
    """Return the whole page."""
    figures = "\n".join(map(_figure, pictures))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_NO_NETWORK}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style><script>{get_plotlyjs()}</script></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{figures}\n</body></html>\n"
    )


def write_page(pictures: Sequence[Picture], title: str, path: Path) -> None:
    """Write the page to a file."""
    path.write_text(gallery_page(pictures, title), encoding="utf-8")


def write_image(picture: Picture, title: str, path: Path) -> None:
    """Write a picture with its title above and its text below as PNG; kaleido asks Chromium for it."""
    # Plotly reads some of HTML in its texts: a name or a statement must not be read as that, and <br> divides lines.
    lines = [escape(line) for line in wrap(picture.caption, _LETTERS)]
    figure = go.Figure(picture.figure).update_layout(
        title={"text": escape(title), "x": 0.02}, margin={"t": 60, "b": 110 + _LINE * len(lines)}
    )
    below = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "yshift": -75, "yanchor": "top", "xanchor": "left"}
    figure.add_annotation(text="<br>".join(lines), showarrow=False, align="left", font_size=11, **below)
    figure.write_image(path, width=_WIDE, height=_HIGH + _LINE * len(lines), scale=2)


def _figure(picture: Picture) -> str:
    drawing = to_html(picture.figure, full_html=False, include_plotlyjs=False, config=_OPTIONS)
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>" if picture.caption else ""
    return f"<figure>{drawing}{caption}</figure>"


# Error bars that stay within what an answer can be, and labels for NULL.

MARGIN = "#8a8f98"
NULL_LABEL = "NULL"


@dataclass(frozen=True, slots=True)
class Possible:
    """The least and the greatest value that a statistic can have; None where there is no such limit."""

    low: float | None = None
    high: float | None = None

    def reach(self, value: float, margin: float) -> tuple[float, float]:
        """Return how far a bar reaches down and up from a value: not beyond what is possible."""
        # A noisy value may itself lie beyond, as a count below 0: it has no bar on that side.
        down = margin if self.low is None else min(margin, max(value - self.low, 0.0))
        up = margin if self.high is None else min(margin, max(self.high - value, 0.0))
        return down, up


ANYTHING = Possible()


def error_bars(answer: PlottedAnswer, layout: Layout, column: str, possible: Possible) -> dict[str, object] | None:
    """Return the error bars of a column, or None without margins."""
    if layout.margin is None:
        return None
    pairs = zip(answer.numbers(column), answer.numbers(layout.margin), strict=True)
    reached = [(None, None) if v is None or m is None else possible.reach(v, m) for v, m in pairs]
    down, up = [pair[0] for pair in reached], [pair[1] for pair in reached]
    bars = {"type": "data", "array": up, "color": MARGIN, "thickness": 1.2, "width": 3}
    return bars if down == up else {**bars, "arrayminus": down, "symmetric": False}


def axis_values(values: Iterable[object]) -> tuple[object, ...]:
    """Return values of an axis: with a NULL among them all are labels, since no number stands for it."""
    listed = tuple(values)
    return tuple(NULL_LABEL if value is None else str(value) for value in listed) if None in listed else listed


def count_missing(answer: PlottedAnswer, layout: Layout) -> int:
    """Return how many rows have no value to draw."""
    return sum(value is None for value in answer.column(layout.y))


# The figures.

RAW, PRIVATE = "#2f6fde", "#c8323c"
SERIES = ("#2f6fde", "#c8323c", "#2e8b57", "#b8860b", "#7b52ab", "#4b8b9b", "#a0522d", "#6b7280")
_QUANTILES = 5


def histogram(
    source: AnswerSource,
    *,
    title: str = "",
    buckets: ValueGrid | None = None,
    possible: Possible = ANYTHING,
    **columns: Unpack[PlotColumns],
) -> go.Figure:
    """Return bars of noisy counts by value or bucket; columns that are not named are guessed as `Layout.of` says.

    With `buckets` the column of x holds the numbers of `width_bucket`: bars stand where the values are, and what is outside
    the range beside it. A NULL among the values has a bar of its own.
    """
    answer = PlottedAnswer.of(source)
    layout = Layout.of(answer, **columns)
    inside, outside = (answer, {}) if buckets is None else buckets.split(answer, layout.x)
    figure = go.Figure()
    for place, (name, part) in enumerate(_split(inside, layout).items()):
        _add_bars(figure, part, layout, possible, name=name, colour=SERIES[place % len(SERIES)])
    if buckets is not None:
        places = buckets.beside()
        for name, part in outside.items():
            x = [places[name]] * len(part.rows)
            _add_bars(figure, part, layout, possible, name=name, colour=MARGIN, x=x, width=buckets.width)
        ticks = {edge: f"{edge:g}" for edge in buckets.edges()} | {places[name]: name for name in outside}
        figure.update_xaxes(tickmode="array", tickvals=list(ticks), ticktext=list(ticks.values()))
    # What lies outside the range is a trace of its own: grouped, the bars within would be thinner for it.
    figure.update_layout(
        barmode="group" if layout.series else "overlay", bargap=0.08, showlegend=bool(outside or layout.series)
    )
    return apply_style(figure, title, layout.x, layout.y, category=buckets is None and _is_category(answer, layout.x))


def _add_bars(
    figure: go.Figure,
    part: PlottedAnswer,
    layout: Layout,
    possible: Possible,
    *,
    name: str,
    colour: str,
    x: Sequence[object] | None = None,
    width: float | None = None,
) -> None:
    figure.add_bar(
        x=axis_values(part.column(layout.x)) if x is None else x,
        y=part.numbers(layout.y),
        name=name,
        marker_color=colour,
        width=width,
        error_y=error_bars(part, layout, layout.y, possible),
    )


def versus(
    source: AnswerSource,
    *,
    noised: Literal["x", "y"] = "y",
    title: str = "",
    possible: Possible = ANYTHING,
    **columns: Unpack[PlotColumns],
) -> go.Figure:
    """Return points of x versus y, with the margins on the axis that has noise; NULL is a label like others."""
    answer = PlottedAnswer.of(source)
    layout = Layout.of(answer, **columns)
    figure = go.Figure()
    for place, (name, part) in enumerate(_split(answer, layout).items()):
        figure.add_scatter(
            x=axis_values(part.column(layout.x)),
            y=part.column(layout.y),
            mode="markers",
            name=name,
            marker={"color": SERIES[place % len(SERIES)], "size": 9},
            **{f"error_{noised}": error_bars(part, layout, layout.x if noised == "x" else layout.y, possible)},
        )
    return apply_style(figure, title, layout.x, layout.y, category=_is_category(answer, layout.x))


def box(source: AnswerSource, *, category: str | None = None, title: str = "") -> go.Figure:
    """Return a box a category from five quantiles a row, lowest first: whisker, quartile, median, quartile, whisker.

    Raises:
        ValueError: the answer does not have five numeric columns beside the category.
    """
    answer = PlottedAnswer.of(source)
    category = category or next(iter(answer.columns), "")
    names = answer.column(category)
    quantiles = [answer.numbers(column) for column in answer.columns if column != category]
    if len(quantiles) != _QUANTILES:
        raise ValueError(f"a box plot needs a category and five quantiles, not {len(quantiles)}")
    figure = go.Figure()
    # With quantiles in the place of y plotly computes nothing, and needs no values.
    figure.add_box(
        x=axis_values(names),
        **dict(zip(("lowerfence", "q1", "median", "q3", "upperfence"), quantiles, strict=True)),
        line_color=PRIVATE,
        showlegend=False,
    )
    return apply_style(figure, title, category, "", category=True)


def density_curve(
    source: AnswerSource,
    bounds: tuple[float, float],
    *,
    title: str = "",
    buckets: int | None = None,
    **columns: Unpack[PlotColumns],
) -> go.Figure:
    """Return the density of an answer over equal buckets of `bounds`.

    With `buckets` x holds the numbers of `width_bucket`, and rows outside the range, or NULL, have no part in the curve;
    without, each row is a bucket, in order.
    """
    answer = PlottedAnswer.of(source)
    layout = Layout.of(answer, **columns)
    if buckets is None:
        counts = [count or 0.0 for count in answer.numbers(layout.y)]
        margins = None if layout.margin is None else [half or 0.0 for half in answer.numbers(layout.margin)]
    else:
        grid = ValueGrid(*bounds, buckets)
        counts = grid.counts(answer, layout.x, layout.y)
        margins = None if layout.margin is None else grid.counts(answer, layout.x, layout.margin)
    return density_lines(density(counts, *bounds, margins=margins), title=title, x_title=layout.x)


def density_lines(private: Density, raw: Density | None = None, *, title: str = "", x_title: str = "") -> go.Figure:
    """Return the private density in red and, for synthetic data, the raw one as a dashed blue line."""
    figure = go.Figure()
    if private.band is not None:
        # The band is one closed line: along its upper edge, and back along the lower one.
        upper = [y + half for y, half in zip(private.y, private.band, strict=True)]
        lower = [max(y - half, 0.0) for y, half in zip(private.y, private.band, strict=True)]
        outline = {"x": [*private.x, *reversed(private.x)], "y": [*upper, *reversed(lower)]}
        figure.add_scatter(**outline, fill="toself", line_width=0, fillcolor="rgba(200,50,60,0.15)", name="margin")
    if raw is not None:
        figure.add_scatter(x=raw.x, y=raw.y, name="raw", line={"color": RAW, "dash": "dash"})
    figure.add_scatter(x=private.x, y=private.y, name="private", line={"color": PRIVATE})
    return apply_style(figure, title, x_title, "density").update_yaxes(rangemode="tozero")


def apply_style(figure: go.Figure, title: str, x_title: str, y_title: str, *, category: bool = False) -> go.Figure:
    """Return the figure in the house's style; labels make room for themselves and do not lie over each other."""
    figure.update_xaxes(automargin=True, title_standoff=12, **({"type": "category"} if category else {}))
    figure.update_yaxes(automargin=True, title_standoff=12)
    return figure.update_layout(
        template="plotly_white",
        title=title,
        xaxis_title=x_title,
        yaxis_title=y_title,
        font_family="system-ui, sans-serif",
        # Below the picture: beside it a legend takes a phone's whole width.
        legend={"orientation": "h", "yanchor": "top", "y": -0.3},
        margin={"l": 60, "r": 20, "t": 60 if title else 20, "b": 50},
    )


def _is_category(answer: PlottedAnswer, x: str) -> bool:
    """Return whether an axis has labels: texts, truth values, or anything with a NULL among them."""
    values = answer.column(x)
    return None in values or all(isinstance(value, str | bool) for value in values)


def _split(answer: PlottedAnswer, layout: Layout) -> dict[str, PlottedAnswer]:
    """Return the rows of each series; one unnamed series if there is no such column."""
    if layout.series is None:
        return {layout.y: answer}
    parts: dict[str, list[tuple[object, ...]]] = {}
    for name, row in zip(answer.column(layout.series), answer.rows, strict=True):
        parts.setdefault(NULL_LABEL if name is None else str(name), []).append(row)
    return {name: PlottedAnswer(answer.columns, tuple(rows)) for name, rows in parts.items()}


# The text under a picture: which data, which statistic, which ε, whose role; and what the picture leaves out.


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a picture's numbers are from."""

    dataset: str
    tables: Sequence[str]
    statistic: str
    epsilon: str
    """As `ε = 0.5`; empty for public tables."""
    role: str
    statement: str = ""


def caption(source: Provenance, notes: Iterable[str] = ()) -> str:
    """Return one paragraph: data, statistic, ε and role, then what is to be noted, then the statement."""
    table = f", table {' and '.join(source.tables)}" if source.tables else ""
    parts = [
        f"Data: {source.dataset}{table}",
        f"statistic: {source.statistic}",
        f"{source.epsilon or 'ε = 0, public tables'}",
        f"role: {source.role}",
    ]
    lines = ["; ".join(parts) + ".", *(f"{note[0].upper()}{note[1:]}." for note in notes)]
    return " ".join([*lines, source.statement]) if source.statement else " ".join(lines)


def notes(answer: PlottedAnswer, layout: Layout, grid: ValueGrid | None) -> list[str]:
    """Return what a reader of a picture has to know of its rows."""
    lines = []
    if layout.margin is not None:
        lines.append("error bars are 95 % confidence intervals, cut off at the statistic's range")
    if missing := count_missing(answer, layout):
        lines.append(f"{missing:,} of {len(answer.rows):,} groups have no answer (NULL) and are not drawn")
    if None in answer.column(layout.x):
        lines.append("NULL is a group of its own")
    if grid is not None:
        for name, part in grid.split(answer, layout.x)[1].items():
            shown = ", ".join("NULL" if value is None else f"{value:,.6g}" for value in part.numbers(layout.y))
            lines.append(f"outside the range, {name}: {shown}")
    return lines


def box_notes(answer: PlottedAnswer) -> list[str]:
    """Return what a reader of box plots has to know."""
    missing = sum(None in row[1:] for row in answer.rows)
    lines = ["whisker, quartile, median, quartile and whisker are the five columns of the answer"]
    return [*lines, f"{missing:,} categories lack a quantile (NULL)"] if missing else lines


def smoothing_note(share: float = SMOOTHING) -> str:
    """Return how a curve was smoothed."""
    return f"smoothed by a Gaussian kernel, bandwidth {100 * share:g} % of the range and at least half a bucket"


# Risk by ε as curves: what an adversary may come to believe, what is acceptable, and the ε that was chosen.

_COLOURS = (PRIVATE, RAW, *SERIES[2:])
_POINTS = 200


def study_figure(study: Study) -> go.Figure:
    """Return both bounds of a study by ε, the requirement, and the ε that meet it."""
    bounds = {"upper bound": study.epsilon_upper, "tight bound": study.epsilon_tight}
    marks = {name: epsilon for name, epsilon in bounds.items() if math.isfinite(epsilon)}
    epsilons = _grid(3 * max(marks.values(), default=1.0))
    risks = risk_curve(study, epsilons)
    return risk_curves(
        epsilons,
        {"upper bound": risks.upper, "tight bound": risks.tight},
        requirements={"requirement": float(study.requirement)},
        marks=marks,
        title=f"Largest posterior: {study.universe.people} people, {study.universe.missing} missing",
    )


def rule_figure(promises: Promises) -> go.Figure:
    """Return worst-case inference by total ε, the acceptable risks, and the total that meets all of them."""
    total = promises.largest()
    epsilons = _grid(5 * float(total))
    beliefs = [belief_after(Fraction(epsilon), promises.people) for epsilon in epsilons]
    return risk_curves(
        epsilons,
        {
            "re-identification": [belief.singled_out for belief in beliefs],
            "membership inference": [belief.membership for belief in beliefs],
            "attribute inference": [belief.value for belief in beliefs],
        },
        requirements={
            "re-identification": float(promises.naming),
            "membership inference": float(promises.membership),
            "attribute inference": float(promises.value),
        },
        marks={"total": float(total)},
        title=f"Worst case for {promises.people:,} people",
    )


def risk_curves(
    epsilons: Sequence[float],
    risks: Mapping[str, Sequence[float]],
    *,
    requirements: Mapping[str, float],
    marks: Mapping[str, float],
    title: str = "",
) -> go.Figure:
    """Return one curve a kind of risk, a horizontal line a requirement and a vertical line a chosen ε."""
    figure = go.Figure()
    for place, (name, values) in enumerate(risks.items()):
        figure.add_scatter(x=epsilons, y=values, name=name, line_color=_COLOURS[place % len(_COLOURS)])
    for name, level in requirements.items():
        figure.add_hline(y=level, line={"color": "#555", "width": 1}, annotation_text=name)
    for place, (name, epsilon) in enumerate(marks.items()):
        figure.add_vline(
            x=epsilon,
            line={"color": _COLOURS[place % len(_COLOURS)], "dash": "dash", "width": 1},
            annotation_text=f"{name}: ε = {epsilon:.4g}",
            annotation_y=1.0 - 0.07 * place,
            # The first is the smallest: its text stands to the left of it, off the lines that follow.
            annotation_xanchor="right" if place < len(marks) - 1 else "left",
        )
    figure.update_yaxes(range=[0, 1.05])
    return apply_style(figure, title, "ε", "probability")


def _grid(end: float) -> list[float]:
    return [float(epsilon) for epsilon in np.linspace(0.0, end, _POINTS)]


# A privacy audit as a picture: the ε that guesses have proved, beside what was paid, for each question.


def audit_picture(questions: Sequence[tuple[str, str, float, float]]) -> Picture:
    """Return bars of what was proved, with marks at what was paid; `questions` have person, question, paid and proved ε."""
    names = [f"{question} ({person})" for person, question, _, _ in questions]
    paid, proved = [row[2] for row in questions], [row[3] for row in questions]
    figure = go.Figure()
    figure.add_bar(x=proved, y=names, orientation="h", name="proved by inference (95 %)", marker_color=RAW)
    mark = {"symbol": "line-ns", "size": 14, "line": {"width": 3, "color": PRIVATE}}
    figure.add_scatter(x=paid, y=names, mode="markers", name="paid", marker=mark)
    figure.update_layout(height=160 + 28 * len(names), showlegend=True)
    # Plotly counts upwards: the first question would be the lowest.
    figure.update_yaxes(autorange="reversed")
    return Picture(
        apply_style(figure, "", "ε", "", category=False),
        "Data: synthetic people of the policy's shape, in DuckDB; statistic: a lower bound of the privacy loss ε by "
        "membership inference, at 95 % confidence. A bar beyond its mark would be a breach.",
    )
