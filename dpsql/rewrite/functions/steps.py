"""The steps of a function's values, from those of its arguments: all values are whole multiples of one."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.model import common_step
from dpsql.rewrite.ir.calendar import DAY, SIZES
from dpsql.rewrite.ir.expr import Apply, Bins, Const, Digits, Expr, IntervalValue, Results, TimeField, Unit, option

StepOf = Callable[[Expr], Fraction | None]


def of_all(apply: Apply, step: StepOf) -> Fraction | None:
    """Return the step of a sum, or of what is one of its arguments."""
    return _common([step(arg) for arg in apply.args])


def of_first(apply: Apply, step: StepOf) -> Fraction | None:
    """Return the step of the first argument."""
    return step(apply.args[0])


def of_results(apply: Apply, step: StepOf) -> Fraction | None:
    """Return the step of the results of a CASE."""
    return _common([step(arg) for arg in (*apply.args[1:-1:2], apply.args[-1])])


def of_product(apply: Apply, step: StepOf) -> Fraction | None:
    """Return the step of a product."""
    a, b = map(step, apply.args)
    return None if a is None or b is None else a * b


def of_quotient(apply: Apply, step: StepOf) -> Fraction | None:
    """Return the step of a quotient by a constant, unless it is cut off."""
    a, divisor = step(apply.args[0]), apply.args[1]
    if (
        a is None
        or apply.type.is_integer
        or not isinstance(divisor, Const)
        or not isinstance(divisor.value, int | Fraction)
    ):
        return None
    # Fares in cents, divided by 4, are multiples of 1/400.
    return a / abs(Fraction(divisor.value)) if divisor.value else None


def of_digits(apply: Apply, _: StepOf) -> Fraction | None:
    """Return what ROUND leaves."""
    return 1 / Fraction(10) ** apply.option.number if isinstance(apply.option, Digits) else None


def of_map(apply: Apply, _: StepOf) -> Fraction | None:
    """Return the step of the values of a map."""
    values = apply.option.values if isinstance(apply.option, Results) else ()
    return _common([None if isinstance(v, str) else Fraction(v) for v in values if v is not None])


def of_unit(apply: Apply, _: StepOf) -> Fraction | None:
    """Return the step of the beginnings of a unit of time: of weeks and months, that of days."""
    return Fraction(SIZES.get(option(apply, Unit).name, DAY))


def of_bins(apply: Apply, _: StepOf) -> Fraction | None:
    """Return the step of the beginnings of bins."""
    # Bins begin at origin + n · size: what divides both divides all of them.
    bins = option(apply, Bins)
    return Fraction(math.gcd(bins.size, bins.origin))


def of_moved(apply: Apply, step: StepOf) -> Fraction | None:
    """Return the step of times that are moved by months, days and microseconds; months are whole days."""
    # Months differ in length, but all are whole days, by which a date that is clipped to a month's end moves as well.
    span = option(apply, IntervalValue)
    return _common([step(apply.args[0]), Fraction(DAY if span.months or span.days else 0), Fraction(span.micros)])


def of_time(apply: Apply, step: StepOf) -> Fraction | None:
    """Return the step of times of the day."""
    return _common([step(apply.args[0]), Fraction(DAY)])


def of_field(apply: Apply, step: StepOf) -> Fraction | None:
    """Return the step of seconds since 1970."""
    micros = step(apply.args[0])
    return None if micros is None or option(apply, TimeField).name != "epoch" else micros / 10**6


def _common(steps: Sequence[Fraction | None]) -> Fraction | None:
    given = [step for step in steps if step is not None]
    return common_step(given) if len(given) == len(steps) else None
