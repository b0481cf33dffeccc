"""`dpsql epsilon`: how large ε may be, what it reveals at worst, and how noisy answers become."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, NoReturn, Protocol

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

import dpsql
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import (
    DEFAULT_CONFIG,
    MOST,
    AsCsv,
    AsJson,
    ConfigFile,
    read_column,
    read_epsilon,
    read_fraction,
    read_list,
    read_probability,
    read_whole,
)
from dpsql.cli.support.plot_output import draw_rule, draw_study, require_plots
from dpsql.cli.support.show import Form, print_blocks
from dpsql.epsilon.advising.advice import (
    DAYS,
    Advice,
    Affordable,
    EpsilonPlan,
    Example,
    Holder,
    Size,
    Wish,
    advise,
    decimal,
    policy_lines,
)
from dpsql.epsilon.advising.rule import MEMBERSHIP, VALUE, Belief, Promises, belief_after
from dpsql.epsilon.databases.statistic import StudiedStatistic, Universe
from dpsql.epsilon.noise.outputs import (
    USUAL_MEAN,
    OutputKind,
    expected_error,
    is_answered,
    level_epsilon,
    rows_per_group,
    share_of,
)
from dpsql.epsilon.numbers import BadInput, percent
from dpsql.epsilon.risks.study import Study, person_risk_at, risks_at, study_risk
from dpsql.gateway.explaining.explained import ExplainedChoice, ExplainedOutput, explained
from dpsql.policy.load import load
from dpsql.policy.model import NoiseLevel, Period
from dpsql.privacy.accuracy.dashboards import Dashboard, dashboard

# The options that `dpsql epsilon risk` and `advise` share.


def _plot_path(path: Path | None) -> Path | None:
    # A callback of the option: who lacks the extra hears of it before anything is computed.
    if path is not None:
        require_plots()
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


# The tables that `dpsql epsilon` prints: risks, levels and advice.


@dataclass(frozen=True, slots=True)
class OutputNoise:
    """How far one output of a statement may be off, in words."""

    output: str
    error: str
    """In units of the output."""
    share: str
    """As a share."""
    of: str
    """The whole that it is a share of; or why there is none."""


@dataclass(frozen=True, slots=True)
class StatementNoise:
    """The cost of a statement and the noise of its outputs, by public numbers only."""

    level: NoiseLevel | None
    epsilon: Fraction
    outputs: tuple[OutputNoise, ...]


def study_tables(result: Study, epsilons: Iterable[float]) -> tuple[RenderableType, ...]:
    """Return the study's numbers and the risks at some ε."""
    universe = result.universe
    facts = _table_of(f"Disclosure risk: {universe.people} people, {universe.missing} missing", "", "")
    rows = (
        ("worlds", f"{universe.worlds:.6g}"),
        ("a blind guess", f"{float(result.prior):.6g}"),
        ("Δf, which the noise is scaled with", f"{result.noise_sensitivity:.10g}"),
        ("Δv, how far two worlds lie apart", f"{result.world_sensitivity:.10g}"),
        (f"ε from the upper bound, risk {float(result.requirement):.4g}", _epsilon_in_words(result.epsilon_upper)),
        (f"ε from the tight bound, risk {float(result.requirement):.4g}", _epsilon_in_words(result.epsilon_tight)),
    )
    for row in rows:
        facts.add_row(*row)
    asked = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
    if not asked:
        return (facts,)
    several = universe.missing > 1
    risks = _table_of("Largest posterior", "ε", "upper bound", "tight bound", *(["of one person"] if several else []))
    for epsilon in asked:
        person = person_risk_at(result, epsilon) if several else None
        shown = [f"{person.risk:.6g}" if person else "–"] if several else []
        risks.add_row(_epsilon_in_words(epsilon), *(f"{value:.10g}" for value in risks_at(result, epsilon)), *shown)
    return facts, risks


def belief_table(title: str, first: str, beliefs: Iterable[tuple[object, Belief]]) -> Table:
    """Return what can be inferred after some ε."""
    headings = ("re-identification", "membership inference", "attribute inference")
    table = _table_of(title, first, "ε", *headings)
    for name, belief in beliefs:
        shares = (belief.singled_out, belief.membership, belief.value)
        table.add_row(str(name), decimal(belief.epsilon), *map(percent, shares))
    return table


def binding_line(promises: Promises) -> str:
    """Return which promises decide, and what the others would allow."""
    limits, binding = promises.limits(), promises.binding()
    others = [
        f"{promise.risk} alone would allow {decimal(limit)}"
        for promise, limit in limits.items()
        if promise not in binding
    ]
    return "; ".join([f"Limited by: {' and '.join(promise.risk for promise in binding)}", *others]) + "."


def advice_tables(advice: Advice) -> tuple[RenderableType, ...]:
    """Return budgets, errors, beliefs, renewals and what else the budget would pay for."""
    wish, plan = advice.wish, advice.plan
    budget = _table_of("Budget", "", "ε")
    stay = "for good" if wish.stay is None else f"{wish.stay:,} days"
    budget.add_row(f"while a person is there, {stay}", decimal(plan.total))
    if plan.periods > 1:
        budget.add_row(f"each {plan.period}; they may be there in {plan.periods:,}", decimal(plan.each))
    budget.add_row(f"for each of {wish.questions:,} questions", decimal(advice.per_query))
    errors = _table_of("Expected error of one question", "question", "rows", "error", "")
    for example in advice.examples:
        where = "all rows" if example.groups == 1 else f"one of {example.groups:,} groups"
        errors.add_row(
            f"{example.output.upper()}, {where}",
            f"{float(example.rows):,.6g}",
            *_relative_words(example),
        )
    levels = _table_of("Or fewer, better answers: per_query: {noise: …}", "questions, ε and error of each", *NoiseLevel)
    for output, entries in advice.affordable.items():
        levels.add_row(output.upper(), *map(_affordable, entries.values()))
    blocks = [budget, errors, levels, belief_table("Worst-case inference", "after", advice.beliefs)]
    if plan.periods > 1:
        counts = [(_stay_mark(plan, count), belief) for count, belief in plan.milestones()]
        blocks.append(belief_table(f"As the budget renews each {plan.period}", "periods", counts))
    return tuple(blocks)


def dashboard_table(advice: Advice, of_rho: Dashboard) -> Table:
    """Return the errors of the same questions where ε adds up, and where ρ is counted."""
    spread = [f"ρ, a person in {of_rho.in_groups:,} groups"] if any(one.spread for one in of_rho.compared) else []
    title = f"A dashboard of {advice.wish.questions:,} questions by {advice.wish.size.groups:,} groups: expected errors"
    table = _table_of(title, "question", "pure ε", "ρ counted", *spread, "times nearer")
    for one in of_rho.compared:
        errors = [one.pure, one.of_rho, *([one.of_rho if one.spread is None else one.spread] if spread else [])]
        table.add_row(one.output.upper(), *map(_share_in_words, errors), f"{one.nearer:.2g}")
    return table


def _share_in_words(error: float) -> str:
    return f"{100 * error:.3g} %" if error <= 1 else "only noise"


def _affordable(entry: Affordable) -> str:
    if not entry.answered:
        return "says nothing"
    less = "" if entry.reached else "only "
    return f"{entry.questions:,} at {_short(entry.epsilon)}, {less}{100 * entry.error:.2g} %"


def _short(epsilon: Fraction) -> str:
    return f"{float(epsilon):.3g}"


def _relative_words(example: Example) -> tuple[str, str]:
    """Return an expected error, and what it is a share of."""
    if example.answered:
        return f"{100 * example.error:.3g} %", "of the answer"
    return ("mostly NULL", "too few rows") if example.output is OutputKind.MEDIAN else ("only noise", "")


def _stay_mark(plan: EpsilonPlan, count: int) -> str:
    return (
        f"{count:,}"
        + (", all of a stay" if count == plan.periods else "")
        + (", twice as long" if count > plan.periods else "")
    )


def error_words(output: OutputKind, error: float) -> tuple[str, str]:
    """Return an expected error and what it is a share of."""
    if is_answered(output, error):
        return f"{100 * error:.3g} %", share_of(output)
    return ("mostly NULL", "too few rows") if output is OutputKind.MEDIAN else ("only noise", "")


def noise_table(noise: StatementNoise) -> Table:
    """Return what a statement costs and its noise."""
    title = f"ε = {decimal(noise.epsilon, 3)}" + (f", {noise.level} noise" if noise.level else "")
    table = _table_of(title, "output", "error", "share", "of what")
    for line in noise.outputs:
        # Text, not str: a name that the asker chose is not markup.
        table.add_row(Text(line.output), line.error, line.share, Text(line.of))
    return table


def _epsilon_in_words(value: float) -> str:
    return "any" if math.isinf(value) else f"{value:.10g}"


def _table_of(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", show_header=any(columns))
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table


# `dpsql epsilon advise`: budgets from people and habits.

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
    shown = (*advice_tables(advice), dashboard_table(advice, of_rho))
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
        binding_line(advice.plan.promises),
        (
            "The same question asked again within an epoch costs nothing. Roles that may collude share one total: the data "
            "set's own budget, which never renews, or of which each charge counts for as long as a person stays."
        ),
    ]


# `dpsql epsilon noise`: the ε and the noise of a statement, or of an imagined one.


class NoisePlanner(Protocol):
    """Finds out, without reading data, what a statement would cost a role and how noisy its outputs would be."""

    def __call__(self, config: Path, role: str, statement: str) -> StatementNoise:
        """Return the noise of `statement`.

        Raises:
            DpsqlError: the configuration or the statement can't be used.
        """


def noise_command(planner: NoisePlanner | None) -> Callable[..., None]:
    """Return the command; without a planner it answers for imagined statements only."""

    @with_exit_code
    def noise(
        *,
        statement: Annotated[str | None, typer.Argument(help="A statement, as the role would ask it.")] = None,
        role: Annotated[str | None, typer.Option(help="Who asks.")] = None,
        config: ConfigFile = DEFAULT_CONFIG,
        level: Annotated[
            NoiseLevel | None, typer.Option(help="Instead of a statement: the level of its noise.")
        ] = None,
        output: Annotated[list[OutputKind] | None, typer.Option(help="What it asks for; may be repeated.")] = None,
        rows: Annotated[int | None, typer.Option(max=MOST, help="How many rows its table is expected to have.")] = None,
        groups: Annotated[int, typer.Option(max=MOST, help="How many groups it has.")] = 1,
        max_rows: Annotated[int, typer.Option(max=MOST, help="How many rows of one person count.")] = 1,
        cap: Annotated[
            Fraction | None, typer.Option(parser=read_fraction, help="The role's ε for one statement.")
        ] = None,
        as_json: AsJson = False,
        as_csv: AsCsv = False,
    ) -> None:
        """Show the ε of a statement and how noisy its answer would be; no data are read and nothing is paid."""
        form = Form.of(as_json, as_csv)
        if statement is not None and role is not None and planner is not None:
            print_blocks(noise_table(planner(config, role, statement)), form=form)
        elif statement is None and level is not None and rows is not None:
            imagined = _imagined(level, output or [OutputKind.COUNT], (rows, groups), max_rows, cap)
            print_blocks(noise_table(imagined), form=form)
        else:
            raise typer.BadParameter("give a statement with --role, or --level and --rows")

    return noise


def _imagined(
    level: NoiseLevel, outputs: list[OutputKind], size: tuple[int, int], max_rows: int, cap: Fraction | None
) -> StatementNoise:
    try:
        share = rows_per_group(*size)
        epsilon = level_epsilon(level, outputs, contribution=max_rows, rows=share, cap=cap)
    except BadInput as error:
        raise typer.BadParameter(str(error)) from None
    together = frozenset(outputs)
    errors = {
        output: expected_error(output, epsilon, contribution=max_rows, rows=share, beside=together)
        for output in outputs
    }
    return StatementNoise(level, epsilon, tuple(_noise_line(output, error, share) for output, error in errors.items()))


def _noise_line(output: OutputKind, error: float, rows: Fraction) -> OutputNoise:
    """Return an expected error in words; of a count also in rows, of the others the bounds would have to be known."""
    share, of = error_words(output, error)
    return OutputNoise(output.upper(), f"± {error * float(rows):.3g}" if output is OutputKind.COUNT else "", share, of)


OWNER_ONLY = "These numbers were computed from everybody's values: they are for the owner and must not be published."
_Epsilons = Annotated[
    list[Fraction] | None, typer.Option(parser=read_epsilon, help="Show the risk at this ε; may be repeated.")
]
_SHOWN_EPSILONS = (0.1, 0.5, 1.0, 2.0)
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
        # Just one source: two of them are the last case, as none is.
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
    shown = (
        # A set, since the two that were found may be one, or one of the usual. Where any ε will do they are infinite, and not
        # shown.
        [*map(float, epsilons)] if epsilons else sorted({result.epsilon_upper, result.epsilon_tight, *_SHOWN_EPSILONS})
    )
    print_blocks(*study_tables(result, shown), OWNER_ONLY, form=output.form)
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
        belief_table(f"Largest total ε for {people:,} people", "limited by", rows),
        binding_line(promises),
        "Of one role, or of all roles together that may collude, for as long as a person stays in the data.",
        f"budget: {{epsilon: {decimal(total)}}}",
        form=output.form,
    )
    if output.plot is not None:
        draw_rule(promises, output.plot)


epsilon_app = make_epsilon_app()


# The noise of a statement, for `dpsql epsilon noise`: from EXPLAIN, which is free.

_OUTPUT_NAMES = {0.0: "min", 0.5: "median", 1.0: "max"}
_NOTHING = OutputNoise("–", "", "", "nothing can be said of these statistics before they are asked")
RANKS = "ranks"
"""The unit of what is chosen and not summed."""


def planned_noise(config: Path, role: str, statement: str) -> StatementNoise:
    """Return the cost and the noise of a statement for a role.

    Raises:
        ConfigError: the configuration can't be used.
    """
    level = load(config).policy.roles[role].noise if role in load(config).policy.roles else None
    with dpsql.connect(config, role=role) as connection:
        plan = explained(connection, statement)
    if plan is None:
        return StatementNoise(level, Fraction(0), (_NOTHING,))
    ranks = {output.name: output.margin for output in plan.outputs if output.unit == RANKS}
    lines = (*outputs([output for output in plan.outputs if output.unit != RANKS]), *quantiles(plan.choices, ranks))
    return StatementNoise(level, Fraction(plan.epsilon), lines or (_NOTHING,))


def outputs(outputs_planned: Sequence[ExplainedOutput]) -> Iterator[OutputNoise]:
    """Yield what is read off noisy sums; shares are of what EXPLAIN compares with, which is no value of the data."""
    for output in outputs_planned:
        share = "" if output.relative is None else f"{100 * output.relative:.3g} %"
        yield OutputNoise(
            output.name, f"± {output.margin:.6g} {output.unit}".rstrip(" ,") + " with 95 %", share, _compared(output)
        )


def _compared(output: ExplainedOutput) -> str:
    """Return what a margin is a share of."""
    match output.name.partition("(")[0]:
        case _ if output.relative is None:
            return "in its own units, if the values lie in the middle of their bounds"
        case "count":
            return "of the rows that a group is expected to have"
        case "sum":
            return "of so many rows with values in the middle of their bounds"
        case _:
            return "of a value in the middle of its bounds"


def quantiles(choices: Sequence[ExplainedChoice], ranks: Mapping[str, float]) -> Iterator[OutputNoise]:
    """Yield what is chosen among buckets: `ranks` says by how many it may be off, and too small groups are NULL."""
    for choice in choices:
        for point in choice.points:
            name = f"{_OUTPUT_NAMES.get(point, f'{point:g}-quantile')}({choice.of.expression})"
            off = _extreme_ranks(choice) if point in (0, 1) else ranks.get(name)
            error = "" if off is None else f"± {off:,.0f} ranks with 95 %"
            yield OutputNoise(name, error, "", f"mostly NULL in groups of far fewer than {choice.enough:,} rows")


def _extreme_ranks(choice: ExplainedChoice) -> float:
    """Return how far off an extreme's rank may be: ln(20·buckets)·5/2 scales of noise, of which `enough` is ln(8)·5/3."""
    return choice.enough * math.log(20 * choice.buckets) * 2.5 / (math.log(8) * 5 / 3)


# `dpsql epsilon`: the commands that help to choose ε, with the planner of statements that they ask.

with_planner = make_epsilon_app(planned_noise)
