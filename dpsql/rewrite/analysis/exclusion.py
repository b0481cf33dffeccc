"""Whether conditions exclude each other, decided by trying every case that they can tell apart.

Each condition is a formula over *variables*: columns and expressions of them, taken as if they could have all their
values independently, which can only find more cases than there are. Of a variable with a finite domain all values are
tried; of any other, which is compared with constants alone, each constant and points between and beyond them. NULL is
a case where it can occur. So a proof is a proof; what can't be decided within the limits is not proven.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.bounds import evaluable, evaluate, has_inexact_constants
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Facts, Ref, walk

_MOST_CASES = 4_096
_MOST_STEPS = 100_000
"""Parts of conditions that are looked at in all cases together: some tenths of a second."""
# PostgreSQL's texts have no character 0, so that no statement compares with this one: it stands for all other texts.
_OTHER_TEXT = "\0"

Known = Callable[[Expr], Facts]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Conditions such that no row satisfies two of them."""

    exhaustive: bool
    """Whether every row satisfies one of them."""


def exclusion(conditions: Sequence[Expr], facts_of: Known) -> Exclusion | None:
    """Return what is proven about conditions that exclude each other; None where that is not proven."""
    if any(map(has_inexact_constants, conditions)):
        return None
    variables: dict[Expr, set[Value]] = {}
    for condition in conditions:
        _collect(condition, facts_of, variables)
    # x < 3, x BETWEEN 3 AND 5, x > 5 of whole numbers  →  2, 3, 4, 5 and 6. Each is in one of them: they exclude each other,
    # and every row is in one, unless x can be NULL, which is a case of its own then.
    points = [_points(variable, constants, facts_of(variable)) for variable, constants in variables.items()]
    cases = math.prod(map(len, points))
    if cases > _MOST_CASES or cases * sum(1 for c in conditions for _ in walk(c)) > _MOST_STEPS:
        return None
    exhaustive = True
    for case in itertools.product(*points):
        row = dict(zip(variables, case, strict=True))
        # NULL is not true: where a condition is not known, no row is counted, as in WHERE.
        true = sum(1 for condition in conditions if evaluate(_put(condition, row), {}) is True)
        if true > 1:
            return None
        exhaustive = exhaustive and true == 1
    return Exclusion(exhaustive)


def _collect(expr: Expr, facts_of: Known, variables: dict[Expr, set[Value]]) -> None:
    """Add the variables of a formula, each with the constants that it is compared with."""
    if isinstance(expr, Const):
        return
    if _finite(expr, facts_of):
        for part in _leaves(expr):
            variables.setdefault(part, set())
    elif isinstance(expr, Apply) and function_of(expr).logical and all(a.type is SqlType.BOOLEAN for a in expr.args):
        for arg in expr.args:
            _collect(arg, facts_of, variables)
    elif isinstance(expr, Apply) and (variable := _compared(expr)) is not None:
        variables.setdefault(variable, set()).update(_constants(expr))
    else:
        variables.setdefault(expr, set())


def _finite(expr: Expr, facts_of: Known) -> bool:
    """Return whether all that a formula is about has declared values."""
    return evaluable(expr) and all(facts_of(leaf).values is not None for leaf in _leaves(expr))


def _leaves(expr: Expr) -> Iterator[Ref]:
    return (part for part in walk(expr) if isinstance(part, Ref))


def _compared(expr: Apply) -> Expr | None:
    """Return what is compared with constants; None where two variables are compared."""
    condition = function_of(expr).condition
    return None if condition is None else condition.compared(expr)


def _constants(expr: Apply) -> set[Value]:
    return {arg.value for arg in expr.args if isinstance(arg, Const) and arg.value is not None}


def _points(variable: Expr, constants: set[Value], variable_facts: Facts) -> list[Value | None]:
    """Return one value of each kind that conditions can tell apart."""
    null: list[Value | None] = [None] if variable_facts.nullable else []
    if variable_facts.values is not None:
        return [*variable_facts.values, *null]
    if any(isinstance(constant, str) for constant in constants) or variable.type.is_text:
        return [*sorted(map(str, constants)), _OTHER_TEXT, *null]
    numbers = sorted({Fraction(constant) for constant in constants if not isinstance(constant, str)})
    whole = variable.type.is_integer or variable.type.is_temporal
    tried = _whole(numbers) if whole else _between(numbers)
    return [*dict.fromkeys(_clamped(point, variable_facts.interval) for point in tried or [Fraction(0)]), *null]


def _whole(numbers: Sequence[Fraction]) -> list[Fraction]:
    """Return whole numbers at, between and beyond some numbers."""
    return sorted({Fraction(math.floor(number) + step) for number in numbers for step in (-1, 0, 1)})


def _between(numbers: Sequence[Fraction]) -> list[Fraction]:
    """Return numbers, and some between and beyond them."""
    if not numbers:
        return []
    inner = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
    return sorted([*numbers, *inner, numbers[0] - 1, numbers[-1] + 1])


def _clamped(point: Fraction, interval: Interval | None) -> Fraction:
    return point if interval is None else min(max(point, interval.low), interval.high)


def _put(expr: Expr, row: Mapping[Expr, Value | None]) -> Expr:
    """Return the formula with values for its variables."""
    if isinstance(expr, Const):
        return expr
    if expr in row:
        return Const(row[expr], expr.type)
    assert isinstance(expr, Apply)
    return Apply(expr.op, tuple(_put(arg, row) for arg in expr.args), expr.type, expr.option)
