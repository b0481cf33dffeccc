"""The audit: servers with and without a synthetic person are asked the same, and it is guessed which of them answered.

A round asks all questions in an epoch of its own, as a client does, of the one server or the other, as a coin falls. Some
rounds are known, to learn from; of the others it is guessed, question by question and from all answers together.
"""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from dpsql.canaries.guessing import AnswerNumbers, Guesser, Guesses
from dpsql.canaries.questions import questions_of
from dpsql.canaries.served_people import Side, served_people
from dpsql.policy.config import Config
from dpsql.policy.model import Role
from dpsql.rewrite.analysis.joined import PublicRows
from dpsql.scratch import Scratch
from dpsql.trial.records import REMOVED, MadeUpRecords, made_up_records

_CONFIDENCE = 0.95
_FALSE_ALARM = 1e-8
"""The chance that a question fails though nothing is wrong: that of an audit with a hundred is one in a million."""
_LEARNT = 0.3
"""The share of the time in which answers are learnt."""
_FEWEST = 8
ALL = "all answers together"
PEOPLE = (
    "as many rows as count, beyond the upper bounds",
    "twice as many, all different",
    "as many rows as count and more, all different",
    "four times as many, beyond the lower bounds",
)
"""The synthetic people who are there or not: two of each database."""


@dataclass(frozen=True, slots=True)
class AuditedQuestion:
    """The ε that guesses prove of one question, about one synthetic person."""

    person: str
    question: str
    paid: float
    """ε that the question pays."""
    proved: float
    """ε that its answers have at least, with 95 %."""
    guesses: Guesses

    @property
    def broken(self) -> bool:
        """Return whether more was given away than paid for."""
        return self.guesses.breaks(self.paid) < _FALSE_ALARM


def audited(
    config: Config, role: Role, public: PublicRows, minutes: float, tell: Callable[[str], None]
) -> Iterator[AuditedQuestion]:
    """Yield what is proved of each question, for several synthetic people, within some minutes.

    Raises:
        ConfigError: a server can't be started.
    """
    worlds = [record for record in made_up_records(config.policy, public, {}) if record.kind == role.protects]
    people = [(world, unit) for world in range(len(worlds)) for unit in (REMOVED[0], REMOVED[-1])]
    for (world, unit), name in zip(people, PEOPLE, strict=True):
        tell(f"asking about a person with {name}")
        with (
            Scratch("dpsql-canaries-", mode=0o711) as scratch,
            _sides(config, role, public, (worlds[world], unit), scratch.path) as sides,
        ):
            asked = [sql for sql in questions_of(config.policy, role.protects) if _is_answered(sides[1], sql)]
            yield from _person(name, sides, asked, 60 * minutes / len(people))


@contextmanager
def _sides(
    config: Config, role: Role, public: PublicRows, whom: tuple[MadeUpRecords, int], directory: Path
) -> Iterator[tuple[Side, Side]]:
    """Serve the same people without somebody, and with them."""
    records, unit = whom
    with (
        served_people(config, role, public, records, unit, directory / "without") as without,
        served_people(config, role, public, records, None, directory / "with") as with_,
    ):
        yield without, with_


def _is_answered(side: Side, sql: str) -> bool:
    return bool(side.asked_anew([sql])[0])


def _person(name: str, sides: tuple[Side, Side], asked: Sequence[str], seconds: float) -> Iterator[AuditedQuestion]:
    """Yield what is proved about one person."""
    paid = [_paid(sides[1], sql) for sql in asked]
    learnt: tuple[list[list[AnswerNumbers]], list[list[AnswerNumbers]]] = ([], [])
    begin = time.monotonic()
    while time.monotonic() - begin < _LEARNT * seconds or len(learnt[0]) < _FEWEST:
        for side, answers in zip(sides, learnt, strict=True):
            answers.append(_numbers(side, asked))
    coin, there, guessed = random.Random(), list[bool](), list[list[AnswerNumbers]]()  # noqa: S311  (which side is asked)
    while time.monotonic() - begin < seconds or len(there) < _FEWEST:
        there.append(coin.random() < 0.5)
        guessed.append(_numbers(sides[there[-1]], asked))
    for place, sql in enumerate(asked):
        yield _verdict(
            name, sql, paid[place], [[[numbers[place]] for numbers in some] for some in (*learnt, guessed)], there
        )
    yield _verdict(name, ALL, math.fsum(paid), [*learnt, guessed], there)


def _paid(side: Side, sql: str) -> float:
    before = side.paid()
    side.asked_anew([sql])
    return side.paid() - before


def _verdict(
    person: str, sql: str, paid: float, rounds: Sequence[Sequence[Sequence[AnswerNumbers]]], there: Sequence[bool]
) -> AuditedQuestion:
    without, with_, unknown = (_side_by_side(some) for some in _of_one_width(rounds))
    guesses = Guesser.learnt(without, with_).guessed(unknown, np.array(there))
    return AuditedQuestion(person, sql, paid, guesses.epsilon(_CONFIDENCE), guesses)


def _numbers(side: Side, asked: Sequence[str]) -> list[AnswerNumbers]:
    """Return the numbers of each answer, with those that tell how many rows there were and which are NULL."""
    return [_flat(rows) for rows in side.asked_anew(asked)]


def _flat(rows: Sequence[tuple[object, ...]]) -> AnswerNumbers:
    cells = [cell for row in rows for cell in row if not isinstance(cell, str)]
    numbers = [float(cell) if isinstance(cell, (int, float, Decimal)) else 0.0 for cell in cells]
    return np.array([len(rows), *numbers, *(cell is None for cell in cells)], dtype=np.float64)


def _of_one_width(rounds: Sequence[Sequence[Sequence[AnswerNumbers]]]) -> list[list[list[AnswerNumbers]]]:
    """Return answers each of which has as many numbers as the longest to its question has."""
    number = len(rounds[0][0])
    widths = [max(len(numbers[place]) for some in rounds for numbers in some) for place in range(number)]
    return [
        [
            [np.pad(numbers[place], (0, widths[place] - len(numbers[place]))) for place in range(number)]
            for numbers in some
        ]
        for some in rounds
    ]


def _side_by_side(rounds: Sequence[Sequence[AnswerNumbers]]) -> AnswerNumbers:
    return np.array([np.concatenate(answers) for answers in rounds])
