"""`make mutants`: put each mistake into the code in a process of its own, and tell which test catches it.

Before that the same files run without a mistake: what fails then catches nothing. Ends with 1 if a mistake survives.
"""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from tests.mutants.catalogue import MISTAKES, Mistake

_ROOT = Path(__file__).resolve().parents[2]
_LONGEST = 900.0
"""Seconds for one mistake."""
_PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-x",
    "--no-header",
    "--tb=no",
    "-p",
    "no:cacheprovider",
    "-p",
    "tests.mutants.put_in",
    "-m",
    "not slow and not browser and not clients and not superset and not tools",
)
"""With the tests that `make test` leaves to `make test-long`: many mistakes are caught by these alone."""
_CAUGHT = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mistake."""

    name: str
    caught: str | None
    """The test that failed; None: none did."""
    seconds: float

    def __str__(self) -> str:
        """Return a line of the table."""
        return f"{self.name:36} {self.seconds:6.0f} s  {self.caught or 'SURVIVES'}"


def _ran(files: Sequence[str], *mistake: str) -> Outcome:
    since = time.monotonic()
    command = [*_PYTEST, *mistake, *(f"tests/{file}" for file in files)]
    try:
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=_LONGEST)  # noqa: S603
    except subprocess.TimeoutExpired:
        return Outcome(mistake[-1], "(it takes too long)", time.monotonic() - since)
    match = _CAUGHT.search(done.stdout)
    if done.returncode not in {0, 1, 5} or (done.returncode == 1 and match is None):
        sys.exit(f"pytest ends with {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return Outcome(mistake[-1] if mistake else "no mistake", match[1] if match else None, time.monotonic() - since)


def _tried(mistake: Mistake) -> Outcome:
    """Run one file after the other: collecting all takes longer than the one that mostly suffices."""
    since, outcome = time.monotonic(), Outcome(mistake.name, None, 0)
    for file in mistake.files:
        outcome = _ran([file], "--mistake", mistake.name)
        if outcome.caught:
            break
    outcome = replace(outcome, seconds=time.monotonic() - since)
    typer.echo(str(outcome))
    return outcome


def run(
    *,
    only: Annotated[str, typer.Option(help="a regular expression: names of mistakes")] = "",
    workers: Annotated[int, typer.Option(help="how many at once")] = 2,
    right: Annotated[bool, typer.Option(help="first run the files without a mistake")] = True,
) -> None:
    """Put mistakes in, and tell what catches them."""
    chosen = [mistake for name, mistake in MISTAKES.items() if re.search(only, name)]
    if not chosen:
        raise typer.BadParameter(f"no mistake is called {only}")
    since = time.monotonic()
    if right:
        files = dict.fromkeys(file for mistake in chosen for file in mistake.files)
        plain = _ran([*files])
        typer.echo(f"without a mistake: {plain.seconds:.0f} s  {plain.caught or 'nothing fails'}")
        if plain.caught:
            sys.exit("what fails without a mistake catches nothing")
    with ThreadPoolExecutor(workers) as pool:
        outcomes = [*pool.map(_tried, chosen)]
    left = [outcome.name for outcome in outcomes if outcome.caught is None]
    minutes = (time.monotonic() - since) / 60
    typer.echo(
        f"{len(outcomes)} mistakes, {len(left)} of which survive, in {minutes:.0f} minutes: {', '.join(left) or 'none'}"
    )
    sys.exit(bool(left))


if __name__ == "__main__":
    typer.run(run)
