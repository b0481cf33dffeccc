"""`dpsql audit-privacy`: what answers give away about a synthetic person, beside what is paid for them."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dpsql.canaries.auditing import AuditedQuestion, audit_questions
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile
from dpsql.cli.support.plot_output import picture_writer, require_plots
from dpsql.cli.support.show import Form, print_blocks
from dpsql.engines.open import open_engine
from dpsql.errors import ConfigError
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.policy.model import Privacy, Role


@with_exit_code
def audit_privacy(
    config: ConfigFile = DEFAULT_CONFIG,
    minutes: Annotated[float, typer.Option("--minutes", "-m", min=0.1, help="How long to ask.")] = 10.0,
    role: Annotated[
        str | None, typer.Option("--role", "-r", help="Whose answers; the first role's unless given.")
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            "-e",
            min=0.001,
            max=5.0,
            help="The ε of a question; a much larger one takes very long to prove.",
        ),
    ] = 1.0,
    picture: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw it into a file that ends with .html or .png.")
    ] = None,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Attack by membership inference on synthetic people, and say which ε it proves, beside the ε that was paid.

    Servers of its own answer, over synthetic people of the policy's shape, in an engine of the same kind (a DuckDB file, a
    PostgreSQL of its own, or Sail for Spark); of the records only public tables are read. It ends with 1 where the
    privacy loss exceeds what was paid; that happens by chance once in a million audits.
    """
    form = Form.of(as_json, as_csv)
    if picture is not None:
        require_plots()
    # Before minutes of asking: a name that can't be written is told at once.
    draw = None if picture is None else picture_writer(picture)
    loaded = load(config)
    asking_role = _role(loaded, role, epsilon)
    with closing(open_engine(loaded)) as engine:
        public = read_public(loaded.policy, engine)
    verdicts: list[AuditedQuestion] = []
    for verdict in audit_questions(
        loaded, asking_role, public.rows, minutes, lambda line: typer.echo(f"{line} …", err=True)
    ):
        verdicts.append(verdict)
        _tell(verdict)
    print_blocks(_table(verdicts), form=form)
    if picture is not None and draw is not None:
        from dpsql.plots.charts import audit_picture  # noqa: PLC0415 -- an extra

        drawn = audit_picture([(v.person, v.question, v.paid, v.proved) for v in verdicts])
        draw(drawn, f"Privacy audit of {loaded.policy.dataset}, role {asking_role.name}", picture)
    # Last, when all is printed and drawn: the verdict is the exit code.
    _require_held_promises(verdicts)


def _require_held_promises(verdicts: Sequence[AuditedQuestion]) -> None:
    """Raise the end of a server that gives away more than is paid for.

    Raises:
        ConfigError: something is broken.
    """
    broken = "; ".join(f"{verdict.question} (a person with {verdict.person})" for verdict in verdicts if verdict.broken)
    if broken:
        raise ConfigError(
            f"the privacy loss exceeds what was paid: {broken}",
            hint="Stop serving, and report it with this output and the policy.",
        )


def _role(config: Config, name: str | None, epsilon: float) -> Role:
    """Return the role whose answers are audited, which pays as much for each question, and ε alone.

    Raises:
        ConfigError: there is no such role.
    """
    roles = config.policy.roles
    if name is not None and name not in roles:
        raise ConfigError(f'there is no role "{name}"; roles: {", ".join(roles)}')
    role = roles[name or next(iter(roles))]
    # repr: 0.1 as it was typed, and not the float, which is a little more. With an aim at an error, or a least ε of the
    # policy's, a question would pay something else.
    return replace(role, per_query=Privacy(Fraction(repr(epsilon))), noise=None, least=None)


def _tell(verdict: AuditedQuestion) -> None:
    typer.echo(
        f"{verdict.person}, {verdict.question}: at least ε = {verdict.proved:.3g} of {verdict.paid:.3g}", err=True
    )


def _table(verdicts: list[AuditedQuestion]) -> Table:
    table = Table(
        "person",
        "question",
        "paid ε",
        "proved ε (95 %)",
        "guesses",
        "right",
        title="Privacy loss: paid, and proved by membership inference",
    )
    for verdict in verdicts:
        share = verdict.guesses.right / verdict.guesses.number if verdict.guesses.number else 0.0
        cells = (f"{verdict.paid:.3g}", f"{verdict.proved:.3g}", f"{verdict.guesses.number:,}", f"{share:.1%}")
        table.add_row(verdict.person, verdict.question, *cells, style="red" if verdict.broken else None)
    return table
