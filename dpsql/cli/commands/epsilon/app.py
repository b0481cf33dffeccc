"""`dpsql epsilon`: how large ε may be, what it reveals at worst, and how noisy answers become."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from dpsql.cli.commands.epsilon.advise import advise_command
from dpsql.cli.commands.epsilon.noise import NoisePlanner, noise_command
from dpsql.cli.support import epsilon_tables as tables
from dpsql.cli.support.epsilon_options import Membership, NumberOption, Plot
from dpsql.cli.support.numbers import MOST, read_column, read_epsilon, read_list, read_probability, read_whole
from dpsql.cli.support.options import AsJson
from dpsql.cli.support.plot_output import draw_rule, draw_study
from dpsql.cli.support.show import Form, print_blocks
from dpsql.epsilon.advising.belief import Belief, belief_after
from dpsql.epsilon.advising.lines import decimal
from dpsql.epsilon.advising.promises import Promises
from dpsql.epsilon.advising.rule import MEMBERSHIP, VALUE
from dpsql.epsilon.databases.statistic import StudiedStatistic
from dpsql.epsilon.databases.universe import Universe
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.risks.study import study_risk

OWNER_ONLY = "These numbers were computed from everybody's values: they are for the owner and must not be published."
_Epsilons = Annotated[
    list[Fraction] | None, typer.Option(parser=read_epsilon, help="Show the risk at this ε; may be repeated.")
]
_SHOWN = (0.1, 0.5, 1.0, 2.0)
"""The ε whose risks are shown beside those that were found."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where a picture goes, if one is wanted, and how tables are written."""

    plot: Path | None
    form: Form


def make_epsilon_app(planner: NoisePlanner | None = None) -> typer.Typer:
    """Return the commands; `planner` is what `noise` asks about a statement."""
    made = typer.Typer(name="epsilon", help="Choose ε, and see what it does.", no_args_is_help=True)
    made.command(epilog="Example: dpsql epsilon risk --people 5000 --risk '1 %'")(risk)
    made.command(epilog="Example: dpsql epsilon noise --level medium --output count --rows 10000")(
        noise_command(planner)
    )
    made.command(
        name="advise",
        epilog="Example: dpsql epsilon advise --people 5000 --max-posterior '1 %' --queries-per-day 20 --days 365",
    )(advise_command)
    return made


def risk(
    *,
    limit: Annotated[
        Fraction,
        typer.Option("--risk", parser=read_probability, help="Largest acceptable probability: 0.33, 33 % or 1/3."),
    ],
    values: Annotated[str | None, typer.Option(help="Everybody's value: 1,2,3,10.")] = None,
    csv: Annotated[Path | None, typer.Option(help="A CSV file with everybody's values.")] = None,
    column: Annotated[str | None, typer.Option(help="Its column.")] = None,
    people: Annotated[
        int | None, typer.Option(parser=read_whole, help="Only how many people there are: the rule for budgets.")
    ] = None,
    query: Annotated[str, typer.Option(help="mean, median, variance, std, count, sum, p90 …")] = "mean",
    missing: Annotated[int, typer.Option(max=MOST, help="How many people are missing from the release.")] = 1,
    distance: Annotated[int | None, typer.Option(help="How many of them the noise hides; all unless given.")] = None,
    epsilon: _Epsilons = None,
    membership: Membership = MEMBERSHIP,
    value: NumberOption = VALUE,
    plot: Plot = None,
    as_json: AsJson = False,
    as_csv: Annotated[
        bool, typer.Option("--as-csv", help="CSV, with the names in the first line; --csv is the file that is read.")
    ] = False,
) -> None:
    """Show what an adversary who knows everybody's value could find out from one answer.

    With --values or --csv, the risk of one query on these people; with --people, the rule for a role's total budget,
    which needs no data.
    """
    output = Output(plot, Form.of(as_json, as_csv))
    try:
        match people, values, csv, column:
            case int(), None, None, None:
                _rule(Promises(people, limit, membership, value), epsilon or [], output)
            case None, str(), None, None:
                everybody = Universe.of(read_list(values), missing, distance)
                _study(everybody, StudiedStatistic.named(query), limit, epsilon, output)
            case None, None, Path(), str():
                everybody = Universe.of(read_column(csv, column), missing, distance)
                _study(everybody, StudiedStatistic.named(query), limit, epsilon, output)
            case _:
                _one_source()
    except BadInput as error:
        raise typer.BadParameter(str(error)) from None


def _one_source() -> NoReturn:
    raise typer.BadParameter("give one of --values, --csv with --column, or --people")


def _study(
    universe: Universe, statistic: StudiedStatistic, limit: Fraction, epsilons: list[Fraction] | None, output: Output
) -> None:
    result = study_risk(universe, statistic, limit)
    shown = [*map(float, epsilons)] if epsilons else sorted({result.epsilon_upper, result.epsilon_tight, *_SHOWN})
    print_blocks(*tables.study_tables(result, shown), OWNER_ONLY, form=output.form)
    if output.plot is not None:
        draw_study(result, output.plot)


def _rule(promises: Promises, epsilons: list[Fraction], output: Output) -> None:
    limits, people = promises.limits(), promises.people
    total = promises.largest()
    rows: list[tuple[object, Belief]] = [
        (promise.risk, belief_after(limit, people)) for promise, limit in limits.items()
    ]
    rows.append(("all three", belief_after(total, people)))
    rows += [("as given", belief_after(epsilon, people)) for epsilon in epsilons]
    print_blocks(
        tables.belief_table(f"Largest total ε for {people:,} people", "limited by", rows),
        tables.binding_line(promises),
        "Of one role, or of all roles together that may collude, for as long as a person stays in the data.",
        f"budget: {{epsilon: {decimal(total)}}}",
        form=output.form,
    )
    if output.plot is not None:
        draw_rule(promises, output.plot)


epsilon_app = make_epsilon_app()
