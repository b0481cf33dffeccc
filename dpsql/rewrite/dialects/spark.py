"""Spark's SQL, as its sessions read it with the settings of `engines.spark.settings`.

ANSI mode is off in them: what can't be computed is NULL there, where in ANSI mode it is an error. Numbers of 64 bits wrap
around, so that what may need more is summed as decimals of 38 digits. Times are TIMESTAMP, an instant, read in UTC.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import (
    SINGLE_DIGITS,
    Dialect,
    Forms,
    PlainForms,
    StoredTypes,
    single_by_powers,
    unless_short,
)
from dpsql.rewrite.ir.calendar import DAY, ERAS
from dpsql.rewrite.ir.expr import IntervalValue

_TYPES: Mapping[SqlType, str] = {
    SqlType.DOUBLE: "DOUBLE",
    SqlType.TEXT: "STRING",
    SqlType.CHARACTER: "STRING",
    SqlType.UUID: "STRING",
    SqlType.ENUM: "STRING",
    SqlType.TIME: "BIGINT",
    SqlType.INTERVAL: "BIGINT",
    SqlType.TIMESTAMPTZ: "TIMESTAMP",
}
"""The types in which values are computed, where they have other names."""
_STRINGS = frozenset({"string", "varchar", "char"})
_MOMENTS = frozenset({"timestamp", "timestamp_ntz"})
_SMALL = {"microseconds": 1, "milliseconds": 1000, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
_ISO_DAY = "(pmod(dayofweek({0}) + 5, 7) + 1)"
_FIELDS: Mapping[str, str] = {
    "year": "year({0})", "quarter": "quarter({0})", "month": "month({0})", "day": "day({0})", "hour": "hour({0})",
    "minute": "minute({0})", "week": "weekofyear({0})", "doy": "dayofyear({0})", "dow": "(dayofweek({0}) - 1)",
    "isodow": _ISO_DAY,
    # The year of the week's Thursday.
    "isoyear": f"year(date_add(CAST({{0}} AS DATE), 4 - {_ISO_DAY}))",
    "microseconds": "pmod(unix_micros({0}), 60000000)", "epoch": "(CAST(unix_micros({0}) AS DOUBLE) / 1e6D)",
    "decade": "(year({0}) div 10)", "century": "((year({0}) + 99) div 100)", "millennium": "((year({0}) + 999) div 1000)",
}  # fmt: skip
"""Days of the week are counted from Sunday, which is 1."""
_SHIFT, _SHIFTABLE = "6755399441055744e0D", 2**51
"""1.5 · 2^52: added to a number below 2^51 and taken away again it leaves the nearest whole number, the even one of two."""


class SparkDialect(PlainForms):
    """The SQL that Spark 4 reads; names are quoted with ", which the engine turns into backquotes."""

    name = "spark"
    stored_types = StoredTypes(
        integers={
            SqlType.SMALLINT: frozenset({"tinyint", "smallint"}),
            SqlType.INTEGER: frozenset({"integer"}),
            SqlType.BIGINT: frozenset({"bigint"}),
        },
        others={
            SqlType.BOOLEAN: frozenset({"boolean"}),
            SqlType.TEXT: _STRINGS,
            SqlType.DATE: frozenset({"date"}),
            SqlType.CHARACTER: _STRINGS,
            SqlType.UUID: frozenset(),  # in a text one may be written in several ways
            SqlType.ENUM: _STRINGS,
            SqlType.TIMESTAMP: _MOMENTS,
            SqlType.TIMESTAMPTZ: _MOMENTS,
            SqlType.TIME: frozenset(),
            SqlType.INTERVAL: frozenset(),
            SqlType.JSON: frozenset(),
        },
        floats=frozenset({"float", "double"}),
        wide=frozenset(),
        json="JSON is read on DuckDB and PostgreSQL alone",
    )
    # A list of more than a few numbers is looked up by their bits, which 0 and −0 have not in common.
    # A text that is not UTF-8 could not be read when it comes back, which would tell that it is there: it is NULL.
    # Rows are said wherever they are read: Sail 0.7 fails at NULLs of named ones ("physical input schema should be …").
    # `floor` and `ceil` give whole numbers of 64 bits; what is beyond them becomes the nearest of them.
    forms = Forms(
        as_text="CAST({0} AS STRING)", widest="CAST({0} AS DECIMAL(38, 0))",
        not_finite="CAST('{0}' AS DOUBLE)", is_nan="isnan({0})",
        one_of_numbers="({0} + 0e0D) IN ({1})",
        integer_quotient="({0} div {1})", exclusive_or="({0} ^ {1})", round_to_even="bround({0}, 0)", log10="log10({0})",
        epoch_micros="unix_micros({0})", elapsed_micros="(unix_micros({0}) - unix_micros({1}))",
        add_days="date_add({0}, CAST({1} AS INTEGER))",
        add_micros="timestamp_micros(unix_micros({0}) + CAST({1} AS BIGINT) * {2})",
        total="sum(CAST({0} AS DECIMAL(38, 0)))", stored_text="try_validate_utf8(CAST({0} AS STRING))",
        unpadded="rtrim({0})", by_bytes="{0}", day_number="CAST(unix_date({0}) AS BIGINT)", days_between="datediff({0}, {1})",
        common_table="{0} AS ({1})", named_rows="", as_a_whole="{0}",
        floor="CAST(floor({0}) AS DOUBLE)", ceil="CAST(ceil({0}) AS DOUBLE)", trunc="CAST(CAST({0} AS BIGINT) AS DOUBLE)",
    )  # fmt: skip
    double_type = "DOUBLE"
    computed_once = ""
    tests_ends = False
    finds_roots = False

    def cast(self, text: str, type_: SqlType) -> str:
        """Return `CAST(x AS DOUBLE)`."""
        return f"CAST({text} AS {_TYPES.get(type_, type_.value.upper())})"

    def double(self, value: Fraction) -> str:
        """Return `1.5e0D`: without the D it might be a decimal."""
        try:
            text = repr(float(value))
        except OverflowError:
            return self.not_finite("Infinity" if value > 0 else "-Infinity")
        text = f"{text}D" if "e" in text else f"{text}e0D"
        return f"({text})" if value < 0 else text

    def text(self, value: str) -> str:
        r"""Return a literal without a ", which would look like a name's, and without a $, which may begin a variable."""
        for character in "\\'":
            value = value.replace(character, f"\\{character}")
        for character in '"$':
            value = value.replace(character, f"\\u{ord(character):04x}")
        return f"'{value}'"

    def stored_number(self, column: str, *, representable: bool) -> str:
        """Return a cast: every decimal of Spark's has at most 38 digits, so it can't fail."""
        del representable
        return f"CAST({column} AS DOUBLE)"

    def stored_single(self, column: str) -> str:
        """Return a cast there and back, which can't fail: what is too large becomes infinite."""
        return f"CAST(CAST({column} AS FLOAT) AS DOUBLE)"

    def in_json(self, column: str, keys: Sequence[str], type_: SqlType) -> str:
        """Refuse: Spark repairs what is no JSON in ways of its own."""
        del column, keys, type_
        raise _lacking("JSON")

    def unit_salt(self, unit: str, type_: SqlType) -> str:
        """Return the unit: all decimals of one column have one scale."""
        del type_
        return unit

    def exact_text(self, number: str) -> str:
        """Refuse: Spark writes some decimals with an exponent."""
        del number
        raise _lacking("comparisons of decimals")

    def product(self, a: str, b: str) -> str:
        """Return `a * b`, which comes out as 0 where it is too small."""
        return f"({a} * {b})"

    def nearest(self, text: str, type_: SqlType, *, most: int) -> str:
        """Return a cast, which cuts off, of what was rounded before."""
        # The trick of C libraries: at that size doubles have no digits behind the point, so the sum is rounded to a
        # whole number by the processor, to even where it is a tie.
        rounded = f"({text}) + {_SHIFT} - {_SHIFT}" if most < _SHIFTABLE else self.round_to_even(text)
        return self.cast(rounded, type_)

    def significant(self, text: str, digits: int) -> str:
        """Return what it is written as; Java rounds halves up, but only numbers in single precision have them: computed."""
        written = f"CAST(format_string('%.{digits - 1}e', {text}) AS DOUBLE)"
        if digits == SINGLE_DIGITS:
            return single_by_powers(self, text, written, "1e{}D", large=True)
        return unless_short(self, text, self.round_to_even, written)

    def divisor(self, name: Literal["gcd", "lcm"], a: str, b: str) -> str:
        """Refuse: Spark has none."""
        del a, b
        raise _lacking(name)

    def field(self, name: str, timestamp: str) -> str:
        """Return a function, or several."""
        return _FIELDS[name].format(timestamp)

    def age_field(self, name: str, later: str, earlier: str) -> str:
        """Refuse: Spark counts months otherwise."""
        del later, earlier
        raise _lacking(f"extract({name} FROM age(…))", hint="Take the difference of two times, or of their days.")

    def shifted(self, timestamp: str, span: IntervalValue) -> str:
        """Return the timestamp months later, and microseconds after that: days have 24 hours in UTC."""
        moved = f"({timestamp} + INTERVAL '{span.months}' MONTH)" if span.months else timestamp
        micros = span.days * DAY + span.micros
        return f"timestamp_micros(unix_micros({moved}) + ({micros}))" if micros else moved

    def truncated(self, unit: str, timestamp: str) -> str:
        """Return `date_trunc('unit', t)`, or for units that Spark has none of, which would give NULL, what it is made of."""
        if unit in _SMALL:
            return self.bin_start(timestamp, _SMALL[unit], 0)
        if unit not in ERAS:
            return f"date_trunc('{unit}', {timestamp})"
        size, first = ERAS[unit], 0 if unit == "decade" else 1
        year = f"(year({timestamp}) - {first}) div {size} * {size} + {first}"
        return f"make_timestamp(CAST({year} AS INTEGER), 1, 1, 0, 0, 0)"

    def bin_start(self, timestamp: str, size: int, first: int) -> str:
        """Return the timestamp less what it is past the bin's begin."""
        micros = f"unix_micros({timestamp})"
        return f"timestamp_micros({micros} - pmod({micros} - ({first}), {size}))"

    def entry(self, number: str, first: int, results: Sequence[str]) -> str:
        """Return the entry of an array, which has none before 0, nor after the last."""
        place = f"least(greatest({number}, {first - 1}), {first + len(results)}) - ({first})"
        return f"get(array({', '.join(results)}), CAST({place} AS INTEGER))"

    def unit_weight(self, mass: int, rows: str, *, heaviest: int) -> str:
        """Return the quotient; a number beyond 64 bits is a decimal, whose quotient is whole as well."""
        del heaviest
        return f"CAST({mass} div {rows} AS BIGINT)"

    def whole_mean(self, text: str) -> str:
        """Return the quotient of 38 digits."""
        return f"CAST({self.total(text)} div count(*) AS BIGINT)"

    def maybe_heavy(
        self, unit: str, type_: SqlType, rows: str, *, most: int, slots: int, normed: bool, alone: bool
    ) -> None:
        """Return nothing: every row is weighed."""
        del unit, type_, rows, most, slots, normed, alone

    def product_type(self, most: int) -> SqlType:
        """Return 64 bits; sums have 38 digits."""
        del most
        return SqlType.BIGINT


def _lacking(what: str, hint: str = "Another engine computes it.") -> Unsupported:
    return Unsupported(f"{what} is not supported on Spark", because="not-on-this-engine", hint=hint)


SPARK: Dialect = SparkDialect()
