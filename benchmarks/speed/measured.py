"""Ratios: the private statements beside the plain query, in turn, so that a busy machine is so for both.

Of DuckDB, which runs in this process, it is the processor's time that is compared, which others on the machine hardly change.
"""

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import perf_counter, process_time

from benchmarks.peers.measured import DUCKDB
from benchmarks.speed.asked import Asked
from benchmarks.speed.engines import Opened

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one question takes."""

    plain: float
    """Milliseconds, at the median."""
    ratios: Mapping[str, float]
    """By way, what the private statements take to what the plain query takes: the median of the rounds' ratios."""


@dataclass(frozen=True, slots=True)
class Part:
    """The ratios of one set of records on one engine."""

    title: str
    engine: str
    rows: int
    cells: Mapping[str, Cell]
    """By question."""
    load: tuple[float, float]
    """The machine's load in the last minute, before and after."""
    cores: int
    about: str = ""
    """What else there is to say."""
    taken: str = ""
    """The day."""


def measured(title: str, opened: Opened, questions: Sequence[Asked], rounds: int, told: Told) -> Part:
    """Ask all questions in turn; one round more than counts warms up."""
    before, cells = os.getloadavg()[0], {}
    for question in questions:
        cells[question.name] = cell = _cell(opened, question, rounds)
        said = ", ".join(f"{way} {ratio:.2f}" for way, ratio in cell.ratios.items())
        told(f"{title}: {question.name} {question.about}: plain {cell.plain:.1f} ms; {said}")
    load = (before, os.getloadavg()[0])
    return Part(title, opened.engine, opened.records.rows, cells, load, os.cpu_count() or 1, opened.about, today())


def _cell(opened: Opened, question: Asked, rounds: int) -> Cell:
    plain = question.plain.get(opened.engine, question.sql)
    asked = {way: found for way in opened.ways if (found := opened.statements(way, question))}
    plainly: list[float] = []
    ratios: dict[str, list[float]] = {way: [] for way in asked}
    clock = process_time if opened.engine == DUCKDB else perf_counter
    for _ in range(rounds + 1):
        exact = _timed(lambda: opened.plain(plain), clock)
        plainly.append(exact)
        for way, statements in asked.items():
            ratios[way].append(_timed(partial(opened.run, way, statements), clock) / exact)
    return Cell(statistics.median(plainly[1:]), {way: statistics.median(found[1:]) for way, found in ratios.items()})


def today() -> str:
    """Return the day, by which what was measured before is told from what is new."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def _timed(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return how many milliseconds it takes."""
    start = clock()
    call()
    return (clock() - start) * 1000
