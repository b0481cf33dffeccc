"""`dpsql plot`: ask one statement and draw the answer into an HTML file that needs no network."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import psycopg
import typer

import dpsql
from dpsql.cli.support.exit_codes import told
from dpsql.cli.support.numbers import read_list
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile, Sql, statement
from dpsql.cli.support.plot_output import need_plots

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsql.plots.answer import PlottedAnswer
    from dpsql.plots.layout import PlotColumns


class Chart(StrEnum):
    """The pictures that there are."""

    HISTOGRAM = "histogram"
    VERSUS = "versus"
    BOX = "box"
    DENSITY = "density"


@told
def plot(
    sql: Sql,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")],
    role: Annotated[str | None, typer.Option("--role", "-r", help="The role that asks and pays.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    dsn: Annotated[str | None, typer.Option(help="A running server to ask instead: postgresql://…")] = None,
    chart: Annotated[Chart, typer.Option(help="What is drawn.")] = Chart.HISTOGRAM,
    x: Annotated[str | None, typer.Option(help="The column of the x axis; of a box plot, the category.")] = None,
    y: Annotated[str | None, typer.Option(help="The column of the y axis.")] = None,
    margin: Annotated[str | None, typer.Option(help="The column with dpsql.margin(…).")] = None,
    series: Annotated[str | None, typer.Option(help="The column that tells series apart.")] = None,
    bounds: Annotated[
        str | None, typer.Option(help="Of a density: the range that the buckets divide, as 0,60.")
    ] = None,
    title: Annotated[str, typer.Option(help="Above the picture.")] = "",
) -> None:
    """Draw an answer with its margins; columns that are not named are guessed."""
    need_plots()
    ends = _ends(bounds, chart)
    from dpsql.plots import answer, page  # noqa: PLC0415 -- an extra

    with _connection(config, role, dsn) as connection, connection.cursor() as cursor:
        cursor.execute(statement(sql).encode())
        rows = answer.PlottedAnswer.of(cursor)
    try:
        figure = _draw(chart, rows, {"x": x, "y": y, "margin": margin, "series": series}, ends, title)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    page.write_page([page.Picture(figure)], title or "PlottedAnswer", output)


def _connection(config: Path, role: str | None, dsn: str | None) -> psycopg.Connection[tuple[object, ...]]:
    match role, dsn:
        case str(), None:
            return dpsql.connect(config, role=role)
        case None, str():
            return psycopg.connect(dsn)
        case _:
            raise typer.BadParameter("give --role, or --dsn of a running server")


def _draw(
    chart: Chart, rows: "PlottedAnswer", columns: "PlotColumns", ends: tuple[float, float], title: str
) -> "go.Figure":
    from dpsql.plots import charts  # noqa: PLC0415 -- an extra

    match chart:
        case Chart.HISTOGRAM:
            return charts.histogram(rows, title=title, **columns)
        case Chart.VERSUS:
            return charts.versus(rows, title=title, **columns)
        case Chart.BOX:
            return charts.box(rows, category=columns.get("x"), title=title)
        case Chart.DENSITY:
            return charts.density_curve(rows, ends, title=title, **columns)


def _ends(bounds: str | None, chart: Chart) -> tuple[float, float]:
    """Return the range of a density; other charts have none."""
    if chart is not Chart.DENSITY:
        return 0.0, 1.0
    match read_list(bounds) if bounds else []:
        case [low, high] if low < high:
            return low, high
        case _:
            raise typer.BadParameter("a density needs --bounds LOW,HIGH")
