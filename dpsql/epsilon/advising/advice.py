"""From "so many people, so much risk, so many questions" to budgets, with what they cost in accuracy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.advising.rule import Belief, Promises, belief_after, periods_of_stay
from dpsql.epsilon.noise.outputs import USUAL_MEAN, OutputKind, SoughtAnswer, price_question, rows_per_group
from dpsql.epsilon.numbers import BadInput, down_to_digits
from dpsql.policy.model import NoiseLevel, Period, yaml_name

# From promises about people to a budget that renews: divided so that no stay in the data ever sees more than the total.

DAYS = {period: period.days for period in Period if period.days is not None}
"""The most days that a period has."""

_DIGITS = 5
_FIRST = (1, 2, 3, 6, 12)


@dataclass(frozen=True, slots=True)
class EpsilonPlan:
    """A total for each person's stay, and the share of it that a role's budget gets every period."""

    promises: Promises
    period: Period
    days: int | None
    """How long a person stays in the data; None is for good."""
    total: Fraction
    """The most that all answers may cost while one person is there."""
    periods: int
    """In how many periods one person is there, at the most."""
    each: Fraction
    """The role's budget for one period: all of them together never cost more than the total."""

    @classmethod
    def of(cls, promises: Promises, period: Period, days: int | None, total: Fraction | None = None) -> "EpsilonPlan":
        """Divide a total, the largest that keeps the promises unless given, among the periods of a stay.

        Raises:
            BadInput: numbers out of range, or a renewing budget for people who stay for good.
        """
        periods = periods_of_stay(period, days)
        chosen = promises.largest() if total is None else total
        if chosen <= 0:
            raise BadInput(f"a total ε of {float(chosen):g}: it must be positive")
        # Cut and not rounded: so many periods of a share that was rounded up would be more than the total.
        return cls(promises, period, days, chosen, periods, down_to_digits(chosen / periods, _DIGITS))

    @property
    def keeps(self) -> bool:
        """Return whether all three promises hold after the longest stay."""
        return self.total <= self.promises.largest()

    def after(self, periods: int) -> Belief:
        """Return what can be believed at worst once so many periods are spent."""
        return belief_after(self.each * periods, self.promises.people)

    def milestones(self) -> tuple[tuple[int, Belief], ...]:
        """Return the beliefs after some numbers of periods: the first few, the stay's, and twice that."""
        if self.period is Period.NEVER:
            return ((1, self.after(1)),)
        early = (count for count in _FIRST if count < self.periods)
        return tuple((count, self.after(count)) for count in _unique((*early, self.periods, 2 * self.periods)))


def _unique(counts: Iterable[int]) -> list[int]:
    return sorted(set(counts))


# The lines of `config.yaml` that a plan comes to: the data set's own budget, and a role that stays within it.

_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class Holder:
    """The role that the lines are for."""

    name: str
    protects: str
    per_query: Fraction
    noise: NoiseLevel | None = None

    def __post_init__(self) -> None:
        for what, name in (("role", self.name), ("privacy unit", self.protects)):
            if not (name.isidentifier() and name.isascii() and len(name) <= _LONGEST_NAME):
                raise BadInput(f"{what} must be a name of letters, digits and underscores")
            if yaml_name(name) != name:
                raise BadInput(
                    f'{what} can\'t be "{name}": YAML reads that as true, false or nothing; choose another name'
                )


def policy_lines(plan: EpsilonPlan, holder: Holder) -> str:
    """Return the lines, for a plan that keeps its promises.

    The data set's budget is the total of one stay, in any time as long as a stay, so that roles which put their answers
    together do not learn more of anybody than one may; for people who stay for good it never renews.

    Raises:
        BadInput: the plan breaks a promise, so there is nothing to be copied.
    """
    if not plan.keeps:
        raise BadInput(f"ε = {decimal(plan.total)} breaks a promise: at most {decimal(plan.promises.largest())} fits")
    renewing = "" if plan.period is Period.NEVER else f", period: {plan.period}"
    window = "" if plan.days is None else f", window: {plan.days} day{'s' if plan.days > 1 else ''}"
    level = "" if holder.noise is None else f"noise: {holder.noise}, "
    return (
        f"budget:\n  {holder.protects}: {{epsilon: {decimal(plan.total)}{window}}}\n"
        f"roles:\n  {holder.name}:\n    protects: {holder.protects}\n"
        f"    budget: {{epsilon: {decimal(plan.each)}{renewing}}}\n"
        f"    per_query: {{{level}epsilon: {decimal(min(holder.per_query, plan.each))}}}\n"
    )


def decimal(value: Fraction, digits: int = 6) -> str:
    """Return a positive amount in decimals, cut off and never rounded up; so many significant digits of it are kept."""
    places = digits
    # 0.0012345678 has six significant digits in 0.00123456: leading zeros are none.
    while 0 < value * 10**places < 10 ** (digits - 1):
        places += 1
    whole, part = divmod(value.numerator * 10**places // value.denominator, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")


# The advice: what a wish comes to, and how accurate answers are then.


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

    def question(self, output: OutputKind, rows: Fraction | None = None) -> SoughtAnswer:
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
        offer = price_question(size.question(output), level, budget)
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
    # A day pays for no more than its period has.
    spans = (("one question", per_query), ("one day", min(per_query * wish.queries_per_day, plan.each)))
    beliefs = [(name, belief_after(epsilon, wish.promises.people)) for name, epsilon in spans]
    return (*beliefs, ("one period" if plan.periods > 1 else "the total", plan.after(1)))


def _examples(size: Size, epsilon: Fraction) -> tuple[Example, ...]:
    return tuple(
        Example(output, groups, rows, asked.error(float(epsilon)), asked.is_answered(epsilon))
        for groups in dict.fromkeys((1, size.groups))
        for output in OutputKind
        for rows in (rows_per_group(size.counted, groups),)
        for asked in (size.question(output, rows),)
    )
