"""PostgreSQL's SQL.

It reports numbers that are too small for double precision as errors, and compares a numeric of any length: what is read or
multiplied is kept away from both.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import (
    DATE_IN_JSON,
    MOMENT_IN_JSON,
    NUMBER_IN_JSON,
    SINGLE_DIGITS,
    WHOLE_IN_JSON,
    Dialect,
    Forms,
    PlainForms,
    PostgresFunctions,
    StoredTypes,
    unless_short,
)
from dpsql.rewrite.ir.calendar import to_datetime

_TYPES: Mapping[SqlType, str] = {
    SqlType.DOUBLE: "float8",
    SqlType.CHARACTER: "text",
    SqlType.UUID: "text",
    SqlType.ENUM: "text",
    SqlType.TIME: "bigint",
    SqlType.INTERVAL: "bigint",
    SqlType.TIMESTAMPTZ: "timestamp",
}
"""The types in which values are computed, where they have other names."""
_MOMENTS = frozenset({"timestamp without time zone", "timestamp with time zone"})
_LEAST_SINGLE, _LARGEST_SINGLE = Fraction(1, 2**149), Fraction((2**24 - 1) * 2**104)
"""The numbers of single precision next to 0 and to infinity."""
_LARGEST_NUMBER = Fraction(10) ** 300
_HASHED = frozenset({SqlType.NUMERIC, SqlType.DATE, SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ})
"""Types, besides whole numbers and texts, whose equal values have one text, or one in double precision."""


class PostgresDialect(PostgresFunctions, PlainForms):
    """The SQL that PostgreSQL reads."""

    name = "postgres"
    stored_types = StoredTypes(
        integers={
            SqlType.SMALLINT: frozenset({"smallint"}),
            SqlType.INTEGER: frozenset({"integer"}),
            SqlType.BIGINT: frozenset({"bigint"}),
        },
        others={
            SqlType.BOOLEAN: frozenset({"boolean"}),
            SqlType.TEXT: frozenset({"text", "character varying", "character", "uuid", "enum", "citext"}),
            SqlType.DATE: frozenset({"date"}),
            SqlType.CHARACTER: frozenset({"text", "character varying", "character", "enum", "citext"}),
            SqlType.UUID: frozenset({"uuid"}),
            SqlType.ENUM: frozenset({"text", "character varying", "enum"}),
            SqlType.TIMESTAMP: _MOMENTS,
            SqlType.TIMESTAMPTZ: _MOMENTS,
            SqlType.TIME: frozenset({"time without time zone"}),
            SqlType.INTERVAL: frozenset({"interval"}),
            SqlType.JSON: frozenset({"jsonb"}),  # of json `->>` fails where a text has the character 0
        },
        floats=frozenset({"real", "double precision"}),
        wide=frozenset(),
        json="JSON is read from columns of type jsonb: of json, reading a text with the character 0 fails",
    )
    # PostgreSQL finds NaN equal to itself. EXTRACT's seconds are a numeric with all six digits; a difference has no months.
    forms = Forms(
        as_text="({0})::text", widest="CAST({0} AS NUMERIC)", not_finite="'{0}'::float8", is_nan="{0} = 'NaN'::float8",
        integer_quotient="({0} / {1})", exclusive_or="({0} # {1})",
        round_to_even="round(({0})::float8)", log10="log(({0})::float8)",
        epoch_micros="CAST(extract(epoch FROM {0}) * 1000000 AS BIGINT)",
        elapsed_micros="CAST(extract(epoch FROM ({0}) - ({1})) * 1000000 AS BIGINT)",
        add_days="({0} + ({1})::int)", add_micros="({0} + ({1}) * INTERVAL '{2} microseconds')",
        one_of_numbers="{0} IN ({1})", total="sum({0})", stored_text="CAST({0} AS VARCHAR)", unpadded="rtrim({0}, ' ')",
        by_bytes='({0} COLLATE "C")', floor="floor({0})", ceil="ceil({0})", trunc="trunc({0})",
        day_number="CAST({0} - DATE '1970-01-01' AS BIGINT)", days_between="({0} - {1})",
        common_table="{0} AS MATERIALIZED ({1})", named_rows="{0} AS NOT MATERIALIZED ({1})", as_a_whole="{0}",
    )  # fmt: skip
    double_type = "float8"
    finds_roots = True
    computed_once = " OFFSET '0'"
    """It is a constant at once: a 0 that is still to be made one of 64 bits would keep a subquery on one processor."""
    tests_ends = False  # it fails at a product that underflows

    def cast(self, text: str, type_: SqlType) -> str:
        """Return `(x)::float8`."""
        return f"({text})::{_TYPES.get(type_, type_.value)}"

    def double(self, value: Fraction) -> str:
        """Return `'1.5'::float8`: without quotes it would be a numeric."""
        try:
            return f"'{float(value)!r}'::float8"
        except OverflowError:
            return self.not_finite("Infinity" if value > 0 else "-Infinity")

    def text(self, value: str) -> str:
        """Return a literal that is read in the same way with `standard_conforming_strings` on and off."""
        # With `standard_conforming_strings` off a backslash escapes in '…' as well; in E'…' it does so in either case.
        doubled = value.replace("'", "''")
        return " E'" + doubled.replace("\\", "\\\\") + "'" if "\\" in value else f"'{doubled}'"

    def stored_number(self, column: str, *, representable: bool) -> str:
        """Return a cast, or its total form for numerics without a length: those may be beyond double precision."""
        return f"{column}::float8" if representable else _any_numeric(column)

    def significant(self, text: str, digits: int) -> str:
        """Return PostgreSQL's own cast to `numeric`: of 6 digits that of a `real`, and of 15 that of double precision.

        A decimal of 13 digits is the same in 15. Neither cast is asked of what is 0 as a `real`, or beyond.
        """
        if digits == SINGLE_DIGITS:
            room = f"{self.double(_LEAST_SINGLE)} AND {self.double(_LARGEST_SINGLE)}"
            return f"(CASE WHEN abs({text}) BETWEEN {room} THEN ({text})::float4::numeric::float8 ELSE {text} END)"
        room = f"{self.double(1 / _LARGEST_NUMBER)} AND {self.double(_LARGEST_NUMBER)}"
        written = f"(CASE WHEN abs({text}) BETWEEN {room} THEN ({text})::numeric::float8 ELSE {text} END)"
        return unless_short(self, text, self.round_to_even, written)

    def stored_single(self, column: str) -> str:
        """Return a cast there and back, of what has a place in single precision: the rest would fail."""
        double = f"{column}::float8"
        room = f"abs({double}) BETWEEN {self.double(Fraction(1, 10**37))} AND {self.double(Fraction(3 * 10**38))}"
        return f"(CASE WHEN {room} THEN ({double})::float4::float8 ELSE {double} END)"

    def in_json(self, column: str, keys: Sequence[str], type_: SqlType) -> str:
        """Return what is there: a text becomes another type only if it is one for sure.

        `->` and `->>` of jsonb never fail. What no pattern has let through is NULL before it is cast.
        """
        # address.city of props, a text  →
        #   (CASE WHEN jsonb_typeof(props->'address'->'city') = 'string' THEN (props->'address'->>'city') END)
        *outer, last = (self.text(key) for key in keys)
        before = "".join((column, *(f"->{key}" for key in outer)))
        found = f"({before}->>{last})"
        match type_:
            case SqlType.TEXT:
                return f"(CASE WHEN jsonb_typeof({before}->{last}) = 'string' THEN {found} END)"
            case SqlType.BOOLEAN:
                return f"(CASE {found} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END)"
            case SqlType.SMALLINT | SqlType.INTEGER | SqlType.BIGINT:
                number = f"(substring({found}, '{WHOLE_IN_JSON}')::bigint)"
                bits = {SqlType.SMALLINT: 15, SqlType.INTEGER: 31}.get(type_)
                within = f"{number} BETWEEN {-(2 ** (bits or 0))} AND {2 ** (bits or 0) - 1}"
                return number if bits is None else f"(CASE WHEN {within} THEN {number} END)"
            case SqlType.NUMERIC | SqlType.DOUBLE:
                return f"(substring({found}, '{NUMBER_IN_JSON}')::float8)"
            case SqlType.DATE:
                return _if_valid(f"substring({found}, '{DATE_IN_JSON}')", "date")
            case SqlType.TIMESTAMP:
                return _if_valid(f"substring({found}, '{MOMENT_IN_JSON}')", "timestamp")
            case _:
                raise InternalError

    def unit_salt(self, unit: str, type_: SqlType) -> str:
        """Return a numeric in double precision: equal numerics have as many texts as there are scales."""
        return _any_numeric(unit) if type_ is SqlType.NUMERIC else unit

    def exact_text(self, number: str) -> str:
        """Return the text without zeros at its end."""
        return f"trim_scale(({number})::numeric)::text"

    def product(self, a: str, b: str) -> str:
        """Return the product of what is not too small: an underflow would be an error."""
        return f"({self.flush_tiny(a)} * {self.flush_tiny(b)})"

    def truncated(self, unit: str, timestamp: str) -> str:
        """Return `date_trunc('unit', t)`."""
        return f"date_trunc('{unit}', {timestamp})"

    def bin_start(self, timestamp: str, size: int, first: int) -> str:
        """Return `date_bin(…)`."""
        return f"date_bin(INTERVAL '{size} microseconds', {timestamp}, TIMESTAMP '{to_datetime(first)}')"

    def entry(self, number: str, first: int, results: Sequence[str]) -> str:
        """Return the entry of an array, whose places are 32 bits wide; there is none at 0, nor after the last."""
        # Numbers from 4 on: (ARRAY['a', 'b'])[CAST(least(greatest(n, 3), 6) - (3) AS INTEGER)]. Of 3 and less the place is 0,
        # of 6 and more it is 3, and there is nothing at both: NULL.
        place = f"least(greatest({number}, {first - 1}), {first + len(results)}) - ({first - 1})"
        return f"(ARRAY[{', '.join(results)}])[CAST({place} AS INTEGER)]"

    def unit_weight(self, mass: int, rows: str, *, heaviest: int) -> str:
        """Return the quotient; a longer number is taken for a decimal, whose plain quotient is not whole."""
        del heaviest
        return f"CAST({f'div({mass}, {rows})' if mass >= 2**63 else f'{mass} / {rows}'} AS BIGINT)"

    def whole_mean(self, text: str) -> str:
        """Return the quotient of decimals, which has no limit."""
        return f"CAST(div(sum({text}), count(*)) AS BIGINT)"

    def maybe_heavy(
        self, unit: str, type_: SqlType, rows: str, *, most: int, slots: int, normed: bool, alone: bool
    ) -> tuple[str, str] | None:
        """Return the set of bits at the places of heavy units, by a hash that equal units share, and the test of a bit.

        To count by sorting takes two thirds of the time of a table in memory, and the halves can be sorted side by side. In
        a word of 32 bits `get_bit` begins each byte from its right, and with the leftmost byte.
        """
        del normed, alone
        if not (type_.is_integer or type_.is_text or type_ in _HASHED):
            return None
        # One bit for each of `slots` hashes. Who has more than `most` rows has their bit set, and so has whoever shares their
        # hash: those are weighed in vain.
        more = f"{rows} AND" if " WHERE " in rows else f"{rows} WHERE"
        halves = " UNION ALL ".join(
            f"SELECT u FROM (SELECT {unit} AS u {more} {_hash(unit, type_)} {half} ORDER BY 1) AS a "
            f"GROUP BY u HAVING count(*) > {most}"
            for half in ("< 0", ">= 0")
        )
        words = (
            f"SELECT ({_hash('u', type_)} & {slots - 1}) >> 5 AS i, bit_or(1 << (({_hash('u', type_)} & 31) # 24)) AS b"
        )
        bits = "string_agg(int4send(coalesce(b, 0)), ''::bytea ORDER BY i)"
        marked = (
            f"SELECT {bits} AS bits FROM generate_series(0, {slots // 32 - 1}) AS i "
            f"LEFT JOIN ({words} FROM ({halves}) AS l GROUP BY 1) AS x USING (i)"
        )
        test = f"get_bit((SELECT bits FROM heavy), ({_hash('u', type_)} & {slots - 1})::bigint) = 1"
        return f"heavy AS MATERIALIZED ({marked})", test

    def product_type(self, most: int) -> SqlType:
        """Return 64 bits: PostgreSQL adds up only those without a limit."""
        del most
        return SqlType.BIGINT


def _if_valid(text: str, type_: str) -> str:
    """Return a text as a day, or a moment, if there is such a one."""
    return f"((CASE WHEN pg_input_is_valid({text}, '{type_}') THEN {text} END)::{type_})"


def _hash(unit: str, type_: SqlType) -> str:
    """Return a number of 32 bits that is the same for values which are one unit."""
    if type_.is_integer:
        return f"hashint8({unit})"
    text = _any_numeric(unit) if type_ is SqlType.NUMERIC else unit
    return f'hashtext(({text})::text COLLATE "C")'


def _any_numeric(column: str) -> str:
    """Read what may be a numeric without a length, beyond double precision: PostgreSQL's own cast would fail.

    It may as well be a whole number, which is compared with no 'NaN' of its own type and whose least has no absolute value.
    """
    return (
        f"(CASE WHEN {column} = 'NaN'::numeric THEN 'NaN'::float8 WHEN {column} >= 1e300 THEN 'Infinity'::float8 "
        f"WHEN {column} <= -1e300 THEN '-Infinity'::float8 WHEN {column} > -1e-300 AND {column} < 1e-300 THEN 0 "
        f"ELSE {column}::float8 END)"
    )


POSTGRES: Dialect = PostgresDialect()
