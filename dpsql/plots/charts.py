"""The four pictures of an answer, with its margins as error bars: histogram, x versus y, box plot, density."""

from collections.abc import Sequence
from typing import Literal, Unpack

import plotly.graph_objects as go

from dpsql.plots.answer import AnswerSource, PlottedAnswer
from dpsql.plots.density import Density, density
from dpsql.plots.errors import ANYTHING, MARGIN, NULL_LABEL, Possible, error_bars, labelled
from dpsql.plots.layout import Layout, PlotColumns
from dpsql.plots.value_grid import ValueGrid

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
    figure.update_layout(
        barmode="group" if layout.series else "overlay", bargap=0.08, showlegend=bool(outside or layout.series)
    )
    return dressed(figure, title, layout.x, layout.y, category=buckets is None and _is_category(answer, layout.x))


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
        x=labelled(part.column(layout.x)) if x is None else x,
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
            x=labelled(part.column(layout.x)),
            y=part.column(layout.y),
            mode="markers",
            name=name,
            marker={"color": SERIES[place % len(SERIES)], "size": 9},
            **{f"error_{noised}": error_bars(part, layout, layout.x if noised == "x" else layout.y, possible)},
        )
    return dressed(figure, title, layout.x, layout.y, category=_is_category(answer, layout.x))


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
    figure.add_box(
        x=labelled(names),
        **dict(zip(("lowerfence", "q1", "median", "q3", "upperfence"), quantiles, strict=True)),
        line_color=PRIVATE,
        showlegend=False,
    )
    return dressed(figure, title, category, "", category=True)


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
        upper = [y + half for y, half in zip(private.y, private.band, strict=True)]
        lower = [max(y - half, 0.0) for y, half in zip(private.y, private.band, strict=True)]
        outline = {"x": [*private.x, *reversed(private.x)], "y": [*upper, *reversed(lower)]}
        figure.add_scatter(**outline, fill="toself", line_width=0, fillcolor="rgba(200,50,60,0.15)", name="margin")
    if raw is not None:
        figure.add_scatter(x=raw.x, y=raw.y, name="raw", line={"color": RAW, "dash": "dash"})
    figure.add_scatter(x=private.x, y=private.y, name="private", line={"color": PRIVATE})
    return dressed(figure, title, x_title, "density").update_yaxes(rangemode="tozero")


def dressed(figure: go.Figure, title: str, x_title: str, y_title: str, *, category: bool = False) -> go.Figure:
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
