"""From "so many people, so much risk, so many questions" to budgets, with what they cost in accuracy."""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.belief import Belief, belief_after, renewals
from dpsql.epsilon.levels import Output, expected_error, level_epsilon, rows_per_group
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.rounding import down_to_digits
from dpsql.epsilon.rule import total_epsilon
from dpsql.policy.model import NoiseLevel

PERIODS = (1, 2, 3, 6, 12)
"""How many periods the renewal table looks ahead."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the owner knows without any theory, all of it public."""

    people: int
    max_posterior: Fraction
    """The largest acceptable probability of naming somebody in an answer."""
    membership: Fraction
    """The largest acceptable answer to "is this person in the data?", from 50 to 50."""
    queries_per_day: int
    days: int
    """The length of a period."""
    rows: int
    """How many rows are expected in all."""
    max_rows: int
    """How many of them one person may have: C."""
    groups: int
    """How many groups a usual question has."""

    def __post_init__(self) -> None:
        for name in ("queries_per_day", "days", "rows", "max_rows", "groups"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name.replace('_', ' ')} must be at least 1, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Example:
    """The expected error of one usual question at the ε of a single query."""

    question: str
    rows: Fraction
    scale: float
    """Of the noise: the expected error of the count, in rows."""
    relative: float
    """The expected error as a share of the rows, or of the declared range."""


@dataclass(frozen=True, slots=True)
class Affordable:
    """How many questions of a noise level the total pays for."""

    level: NoiseLevel
    epsilon: Fraction
    questions: int


@dataclass(frozen=True, slots=True)
class Advice:
    """What to write into the configuration, and what it means."""

    wish: Wish
    total: Fraction
    per_query: Fraction
    beliefs: tuple[tuple[str, Belief], ...]
    """After one question, one day, one period."""
    renewals: tuple[tuple[int, Belief], ...]
    examples: tuple[Example, ...]
    affordable: tuple[Affordable, ...]


def advise(wish: Wish) -> Advice:
    """Divide the total of the rule among the questions of a period.

    Raises:
        BadInput: a number out of range, or a risk that a blind guess exceeds.
    """
    total = total_epsilon(wish.people, wish.max_posterior, wish.membership)
    per_query = down_to_digits(total / (wish.queries_per_day * wish.days), 3)
    spans = (("one question", 1), ("one day", wish.queries_per_day), ("the period", wish.queries_per_day * wish.days))
    return Advice(
        wish,
        total,
        per_query,
        beliefs=tuple((name, belief_after(min(per_query * count, total), wish.people)) for name, count in spans),
        renewals=tuple(zip(PERIODS, renewals(total, wish.people, PERIODS), strict=True)),
        examples=_examples(wish, per_query),
        affordable=tuple(_affordable(wish, total, level) for level in NoiseLevel),
    )


def _examples(wish: Wish, epsilon: Fraction) -> tuple[Example, ...]:
    everybody = Fraction(wish.rows)
    group = rows_per_group(wish.rows, wish.groups)
    asked = (
        ("COUNT of all rows", Output.COUNT, everybody),
        (f"COUNT in one of {wish.groups} groups", Output.COUNT, group),
        ("AVG over all rows, of its range", Output.AVG, everybody),
        (f"AVG in one of {wish.groups} groups, of its range", Output.AVG, group),
        (f"VARIANCE in one of {wish.groups} groups", Output.VARIANCE, group),
    )
    scale = float(wish.max_rows / epsilon)
    return tuple(
        Example(question, rows, scale, expected_error(output, epsilon, contribution=wish.max_rows, rows=rows))
        for question, output, rows in asked
    )


def _affordable(wish: Wish, total: Fraction, level: NoiseLevel) -> Affordable:
    rows = rows_per_group(wish.rows, wish.groups)
    epsilon = level_epsilon(level, [Output.COUNT], contribution=wish.max_rows, rows=rows, cap=total)
    return Affordable(level, epsilon, int(total / epsilon))
