"""The record of a function: all of its facts in one place.

They are the interval of its values, when it is NULL, its possible values, how it is undone, and how people write it.
An engine computes it *without ever failing*, since an error that depends on data would be a release. Intervals only
decide clamps and group keys, and every statistic is clamped again, so an interval that is too small costs accuracy and
never privacy. Nobody outside this room asks which function it is: what they need to know is a field here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.ir.expr import Apply, Digits, Expr, Facts, TimeField

# With how many digits after the point PostgreSQL writes a `numeric`, by how many its arguments have.
#
# round(fare::numeric, 2) || ' dollars', where it is 1.5  →  '1.50 dollars'

DigitsOf = Callable[[Expr], int | None]
_OF_FIELDS = {"epoch": 6, "second": 6, "milliseconds": 3, "julian": None}


def no_digits(_: Apply, __: DigitsOf) -> int | None:
    """Return none: a whole number is left."""
    return 0


def unknown_digits(_: Apply, __: DigitsOf) -> int | None:
    """Tell nothing about the digits."""
    return None


def most_digits(apply: Apply, digits: DigitsOf) -> int | None:
    """Return the digits of a sum."""
    counts = _of_arguments(apply, digits)
    return max(counts) if counts else None


def all_digits(apply: Apply, digits: DigitsOf) -> int | None:
    """Return the digits of a product."""
    counts = _of_arguments(apply, digits)
    return sum(counts) if counts else None


def rounded_digits(apply: Apply, _: DigitsOf) -> int | None:
    """Return what ROUND leaves."""
    return max(apply.option.number, 0) if isinstance(apply.option, Digits) else 0


def field_digits(apply: Apply, _: DigitsOf) -> int | None:
    """Return the digits of a field of a time."""
    return _OF_FIELDS.get(apply.option.name, 0) if isinstance(apply.option, TimeField) else None


def _of_arguments(apply: Apply, digits: DigitsOf) -> Sequence[int]:
    counts = [n for n in map(digits, apply.args) if n is not None]
    return counts if len(counts) == len(apply.args) else ()


# The possible values of an expression, as group keys need them, and the refusal of too many.

Cell = Value | None


class Domains(Protocol):
    """The facts about expressions where the values of one are listed."""

    @property
    def limit(self) -> int:
        """Return the most values that may be listed."""

    def interval(self, expr: Expr) -> Interval | None:
        """Return the interval of an expression."""

    def of(self, expr: Expr) -> Sequence[Cell]:
        """Return every value that an expression can have, NULL included where it can occur."""

    def where(self, condition: Expr, *, holds: bool) -> Self:
        """Return the facts where a condition holds, or where it does not: false, or NULL."""


def order_of(cell: Cell) -> tuple[bool, Value]:
    """Return by what the values of one type are ordered: exactly, so that no two tie, and NULL last as PostgreSQL does."""
    return (cell is None, 0 if cell is None else cell)


def too_many(groups: int, limit: int) -> Unsupported:
    """Return the error for more groups than the role may ask for."""
    return Unsupported(
        f"the statement has {groups:,} groups, the limit is {limit:,}",
        because="too-many-groups",
        hint="Group more coarsely, or restrict the keys in WHERE.",
    )


def too_many_units(unit: str, limit: int) -> Unsupported:
    """Return the error for more units of time than the role may ask for."""
    return Unsupported(
        f"date_trunc('{unit}', …) has more than {limit:,} groups, which is the limit",
        because="too-many-groups",
        hint="Truncate to a longer unit, or restrict the time in WHERE.",
    )


def lists_too_many(refusal: Unsupported) -> bool:
    """Return whether what was refused has values that are known, and more than may be listed."""
    return refusal.because == too_many(0, 0).because


LARGEST = Fraction(10) ** 140
"""Numbers in double precision are kept below this, so that no product or quotient of two can overflow."""

IntervalRule = Callable[[Sequence[Interval | None], Apply], Interval | None]
EmitRule = Callable[[Sequence[str], Apply, Dialect], str]
EvaluateRule = Callable[[Sequence[Value | None], Apply], Value | None]
NullRule = Callable[[Sequence[bool]], bool]
DefinedRule = Callable[[Sequence[Interval | None], Apply], bool]
StepRule = Callable[[Apply, Callable[[Expr], Fraction | None]], Fraction | None]
WholeRule = Callable[[Apply, Callable[[Expr], bool]], bool]
DigitsRule = Callable[[Apply, Callable[[Expr], int | None]], int | None]
DescribeRule = Callable[[Sequence[str], Apply], str]
PresentRule = Callable[[Sequence[Interval | None], Sequence[bool]], Interval | None]
FactsRule = Callable[[Facts, Apply], Facts]
DomainRule = Callable[[Apply, Domains], Sequence[Cell] | None]


@dataclass(frozen=True, slots=True)
class FloatRange:
    """How far from the exact values those may lie that an engine computes in double precision."""

    jumps: bool = False
    """Whether a value a little beside a point can become quite another: the arguments get some slack."""
    several: bool = False
    """Whether there are several operations: the result gets some slack."""
    flushes_tiny: bool = False
    """Whether arguments that are too small to be multiplied become 0."""
    folds_constants: bool = False
    """Whether an engine may multiply the constants of a product first, so that 0·a·b has to fit as 1·a·b."""
    beside: Callable[[Interval, Sequence[Interval | None]], Interval] | None = None
    """Adds what else the result can be."""

    @property
    def exact(self) -> bool:
        """Return whether the range of the results is no larger than what an engine computes at the ends of the arguments'."""
        return not (self.jumps or self.several) and self.beside is None


PreimageRule = Callable[[Interval], Interval | None]


@dataclass(frozen=True, slots=True)
class Inverse:
    """How one argument decides the result one to one, so that rows may be grouped by it: FLOOR(x / 2) * 2 by FLOOR(x / 2)."""

    inner: Callable[[Apply], Expr | None]
    """Returns what to group by in its place; None where that does not decide the result."""
    outer: Callable[[Apply, Value], Cell]
    """Returns the result for a value of `inner`."""
    of_whole: bool = False
    """Whether this is so for whole numbers only."""
    rounded: bool = False
    """Whether engines compute the result with a library of their own: rows are grouped by `inner`, or not at all."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The facts of a condition about a column or an expression that it compares with constants."""

    compared: Callable[[Apply], Expr | None] = lambda _: None
    """Returns the one thing that is compared with constants; None where there are two."""
    narrows: Callable[[Apply, Expr], Interval | None] = lambda _, __: None
    """Returns the interval that a column or an expression has where the condition holds."""
    lists: Callable[[Apply], Sequence[Value] | None] = lambda _: None
    """Returns the values of which what is compared is one where the condition holds; None where it says no such thing."""
    denied: Callable[[Apply, Callable[[Expr], Expr]], Expr | None] = lambda _, __: None
    """Returns what holds of values where the condition does not, given how to deny its parts; None where nothing is known."""
    of_null: bool = False
    """Whether it holds of NULL and of nothing else."""
    strict: bool = False
    """Whether that interval's ends are left out, where numbers have digits after the point."""
    excludes_one: bool = False
    """Whether it holds of every value but one."""
    pairs: Callable[[Apply], Sequence[tuple[Expr, Expr]]] = lambda _: ()
    """Returns what is compared with what; it holds if one of the comparisons does."""
    room: Callable[[Interval, Interval], Fraction] | None = None
    """Returns by how much one of a pair may be what it has to be beside the other, from where both are; below 0 it can't."""
    alternatives: Callable[[Apply], Sequence[Expr]] = lambda _: ()
    """Returns the conditions of which one has to hold."""
    as_stored: Callable[[Interval, Fraction], bool] = lambda _, __: False
    """Returns whether comparing a column with a constant gives the same for the stored and the clamped value."""


@dataclass(frozen=True, slots=True)
class Call:
    """How a function of numbers is called, if no more has to be said about it."""

    names: tuple[str, ...] = ()
    operator: str = ""
    """The parser's class of nodes, for an operator."""
    arity: int = 1
    whole: bool = False
    """Whether it takes whole numbers only."""
    double: bool = False
    """Whether it is computed in double precision."""
    keeps_whole: bool = False
    """Whether it returns a whole number unchanged."""
    marks_whole: bool = False
    """Whether it has to be told that all its arguments are whole numbers, which their types do not say."""


def unknown(_: Sequence[Interval | None], __: Apply) -> Interval | None:
    """Tell nothing about the values."""
    return None


def nowhere_defined(_: Sequence[Interval | None], __: Apply) -> bool:
    """Tell nothing about where it has a value."""
    return False


def by_type(apply: Apply, _: Callable[[Expr], bool]) -> bool:
    """Return whether the type is one of whole numbers."""
    return apply.type.is_integer


def describe_call(args: Sequence[str], apply: Apply) -> str:
    """Describe a call: `name(a, b)`."""
    return f"{apply.op}({', '.join(args)})"


@dataclass(frozen=True, slots=True)
class Function:
    """One operator or function over rows."""

    op: str
    """Our name for it, in `Apply.op`."""
    sql: str
    """How people write it, for the documentation."""
    emit: EmitRule
    interval: IntervalRule = unknown
    interval_of_present: PresentRule | None = None
    """Returns an interval as `interval` does, given also which arguments can be NULL, where that says more."""
    makes_null: bool = False
    """Whether it can be NULL although no argument is."""
    defined: DefinedRule = nowhere_defined
    """Returns whether one that makes NULL has a value for all values of its arguments, which are in these intervals."""
    never_null: bool = False
    """Whether it is never NULL, not even of NULL."""
    null: NullRule = any
    """Returns whether it can be NULL, given which arguments can."""
    needs_bounds: bool = True
    """Whether numbers and times given to it must be bounded, so that it can't overflow."""
    evaluate: EvaluateRule | None = None
    """Returns its exact value for public values; None where only engines compute it."""
    computed: EvaluateRule | None = None
    """Returns its value for whole numbers and numbers in double precision, before it is rounded to one, where an engine
    computes it by one operation: for group keys."""
    rounded_in_double: EvaluateRule | None = None
    """The same as engines compute it, of a function that takes a little less than a half for one."""
    facts: FactsRule | None = None
    """Returns all that is known of its values, where that is more than an interval, given the same of its first argument."""
    domain: DomainRule | None = None
    """Returns its possible values, where those are not all that its interval holds."""
    inverse: Inverse | None = None
    preimage: PreimageRule | None = None
    """Returns where the argument lies if the value lies in an interval, where nothing is rounded; None for nowhere."""
    condition: Condition | None = None
    """Of a comparison, a list, a test for NULL."""
    logical: bool = False
    """Whether it makes a condition of conditions."""
    conditional: bool = False
    """Whether its arguments are condition, result, condition, result …, default."""
    whole: WholeRule = by_type
    """Returns whether every value is a whole number, in any type, given a test of the arguments."""
    step: StepRule = lambda _, __: None
    """Returns what all values are whole multiples of, as far as more is known than `whole` says, given how to find out."""
    digits: DigitsRule = unknown_digits
    """Returns with how many digits after the point PostgreSQL writes its values if they are `numeric`; None if it varies."""
    in_64_bits: bool = False
    """Whether its arguments have to be cast to 64 bits where it is computed in whole numbers."""
    granule: Callable[[Apply], str | None] = lambda _: None
    """Returns the unit of time within which it makes the same of all moments; None where there is none."""
    looks_up: bool = False
    """Whether it is a list of results, however long. A value that is not in the map is NULL: a column with a domain is
    read as stored."""
    settles: bool = False
    """Whether it makes quite another value of a number a little beside one: decimals that are computed are settled first."""
    by_multiples: bool = False
    """Whether it is computed of decimals by their whole multiples: of ten times its arguments it is the same, or ten times as
    much if it is a decimal itself."""
    float_range: FloatRange = FloatRange()  # a frozen value
    describe: DescribeRule = describe_call
    """Returns how it reads in a message, given how its arguments do."""
    call: Call | None = None
    """How it is called, if its name or its operator says it all; otherwise `translate` has a rule for it."""
    note: str = ""
    """The differences from PostgreSQL, for the documentation."""


def template(pattern: str) -> EmitRule:
    """Emit the same text on every engine; `{0}`, `{1}` … are the arguments."""
    return lambda args, _, __: pattern.format(*args)


def cast_to(type_: SqlType) -> EmitRule:
    """Emit a cast of the only argument."""
    return lambda args, _, dialect: dialect.cast(args[0], type_)


def infix(sign: str) -> DescribeRule:
    """Describe an operator between its arguments: `(a - b) * c`."""
    return lambda args, _: f" {sign} ".join(f"({arg})" if " " in arg else arg for arg in args)


def first_argument(args: Sequence[str], _: Apply) -> str:
    """Describe a function that only changes the type."""
    return args[0]


def type_change(op: str, sql: str, *, note: str = "") -> Function:
    """Return the function that only says of which type a value is."""
    return Function(
        op,
        sql,
        template("{0}"),
        needs_bounds=False,
        evaluate=lambda args, _: args[0],
        facts=lambda arg_facts, _: arg_facts,
        domain=lambda apply, domains: domains.of(apply.args[0]),
        inverse=Inverse(lambda apply: apply.args[0], lambda _, value: value),
        preimage=lambda interval: interval,
        step=lambda apply, step_of: step_of(apply.args[0]),
        describe=first_argument,
        note=note,
    )


def arithmetic_type(*types: SqlType) -> SqlType:
    """Return the type of arithmetic over numbers of these types, as PostgreSQL chooses it."""
    if any(t.is_float for t in types):
        return SqlType.DOUBLE
    if SqlType.NUMERIC in types:
        return SqlType.NUMERIC
    return SqlType.BIGINT
