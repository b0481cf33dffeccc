"""What a role of dashboards gains from counting ρ at a δ, in errors of its own questions: public numbers only.

Both ways spend the same total ε on a person. Where ε adds up, each of k questions of a period pays ε/k. Where ρ does, each
pays ρ/k of the largest ρ that is (ε, δ)-DP, and a question by groups has the noise that the gateway would give it: Gaussian,
if there are groups enough and it is less (`measurement.euclidean`), and else the same as before at the ε of that ρ.

Of n rows in a group, Gaussian noise of deviation σ moves a number by σ·√(2/π) on average. A mean at a share m of the largest
value errs by (z₁ − μ·z₀)/2nm of itself, with μ = 2m − 1, and a variance by the weights of three cells, which stand in
`epsilon.noise.outputs` beside the noise of pure ε. σ is `Gaussian.scale` of the rows of one person that count: C, if they
may all be in one group, and otherwise the root of the squares of what is in each.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.zcdp import epsilon_of, epsilon_paid_by, rho_of, rho_within
from dpsql.epsilon.advising.advice import EpsilonPlan, Holder, Size, decimal
from dpsql.epsilon.noise.outputs import OutputKind, cell_weights
from dpsql.epsilon.numbers import down_to_digits
from dpsql.policy.model import Period
from dpsql.privacy.measurement.pricing import FEWEST, FEWEST_CHOSEN, has_less_noise
from dpsql.privacy.mechanisms.block import Block, Norm

DELTA = Fraction(1, 10**6)
"""The δ that is advised: one in a million."""

_MEAN = math.sqrt(2 / math.pi)
"""The mean of |z|, in standard deviations of z."""
_BLOCKS: Mapping[OutputKind, Sequence[Block]] = {
    OutputKind.COUNT: (Block((0,), Norm.LARGEST),),
    OutputKind.AVG: (Block((0, 1), Norm.LARGEST),),
    OutputKind.VARIANCE: (Block((0, 1, 2), Norm.TOTAL),),
}
"""What is measured for one statistic of one column. Lone sums and medians have no Gaussian noise."""
_DIGITS = 6
_WORTH = 1.1
"""From how many times nearer on it is called a gain."""


@dataclass(frozen=True, slots=True)
class ErrorComparison:
    """The expected errors of one statistic in one of the usual number of groups, relative to the answer."""

    output: OutputKind
    pure: float
    """Where ε adds up."""
    of_rho: float
    """Where ρ is counted, and all rows of a person may be in one group."""
    spread: float | None
    """And where they are in as many groups as may be, and how many count is chosen; None where that changes nothing."""

    @property
    def nearer(self) -> float:
        """Return how many times nearer to the truth the answer is at best."""
        return self.pure / min(self.of_rho, self.spread or self.of_rho)


@dataclass(frozen=True, slots=True)
class Dashboard:
    """What one role's questions of a period come to, if it counts ρ."""

    delta: Fraction
    each: Fraction
    """The ε of the role's budget for one period."""
    per_query: Fraction
    """Of one question."""
    in_groups: int
    """In how many groups of a question a person may have rows at most."""
    compared: tuple[ErrorComparison, ...]

    @property
    def least(self) -> float:
        """Return how many times nearer the statistic is that gains least."""
        return min(each.nearer for each in self.compared)

    @property
    def most(self) -> float:
        """Return how many times nearer the statistic is that gains most."""
        return max(each.nearer for each in self.compared)

    @property
    def pays(self) -> bool:
        """Return whether every one of them gains by more than a tenth."""
        return self.least > _WORTH

    @property
    def verdict(self) -> str:
        """Return in a sentence or two what counting ρ brings, and what it takes."""
        if not self.pays:
            return (
                f"Counting ρ is not for so few questions: the least gain is {self.least:.2g} times. It pays where they are "
                "many, and have a dozen groups or more."
            )
        return (
            f"Counting ρ at a δ of {float(self.delta):g} is {self.least:.2g} to {self.most:.2g} times nearer. It takes that "
            f"all promises hold but for an event of a probability of {float(self.delta):g}. With pure ε there is none."
        )

    def lines(self, plan: EpsilonPlan, holder: Holder) -> str:
        """Return the lines for the configuration, in comments and with the reason; nothing if it does not pay."""
        if not self.pays:
            return ""
        renewing = "" if plan.period is Period.NEVER else f", period: {plan.period}"
        window = "" if plan.days is None else f", window: {plan.days} day{'s' if plan.days > 1 else ''}"
        counted = f"delta: {float(self.delta):.0e}, accounting: zcdp".replace("e-0", "e-")
        told = (
            f"For dashboards, instead: {self.least:.2g} to {self.most:.2g} times nearer at the same ε. It takes a δ:",
            f"all promises hold but for an event of a probability of {float(self.delta):g}. With pure ε there is none.",
            "budget:",
            f"  {holder.protects}: {{epsilon: {decimal(plan.total)}, {counted}{window}}}",
            "roles:",
            f"  {holder.name}:",
            f"    protects: {holder.protects}",
            f"    budget: {{epsilon: {decimal(self.each)}, {counted}{renewing}}}",
            f"    per_query: {{epsilon: {decimal(self.per_query)}, delta: 0}}",
        )
        return "".join(f"# {line}\n" for line in told)


def dashboard(size: Size, plan: EpsilonPlan, questions: int, delta: Fraction = DELTA) -> Dashboard:
    """Compare both ways for so many questions of a period, each by all groups."""
    of_period = rho_within(plan.total, delta) / plan.periods
    # ρ adds up over periods, and is divided among them. The ε of one part at the δ is more than that part of the total
    # ε.
    each = plan.total if plan.periods == 1 else down_to_digits(epsilon_of(of_period, delta), _DIGITS)
    per_query = down_to_digits(epsilon_paid_by(rho_within(each, delta) / questions), _DIGITS)
    in_groups = min(size.max_rows, size.groups)
    pure, spreads = plan.each / questions, in_groups > 1 and size.groups >= FEWEST_CHOSEN
    compared = tuple(
        ErrorComparison(
            output,
            size.question(output).error(float(pure)),
            error_of_rho(output, size, per_query, size.max_rows),
            error_of_rho(output, size, per_query, length(size)) if spreads else None,
        )
        for output in OutputKind
    )
    return Dashboard(delta, each, per_query, in_groups, compared)


def length(size: Size) -> int:
    """Return the length of a person whose rows lie evenly in as many groups as may be: √(C²/m), rounded up."""
    square = math.ceil(Fraction(size.max_rows**2, min(size.max_rows, size.groups)))
    root = math.isqrt(square)
    return root if root * root == square else root + 1


def error_of_rho(output: OutputKind, size: Size, epsilon: Fraction, limit: int) -> float:
    """Return the expected error, relative to the answer, of a question that pays the ρ of an ε, for such a length."""
    blocks = _BLOCKS.get(output)
    if blocks is None or size.groups < FEWEST or not has_less_noise(blocks, epsilon):
        return _kept(output, size, epsilon)
    # A mean is read off two coordinates, both of which a row may move in full: their squares add up. The three cells of
    # a value are shares of one row.
    parts = 2 if output is OutputKind.AVG else 1
    sigma = limit * math.sqrt(parts / (2 * float(rho_of(epsilon))))
    return _MEAN * sigma * _weight(output, float(size.typical)) / float(size.in_group)


def _kept(output: OutputKind, size: Size, epsilon: Fraction) -> float:
    return size.question(output).error(float(epsilon))


def _weight(output: OutputKind, mean: float) -> float:
    """Return how far noise of deviation 1 on each coordinate moves the answer, in units of the answer over n."""
    match output:
        case OutputKind.AVG:
            return math.hypot(1, 2 * mean - 1) / (2 * mean)
        case OutputKind.VARIANCE:
            return math.hypot(*cell_weights(mean)) / (mean**2 / 3)
        case _:
            return 1.0
