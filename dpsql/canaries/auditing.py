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
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpsql.canaries.served_people import Side, served_people
from dpsql.policy.config import Config
from dpsql.policy.model import Policy, Role, Table
from dpsql.private_files import Scratch
from dpsql.rewrite.analysis.declared_facts import PublicRows
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.trial.records import REMOVED, MadeUpRecords, made_up_records

# The statements that an audit asks of a table: of each kind that a policy has columns for.

_FEW_VALUES = 24
"""Different values of a column that an audit groups by at most."""
_NUMBERS = 2
"""How many columns of numbers are asked about."""


def questions_of(policy: Policy, kind: str) -> Iterator[str]:
    """Yield statements about all tables with rows of a unit kind."""
    for table in policy.tables.values():
        if kind in table.units:
            yield from _about(table, kind, policy)


def _about(table: Table, kind: str, policy: Policy) -> Iterator[str]:
    name = policy.asked_as(table.name)
    yield f"SELECT count(*) FROM {name}"  # noqa: S608
    units = table.units[kind].columns
    if table.units[kind].through is None:
        yield f"SELECT count(DISTINCT {quote_name(units[0])}) FROM {name}"  # noqa: S608
    others = [column for column in table.columns.values() if column.name not in units and column.references is None]
    numbers = [column for column in others if column.type.is_number and column.bounds is not None]
    for column in numbers[:_NUMBERS]:
        x = quote_name(column.name)
        yield f"SELECT sum({x}), count({x}) FROM {name}"  # noqa: S608
        yield f"SELECT avg({x}), variance({x}) FROM {name}"  # noqa: S608
        yield f"SELECT median({x}) FROM {name}"  # noqa: S608
    groups = (column for column in others if column.values is not None and len(column.values) <= _FEW_VALUES)
    for column in groups:
        summed = f", sum({quote_name(numbers[0].name)})" if numbers else ""
        key = quote_name(column.name)
        yield f"SELECT {key}, count(*){summed} FROM {name} GROUP BY 1 ORDER BY 1"  # noqa: S608
        break


# Guesses whether somebody was there, and what so many right ones prove.
#
# Under ε-DP the odds of a person being there change by no more than e^ε, for any answer: at even odds a guess is right
# with probability e^ε/(1 + e^ε) at most, also if only some answers are guessed from. So a lower bound of that
# probability, by Clopper and Pearson (1934), is one of ε: ln(p/(1 − p)). How answers look with the person and without is
# learnt on others.

AnswerNumbers = NDArray[np.float64]
"""A row for each round, a column for each number that was answered."""
_NOTICED = 0.2
"""Numbers that the person moves by less, in typical errors, are noise to the guess."""
_SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.97)
"""Of the answers the share that is not guessed from, one of these."""
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Guesser:
    """How answers look with a person and without."""

    without: AnswerNumbers
    with_: AnswerNumbers
    width: AnswerNumbers
    least: float
    """Scores that are smaller in size are not guessed from."""

    @classmethod
    def learnt(cls, without: AnswerNumbers, with_: AnswerNumbers) -> Self:
        """Learn from rounds of which it is known whether the person was there."""
        # Medians, and mean distances from them: what estimates middle and width of Laplace noise, whose outliers lie
        # far off.
        middles = np.median(without, axis=0), np.median(with_, axis=0)
        errors = (np.abs(some - middle).mean(axis=0) for some, middle in zip((without, with_), middles, strict=True))
        width = np.maximum(*errors)
        # Dividing by infinity takes a number out of the score; what tells next to nothing would only add noise to it.
        width[np.abs(middles[1] - middles[0]) <= _NOTICED * width] = np.inf
        # No noise at all: a difference between the two sides then decides by itself.
        width[width == 0] = 1e-9
        own = cls(*middles, width, 0.0)
        scores = own.scores(without), own.scores(with_)
        sizes = np.abs(np.concatenate(scores))
        # How sure a guess has to be is chosen by rounds that are known, and never by those that are guessed: else
        # chance would choose what looks best.
        tried = ((least, _bound_of(scores, least)) for least in np.quantile(sizes, _SHARES))
        return cls(*middles, width, float(max(tried, key=lambda pair: pair[1])[0]))

    def scores(self, answers: AnswerNumbers) -> AnswerNumbers:
        """Return for each round how much more it looks like one with the person: of Laplace noise the likelihood ratio."""
        far: AnswerNumbers = (np.abs(answers - self.without) - np.abs(answers - self.with_)) / self.width
        total: AnswerNumbers = far.sum(axis=1)
        return total

    def guessed(self, answers: AnswerNumbers, there: NDArray[np.bool_]) -> "Guesses":
        """Guess of rounds whether the person was there."""
        scores = self.scores(answers)
        sure = (np.abs(scores) >= self.least) & (scores != 0)
        return Guesses(int(sure.sum()), int(((scores > 0) == there)[sure].sum()))


def _bound_of(scores: Sequence[AnswerNumbers], least: float) -> float:
    """Return what guesses from scores that are so large would prove of rounds without and with the person."""
    sure = [some[np.abs(some) >= least] for some in scores]
    right = int((sure[0] < 0).sum() + (sure[1] > 0).sum())
    return Guesses(sum(map(len, sure)), right).epsilon(0.8)


@dataclass(frozen=True, slots=True)
class Guesses:
    """How many guesses were made, and how many were right."""

    number: int
    right: int

    def epsilon(self, confidence: float) -> float:
        """Return the ε that answers have at least, with so much confidence; 0 where nothing is proved."""
        low, high = 0.0, 1.0
        if not self.right:
            return 0.0
        # The least probability with which so many right guesses are not too rare: Clopper and Pearson's lower end.
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self.chance(middle) < 1 - confidence:
                low = middle
            else:
                high = middle
        return max(math.log(low / (1 - low)), 0.0) if 0.0 < low < 1.0 else 0.0

    def chance(self, probability: float) -> float:
        """Return how likely so many right guesses or more are where each is right with this probability."""
        if probability in (0.0, 1.0):
            return probability if self.right else 1.0
        n, k = self.number, np.arange(self.right, self.number + 1)
        # Logarithms of factorials: n! itself has no room in a float from 171 on.
        logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
        terms = logs[n] - logs[k] - logs[n - k] + k * math.log(probability) + (n - k) * math.log1p(-probability)
        return float(min(np.exp(terms).sum(), 1.0))

    def breaks(self, epsilon: float) -> float:
        """Return the chance of so many right guesses if ε is what was paid."""
        return self.chance(1 / (1 + math.exp(-epsilon))) if self.number else 1.0


# The rounds: servers are asked, and guessed about.

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


def audit_questions(
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
    # The guesser gets the answers of these rounds alone. What the coin said is compared with its guesses in the end.
    coin, there, guessed = random.Random(), list[bool](), list[list[AnswerNumbers]]()  # noqa: S311  (which side is asked)
    while time.monotonic() - begin < seconds or len(there) < _FEWEST:
        there.append(coin.random() < 0.5)
        guessed.append(_numbers(sides[there[-1]], asked))
    for place, sql in enumerate(asked):
        yield _verdict(
            name, sql, paid[place], [[[numbers[place]] for numbers in some] for some in (*learnt, guessed)], there
        )
    # Answers of one round compose: together they may prove as much as all of them have paid.
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
    # Texts are the keys of declared groups, the same with the person and without.
    cells = [cell for row in rows for cell in row if not isinstance(cell, str)]
    numbers = [float(cell) if isinstance(cell, (int, float, Decimal)) else 0.0 for cell in cells]
    return np.array([len(rows), *numbers, *(cell is None for cell in cells)], dtype=np.float64)


def _of_one_width(rounds: Sequence[Sequence[Sequence[AnswerNumbers]]]) -> list[list[list[AnswerNumbers]]]:
    """Return answers each of which has as many numbers as the longest to its question has."""
    # An answer may have fewer rows than others of the same statement, or none where it failed. Zeros fill it up.
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
