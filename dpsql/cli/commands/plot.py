"""`dpsql plot`: ask one statement and draw the answer into an HTML file that needs no network, or into a PNG."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import psycopg
import sqlglot
import typer
from sqlglot import exp

import dpsql
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile, Sql, read_list, statement
from dpsql.cli.support.plot_output import picture_writer, require_plots
from dpsql.gateway.explaining.explained import Explained, ExplainedRange, explained
from dpsql.plots.margins import ask_with_margins

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsql.plots import charts
    from dpsql.plots.answer import Layout, PlotColumns, PlottedAnswer, ValueGrid


# The facts that `dpsql plot` needs of its picture, from the statement and its EXPLAIN, which is free.

# What is never below 0; and what never leaves the bounds that values are clamped to.
_ABOVE_NOTHING = frozenset({"count", "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop"})
_WITHIN = frozenset({"avg", "min", "max", "median", "percentile_cont", "percentile_disc"})


@dataclass(frozen=True, slots=True)
class _Item:
    """One column of the answer."""

    name: str
    text: str
    """The question."""
    aggregate: str
    """The aggregate of `argument`; empty for anything else."""
    argument: str

    @classmethod
    def of(cls, item: exp.Expr) -> "_Item":
        """Read one of what a SELECT returns."""
        aggregate, argument = _call(item)
        return cls(item.alias_or_name or aggregate, item.unalias().sql("postgres"), aggregate, argument)


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """The facts that a picture shows; unknown ones are empty."""

    dataset: str
    role: str
    statement: str
    tables: tuple[str, ...]
    epsilon: str
    """The price of the answer when it was first given; empty for a statement over public tables."""
    items: tuple[_Item, ...]
    """The columns of the answer."""
    ranges: tuple[ExplainedRange, ...]
    """The bounds that values are clamped to."""
    bucketed: tuple[str, float, float, int, str] | None
    """The column that holds numbers of `width_bucket`, its constants, and what is put into buckets."""

    @classmethod
    def of(cls, connection: psycopg.Connection[tuple[object, ...]], role: str | None, statement: str) -> "PictureFacts":
        """Build from what EXPLAIN says; a statement that is not private is drawn without it."""
        plan = None if re.match(r"(?i)\s*explain\b", statement) else explained(connection, statement)
        selects = _selects(statement)
        return cls(
            dataset=connection.info.dbname,
            role=role or f"of user {connection.info.user}",
            statement=" ".join(statement.split()),
            tables=() if plan is None else tuple(dict.fromkeys(map(", ".join, plan.tables))),
            epsilon="" if plan is None else _cost(plan),
            items=tuple(map(_Item.of, selects)),
            ranges=() if plan is None else (*plan.clamped, *(choice.of for choice in plan.choices)),
            bucketed=next(filter(None, map(_bucketed, selects)), None),
        )

    def asked(self, column: str) -> str:
        """Return what a column of the answer was asked for as."""
        return next((item.text for item in self.items if item.name == column), column)

    def possible(self, column: str) -> tuple[float | None, float | None]:
        """Return the least and the greatest value that a column's statistic can have, where that is known."""
        item = next((item for item in self.items if item.name == column), None)
        if item is None:
            return None, None
        if item.aggregate in _ABOVE_NOTHING:
            return 0.0, None
        ends = next(((r.low, r.high) for r in self.ranges if r.expression.lower() == item.argument.lower()), None)
        if ends is None or item.aggregate not in _WITHIN | {"sum"}:
            return None, None
        # As many values as there are rows, which nobody knows: only 0 is an end, where no value is beyond it.
        if item.aggregate == "sum":
            return (0.0 if ends[0] >= 0 else None), (0.0 if ends[1] <= 0 else None)
        return ends

    def title(self, y: str) -> str:
        """Return the title of a picture that was given none."""
        return f"{self.asked(y)} of {', '.join(self.tables)}" if self.tables else self.asked(y)


def _selects(statement: str) -> Sequence[exp.Expr]:
    try:
        tree = sqlglot.parse_one(statement, read="postgres")
    except sqlglot.errors.SqlglotError:
        return ()
    return tree.selects if isinstance(tree, exp.Select) else ()


def _call(item: exp.Expr) -> tuple[str, str]:
    """Return the aggregate that an item is, as SQL spells it, and its argument; two empty texts for anything else."""
    node = item.unalias()
    node = node.this if isinstance(node, exp.Filter) else node
    # percentile_cont(0.5) WITHIN GROUP (ORDER BY fare) is about fare.
    if isinstance(node, exp.WithinGroup):
        ordered = node.expression.find(exp.Ordered)
        return (node.this.sql_name().lower(), ordered.this.sql("postgres")) if ordered else ("", "")
    if not isinstance(node, exp.AggFunc):
        return "", ""
    return node.sql("postgres").partition("(")[0].lower(), node.this.sql("postgres") if node.this else ""


def _cost(plan: Explained) -> str:
    return f"ε = {plan.epsilon}, δ = {plan.delta}" if plan.delta else f"ε = {plan.epsilon}"


def _bucketed(item: exp.Expr) -> tuple[str, float, float, int, str] | None:
    call = item.unalias()
    if not isinstance(call, exp.WidthBucket):
        return None
    try:
        low, high, number = (float(call.args[name].sql()) for name in ("min_value", "max_value", "num_buckets"))
    except (KeyError, ValueError):
        return None
    return item.alias_or_name or "width_bucket", low, high, int(number), call.this.sql("postgres")


# The command, and the picture that it draws.


class Chart(StrEnum):
    """The kinds of picture."""

    HISTOGRAM = "histogram"
    VERSUS = "versus"
    BOX = "box"
    DENSITY = "density"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The picture that is to be drawn."""

    chart: Chart
    columns: "PlotColumns"
    bounds: tuple[float, float] | None
    buckets: int | None
    title: str


@with_exit_code
def plot(
    sql: Sql,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .html or .png.")],
    role: Annotated[str | None, typer.Option("--role", "-r", help="The role that asks and pays.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    dsn: Annotated[str | None, typer.Option(help="A running server to ask instead: postgresql://…")] = None,
    chart: Annotated[Chart, typer.Option(help="What is drawn.")] = Chart.HISTOGRAM,
    x: Annotated[str | None, typer.Option(help="The column of the x axis; of a box plot, the category.")] = None,
    y: Annotated[str | None, typer.Option(help="The column of the y axis.")] = None,
    margin: Annotated[str | None, typer.Option(help="The column with dpsql.margin(…).")] = None,
    series: Annotated[str | None, typer.Option(help="The column that separates series.")] = None,
    bounds: Annotated[
        str | None,
        typer.Option(help="The range that the buckets divide, as 0,60; taken from width_bucket(…) unless given."),
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="How many buckets width_bucket has; taken from the statement unless given.")
    ] = None,
    title: Annotated[str, typer.Option(help="Above the picture; the question unless given.")] = "",
) -> None:
    """Draw an answer with its margins, and say under it what it is; columns that are not named are guessed."""
    require_plots()
    draw = picture_writer(output)  # before anything is paid for
    wanted = _Wanted(chart, {"x": x, "y": y, "margin": margin, "series": series}, _ends(bounds), buckets, title)
    from dpsql.plots import answer  # noqa: PLC0415 -- an extra

    asked = statement(sql)
    with _connection(config, role, dsn) as connection:
        plotted = PictureFacts.of(connection, role, asked)
        told = ask_with_margins(connection, asked) if margin is None else connection.execute(asked.encode())
        rows = answer.PlottedAnswer.of(told)
    try:
        picture, headline = _picture(wanted, rows, plotted)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    draw(picture, headline, output)


def _connection(config: Path, role: str | None, dsn: str | None) -> psycopg.Connection[tuple[object, ...]]:
    match role, dsn:
        case str(), None:
            return dpsql.connect(config, role=role)
        case None, str():
            return psycopg.connect(dsn, client_encoding="UTF8")
        case _:
            raise typer.BadParameter("give --role, or --dsn of a running server")


def _picture(wanted: _Wanted, rows: "PlottedAnswer", plotted: PictureFacts) -> "tuple[charts.Picture, str]":
    """Return the figure with the text under it, and its title."""
    from dpsql.plots import charts  # noqa: PLC0415 -- an extra
    from dpsql.plots.answer import Layout  # noqa: PLC0415 -- an extra

    layout = None if wanted.chart is Chart.BOX else Layout.of(rows, **wanted.columns)
    grid = None if layout is None else _grid(wanted, plotted, layout.x)
    headline = wanted.title or (plotted.title(layout.y) if layout else ", ".join(plotted.tables) or "Answer")
    statistic = plotted.asked(layout.y) if layout else "quantiles"
    source = charts.Provenance(
        plotted.dataset, plotted.tables, statistic, plotted.epsilon, plotted.role, plotted.statement
    )
    notes = charts.notes(rows, layout, grid) if layout else charts.box_notes(rows)
    notes += [charts.smoothing_note()] if wanted.chart is Chart.DENSITY else []
    figure = _draw(wanted, rows, plotted, layout, grid)
    if grid is not None and plotted.bucketed is not None:
        figure.update_xaxes(title=plotted.bucketed[-1])
    return charts.Picture(figure, charts.caption(source, notes)), headline


def _draw(
    wanted: _Wanted,
    rows: "PlottedAnswer",
    plotted: PictureFacts,
    layout: "Layout | None",
    grid: "ValueGrid | None",
) -> "go.Figure":
    """Return the figure, without the title, which stands above it."""
    from dpsql.plots import charts  # noqa: PLC0415 -- an extra
    from dpsql.plots.charts import Possible  # noqa: PLC0415 -- an extra

    possible = Possible(*(plotted.possible(layout.y) if layout else (None, None)))
    match wanted.chart:
        case Chart.HISTOGRAM:
            return charts.histogram(rows, buckets=grid, possible=possible, **wanted.columns)
        case Chart.VERSUS:
            return charts.versus(rows, possible=possible, **wanted.columns)
        case Chart.BOX:
            return charts.box(rows, category=wanted.columns.get("x"))
        case Chart.DENSITY:
            ends = (grid.low, grid.high) if grid else wanted.bounds
            if ends is None:
                raise ValueError("a density needs --bounds LOW,HIGH, or width_bucket(…) in the statement")
            return charts.density_curve(rows, ends, buckets=grid.number if grid else None, **wanted.columns)


def _grid(wanted: _Wanted, plotted: PictureFacts, x: str) -> "ValueGrid | None":
    """Return the buckets of x, from the options, else from the statement; None if neither has any."""
    from dpsql.plots.answer import ValueGrid  # noqa: PLC0415 -- an extra

    if wanted.chart not in (Chart.HISTOGRAM, Chart.DENSITY):
        return None
    if wanted.buckets is not None:
        if wanted.bounds is None:
            raise ValueError("--buckets needs --bounds LOW,HIGH")
        return ValueGrid(*wanted.bounds, wanted.buckets)
    match plotted.bucketed:
        case (column, low, high, number, _) if column == x:
            return ValueGrid(low, high, number)
        case _:
            return None


def _ends(bounds: str | None) -> tuple[float, float] | None:
    """Return the range that buckets divide."""
    match read_list(bounds) if bounds else None:
        case None:
            return None
        case [low, high] if low < high:
            return low, high
        case _:
            raise typer.BadParameter("the range of buckets is --bounds LOW,HIGH")
