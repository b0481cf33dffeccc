"""The four pictures of an answer, with its margins as error bars: histogram, x versus y, box plot, density."""

from typing import Literal, Unpack

import plotly.graph_objects as go

from dpsql.plots.answer import AnswerSource, PlottedAnswer
from dpsql.plots.density import Density, density
from dpsql.plots.layout import Layout, PlotColumns

RAW, PRIVATE, MARGIN = "#2f6fde", "#c8323c", "#8a8f98"
SERIES = ("#2f6fde", "#c8323c", "#2e8b57", "#b8860b", "#7b52ab", "#4b8b9b", "#a0522d", "#6b7280")
_QUANTILES = 5


def histogram(source: AnswerSource, *, title: str = "", **columns: Unpack[PlotColumns]) -> go.Figure:
    """Return bars of noisy counts by value or bucket; columns that are not named are guessed as `Layout.of` says."""
    answer = PlottedAnswer.of(source)
    layout = Layout.of(answer, **columns)
    figure = go.Figure()
    for place, (name, part) in enumerate(_split(answer, layout).items()):
        figure.add_bar(
            x=part.column(layout.x),
            y=part.numbers(layout.y),
            name=name,
            marker_color=SERIES[place % len(SERIES)],
            error_y=_bars(part, layout),
        )
    figure.update_layout(barmode="group" if layout.series else "overlay", bargap=0.08)
    return dressed(figure, title, layout.x, layout.y)


def versus(
    source: AnswerSource, *, noised: Literal["x", "y"] = "y", title: str = "", **columns: Unpack[PlotColumns]
) -> go.Figure:
    """Return points of x versus y, with the margins on the axis that has noise."""
    answer = PlottedAnswer.of(source)
    layout = Layout.of(answer, **columns)
    figure = go.Figure()
    for place, (name, part) in enumerate(_split(answer, layout).items()):
        figure.add_scatter(
            x=part.column(layout.x),
            y=part.column(layout.y),
            mode="markers",
            name=name,
            marker={"color": SERIES[place % len(SERIES)], "size": 9},
            **{f"error_{noised}": _bars(part, layout)},
        )
    return dressed(figure, title, layout.x, layout.y)


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
        x=names,
        **dict(zip(("lowerfence", "q1", "median", "q3", "upperfence"), quantiles, strict=True)),
        line_color=PRIVATE,
        showlegend=False,
    )
    return dressed(figure, title, category, "")


def density_curve(
    source: AnswerSource, bounds: tuple[float, float], *, title: str = "", **columns: Unpack[PlotColumns]
) -> go.Figure:
    """Return the density of an answer whose rows are the equal buckets of `bounds`, in order."""
    answer = PlottedAnswer.of(source)
    layout = Layout.of(answer, **columns)
    counts = [count or 0.0 for count in answer.numbers(layout.y)]
    margins = None if layout.margin is None else [half or 0.0 for half in answer.numbers(layout.margin)]
    return density_lines(density(counts, *bounds, margins=margins), title=title, x_title=layout.x)


def density_lines(private: Density, raw: Density | None = None, *, title: str = "", x_title: str = "") -> go.Figure:
    """Return the private density in red and, for made-up data, the raw one as a dashed blue line."""
    figure = go.Figure()
    if private.band is not None:
        upper = [y + half for y, half in zip(private.y, private.band, strict=True)]
        lower = [max(y - half, 0.0) for y, half in zip(private.y, private.band, strict=True)]
        outline = {"x": [*private.x, *reversed(private.x)], "y": [*upper, *reversed(lower)]}
        figure.add_scatter(**outline, fill="toself", line_width=0, fillcolor="rgba(200,50,60,0.15)", name="margin")
    if raw is not None:
        figure.add_scatter(x=raw.x, y=raw.y, name="raw", line={"color": RAW, "dash": "dash"})
    figure.add_scatter(x=private.x, y=private.y, name="private", line={"color": PRIVATE})
    return dressed(figure, title, x_title, "density")


def dressed(figure: go.Figure, title: str, x_title: str, y_title: str) -> go.Figure:
    """Return the figure in the house's style."""
    return figure.update_layout(
        template="plotly_white",
        title=title,
        xaxis_title=x_title,
        yaxis_title=y_title,
        font_family="system-ui, sans-serif",
        margin={"l": 60, "r": 20, "t": 60 if title else 20, "b": 50},
    )


def _split(answer: PlottedAnswer, layout: Layout) -> dict[str, PlottedAnswer]:
    """Return the rows of each series; one unnamed series if there is no such column."""
    if layout.series is None:
        return {layout.y: answer}
    parts: dict[str, list[tuple[object, ...]]] = {}
    for name, row in zip(answer.column(layout.series), answer.rows, strict=True):
        parts.setdefault(str(name), []).append(row)
    return {name: PlottedAnswer(answer.columns, tuple(rows)) for name, rows in parts.items()}


def _bars(answer: PlottedAnswer, layout: Layout) -> dict[str, object] | None:
    """Return the error bars, or None without margins."""
    if layout.margin is None:
        return None
    return {"type": "data", "array": answer.numbers(layout.margin), "color": MARGIN, "thickness": 1.2, "width": 3}
