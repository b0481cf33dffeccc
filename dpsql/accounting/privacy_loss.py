"""Losses of privacy: amounts of ε and δ, the periods they renew in, how they add up, and the proof that they were paid."""

from collections.abc import Iterable
from dataclasses import InitVar, dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import assert_never

from dpsql.errors import InternalError
from dpsql.policy.model import Period, Privacy

_SEAL = object()
_READABLE = Context(prec=12, rounding=ROUND_FLOOR)
_ENOUGH = Context(prec=12, rounding=ROUND_CEILING)


@dataclass(frozen=True, slots=True)
class Charge:
    """Proof that a statement's cost is durable in a ledger; an engine runs no measurement without one.

    Only `issue` makes one, and only ledgers call that.
    """

    keys: frozenset[str]
    """The measurements that it paid for."""
    cost: Privacy
    """The price that the role paid."""
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise InternalError


def issue(keys: frozenset[str], cost: Privacy) -> Charge:
    """Attest that `cost` is committed; for ledgers alone."""
    return Charge(keys, cost, _SEAL)


def first_day(period: Period, now: datetime) -> date:
    """Return the day (UTC, as `now`) on which the current period began."""
    today = now.date()
    match period:
        case Period.DAY:
            return today
        case Period.WEEK:
            return today - timedelta(days=today.weekday())
        case Period.MONTH:
            return today.replace(day=1)
        case Period.QUARTER:
            return today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1)
        case Period.NEVER:
            return date.min
        case _:
            assert_never(period)


def renewal(period: Period, now: datetime) -> date | None:
    """Return the day (UTC, as `now`) on which the next period begins; None if none does."""
    first = first_day(period, now)
    match period:
        case Period.DAY:
            return first + timedelta(days=1)
        case Period.WEEK:
            return first + timedelta(weeks=1)
        case Period.MONTH:
            return (first + timedelta(days=31)).replace(day=1)
        case Period.QUARTER:
            return (first + timedelta(days=93)).replace(day=1)
        case Period.NEVER:
            return None
        case _:
            assert_never(period)


def show_down(amount: Fraction) -> str:
    """Write an amount in decimals, rounded down past twelve digits."""
    return _shown(amount, _READABLE)


def show_up(amount: Fraction) -> str:
    """Write an amount in decimals, rounded up past twelve digits."""
    return _shown(amount, _ENOUGH)


def _shown(amount: Fraction, context: Context) -> str:
    number = context.divide(Decimal(amount.numerator), Decimal(amount.denominator)).normalize(context)
    return f"{number:f}" if not number or abs(number) >= Decimal("0.0001") else f"{number:e}"


# How losses of privacy add up: the one place that another kind of composition would change.
#
# Basic composition: ε and δ add up, also where questions are chosen after earlier answers were seen, so that refusing what
# passes a budget is a valid filter (Rogers, Roth, Ullman, Vadhan, "Privacy Odometers and Filters", 2016).


_NONE = Fraction(0)


def compose(losses: Iterable[Privacy]) -> Privacy:
    """Return the loss of all of them together."""
    epsilon = delta = rho = _NONE
    for loss in losses:
        # Each statement composes some forty times, mostly of one loss that has no δ: sums with 0 would be most of it.
        epsilon = epsilon + loss.epsilon if epsilon else loss.epsilon
        delta = delta + loss.delta if delta else loss.delta
        rho = rho + loss.rho if rho else loss.rho
    return Privacy(epsilon, delta, rho)


def equal_share(whole: Fraction, number: int) -> Fraction:
    """Return the equal part of ε, or of δ, of which so many compose to the whole."""
    return whole / number if number > 1 else whole


def covers(budget: Privacy, loss: Privacy) -> bool:
    """Return whether a budget, all of it, can pay for a loss; of ε and δ none pays for what has no ε."""
    return not loss.rho and loss.epsilon <= budget.epsilon and loss.delta <= budget.delta


def remaining(budget: Privacy, spent: Privacy) -> Privacy:
    """Return what may still be spent; never less than nothing, though a budget may have been lowered."""
    return Privacy(max(budget.epsilon - spent.epsilon, Fraction(0)), max(budget.delta - spent.delta, Fraction(0)))
