"""`dpsql epsilon`: how large ε may be, what it reveals at worst, and how noisy answers become."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from dpsql.cli.commands.epsilon_noise import Planner, noise_command
from dpsql.cli.support import epsilon_tables as tables
from dpsql.cli.support.numbers import read_column, read_fraction, read_list
from dpsql.cli.support.plot_output import draw_rule, draw_study, need_plots
from dpsql.epsilon.advice import Wish, advise
from dpsql.epsilon.belief import belief_after
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.rule import MEMBERSHIP, membership_epsilon, singling_out_epsilon, total_epsilon
from dpsql.epsilon.statistic import Statistic
from dpsql.epsilon.study import study
from dpsql.epsilon.universe import Universe


def _plot_path(path: Path | None) -> Path | None:
    if path is not None:
        need_plots()
    return path


Plot = Annotated[Path | None, typer.Option(help="Draw the risk curves into this HTML file.", callback=_plot_path)]
Membership = Annotated[
    Fraction,
    typer.Option(parser=read_fraction, help='Largest acceptable answer to "is this person in the data?", from 50/50.'),
]

OWNER_ONLY = "These numbers were computed from everybody's values: they are for the owner and must not be published."
_SHOWN = (0.1, 0.5, 1.0, 2.0)
"""The ε whose risks are shown beside those that were found."""


def make_app(planner: Planner | None = None) -> typer.Typer:
    """Return the commands; `planner` is what `noise` asks about a statement."""
    made = typer.Typer(name="epsilon", help="Choose ε, and see what it does.", no_args_is_help=True)
    made.command()(risk)
    made.command()(noise_command(planner))
    made.command(name="advise")(give_advice)
    return made


def risk(
    *,
    limit: Annotated[
        Fraction, typer.Option("--risk", parser=read_fraction, help="Largest acceptable probability: 0.333 or 1/3.")
    ],
    values: Annotated[str | None, typer.Option(help="Everybody's value: 1,2,3,10.")] = None,
    csv: Annotated[Path | None, typer.Option(help="A CSV file with everybody's values.")] = None,
    column: Annotated[str | None, typer.Option(help="Its column.")] = None,
    people: Annotated[int | None, typer.Option(help="Only how many people there are: the rule for budgets.")] = None,
    query: Annotated[str, typer.Option(help="mean, median, variance, std, count, sum, p90 …")] = "mean",
    missing: Annotated[int, typer.Option(help="How many people are missing from the release.")] = 1,
    epsilon: Annotated[
        list[Fraction] | None, typer.Option(parser=read_fraction, help="Show the risk at this ε; may be repeated.")
    ] = None,
    membership: Membership = MEMBERSHIP,
    plot: Plot = None,
) -> None:
    """Show what an adversary who knows everybody's value could find out from one answer.

    With --values or --csv, the risk of one query on these people; with --people, the rule for a role's total budget,
    which needs no data.
    """
    try:
        match people, values, csv, column:
            case int(), None, None, None:
                _rule(people, limit, membership, plot)
            case None, str(), None, None:
                _study(Universe.of(read_list(values), missing), Statistic.named(query), limit, epsilon, plot)
            case None, None, Path(), str():
                everybody = Universe.of(read_column(csv, column), missing)
                _study(everybody, Statistic.named(query), limit, epsilon, plot)
            case _:
                _one_source()
    except BadInput as error:
        raise typer.BadParameter(str(error)) from None


def give_advice(
    *,
    people: Annotated[int, typer.Option(help="How many people the data are about.")],
    max_posterior: Annotated[
        Fraction, typer.Option(parser=read_fraction, help="Largest acceptable probability of naming one of them.")
    ],
    queries_per_day: Annotated[int, typer.Option(help="How many questions a role asks a day.")],
    days: Annotated[int, typer.Option(help="How many days a period of the budget has.")],
    membership: Membership = MEMBERSHIP,
    max_rows: Annotated[int, typer.Option(help="How many rows of one person count.")] = 1,
    rows: Annotated[int | None, typer.Option(help="How many rows are expected; one a person unless given.")] = None,
    groups: Annotated[int, typer.Option(help="How many groups a usual question has.")] = 10,
    plot: Plot = None,
) -> None:
    """Recommend a total and a per-query ε, with the error and the risk that follow; no data are needed."""
    try:
        expected = people if rows is None else rows
        advice = advise(Wish(people, max_posterior, membership, queries_per_day, days, expected, max_rows, groups))
    except BadInput as error:
        raise typer.BadParameter(str(error)) from None
    total, per_query = tables.decimal(advice.total), tables.decimal(advice.per_query)
    tables.show(
        *tables.advice_tables(advice),
        "The same question asked again within an epoch costs nothing. Roles that may collude share one total.",
        f"budget: {{epsilon: {total}}}, per_query: {{epsilon: {per_query}}}",
    )
    if plot is not None:
        draw_rule(people, advice.total, max_posterior, membership, plot)


def _one_source() -> NoReturn:
    raise typer.BadParameter("give one of --values, --csv with --column, or --people")


def _study(
    universe: Universe, statistic: Statistic, limit: Fraction, epsilons: list[Fraction] | None, plot: Path | None
) -> None:
    result = study(universe, statistic, limit)
    shown = [*map(float, epsilons)] if epsilons else sorted({result.epsilon_upper, result.epsilon_tight, *_SHOWN})
    tables.show(*tables.study_tables(result, shown), OWNER_ONLY)
    if plot is not None:
        draw_study(result, plot)


def _rule(people: int, limit: Fraction, membership: Fraction, plot: Path | None) -> None:
    total = total_epsilon(people, limit, membership)
    limits = [
        ("naming", belief_after(singling_out_epsilon(people, limit), people)),
        ("membership", belief_after(membership_epsilon(membership), people)),
        ("both", belief_after(total, people)),
    ]
    tables.show(
        tables.belief_table(f"Largest total ε for {people} people", "limited by", limits),
        "Of one role, or of all roles together that may collude.",
        f"budget: {{epsilon: {tables.decimal(total)}}}",
    )
    if plot is not None:
        draw_rule(people, total, limit, membership, plot)


app = make_app()
