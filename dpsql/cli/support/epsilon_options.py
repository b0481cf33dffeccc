"""The options that `dpsql epsilon risk` and `advise` share."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.support.numbers import MOST, read_probability
from dpsql.cli.support.plot_output import need_plots


def _plot_path(path: Path | None) -> Path | None:
    if path is not None:
        need_plots()
    return path


Plot = Annotated[Path | None, typer.Option(help="Draw the risk curves into this HTML file.", callback=_plot_path)]
Stay = Annotated[
    int | None, typer.Option(max=MOST, help="How many days a person stays in the data; for good unless given.")
]
ExpectedRows = Annotated[
    int | None, typer.Option(max=MOST, help="How many rows are expected; one a person unless given.")
]
Typical = Annotated[
    Fraction,
    typer.Option(parser=read_probability, help="The mean of the values asked about, as a share of the largest."),
]
Membership = Annotated[
    Fraction,
    typer.Option(
        parser=read_probability,
        help='Largest acceptable success of membership inference, "is this person in the data?", from 50/50.',
    ),
]
NumberOption = Annotated[
    Fraction,
    typer.Option(
        parser=read_probability,
        help='Largest acceptable success of attribute inference, "which of two values has this member?", from 50/50.',
    ),
]
