"""From expressions to the text an engine runs, with every column clamped and every function in its total form.

fare / tip  →  (CASE WHEN s0."fare" BETWEEN 0 AND 150 THEN … END / NULLIF(CASE WHEN s0."tip" … END, 0))
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import assert_never

from dpsql.errors import InternalError, MissingBounds, Unsupported
from dpsql.policy.model import Column, SqlType, Value, in_single_precision
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.kept_columns import KeptColumns, nothing_kept
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.logical import are_exact_numbers, equation
from dpsql.rewrite.functions.table import (
    TABLE,
    decimals_computed,
    decimals_of,
    digits_to_settle,
    function_of,
    integral,
    is_single_computed,
    step_of,
)
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Facts, Ref, refs
from dpsql.rewrite.ir.relation import Relation, columns_read

# How a stored column is read: by a cast to its declared type that can neither fail nor make two values one.
#
# A stored column may be wider, narrower or compared otherwise than the declaration says; `engines.tables` admits only
# types for which the casts here are total.
#
# day   →  CAST(s0."day" AS DATE)
# paid  →  (CAST(s0."paid" AS VARCHAR) COLLATE "C")

_NUMERIC = re.compile(r"(?:numeric|decimal)\((\d+),(-?\d+)\)")
_SAFE_DIGITS = 300


def quote_name(name: str) -> str:
    """Return a name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def read_stored(ref: Ref, dialect: Dialect) -> str:
    """Return the text that reads a column as its declared type, decimals in double precision.

    Raises:
        Unsupported: it is in JSON, which is not read on this engine.
    """
    column = f"s{ref.source}.{quote_name(ref.column.stored_name if ref.column.path else ref.name)}"
    if ref.column.path is not None:
        return _in_json(column, ref.column.path.keys, ref.type, dialect)
    match ref.type:
        case SqlType.NUMERIC:
            return dialect.stored_number(column, representable=representable(ref.column.declared))
        case SqlType.DOUBLE:
            return dialect.stored_number(column, representable=True)
        case SqlType.REAL:
            return dialect.stored_single(column)
        case SqlType.TEXT | SqlType.CHARACTER | SqlType.UUID | SqlType.ENUM:
            return _text(column, ref.column, dialect)
        case SqlType.TIME | SqlType.INTERVAL if ref.column.declared == SqlType.BIGINT:
            return column  # a subquery's, which has read it already
        case SqlType.TIME:
            return micros_of_time(column)
        case SqlType.INTERVAL:
            return micros_of_interval(column)
        case SqlType.BOOLEAN if ref.column.in_numbers:
            return f"(CASE {column} WHEN 0 THEN FALSE WHEN 1 THEN TRUE END)"
        case SqlType.JSON:
            raise InternalError  # none is read as a whole
        case SqlType.DATE:
            return f"CAST({column} AS DATE)"
        case SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ:
            return f"CAST({column} AS TIMESTAMP)"  # UTC's clock, which is the session's
        case SqlType.BOOLEAN | SqlType.SMALLINT | SqlType.INTEGER | SqlType.BIGINT:
            return column
        case _ as never:
            assert_never(never)


def identity(ref: Ref, dialect: Dialect) -> str:
    """Return the text that reads a privacy unit: exactly, for two units taken for one would not be kept apart."""
    column = f"s{ref.source}.{quote_name(ref.name)}"
    return _text(column, ref.column, dialect) if ref.type.is_text else column


def salt(ref: Ref, unit: str, dialect: Dialect) -> str:
    """Return what a unit, read as `identity` into `unit`, brings to the order of its rows: the same however it is written.

    Numerics of any scale that are equal are one unit, with as many texts as there are scales.
    """
    return dialect.unit_salt(unit, ref.type)


def representable(numeric: str) -> bool:
    """Return whether a numeric(p, s) is in the range of double precision for all its values."""
    match = _NUMERIC.fullmatch(numeric.lower().replace(" ", ""))
    return match is not None and int(match[1]) - int(match[2]) <= _SAFE_DIGITS and int(match[2]) <= _SAFE_DIGITS


def micros_of_time(column: str) -> str:
    """Return the microseconds since midnight."""
    # `microseconds` of a time includes its seconds.
    parts = (("hour", 3_600_000_000), ("minute", 60_000_000), ("microseconds", 1))
    return f"({' + '.join(f'CAST(extract({name} FROM {column}) AS BIGINT) * {size}' for name, size in parts)})"


def micros_of_interval(column: str) -> str:
    """Return how long an interval is, in microseconds; NULL for months, which have no length, and beyond 270 years.

    The sum of its parts then is far below what 64 bits hold, with any signs.
    """
    short = f"extract(day FROM {column}) BETWEEN -99999 AND 99999 AND extract(hour FROM {column}) BETWEEN -999999 AND 999999"
    # A month has 28 to 31 days: an interval with months has no length until it is added to a date.
    whole = f"extract(year FROM {column}) = 0 AND extract(month FROM {column}) = 0"
    days = f"CAST(extract(day FROM {column}) AS BIGINT) * 86400000000"
    return f"(CASE WHEN {whole} AND {short} THEN {days} + {micros_of_time(column)} END)"


def text_of(column: str, declared: Column, dialect: Dialect) -> str:
    """Return a column as a text: one of a fixed length as such, without the blanks at its end, which mean nothing."""
    text = dialect.stored_text(column)
    if declared.type is not SqlType.CHARACTER:
        return text
    length = declared.characters
    return dialect.unpadded(text if length is None else f"left({text}, {length})")


def _in_json(column: str, keys: Sequence[str], type_: SqlType, dialect: Dialect) -> str:
    """Return a value inside of JSON, NULL where there is none of the type; without keys, whether there is any JSON."""
    if not keys:
        return f"(CASE WHEN {column} IS NOT NULL THEN TRUE END)"
    text = dialect.in_json(column, keys, type_)
    return dialect.by_bytes(text) if type_.is_text else text


def _text(column: str, declared: Column, dialect: Dialect) -> str:
    return dialect.by_bytes(text_of(column, declared, dialect))


_LONGEST = 400_000
"""Characters of one expression: as many as it takes to find a number between 1,000 others."""
_LARGEST_SINGLE = 3 * 10**38
_EXACT = 2**50
"""Whole numbers up to it are exact in double precision, and those beside them are a few units of it away at most."""
_MOST = 4096
"""Texts about columns that are remembered: those of policies stay, and those that statements make come and go."""


@dataclass(frozen=True, slots=True)
class Emitter:
    """Writes expressions for one engine."""

    dialect: Dialect
    declared: DeclaredFacts
    named: Callable[[str], str] = quote_name
    """Returns a table's name as the engine's statements have to write it."""
    kept: Callable[[str], KeptColumns] = nothing_kept
    """Returns what the engine keeps of a table beside its columns."""
    once: tuple[Ref, ...] = ()
    """The columns that stand clamped beside their table's, under names (`with_columns_clamped_once`)."""
    _written: dict[Hashable, tuple[Column, str]] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Texts of columns, by their `id`; the columns are kept beside, so that no other one gets them."""

    def sql(self, expr: Expr, *, computed: bool = False) -> str:
        """Return the text of the expression; it never fails, for any rows.

        `computed` says that something is calculated with it. Engines evaluate conditions in an order of their own, so
        that even a value which another condition excludes must then be within the column's bounds.
        """
        match expr:
            case Ref() if expr in self.once:
                return f"s{expr.source}.{quote_name(name_of_clamped(expr))}"
            case Ref():
                return self._remembered(expr, partial(self._clamped, computed=computed), ("clamped", computed))
            case Const():
                return self.literal(expr.value, expr.type)
            case Apply():
                return self._apply(expr, computed=computed)
            case _:
                assert_never(expr)

    def clamping_once(self, columns: Sequence[Ref]) -> "Emitter":
        """Return what writes some columns by names, and beside their tables' columns what these are."""
        return self if self.once == tuple(columns) else replace(self, once=tuple(columns))

    def beside(self, columns: Collection[Ref]) -> list[str]:
        """Return what stands beside a table's own columns for those of `columns` that are clamped once."""
        plain = replace(self, once=())
        return [f"{plain.sql(ref)} AS {quote_name(name_of_clamped(ref))}" for ref in self.once if ref in columns]

    def raw(self, ref: Ref) -> str:
        """Return a column in its stored form, decimals in double precision."""
        return read_stored(ref, self.dialect)

    def as_kept(self, ref: Ref, write: Callable[[Ref], str], *what: Hashable) -> str:
        """Return what `write` makes of a column, or the column in which the engine keeps that very text's value.

        `what` is all that decides, beside the column, what it makes; then that is remembered.
        """
        texts = {} if ref.optional else self.kept(ref.table).texts
        name = texts.get(self._remembered(replace(ref, source=0), write, what)) if texts else None
        return self._remembered(ref, write, what) if name is None else f"s{ref.source}.{quote_name(name)}"

    def _remembered(self, ref: Ref, write: Callable[[Ref], str], what: tuple[Hashable, ...]) -> str:
        """Return what `write` makes of a column, once for each `what`, if there is one."""
        if not what:
            return write(ref)
        key = what, id(ref.column), ref.source, ref.table, ref.name, ref.optional, ref.public
        entry = self._written.get(key)
        if entry is None:
            if len(self._written) >= _MOST:
                self._written.clear()
            entry = self._written[key] = ref.column, write(ref)
        return entry[1]

    def unit_number(self, unit: Ref) -> str | None:
        """Return the column with a number for each unit, if the engine keeps one: for who only tells units apart."""
        number = None if unit.optional else self.kept(unit.table).units.get(unit.name)
        return None if number is None else f"s{unit.source}.{quote_name(number)}"

    def present(self, ref: Ref) -> str:
        """Return the condition that a column which is not declared nullable holds a value (in its domain, not NaN)."""
        return self.as_kept(ref, self._present, "present")

    def _present(self, ref: Ref) -> str:
        ref_facts, raw = self.declared.facts_of(ref), self.raw(ref)
        if ref_facts.values is not None and ref.type is not SqlType.BOOLEAN:
            return self._member(raw, ref_facts.values, ref.type)
        if ref.type.is_number and not ref.type.is_integer:
            return f"{raw} <= {self.dialect.not_finite('Infinity')}"
        return f"{raw} IS NOT NULL"

    def beyond(self, ref: Ref) -> tuple[str, str]:
        """Return the conditions that a stored value is below its column's bounds, and above them; NaN is neither."""
        interval, raw = self.declared.facts_of(ref).interval, self.raw(ref)
        if interval is None:
            return "FALSE", "FALSE"
        low, high = (self.literal(_exact(end), ref.type) for end in (interval.low, interval.high))
        number = f" AND NOT {self.is_nan(raw)}" if ref.type.is_number and not ref.type.is_integer else ""
        return f"{raw} < {low}", f"{raw} > {high}{number}"

    def narrowed(self, ref: Ref, low: int, high: int) -> str:
        """Return a whole number between `low` and `high` in the type that grouping by it is fastest in."""
        return self.as_kept(ref, lambda kept: self.dialect.narrowed(self.sql(kept), low, high), "narrowed", low, high)

    def member(self, ref: Ref) -> str:
        """Return the condition that a column with a domain holds one of its values."""
        return self._member(self.raw(ref), self.declared.facts_of(ref).values or (), ref.type)

    def cast(self, text: str, type_: SqlType) -> str:
        """Return a cast that can't fail."""
        return self.dialect.cast(text, type_)

    def literal(self, value: Value | None, type_: SqlType) -> str:
        """Return a constant of a type, of single precision as that has it."""
        if type_ is SqlType.REAL and isinstance(value, int | Fraction) and abs(Fraction(value)) < _LARGEST_SINGLE:
            value = in_single_precision(value)
        return self.dialect.literal(value, type_)

    def double(self, value: Fraction) -> str:
        """Return a number in double precision."""
        return self.dialect.double(value)

    def as_number(self, text: str, type_: SqlType) -> str:
        """Return dates as days and timestamps as microseconds since 1970, NULL beyond the years 1 to 9999."""
        if type_ is SqlType.DATE:
            return self.dialect.days(text)
        return self.dialect.micros(text) if type_.is_moment else text

    def one_text(self, text: str, type_: SqlType) -> str:
        """Return a value such that those which the engine takes for one have one text: both zeros, and every NaN."""
        if not type_.is_number or type_.is_integer:
            return text
        nan = self.dialect.not_finite("NaN")
        return f"(CASE WHEN {text} = 0 THEN {self.double(Fraction(0))} WHEN {self.is_nan(text)} THEN {nan} ELSE {text} END)"

    def is_nan(self, text: str) -> str:
        """Return the test for NaN."""
        return self.dialect.is_nan(text)

    def may_be_nan(self, ref: Ref) -> bool:
        """Return whether a column can hold NaN, which counts as NULL."""
        ref_facts = self.declared.facts_of(ref)
        return ref_facts.nullable and ref.type.is_number and not ref.type.is_integer

    def _clamped(self, ref: Ref, *, computed: bool) -> str:
        ref_facts, raw = self.declared.facts_of(ref), self.raw(ref)
        if ref.type is SqlType.BOOLEAN:
            return raw
        if ref.public or ref_facts.values is not None:
            return self._of_domain(ref, ref_facts, raw, computed=computed)
        nan = f"WHEN {self.is_nan(raw)} THEN NULL " if self.may_be_nan(ref) else ""
        if ref_facts.interval is None:
            return f"(CASE {nan}ELSE {raw} END)" if nan else raw
        low, high = (self.literal(_exact(end), ref.type) for end in (ref_facts.interval.low, ref_facts.interval.high))
        within = f"WHEN {raw} BETWEEN {low} AND {high} THEN {raw}"  # what most values are comes first
        return f"(CASE {within} {nan}WHEN {raw} > {high} THEN {high} WHEN {raw} < {low} THEN {low} END)"

    def _of_domain(self, ref: Ref, ref_facts: Facts, raw: str, *, computed: bool) -> str:
        """Return a column of a public table, or one whose values are declared: any other value is NULL.

        Where NULL is no value such rows stay out anyway (`present`), and a public table's rows are mostly as they were
        read; then only what could make a calculation fail is kept away from it.
        """
        if not ref.public and ref_facts.nullable and ref_facts.values is not None:
            if ref.type.is_text and ref_facts.values:
                return self.dialect.if_one_of(raw, [self.literal(value, ref.type) for value in ref_facts.values])
            return f"(CASE WHEN {self._member(raw, ref_facts.values, ref.type)} THEN {raw} END)"
        float_ = ref.type.is_number and not ref.type.is_integer
        if ref_facts.interval is None or not (computed or (float_ and ref.public)):
            return raw
        low, high = (self.literal(_exact(end), ref.type) for end in (ref_facts.interval.low, ref_facts.interval.high))
        return f"(CASE WHEN {raw} BETWEEN {low} AND {high} THEN {raw} END)"

    def _member(self, raw: str, values: Sequence[Value], type_: SqlType) -> str:
        if type_.is_integer and len(values) > 2 and int(values[-1]) - int(values[0]) == len(values) - 1:
            return f"{raw} BETWEEN {self.literal(values[0], type_)} AND {self.literal(values[-1], type_)}"
        texts = [self.literal(v, type_) for v in values]
        if type_.is_text and texts:
            return self.dialect.is_one_of(raw, texts)
        if type_.is_number and not type_.is_integer and texts:
            return self.dialect.one_of_numbers(raw, ", ".join(texts))
        return f"{raw} IN ({', '.join(texts)})" if values else "FALSE"

    def _apply(self, expr: Apply, *, computed: bool) -> str:
        short = self._unclamped_comparison(expr) or self._equation_of_texts(expr) or self._of_multiples(expr)
        if short is not None:
            return short
        function = function_of(expr)
        if function.looks_up:
            return self._looked_up(expr, function)
        inside = function.needs_bounds or (computed and expr.type is not SqlType.BOOLEAN)
        args = [
            self.settled(arg, computed=inside) if function.settles else self.sql(arg, computed=inside)
            for arg in expr.args
        ]
        if function.in_64_bits and expr.type.is_integer:
            args = [self.cast(arg, SqlType.BIGINT) for arg in args]
        return _not_too_long(function.emit(args, expr, self.dialect))

    def settled(self, arg: Expr, *, computed: bool = False) -> str:
        """Return a number; one that is computed of decimals has the digits that it should, to be compared or cut off.

        price - discount  →  (floor((s0."price" - s0."discount") * 1e2 + 0.5e0) / 1e2), which is 14.99 of 19.99 and 5.00
        """
        text, decimals = self.sql(arg, computed=computed), decimals_computed(arg)
        if is_single_computed(arg):
            return TABLE["to_single"].emit([text], Apply("to_single", (arg,), SqlType.REAL), self.dialect)
        if (digits := digits_to_settle(arg)) is not None:
            return self.dialect.significant(text, digits)
        if decimals is None or not self._has_room(arg, decimals):
            return text
        return f"({self._multiple(text, decimals)} / 1e{decimals})"

    def _multiple(self, text: str, decimals: int) -> str:
        """Return how many whole steps of so many decimals a number is, which is near one of them: so halves do not matter."""
        return self.dialect.floor(f"{text} * 1e{decimals} + {self.double(Fraction(1, 2))}")

    def _has_room(self, arg: Expr, decimals: int) -> bool:
        """Return whether double precision tells numbers of so many decimals apart, however they are computed."""
        try:
            interval = facts(arg, self.declared.env(refs(arg))).interval
        except (MissingBounds, Unsupported):  # only a condition beside it says that it can be computed
            return False
        return interval is not None and interval.magnitude * 10**decimals < _EXACT

    def _of_multiples(self, expr: Apply) -> str | None:
        """Return `a % b` and WIDTH_BUCKET of decimals by their whole multiples: in double precision 0.3 % 0.1 is 0.1.

        cost % 0.1  →  (floor(s0."cost" * 1e2 + 0.5e0) % floor(1e-1 * 1e2 + 0.5e0) / 1e2), with % in its total form
        """
        function, types = function_of(expr), {arg.type for arg in expr.args}
        if not function.by_multiples or SqlType.NUMERIC not in types or all(map(integral, expr.args)):
            return None
        decimals = [None if step is None else decimals_of(step) for step in map(step_of, expr.args)]
        known = [n for n in decimals if n is not None]
        most = max(known, default=0)
        if any(type_.is_float for type_ in types) or len(known) < len(decimals):
            return None
        if not all(self._has_room(arg, most) for arg in expr.args):
            return None
        multiples = [self._multiple(self.sql(arg, computed=True), most) for arg in expr.args]
        scaled = replace(expr, args=tuple(_times_ten(arg, most) for arg in expr.args))
        text = _not_too_long(function.emit(multiples, scaled, self.dialect))
        return f"({text} / 1e{most})" if expr.type is SqlType.NUMERIC else text

    def _looked_up(self, expr: Apply, function: Function) -> str:
        key, *results = expr.args

        def write(key: Expr) -> str:
            return function.emit([self._key(key), *map(self.sql, results)], expr, self.dialect)

        alone = isinstance(key, Ref) and all(isinstance(result, Const) for result in results)
        return self.as_kept(key, write) if isinstance(key, Ref) and alone else write(key)

    def _key(self, arg: Expr) -> str:
        """Return what is looked up: a column with a domain, unlike one with bounds, in its stored form."""
        as_stored = isinstance(arg, Ref) and not arg.public and self.declared.facts_of(arg).values is not None
        return self.raw(arg) if isinstance(arg, Ref) and as_stored else self.sql(arg)

    def _unclamped_comparison(self, expr: Apply) -> str | None:
        """Return `column op constant` on the stored value where clamping provably can't change the outcome.

        fare > 10  →  s0."fare" > 10, and not CASE WHEN s0."fare" BETWEEN 0 AND 150 THEN …
        """
        condition = function_of(expr).condition
        if condition is None or len(expr.args) != 2:
            return None
        a, b = expr.args
        if not (isinstance(a, Ref) and isinstance(b, Const)) or b.value is None or isinstance(b.value, str):
            return None
        column_facts = self.declared.facts_of(a)
        if column_facts.interval is None or column_facts.values is not None or self.may_be_nan(a):
            return None
        if not condition.as_stored(column_facts.interval, Fraction(b.value)):
            return None
        return function_of(expr).emit([self.raw(a), self.sql(b)], expr, self.dialect)

    def _equation_of_texts(self, expr: Apply) -> str | None:
        """Return `a = b` of two numbers that double precision may not tell apart.

        a.payer = b.payer  →  trim_scale(s0."payer")::text = trim_scale(s1."payer")::text
        """
        a, b = equation(expr) or (expr, expr)
        if not (isinstance(a, Ref) and isinstance(b, Ref) and are_exact_numbers(a, b)):
            return None
        return " = ".join(self.dialect.exact_text(identity(ref, self.dialect)) for ref in (a, b))


def name_of_clamped(ref: Ref) -> str:
    """Return the name of a column in its bounds, where it stands beside its table's own columns."""
    return f"dpsql {ref.name}"


def _times_ten(arg: Expr, decimals: int) -> Expr:
    """Return a constant times 10^decimals; any other expression unchanged."""
    if not isinstance(arg, Const) or not isinstance(arg.value, int | Fraction):
        return arg
    return replace(arg, value=Fraction(arg.value) * 10**decimals)


def _not_too_long(text: str) -> str:
    """Refuse an expression whose total form has grown too long: it names its parts several times."""
    if len(text) > _LONGEST:
        raise Unsupported(
            "an expression over private rows is too complex",
            because="expression-too-complex",
            hint="Nest fewer operations in each other.",
        )
    return text


def _exact(number: Fraction) -> Fraction | int:
    return int(number) if number.denominator == 1 else number


# Columns that a long statement reads in their bounds again and again: clamped once, under a name.
#
# SELECT … least((CASE WHEN s0."fare" BETWEEN 0 AND 150 THEN … END), 2 * (CASE WHEN s0."fare" BETWEEN …)) … FROM "trips" AS s0
# →  SELECT … least(s0."dpsql fare", 2 * s0."dpsql fare") …
#    FROM (SELECT (CASE WHEN s0."fare" BETWEEN 0 AND 150 THEN … END) AS "dpsql fare", s0."fare" FROM "trips" AS s0) AS s0
#
# Claim: it says the same of every row. A column in its bounds is total, so that it may be computed for any row, and depends
# on that row alone. No name is that of a declared column, of one that an engine keeps, or of another of these, also for
# engines that take capitals for small letters: what reads that, perhaps as the unit, would read a column in its bounds. The
# names stand first: of a column that is not declared DuckDB takes the first, and others refuse the statement.

_LONG = 4_000
"""Characters from which on it is worth it: what is read of most statements is shorter."""
_OFTEN, _SAVED = 3, 1_000
"""How often a text has to be there, and how many characters there have to be of it."""
_LONGEST_NAME = 63
"""Bytes of a name; PostgreSQL cuts off what is beyond, and then names of several columns may be one."""


def with_columns_clamped_once(
    write: Callable[[Emitter], str], relation: Relation, used: Sequence[Expr], emitter: Emitter
) -> str:
    """Return what `write` writes, with names for columns of `used` and of a relation that a long statement reads often."""
    text = write(emitter)
    if len(text) < _LONG:
        return text
    often = [ref for ref in columns_read(relation, used) if _is_worth_it(ref, text, emitter)]
    named = Counter((ref.source, name_of_clamped(ref).lower()) for ref in often)
    once = [r for r in often if named[r.source, name_of_clamped(r).lower()] == 1 and _is_free(r, relation)]
    return write(emitter.clamping_once(once)) if once else text


def _is_free(ref: Ref, relation: Relation) -> bool:
    """Return whether a column's name in its bounds is short, and none of its table, or of those kept: these have numbers."""
    name = name_of_clamped(ref)
    taken = {column.lower() for column in relation.sources[ref.source].table.columns}
    return len(name.encode()) <= _LONGEST_NAME and name.lower() not in taken and not ref.name.isdecimal()


def _is_worth_it(ref: Ref, text: str, emitter: Emitter) -> bool:
    clamped = emitter.sql(ref)
    times = text.count(clamped)
    kept = not ref.optional and emitter.kept(ref.table).texts  # which are found by their whole texts
    return times >= _OFTEN and times * len(clamped) >= _SAVED and not kept and clamped.startswith("(CASE")
