"""Functions of whole numbers alone."""

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.arithmetic import all_given, corners
from dpsql.rewrite.functions.function import (
    Call,
    Cell,
    DomainRule,
    Domains,
    EmitRule,
    EvaluateRule,
    Function,
    IntervalRule,
    describe_call,
    infix,
    template,
)
from dpsql.rewrite.functions.logical import number_of
from dpsql.rewrite.ir.expr import Apply, Expr, Ref


def _exactly(f: Callable[..., int]) -> EvaluateRule:
    def evaluate(args: Sequence[Value | None], _: Apply) -> Value | None:
        return None if None in args else f(*(int(arg) for arg in args if arg is not None))

    return evaluate


def _combined(f: Callable[..., int]) -> DomainRule:
    """List the results for all values of the arguments; where those are too many, all that the interval holds."""

    def rule(apply: Apply, domains: Domains) -> Sequence[Cell] | None:
        intervals = all_given([domains.interval(arg) for arg in apply.args])
        # By the intervals first: that there are too many combinations shows before any values are listed.
        if intervals is None or math.prod(interval.width + 1 for interval in intervals) > domains.limit:
            return None
        values = ([int(v) for v in domains.of(arg) if v is not None] for arg in apply.args)
        return sorted({f(*each) for each in itertools.product(*values)})

    return rule


def _divisor(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    given = all_given(intervals)
    if given is None:
        return None
    both_zero = 0 in given[0] and 0 in given[1]
    return Interval(Fraction(0 if both_zero else 1), max(i.magnitude for i in given))


def _multiple(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    given = all_given(intervals)
    return Interval(Fraction(0), given[0].magnitude * given[1].magnitude) if given else None


def _bits(intervals: Sequence[Interval | None], _: Apply) -> Interval | None:
    """Enclose the numbers that have no more bits than the arguments; negative only where an argument can be."""
    given = all_given(intervals)
    if given is None:
        return None
    # 5 is 101 and 3 is 11: what is made of them has three bits, and is at most 111, or 7. The bits of a negative number go on
    # for ever: it is at least −1000, or −8.
    most = 2 ** max(int(i.magnitude).bit_length() for i in given)
    return Interval(Fraction(-most if min(i.low for i in given) < 0 else 0), Fraction(most - 1))


def _common_bits(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    """Enclose a & b, which is at most as large as either argument that is never negative."""
    given = all_given(intervals)
    highs = [i.high for i in given or () if i.low >= 0]
    return Interval(Fraction(0), min(highs)) if highs else _bits(intervals, apply)


def _width(expr: Expr) -> int:
    """Return how many bits PostgreSQL's type has at least: of something computed it may be `integer`."""
    if expr.type is SqlType.SMALLINT:
        return 16
    return 64 if isinstance(expr, Ref) and expr.type is SqlType.BIGINT else 32


def _shifted_right(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    given = all_given(intervals)
    if given is None:
        return None
    if given[1].low < 0 or given[1].high >= _width(apply.args[0]):
        raise OverflowError  # what C makes of that is not defined
    return corners(lambda a, n: Fraction(int(a) >> int(n)))(given, apply)


def _shifted_left(intervals: Sequence[Interval | None], apply: Apply) -> Interval | None:
    x, bits, width = intervals[0], number_of(apply.args[1]), _width(apply.args[0])
    if x is None:
        return None
    if bits is None or not 0 <= bits < width or x.magnitude * 2 ** int(bits) >= 2 ** (width - 1):
        raise OverflowError  # PostgreSQL loses the bits that leave the type
    return Interval(x.low * 2 ** int(bits), x.high * 2 ** int(bits))


def _times_power(args: Sequence[str], apply: Apply, _: Dialect) -> str:
    """Multiply instead: DuckDB does not shift negative numbers."""
    return f"({args[0]} * {2 ** int(number_of(apply.args[1]) or 0)})"


_OF_TWO, _NOTE = Call(arity=2, whole=True), "whole numbers"


def _of_whole(
    op: str, sql: str, emit: EmitRule, interval: IntervalRule, exact: Callable[..., int], call: Call = _OF_TWO
) -> Function:
    """Return a function of whole numbers, with the exact values for its domain."""
    sign = sql.split(" ")[1] if call.operator else ""
    return Function(
        op,
        sql,
        emit,
        interval,
        evaluate=_exactly(exact),
        domain=_combined(exact),
        in_64_bits=True,
        describe=infix(sign) if sign else describe_call,
        call=call if call.operator else replace(call, names=(op,)),
        note=_NOTE,
    )


def _operator(name: str) -> Call:
    """Return how an operator of the parser's class of nodes is called."""
    return replace(_OF_TWO, operator=name)


WHOLE: tuple[Function, ...] = (
    _of_whole("gcd", "gcd(a, b)", lambda args, _, d: d.divisor("gcd", *args), _divisor, math.gcd),
    _of_whole("lcm", "lcm(a, b)", lambda args, _, d: d.divisor("lcm", *args), _multiple, math.lcm),
    _of_whole("bit_and", "a & b", template("({0} & {1})"), _common_bits, operator.and_, _operator("BitwiseAnd")),
    _of_whole("bit_or", "a | b", template("({0} | {1})"), _bits, operator.or_, _operator("BitwiseOr")),
    _of_whole(
        "bit_xor", "a # b", lambda args, _, d: d.exclusive_or(*args), _bits, operator.xor, _operator("BitwiseXor")
    ),
    Function(
        "bit_not",
        "~a",
        template("(~ {0})"),
        lambda i, _: Interval(-i[0].high - 1, -i[0].low - 1) if i[0] else None,
        evaluate=_exactly(operator.inv),
        in_64_bits=True,
        describe=lambda args, _: f"~{args[0]}",
        call=Call(operator="BitwiseNot", whole=True),
        note=_NOTE,
    ),
    replace(
        _of_whole("shift_left", "a << n", _times_power, _shifted_left, operator.lshift, _operator("BitwiseLeftShift")),
        note=f"{_NOTE}, n a constant; no bit may leave the type",
    ),
    replace(
        _of_whole(
            "shift_right",
            "a >> n",
            template("({0} >> CAST({1} AS INTEGER))"),
            _shifted_right,
            operator.rshift,
            _operator("BitwiseRightShift"),
        ),
        note=f"{_NOTE}, n from 0 to 31 (15 of a smallint, 63 of a bigint)",
    ),
)
