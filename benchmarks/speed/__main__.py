"""`python -m benchmarks.speed`: ask, tell how it goes on standard error, and write the page.

What was measured before stays on the page, so that it can be put together from several runs: `--kept` names where it lies.
"""

import itertools
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.added import added
from benchmarks.peers.measured import DUCKDB
from benchmarks.speed import growth
from benchmarks.speed.asked import WAYS, Asked, asked
from benchmarks.speed.clients import rates
from benchmarks.speed.engines import ENGINES, opened
from benchmarks.speed.kept import read, written
from benchmarks.speed.measured import Part, measured
from benchmarks.speed.page import WAYS_OF_GROWTH, Found, page
from benchmarks.speed.records import KINDS, Records
from benchmarks.speed.through import measured_through
from benchmarks.starting import started

_Records = tuple[str, Records, Sequence[Asked]]


class What(StrEnum):
    """A part of the benchmark."""

    DEFAULT = "default"
    QUESTIONS = "questions"
    UNITS = "units"
    GROUPS = "groups"
    ADDED = "added"
    SESSIONS = "sessions"
    STARTING = "starting"


@dataclass(frozen=True, slots=True)
class _Run:
    """What all parts have in common."""

    directory: Path
    engines: Sequence[str]
    ways: Sequence[str]
    rounds: int

    def parts(self, records: Iterable[_Records], engine: str, ways: Sequence[str]) -> Iterable[Part]:
        """Measure sets of records on an engine, each in a directory that goes with it."""
        chosen = [way for way in ways if way in self.ways]
        for title, one, questions in records:
            told(f"{title}: writing the records")
            with tempfile.TemporaryDirectory(dir=self.directory) as name:
                Path(name).chmod(0o711)  # PostgreSQL's account passes through
                with opened(Path(name) / "records", one, engine, chosen) as some:
                    yield measured(title, some, questions, self.rounds, told)


def told(line: str) -> None:
    """Tell how it goes."""
    typer.echo(line, err=True)


def run(
    *,
    parts: Annotated[list[What], typer.Option("--part", help="what is measured")] = list(What),  # noqa: B006 # typer's own way
    rows: Annotated[list[int], typer.Option(help="numbers of trips; growth is measured with the first")] = [1_000_000],  # noqa: B006 # typer's own way
    engines: Annotated[list[str], typer.Option("--engine", help="duckdb, postgres")] = list(ENGINES),  # noqa: B006 # typer's own way
    only: Annotated[list[str], typer.Option(help="questions and forms: q01, f3")] = [],  # noqa: B006 # typer's own way
    ways: Annotated[list[str], typer.Option("--way", help=", ".join(WAYS))] = list(WAYS),  # noqa: B006 # typer's own way
    kinds: Annotated[list[str], typer.Option("--kind", help="of identifiers, as units grow")] = list(KINDS),  # noqa: B006 # typer's own way
    rounds: Annotated[int, typer.Option(help="how often each question is asked, once more to warm up")] = 5,
    seconds: Annotated[float, typer.Option(help="how long sessions ask")] = 10.0,
    to: Annotated[Path | None, typer.Option(help="the page; not given: it is printed")] = None,
    kept: Annotated[Path | None, typer.Option(help="where lies what was measured before")] = None,
) -> None:
    """Measure how long questions take beside the plain queries."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and the servers with it
    found = read(kept)
    named = [question for question in asked() if not only or question.name in only]
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        Path(name).chmod(0o711)
        this = _Run(Path(name), [ENGINES[engine] for engine in engines], ways, rounds)
        for number, engine in itertools.product(rows if What.DEFAULT in parts else (), this.engines):
            one = measured_through(Path(name) / f"default-{number}-{engine}", number, engine, rounds, told)
            found = _shown(replace(found, defaults={**found.defaults, one.title: one}), to, kept)
        for part in _questions(this, rows, named) if What.QUESTIONS in parts else ():
            found = _shown(replace(found, parts={**found.parts, part.title: part}), to, kept)
        for part in _growth(this, rows[0], parts, kinds):
            found = _shown(replace(found, growth={**found.growth, part.title: part}), to, kept)
    if What.ADDED in parts:
        told("what one question takes")
        found = _shown(replace(found, added=list(added())), to, kept)
    if What.SESSIONS in parts:
        told("sessions")
        found = _shown(replace(found, rates=rates(seconds)), to, kept)
    if What.STARTING in parts:
        told("starting")
        found = _shown(replace(found, started=list(started())), to, kept)
    if to is None:
        typer.echo(page(found))


def _questions(run: _Run, rows: Sequence[int], questions: Sequence[Asked]) -> Iterable[Part]:
    for number in rows:
        for engine in run.engines:
            yield from run.parts([(f"{number:,} trips, {engine}", Records(number), questions)], engine, WAYS)


def _growth(run: _Run, rows: int, parts: Sequence[What], kinds: Sequence[str]) -> Iterable[Part]:
    if DUCKDB in run.engines:
        grown: dict[What, Callable[[int], Iterator[_Records]]] = {
            What.UNITS: partial(growth.of_units, kinds=kinds),
            What.GROUPS: growth.of_groups,
        }
        for what, records in grown.items():
            if what in parts:
                some = [(f"{rows:,} trips, {title}", one, questions) for title, one, questions in records(rows)]
                yield from run.parts(some, DUCKDB, WAYS_OF_GROWTH)


def _shown(found: Found, to: Path | None, kept: Path | None) -> Found:
    """Write what there is by now: what is ended later has not been in vain."""
    if to is not None:
        to.write_text(page(found), encoding="utf-8")
    if kept is not None:
        kept.write_text(written(found), encoding="utf-8")
    return found


if __name__ == "__main__":
    typer.run(run)
