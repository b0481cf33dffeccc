"""The parts of SQL that each engine says in words of its own.

Everything that one engine writes otherwise than another is a method here, and every one is abstract: an engine that
lacks one can't be made, and does not type-check. Nobody outside this room asks which engine it is; they call. Each
text is *total*: it can't fail for any rows, since an error that depends on data would be a release.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.ir.expr import IntervalValue
from dpsql.rewrite.ir.literal import format_value

# The contents of each engine's dialect: the types that it stores, and its forms of single operations.

TINY = Fraction(1, 10**130)
"""Added and taken away again, it turns what is below 1e-146 into 0, and changes nothing above 1e-114. Then products and
quotients of numbers that are not too large neither overflow nor underflow, which PostgreSQL reports as errors."""
FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
"""The days that Python's calendar has."""

NotFinite = Literal["NaN", "Infinity", "-Infinity"]
Marks = tuple[str, str]
"""The rows that mark the heavy units, and the condition that a row's unit is marked."""


@dataclass(frozen=True, slots=True)
class StoredTypes:
    """An engine's own names of the types that a column may be stored in."""

    integers: Mapping[SqlType, frozenset[str]]
    """By the narrowest declared type that holds all their values, from the narrowest to the widest."""
    others: Mapping[SqlType, frozenset[str]]
    """By the declared type, for everything but numbers."""
    floats: frozenset[str]
    wide: frozenset[str]
    """Integers beyond 64 bits, which only a declared type in double precision can read."""
    json: str
    """From what JSON is read, as messages say it."""


@dataclass(frozen=True, slots=True)
class Forms:
    """How an engine writes what is one operation: `{0}`, `{1}` and `{2}` are the arguments of the method of that name."""

    as_text: str
    widest: str
    total: str
    stored_text: str
    unpadded: str
    by_bytes: str
    not_finite: str
    is_nan: str
    one_of_numbers: str
    integer_quotient: str
    exclusive_or: str
    round_to_even: str
    floor: str
    ceil: str
    trunc: str
    log10: str
    day_number: str
    days_between: str
    epoch_micros: str
    elapsed_micros: str
    add_days: str
    add_micros: str
    common_table: str
    named_rows: str
    as_a_whole: str


SINGLE_DIGITS, DOUBLE_DIGITS, PRODUCT_DIGITS = 6, 15, 14
"""The digits in all that single and double precision have as a `numeric`, and by which products of decimals are settled."""
_EXACT_PRODUCTS, _SAFE_QUOTIENTS = 12, 13
"""The powers of ten up to which numbers in single precision are multiplied exactly, and divided without a wrong half."""


def single_by_powers(dialect: "Dialect", x: str, written: str, power_of_ten: str, *, large: bool) -> str:
    """Return a number in single precision with 6 digits in all, halves to the even one; `written` is for what is too small.

    0.29::real, whose double is 0.28999999165534973, has its first digit at 10^-1  →  round(x * 1e6) / 1e6

    `large` says whether numbers from 10^6 on are computed, too.

    Claim: it is the double that is nearest to C's `%.6g`. Proof: let 10^k ≤ |x| < 10^(k+1), and p = 5 − k. Where p is 0 to
    12, x·10^p has the 24 bits of x and the 28 of 5^12 at most, so that it is exact; it is rounded to n, halves to even; n
    and 10^p are exact, and their quotient is rounded once. Where −p is 1 to 13, x / 10^−p is below 10^6. A half h between
    two whole numbers is one in double precision, and rounding keeps the order, so that n can only be wrong if x / 10^−p is
    not h, and comes out as h. But what x and h·10^−p differ by is a multiple of the unit of x or of 2^(−p−1), whichever is
    less, and both are more than 2^−53 of x. Again n and 10^−p are exact, and their product is rounded once. Where the
    logarithm, which errs by less than 1e-9, comes out on the other side of a whole number k, x is so near to 10^k that
    either p makes this of it. Any other number is written. ∎
    """
    size = f"abs({x}) + {dialect.cast(f'{x} = {dialect.double(Fraction(0))}', SqlType.DOUBLE)}"  # of 0 it is 1
    place = dialect.nearest(
        f"{SINGLE_DIGITS - 1} - {dialect.floor(dialect.log10(size))}", SqlType.BIGINT, most=10**SINGLE_DIGITS
    )

    def whole(number: str) -> str:
        return dialect.nearest(number, SqlType.BIGINT, most=10**SINGLE_DIGITS)

    power = dialect.entry(place, 0, [power_of_ten.format(p) for p in range(_EXACT_PRODUCTS + 1)])
    small = f"{whole(f'{x} * {power}')} / {power}"
    if not large:
        return f"coalesce({small}, {written})"
    power = dialect.entry(place, -_SAFE_QUOTIENTS, [power_of_ten.format(p) for p in range(_SAFE_QUOTIENTS, 0, -1)])
    return f"coalesce({small}, {whole(f'{x} / {power}')} * {power}, {written})"


def unless_short(dialect: "Dialect", x: str, nearest: Callable[[str], str], written: str) -> str:
    """Return a number with 15 digits in all: itself, or what it is `written` as if it is none of few digits.

    `nearest` returns the whole number next to one in double precision.

    Claim: a number that is n / 10^6, with n below 10^15, stays itself. Proof: the quotient is rounded once, so that it is
    the double nearest to a decimal of 15 digits, and no other decimal of 15 digits is as near to it. ∎
    """
    billion, million = dialect.double(Fraction(10**9)), dialect.double(Fraction(10**6))
    short = f"{nearest(f'{x} * {million}')} / {million} = {x}"
    return f"(CASE WHEN abs({x}) >= {billion} THEN {written} WHEN {short} THEN {x} ELSE {written} END)"


# 7, "7" and 7.00 are whole numbers; 7.5 and 7e3 are none.
WHOLE_IN_JSON = "^([+-]?[0-9]{1,18})(?:[.]0{0,9})?$"
"""Whole numbers in JSON, as numbers or as texts, and what of them is read: of so many digits 64 bits hold all."""
NUMBER_IN_JSON = "^([+-]?(?:[0-9]{1,100}(?:[.][0-9]{0,100})?|[.][0-9]{1,100})(?:[eE][+-]?[0-9]{1,2})?)$"
"""Other numbers: below 1e200 and, but for 0, above 1e-200, so that no cast to double precision can fail."""
_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_DAY = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
DATE_IN_JSON = f"^({_DAY})$"
MOMENT_IN_JSON = f"^({_DAY}(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{{1,6}})?)?)Z?$"
"""Of a clock without a zone, or of UTC's: what engines make of another zone is not the same."""


def spelled_span(span: IntervalValue) -> str:
    """Return a span of time as PostgreSQL and DuckDB read it."""
    seconds, micros = divmod(span.micros, 10**6)
    return f"{span.months} months {span.days} days {seconds} seconds {micros} microseconds"


class Dialect(ABC):
    """One engine's SQL."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return what people call it."""

    @property
    @abstractmethod
    def stored_types(self) -> StoredTypes:
        """Return the types that its columns may have."""

    @property
    @abstractmethod
    def forms(self) -> Forms:
        """Return its forms of single operations."""

    @property
    @abstractmethod
    def double_type(self) -> str:
        """Return its name of double precision, for CAST."""

    @abstractmethod
    def cast(self, text: str, type_: SqlType) -> str:
        """Return a cast; the caller sees to it that it can't fail."""

    @final
    def as_a_whole(self, condition: str) -> str:
        """Return a long condition whose parts are not compared with each other, which takes the square of their number."""
        return self.forms.as_a_whole.format(condition)

    @final
    def as_text(self, text: str) -> str:
        """Return an integer or a number in double precision as text: sums may be longer than 64 bits."""
        return self.forms.as_text.format(text)

    @abstractmethod
    def double(self, value: Fraction) -> str:
        """Return a number as a literal in double precision; what is beyond it is infinite."""

    @final
    def not_finite(self, word: NotFinite) -> str:
        """Return NaN or an infinity in double precision."""
        return self.forms.not_finite.format(word)

    @abstractmethod
    def text(self, value: str) -> str:
        """Return a literal that is read in the same way under all settings of the session."""

    @final
    def stored_text(self, column: str) -> str:
        """Return a stored column as a text."""
        return self.forms.stored_text.format(column)

    @final
    def by_bytes(self, text: str) -> str:
        """Return a text that is compared byte by byte: else "a" might be "A", and one group of two."""
        return self.forms.by_bytes.format(text)

    @abstractmethod
    def stored_number(self, column: str, *, representable: bool) -> str:
        """Return a stored decimal in double precision; `representable` says that none of its values is beyond that."""

    @abstractmethod
    def stored_single(self, column: str) -> str:
        """Return a stored number as single precision has it, in double; it may be stored with more digits."""

    @abstractmethod
    def in_json(self, column: str, keys: Sequence[str], type_: SqlType) -> str:
        """Return the value at the end of `keys` in a column of JSON: a text, number, boolean, date or timestamp, else NULL.

        Any text at all may be stored there, and any value of JSON be at the end: one that is not of the type is NULL, and
        so are numbers beyond it, texts that are no JSON texts, and times that no engine but one would read.
        """

    @final
    def unpadded(self, text: str) -> str:
        """Return a text without the blanks at its end."""
        return self.forms.unpadded.format(text)

    @final
    def is_nan(self, text: str) -> str:
        """Return the test for NaN."""
        return self.forms.is_nan.format(text)

    @final
    def one_of_numbers(self, text: str, numbers: str) -> str:
        """Return the test whether a number in double precision is one of a list of literals."""
        return self.forms.one_of_numbers.format(text, numbers)

    @abstractmethod
    def unit_salt(self, unit: str, type_: SqlType) -> str:
        """Return a unit such that values which are one unit have one text."""

    @abstractmethod
    def exact_text(self, number: str) -> str:
        """Return the text of a whole number or a decimal: the same for equal ones of any type and scale; or refuse."""

    @final
    def integer_quotient(self, a: str, b: str) -> str:
        """Return a / b of whole numbers, b not 0, cut off towards 0."""
        return self.forms.integer_quotient.format(a, b)

    @final
    def exclusive_or(self, a: str, b: str) -> str:
        """Return the bits that are set in one of two whole numbers."""
        return self.forms.exclusive_or.format(a, b)

    @abstractmethod
    def product(self, a: str, b: str) -> str:
        """Return a · b in double precision, which must not fail where the product is too small."""

    @final
    def round_to_even(self, text: str) -> str:
        """Return a number in double precision rounded to a whole one, ties to the even neighbour."""
        return self.forms.round_to_even.format(text)

    @abstractmethod
    def nearest(self, text: str, type_: SqlType, *, most: int) -> str:
        """Return a number in double precision, at most `most` from 0, as a whole one of a type; ties go to the even one."""

    @final
    def floor(self, text: str) -> str:
        """Return the largest whole number that is not above one in double precision."""
        return self.forms.floor.format(text)

    @final
    def ceil(self, text: str) -> str:
        """Return the smallest whole number that is not below one in double precision."""
        return self.forms.ceil.format(text)

    @final
    def trunc(self, text: str) -> str:
        """Return a number in double precision without what is after the point."""
        return self.forms.trunc.format(text)

    @final
    def log10(self, text: str) -> str:
        """Return the logarithm of a positive number."""
        return self.forms.log10.format(text)

    @abstractmethod
    def significant(self, text: str, digits: int) -> str:
        """Return a number in double precision with so many digits in all, halves to the even one: PostgreSQL's decimal of it.

        6 digits are asked of numbers in single precision, 15 of any, and 14 of what is a little beside a decimal of fewer.
        """

    @abstractmethod
    def divisor(self, name: Literal["gcd", "lcm"], a: str, b: str) -> str:
        """Return the greatest common divisor or the least common multiple of whole numbers, or raise Unsupported."""

    @final
    def day_number(self, date: str) -> str:
        """Return a date as days since 1970."""
        return self.forms.day_number.format(date)

    @final
    def days_between(self, later: str, earlier: str) -> str:
        """Return the whole number of days between two dates."""
        return self.forms.days_between.format(later, earlier)

    @final
    def add_days(self, date: str, days: str) -> str:
        """Return the date so many days later."""
        return self.forms.add_days.format(date, days)

    @abstractmethod
    def field(self, name: str, timestamp: str) -> str:
        """Return a field of a timestamp, as PostgreSQL counts them, as a number of any type."""

    @abstractmethod
    def age_field(self, name: str, later: str, earlier: str) -> str:
        """Return a field of what `age` says lies between two timestamps, or raise Unsupported."""

    @abstractmethod
    def truncated(self, unit: str, timestamp: str) -> str:
        """Return where the unit of time begins that holds a timestamp, as PostgreSQL counts units."""

    @abstractmethod
    def bin_start(self, timestamp: str, size: int, first: int) -> str:
        """Return where a timestamp's bin of `size` microseconds begins; `first`, in microseconds since 1970, begins one."""

    @final
    def epoch_micros(self, timestamp: str) -> str:
        """Return the microseconds since 1970."""
        return self.forms.epoch_micros.format(timestamp)

    @final
    def elapsed_micros(self, later: str, earlier: str) -> str:
        """Return the microseconds between two timestamps."""
        return self.forms.elapsed_micros.format(later, earlier)

    @final
    def add_micros(self, timestamp: str, number: str, micros: int) -> str:
        """Return the timestamp `number` times `micros` microseconds later."""
        return self.forms.add_micros.format(timestamp, number, micros)

    @abstractmethod
    def shifted(self, timestamp: str, span: IntervalValue) -> str:
        """Return the timestamp so much later: by its months, cut off at the last day of one, and then by the rest."""

    @abstractmethod
    def is_one_of(self, text: str, texts: Sequence[str]) -> str:
        """Return the test whether a text is one of the literals `texts`, of which there is at least one."""

    @abstractmethod
    def if_one_of(self, text: str, texts: Sequence[str]) -> str:
        """Return a text if it is one of the literals `texts`, of which there is at least one; any other as NULL."""

    @abstractmethod
    def looked_up(self, text: str, keys: Sequence[str], results: Sequence[str]) -> str:
        """Return the result that belongs to the key which a text is, NULL if it is none; there is at least one."""

    @abstractmethod
    def entry(self, number: str, first: int, results: Sequence[str]) -> str:
        """Return the result whose number it is, NULL if it is none; they are numbered from `first` on."""

    # Measurements

    @final
    def common_table(self, name: str, select: str) -> str:
        """Return a member of WITH, which is computed once."""
        return self.forms.common_table.format(name, select)

    @final
    def named_rows(self, name: str, select: str) -> str:
        """Return a member of WITH that is read in several places, each in its own way; nothing where it stands in each."""
        return self.forms.named_rows.format(name, select)

    @final
    def total(self, text: str) -> str:
        """Return the sum of whole numbers of at most 64 bits, which may need more of them."""
        return self.forms.total.format(text)

    @final
    def widest(self, text: str) -> str:
        """Return a sum of 64 bits in a type in which it can be multiplied by a weight."""
        return self.forms.widest.format(text)

    @abstractmethod
    def unit_weight(self, mass: int, rows: str, *, heaviest: int) -> str:
        """Return ⌊mass / rows⌋, at most `heaviest`, `rows` being a 64-bit integer above 0."""

    @abstractmethod
    def weight_type(self, heaviest: int) -> str:
        """Return the name of the type in which weights up to `heaviest` are."""

    @abstractmethod
    def whole_mean(self, text: str) -> str:
        """Return the aggregate ⌊mean⌋ of whole numbers of at most 32 bits that are never negative, as a 64-bit integer."""

    @property
    @abstractmethod
    def tests_ends(self) -> bool:
        """Return whether range tests have their ends, since no product that underflows fails."""

    @abstractmethod
    def narrowed(self, text: str, low: int, high: int) -> str:
        """Return a whole number between `low` and `high` in the type that grouping by it is fastest in."""

    @abstractmethod
    def product_type(self, most: int) -> SqlType:
        """Return the type in which whole numbers up to `most` are multiplied and added up fastest without overflow."""

    @abstractmethod
    def maybe_heavy(
        self, unit: str, type_: SqlType, rows: str, *, most: int, slots: int, normed: bool, alone: bool
    ) -> Marks | None:
        """Return a CTE that marks units with over `most` rows, and the test of one by the name `u`; `slots` places.

        None: all rows are weighed.
        """

    @abstractmethod
    def without_range(self, unit: str, type_: SqlType) -> str:
        """Return a unit that is fast to group by where few of a table's are left."""

    @property
    @abstractmethod
    def finds_roots(self) -> bool:
        """Return whether it is tried that it weighs units by the root of squares as others do."""

    @property
    @abstractmethod
    def computed_once(self) -> str:
        """Return what stands behind a subquery whose columns are to be computed once a row, wherever they are read."""

    @final
    def literal(self, value: Value | None, type_: SqlType) -> str:
        """Return a constant of a type."""
        if value is None:
            return self.cast("NULL", SqlType.DOUBLE if type_ in {SqlType.NUMERIC, SqlType.REAL} else type_)
        if type_ is SqlType.BOOLEAN:
            return "TRUE" if value else "FALSE"
        if type_.is_integer or type_.is_span:
            return str(value) if int(value) >= 0 else f"({value})"
        if type_.is_number:
            return self.double(Fraction(value))
        if type_.is_text:
            return self.text(str(value))
        read_as = SqlType.TIMESTAMP if type_.is_moment else type_
        return f"{read_as.value.upper()} {self.text(format_value(value, read_as))}"

    @final
    def flush_tiny(self, text: str) -> str:
        """Return a number in double precision, 0 where it is so small that a product or quotient could underflow."""
        # 1e-150 + 1e-130 is 1e-130 in double precision, so that 0 is left of it; of 1e-100 + 1e-130 all of 1e-100 is left.
        return f"(({self.cast(text, SqlType.DOUBLE)} + {self.double(TINY)}) - {self.double(TINY)})"

    @final
    def days(self, date: str) -> str:
        """Return a date as days since 1970, NULL beyond the years 1 to 9999."""
        return f"(CASE WHEN {date} BETWEEN DATE '{FIRST_DAY}' AND DATE '{LAST_DAY}' THEN {self.day_number(date)} END)"

    @final
    def micros(self, timestamp: str) -> str:
        """Return a timestamp as microseconds since 1970, NULL beyond the years 1 to 9999."""
        ends = f"TIMESTAMP '{FIRST_DAY} 00:00:00' AND TIMESTAMP '{LAST_DAY} 23:59:59.999999'"
        return f"(CASE WHEN {timestamp} BETWEEN {ends} THEN {self.epoch_micros(timestamp)} END)"


# Forms that two engines spell in the same way.

_MANY, _FEW = 100, 4
"""Keys from which on they are looked up by their results, and up to how many results."""


class PostgresFunctions(Dialect):
    """An engine that has PostgreSQL's functions of times and of divisors, with their names."""

    def nearest(self, text: str, type_: SqlType, *, most: int) -> str:
        """Return a cast, which rounds so."""
        del most
        return self.cast(text, type_)

    def divisor(self, name: Literal["gcd", "lcm"], a: str, b: str) -> str:
        """Return the call."""
        return f"{name}({a}, {b})"

    def field(self, name: str, timestamp: str) -> str:
        """Return `extract(field FROM t)`."""
        return f"extract({name} FROM {timestamp})"

    def age_field(self, name: str, later: str, earlier: str) -> str:
        """Return `extract(field FROM age(t, u))`."""
        return f"extract({name} FROM age({later}, {earlier}))"

    def shifted(self, timestamp: str, span: IntervalValue) -> str:
        """Return `t + INTERVAL '…'`."""
        return f"({timestamp} + INTERVAL '{spelled_span(span)}')"


class PlainForms(Dialect):
    """An engine for which the plain form of each of these is the fastest."""

    def is_one_of(self, text: str, texts: Sequence[str]) -> str:
        """Return `x IN (…)`."""
        return f"{text} IN ({', '.join(texts)})"

    def if_one_of(self, text: str, texts: Sequence[str]) -> str:
        """Return `CASE WHEN x IN (…) THEN x END`."""
        return f"(CASE WHEN {self.is_one_of(text, texts)} THEN {text} END)"

    def looked_up(self, text: str, keys: Sequence[str], results: Sequence[str]) -> str:
        """Return `CASE x WHEN key THEN result … END`; of many keys `CASE WHEN x IN (key, …) THEN result … END`.

        Where there are few results that is shorter, and engines look a value up in a list by its hash.
        """
        if len(keys) > _MANY and len(set(results)) <= _FEW:
            by_result: dict[str, list[str]] = {}
            for key, result in zip(keys, results, strict=True):
                by_result.setdefault(result, []).append(key)
            lists = (f"WHEN {self.is_one_of(text, some)} THEN {result}" for result, some in by_result.items())
            return f"(CASE {' '.join(lists)} END)"
        pairs = " ".join(f"WHEN {key} THEN {result}" for key, result in zip(keys, results, strict=True))
        return f"(CASE {text} {pairs} END)"

    def weight_type(self, heaviest: int) -> str:
        """Return 64 bits."""
        del heaviest
        return "BIGINT"

    def narrowed(self, text: str, low: int, high: int) -> str:
        """Return the number unchanged: it groups by any type in the same way."""
        del low, high
        return text

    def without_range(self, unit: str, type_: SqlType) -> str:
        """Return the unit: it groups in the same way without a range."""
        del type_
        return unit
