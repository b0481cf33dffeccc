"""What the benchmark finds: for each number of trips and each engine, what each system says to each question."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.peers.asked import Answer, Run, System, Task
from benchmarks.peers.questions import Question
from benchmarks.peers.scores import WRONG, columns_of, errors, shown, wrongness

Told = Callable[[str], None]
OURS, SNAPSHOT = "dpsql", "dpsql with a snapshot"
POSTGRES, DUCKDB = "PostgreSQL", "DuckDB"


@dataclass(frozen=True, slots=True)
class Cell:
    """One system's answers to one question: an error for each column and run, or why there is none."""

    errors: Mapping[str, list[float]]
    seconds: float = 0.0
    runs: int = 0
    shown: float = 1.0
    """What part of the groups that there are it shows."""
    refused: str = ""
    wrong: str = ""
    """Columns that are off without noise, and how far."""

    @property
    def right(self) -> bool:
        """Return whether it answers, and what was asked."""
        return not (self.refused or self.wrong)


@dataclass(frozen=True, slots=True)
class Part:
    """The answers about one number of trips, on one engine."""

    rows: int
    engine: str
    exact: Mapping[str, float]
    """By question, the seconds that the plain query takes."""
    columns: Mapping[str, list[str]]
    cells: Mapping[tuple[str, str], Cell]
    """By question and system."""
    load: tuple[float, float]
    """The machine's load in the last minute, before and after."""

    @property
    def noisy(self) -> bool:
        """Return whether errors are told: on the engine that all systems run on."""
        return self.engine == POSTGRES


def check(
    systems: Mapping[str, System], truth: System, asked: tuple[Question, ...], task: Task, told: Told
) -> dict[tuple[str, str], str]:
    """Return by question and system what is wrong where noise vanishes; nothing where it is right."""
    found = {}
    for question in asked:
        (exact, *_) = truth.ask(question, task).runs
        for name, system in systems.items():
            told(f"check: {question.name} {name}")
            runs = system.ask(question, task).runs
            off = (
                {column: wrongness(question, exact, runs, column) for column in columns_of(question, exact)}
                if runs
                else {}
            )
            said = [f"{column} is {value:.0%} off" for column, value in off.items() if value > WRONG]
            found[question.name, name] = ", ".join(said)
    return found


def measure(
    systems: Mapping[str, System],
    truth: System,
    asked: tuple[Question, ...],
    task: Task,
    wrong: Mapping[tuple[str, str], str],
    told: Told,
) -> tuple[dict[str, float], dict[str, list[str]], dict[tuple[str, str], Cell]]:
    """Ask all systems all questions; return the seconds of the exact answers, the measured columns, and the cells."""
    seconds, columns, cells = {}, {}, {}
    for question in asked:
        plain = truth.ask(question, task).runs
        exact = plain[0]
        seconds[question.name] = min(run.seconds for run in plain)
        columns[question.name] = columns_of(question, exact)
        for name, system in systems.items():
            answer = system.ask(question, task)
            cells[question.name, name] = cell = _cell(question, exact, answer, wrong.get((question.name, name), ""))
            told(f"{question.name} {name}: {cell.refused or f'{cell.runs} runs, {cell.seconds * 1000:.0f} ms'}")
    return seconds, columns, cells


def pooled(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts about one number of trips, each with the errors of all: noise is the same wherever it is measured."""
    return tuple(
        replace(part, cells={at: _together(at, parts, cell) for at, cell in part.cells.items()}) for part in parts
    )


def load() -> float:
    """Return the machine's load in the last minute."""
    return os.getloadavg()[0]


def _together(at: tuple[str, str], parts: Sequence[Part], cell: Cell) -> Cell:
    question, system = at
    same = (OURS, SNAPSHOT) if system in (OURS, SNAPSHOT) else (system,)
    others = [part.cells[question, one].errors for part in parts for one in same if (question, one) in part.cells]
    return replace(
        cell, errors={name: [one for errors in others for one in errors.get(name, ())] for name in cell.errors}
    )


def _cell(question: Question, exact: Run, answer: Answer, wrong: str) -> Cell:
    if answer.refused:
        return Cell({}, refused=answer.refused)
    runs = answer.runs
    return Cell(
        {column: errors(question, exact, runs, column) for column in columns_of(question, exact)},
        median(run.seconds for run in runs),
        len(runs),
        shown(question, exact, runs),
        wrong=wrong,
    )
