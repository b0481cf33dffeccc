"""From "so many people, so much risk, so many questions" to budgets, with what they cost in accuracy."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.advising.plan import DAYS, EpsilonPlan
from dpsql.epsilon.advising.rule import Belief, Promises, belief_after
from dpsql.epsilon.noise.outputs import OutputKind, rows_per_group
from dpsql.epsilon.noise.searching import USUAL_MEAN, SoughtAnswer, served
from dpsql.epsilon.numbers import BadInput, down_to_digits
from dpsql.policy.model import NoiseLevel, Period


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows there are, and how a usual question divides them: public numbers."""

    people: int
    rows: int
    """How many rows are expected in all."""
    max_rows: int
    """How many of them one person may have: C."""
    groups: int
    """How many groups a usual question has."""
    typical: Fraction = USUAL_MEAN
    """The mean of the values that are asked about, as a share of the largest that is declared."""

    def __post_init__(self) -> None:
        for name in ("people", "rows", "max_rows", "groups"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name.replace('_', ' ')} must be at least 1, not {getattr(self, name)}")

    @property
    def counted(self) -> int:
        """Return how many of the rows can count: nobody's beyond their first `max_rows`."""
        return min(self.rows, self.people * self.max_rows)

    @property
    def in_group(self) -> Fraction:
        """Return how many rows a group is expected to have."""
        return rows_per_group(self.counted, self.groups)

    def asked(self, output: OutputKind, rows: Fraction | None = None) -> SoughtAnswer:
        """Return a question for one statistic of a group, of the usual size unless given."""
        return SoughtAnswer(output, self.max_rows, self.in_group if rows is None else rows, self.typical)

    @property
    def doubt(self) -> str | None:
        """Return what is to be asked of the person who gave the numbers, where they cannot all be right."""
        if self.rows == self.counted:
            return None
        people = f"{self.people:,} people with at most {self.max_rows:,} {'row' if self.max_rows == 1 else 'rows'} each"
        return (
            f"{people} have at most {self.counted:,} rows that count, not {self.rows:,}: "
            f"errors are reckoned with {self.counted:,}"
        )


@dataclass(frozen=True, slots=True)
class Wish:
    """The owner's knowledge without any theory, all of it public."""

    promises: Promises
    size: Size
    period: Period
    """How often the budget renews."""
    stay: int | None
    """How many days a person stays in the data; None is for good."""
    queries_per_day: int
    days: int
    """For how many days the budget of one period has to do."""

    def __post_init__(self) -> None:
        for name in ("queries_per_day", "days"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name.replace('_', ' ')} must be at least 1, not {getattr(self, name)}")
        if self.period is not Period.NEVER and self.days != DAYS[self.period]:
            raise BadInput(f"a {self.period} has {DAYS[self.period]} days: give a number of days or a period, not both")

    @property
    def questions(self) -> int:
        """Return how many questions one period's budget has to pay for."""
        return self.queries_per_day * self.days


@dataclass(frozen=True, slots=True)
class Example:
    """The expected error of one usual question at the ε of a single query."""

    output: OutputKind
    groups: int
    rows: Fraction
    error: float
    """Relative to the answer."""
    answered: bool
    """Whether it is no more than noise, and a median not mostly NULL."""


@dataclass(frozen=True, slots=True)
class Affordable:
    """The whole cost of a question at a noise level, and the number of them that a period's budget pays for."""

    epsilon: Fraction
    questions: int
    error: float
    """Relative to the answer."""
    answered: bool
    reached: bool
    """Whether that is about as little as the level aims at."""

    @classmethod
    def of(cls, output: OutputKind, level: NoiseLevel, size: Size, budget: Fraction) -> "Affordable":
        """Return what a question of a level costs, and how many the budget pays for."""
        offer = served(size.asked(output), level, budget)
        reached = offer.error <= level.error
        return cls(offer.epsilon, int(budget / offer.epsilon), offer.error, offer.answered, reached)


@dataclass(frozen=True, slots=True)
class Advice:
    """The lines for the configuration, and their meaning."""

    wish: Wish
    plan: EpsilonPlan
    per_query: Fraction
    beliefs: tuple[tuple[str, Belief], ...]
    """After one question, one day, one period, and the stay."""
    examples: tuple[Example, ...]
    affordable: Mapping[OutputKind, Mapping[NoiseLevel, Affordable]]


def advise(wish: Wish) -> Advice:
    """Divide the total that keeps the promises among the periods of a stay, and a period's among its questions.

    Raises:
        BadInput: a number out of range, a risk that a blind guess exceeds, or a stay that never ends.
    """
    plan = EpsilonPlan.of(wish.promises, wish.period, wish.stay)
    per_query = down_to_digits(plan.each / wish.questions, 3)
    return Advice(
        wish,
        plan,
        per_query,
        beliefs=_beliefs(wish, plan, per_query),
        examples=_examples(wish.size, per_query),
        affordable={
            output: {level: Affordable.of(output, level, wish.size, plan.each) for level in NoiseLevel}
            for output in OutputKind
        },
    )


def _beliefs(wish: Wish, plan: EpsilonPlan, per_query: Fraction) -> tuple[tuple[str, Belief], ...]:
    spans = (("one question", per_query), ("one day", min(per_query * wish.queries_per_day, plan.each)))
    beliefs = [(name, belief_after(epsilon, wish.promises.people)) for name, epsilon in spans]
    return (*beliefs, ("one period" if plan.periods > 1 else "the total", plan.after(1)))


def _examples(size: Size, epsilon: Fraction) -> tuple[Example, ...]:
    return tuple(
        Example(output, groups, rows, asked.error(float(epsilon)), asked.is_answered(epsilon))
        for groups in dict.fromkeys((1, size.groups))
        for output in OutputKind
        for rows in (rows_per_group(size.counted, groups),)
        for asked in (size.asked(output, rows),)
    )
