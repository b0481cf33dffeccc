"""`dpsql epsilon advise`: budgets from people and habits."""

from fractions import Fraction
from typing import Annotated

import typer

from dpsql.cli.support import epsilon_tables as tables
from dpsql.cli.support.epsilon_options import ExpectedRows, Membership, NumberOption, Plot, Stay, Typical
from dpsql.cli.support.numbers import MOST, read_probability, read_whole
from dpsql.cli.support.options import AsCsv, AsJson
from dpsql.cli.support.plot_output import draw_rule
from dpsql.cli.support.show import Form, print_blocks
from dpsql.epsilon.advising.advice import Advice, Size, Wish, advise
from dpsql.epsilon.advising.lines import Holder, policy_lines
from dpsql.epsilon.advising.plan import DAYS
from dpsql.epsilon.advising.promises import Promises
from dpsql.epsilon.advising.rule import MEMBERSHIP, VALUE
from dpsql.epsilon.noise.searching import USUAL_MEAN
from dpsql.epsilon.refusal import BadInput
from dpsql.policy.model import Period
from dpsql.privacy.accuracy.dashboards import Dashboard, dashboard

_SCARCE = 10
"""How many times smaller than one in so many people δ should be."""


def advise_command(
    *,
    people: Annotated[int, typer.Option(parser=read_whole, help="How many people the data are about.")],
    max_posterior: Annotated[
        Fraction,
        typer.Option(parser=read_probability, help="Largest acceptable probability of re-identifying one of them."),
    ],
    queries_per_day: Annotated[int, typer.Option(max=MOST, help="How many questions a role asks a day.")],
    period: Annotated[Period, typer.Option(help="How often the budget renews.")] = Period.NEVER,
    stay: Stay = None,
    days: Annotated[
        int | None, typer.Option(max=MOST, help="How many days a budget that never renews has to last.")
    ] = None,
    membership: Membership = MEMBERSHIP,
    value: NumberOption = VALUE,
    max_rows: Annotated[int, typer.Option(max=MOST, help="How many rows of one person count.")] = 1,
    rows: ExpectedRows = None,
    groups: Annotated[int, typer.Option(max=MOST, help="How many groups a usual question has.")] = 10,
    typical: Typical = USUAL_MEAN,
    role: Annotated[str, typer.Option(help="The role's name, for the configuration.")] = "analyst",
    protects: Annotated[str, typer.Option(help="The privacy unit's name, for the configuration.")] = "person",
    plot: Plot = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Recommend a total and a per-query ε, with the error and the risk that follow; no data are needed."""
    if period is Period.NEVER and days is None:
        raise typer.BadParameter("give --days, for how long the budget has to last, or the --period that it renews in")
    lasting = DAYS[period] if days is None else days
    try:
        promises = Promises(people, max_posterior, membership, value)
        size = Size(people, people if rows is None else rows, max_rows, groups, typical)
        advice = advise(Wish(promises, size, period, stay, queries_per_day, lasting))
        holder = Holder(role, protects, advice.per_query)
        written = policy_lines(advice.plan, holder)
    except BadInput as error:
        raise typer.BadParameter(str(error)) from None
    of_rho = dashboard(size, advice.plan, advice.wish.questions)
    shown = (*tables.advice_tables(advice), tables.dashboard_table(advice, of_rho))
    lines = written + of_rho.lines(advice.plan, holder)
    print_blocks(*shown, *_notes(advice), *_of_rho(of_rho, people), lines.rstrip(), form=Form.of(as_json, as_csv))
    if plot is not None:
        draw_rule(promises, plot)


def _of_rho(of_rho: Dashboard, people: int) -> list[str]:
    """Return what is said of counting ρ."""
    if not of_rho.pays or people * of_rho.delta * _SCARCE <= 1:
        return [of_rho.verdict]
    return [
        of_rho.verdict,
        f"CHECK: among {people:,} people that probability is not small; a δ well below 1/{people:,} is.",
    ]


def _notes(advice: Advice) -> list[str]:
    """Return what stands under the tables."""
    doubt = advice.wish.size.doubt
    return [
        *([f"CHECK: {doubt}."] if doubt else []),
        tables.binding_line(advice.plan.promises),
        (
            "The same question asked again within an epoch costs nothing. Roles that may collude share one total: the data "
            "set's own budget, which never renews, or of which each charge counts for as long as a person stays."
        ),
    ]
