"""`dpsql epsilon noise`: the ε and the noise of a statement, or of an imagined one."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Protocol

import typer

from dpsql.cli.support.epsilon_tables import OutputNoise, StatementNoise, error_words, noise_table
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.numbers import MOST, read_fraction
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile
from dpsql.cli.support.show import Form, print_blocks
from dpsql.epsilon.noise.levels import level_epsilon, rows_per_group
from dpsql.epsilon.noise.outputs import OutputKind, expected_error
from dpsql.epsilon.refusal import BadInput
from dpsql.policy.model import NoiseLevel


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
    return StatementNoise(level, epsilon, tuple(_line(output, error, share) for output, error in errors.items()))


def _line(output: OutputKind, error: float, rows: Fraction) -> OutputNoise:
    """Return an expected error in words; of a count also in rows, of the others the bounds would have to be known."""
    share, of = error_words(output, error)
    return OutputNoise(output.upper(), f"± {error * float(rows):.3g}" if output is OutputKind.COUNT else "", share, of)
