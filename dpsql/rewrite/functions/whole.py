"""Functions of whole numbers alone."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import Value
from dpsql.rewrite.functions.domains import Cell, Domains
from dpsql.rewrite.functions.function import Call, DomainRule, EvaluateRule, Function, template
from dpsql.rewrite.functions.ranges import known
from dpsql.rewrite.ir.expr import Apply


def _exactly(f: Callable[..., int]) -> EvaluateRule:
    def evaluate(args: Sequence[Value | None], _: Apply) -> Value | None:
        return None if None in args else f(*(int(arg) for arg in args if arg is not None))

    return evaluate


def _combined(f: Callable[..., int]) -> DomainRule:
    """List the results for all values of the arguments; where those are too many, all that the interval holds."""

    def rule(apply: Apply, domains: Domains) -> Sequence[Cell] | None:
        intervals = known([domains.interval(arg) for arg in apply.args])
        if intervals is None or math.prod(interval.width + 1 for interval in intervals) > domains.limit:
            return None
        values = ([int(v) for v in domains.of(arg) if v is not None] for arg in apply.args)
        return sorted({f(*each) for each in itertools.product(*values)})

    return rule


def _divisor(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    found = known(intervals)
    if found is None:
        return None
    both_zero = 0 in found[0] and 0 in found[1]
    return Interval(Fraction(0 if both_zero else 1), max(i.magnitude for i in found))


def _multiple(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    found = known(intervals)
    return Interval(Fraction(0), found[0].magnitude * found[1].magnitude) if found else None


WHOLE: tuple[Function, ...] = (
    Function(
        "gcd",
        "gcd(a, b)",
        template("gcd({0}, {1})"),
        _divisor,
        evaluate=_exactly(math.gcd),
        domain=_combined(math.gcd),
        in_64_bits=True,
        call=Call(("gcd",), arity=2, whole=True),
        note="whole numbers",
    ),
    Function(
        "lcm",
        "lcm(a, b)",
        template("lcm({0}, {1})"),
        _multiple,
        evaluate=_exactly(math.lcm),
        domain=_combined(math.lcm),
        in_64_bits=True,
        call=Call(("lcm",), arity=2, whole=True),
        note="whole numbers",
    ),
)
