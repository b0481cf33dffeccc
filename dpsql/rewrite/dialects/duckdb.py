"""DuckDB's SQL.

It evaluates a function once for each entry of a column's dictionary, computes once what is written twice, and groups by an
array where keys are narrow: several forms here are chosen for that.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import (
    DATE_IN_JSON,
    MOMENT_IN_JSON,
    NUMBER_IN_JSON,
    SINGLE_DIGITS,
    WHOLE_IN_JSON,
    Dialect,
    Forms,
    PostgresFunctions,
    StoredTypes,
    single_by_powers,
    unless_short,
)
from dpsql.rewrite.ir.calendar import ERAS

_FEW_TEXTS = 16
"""Up to so many texts are compared one by one."""
_SHARED_FROM = 8
"""From how many rows on that count two units share a counter of what is heavy."""
# DuckDB has a perfect hash for keys of few bits: an array of groups, without a hash table.
_NARROW = (("UTINYINT", 0, 255), ("TINYINT", -128, 127), ("SMALLINT", -(2**15), 2**15 - 1))
_TYPES: Mapping[SqlType, str] = {
    SqlType.DOUBLE: "DOUBLE",
    SqlType.CHARACTER: "VARCHAR",
    SqlType.UUID: "VARCHAR",
    SqlType.ENUM: "VARCHAR",
    SqlType.TIME: "BIGINT",
    SqlType.INTERVAL: "BIGINT",
    SqlType.TIMESTAMPTZ: "TIMESTAMP",
}
"""The types in which values are computed, where they have other names."""
_MOMENTS = frozenset({"timestamp", "timestamp with time zone", "timestamp_ns", "timestamptz_ns"})


_JSON_TEXT = r'^"(?:[^\\]|\\[^u]|\\u(?:[1-9a-fA-F]|0[1-9a-fA-F]|00[1-9a-fA-F]|000[1-9a-fA-F]))*"$'
"""A text as JSON writes it, without the character 0."""
_IN_JSON: Mapping[SqlType, tuple[str, str]] = {
    SqlType.BOOLEAN: ("^(true|false)$", "BOOLEAN"),
    SqlType.SMALLINT: (WHOLE_IN_JSON, "SMALLINT"),
    SqlType.INTEGER: (WHOLE_IN_JSON, "INTEGER"),
    SqlType.BIGINT: (WHOLE_IN_JSON, "BIGINT"),
    SqlType.NUMERIC: (NUMBER_IN_JSON, "DOUBLE"),
    SqlType.DOUBLE: (NUMBER_IN_JSON, "DOUBLE"),
    SqlType.DATE: (DATE_IN_JSON, "DATE"),
    SqlType.TIMESTAMP: (MOMENT_IN_JSON, "TIMESTAMP"),
}
"""What of a text inside of JSON is read, and the type that it is cast to; the cast of anything else is NULL."""


class DuckDbDialect(PostgresFunctions):
    """The SQL that DuckDB reads."""

    name = "duckdb"
    stored_types = StoredTypes(
        integers={
            SqlType.SMALLINT: frozenset({"tinyint", "utinyint", "smallint"}),
            SqlType.INTEGER: frozenset({"usmallint", "integer"}),
            SqlType.BIGINT: frozenset({"uinteger", "bigint"}),
        },
        others={
            SqlType.BOOLEAN: frozenset({"boolean"}),
            SqlType.TEXT: frozenset({"varchar", "uuid", "enum"}),
            SqlType.DATE: frozenset({"date"}),
            SqlType.CHARACTER: frozenset({"varchar", "enum"}),
            SqlType.UUID: frozenset({"uuid"}),
            SqlType.ENUM: frozenset({"varchar", "enum"}),
            SqlType.TIMESTAMP: _MOMENTS,
            SqlType.TIMESTAMPTZ: _MOMENTS,
            SqlType.TIME: frozenset({"time", "time_ns"}),
            SqlType.INTERVAL: frozenset({"interval"}),
            SqlType.JSON: frozenset({"json", "varchar"}),
        },
        floats=frozenset({"float", "double"}),
        wide=frozenset({"hugeint", "uhugeint", "ubigint"}),
        json="JSON is read from columns of type json, and in files from varchar alone: DuckDB fails at what is none there",
    )
    # `/` would be in double precision, and `#` is no operator.
    forms = Forms(
        as_text="CAST({0} AS VARCHAR)", widest="CAST({0} AS HUGEINT)",
        not_finite="CAST('{0}' AS DOUBLE)", is_nan="isnan({0})",
        integer_quotient="({0} // {1})", exclusive_or="xor({0}, {1})",
        round_to_even="round_even({0}, 0)", log10="log10({0})",
        epoch_micros="epoch_us({0})", elapsed_micros="(epoch_us({0}) - epoch_us({1}))",
        add_days="({0} + CAST({1} AS INTEGER))", add_micros="({0} + to_microseconds(CAST({1} AS BIGINT) * {2}))",
        one_of_numbers="{0} IN ({1})", total="sum({0})", stored_text="CAST({0} AS VARCHAR)", unpadded="rtrim({0}, ' ')",
        by_bytes='({0} COLLATE "C")', floor="floor({0})", ceil="ceil({0})", trunc="trunc({0})",
        day_number="CAST({0} - DATE '1970-01-01' AS BIGINT)", days_between="({0} - {1})",
        common_table="{0} AS MATERIALIZED ({1})", named_rows="{0} AS NOT MATERIALIZED ({1})", as_a_whole="(({0}) IS TRUE)",
    )  # fmt: skip
    double_type = "DOUBLE"
    finds_roots = True
    computed_once = ""  # as it always is
    tests_ends = True  # where all values pass, and zeros are many, CASE takes half of the time

    def cast(self, text: str, type_: SqlType) -> str:
        """Return `CAST(x AS DOUBLE)`."""
        return f"CAST({text} AS {_TYPES.get(type_, type_.value.upper())})"

    def double(self, value: Fraction) -> str:
        """Return `1.5e0`: without an exponent it would be a decimal."""
        try:
            # `repr` writes the shortest decimal that reads back as the same double, so the engine computes with the
            # number that planning did.
            text = repr(float(value))
        except OverflowError:
            return self.not_finite("Infinity" if value > 0 else "-Infinity")
        text = text if "e" in text else text + "e0"
        return f"({text})" if text.startswith("-") else text

    def text(self, value: str) -> str:
        """Return a literal in single quotes, in which a backslash is a backslash."""
        return "'" + value.replace("'", "''") + "'"

    def stored_number(self, column: str, *, representable: bool) -> str:
        """Return a cast: every decimal of DuckDB's has at most 38 digits, so it can't fail."""
        del representable
        return f"CAST({column} AS DOUBLE)"

    def stored_single(self, column: str) -> str:
        """Return a cast there and back; a number too large for single precision stays, and is clamped as any other."""
        return f"coalesce(CAST(TRY_CAST({column} AS FLOAT) AS DOUBLE), CAST({column} AS DOUBLE))"

    def in_json(self, column: str, keys: Sequence[str], type_: SqlType) -> str:
        """Return what is there: what is no JSON is NULL before anything is looked for in it, so that nothing can fail.

        No function that could fail stands behind a condition: what it is given is right, or NULL. Nothing stands twice,
        since DuckDB computes once what is written twice, but not within a CASE.
        """
        json, place = f"TRY_CAST(CAST({column} AS VARCHAR) AS JSON)", self.text("".join(f"/{key}" for key in keys))
        if type_ is SqlType.TEXT:
            found = f"regexp_extract(CAST(json_extract({json}, {place}) AS VARCHAR), '{_JSON_TEXT}', 0, 's')"
            return f"json_extract_string(TRY_CAST({found} AS JSON), '$')"
        pattern, read_as = _IN_JSON[type_]
        found = f"regexp_extract(json_extract_string({json}, {place}), '{pattern}', 1)"
        return f"TRY_CAST({found} AS {read_as})"

    def unit_salt(self, unit: str, type_: SqlType) -> str:
        """Return the unit: all decimals of one column have one scale."""
        del type_
        return unit

    def exact_text(self, number: str) -> str:
        """Return the text without zeros at its end; a comparison of decimals of two scales may fail, or round one."""
        text = f"CAST({number} AS VARCHAR)"
        return f"(CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END)"

    def product(self, a: str, b: str) -> str:
        """Return `a * b`, which comes out as 0 where it is too small."""
        return f"({a} * {b})"

    def truncated(self, unit: str, timestamp: str) -> str:
        """Return `date_trunc('unit', t)`; DuckDB begins a century in the year 2000, PostgreSQL in 2001."""
        if unit not in {"century", "millennium"}:
            return f"date_trunc('{unit}', {timestamp})"
        size = ERAS[unit]
        return f"make_timestamp((extract(year FROM {timestamp}) - 1) // {size} * {size} + 1, 1, 1, 0, 0, 0)"

    def bin_start(self, timestamp: str, size: int, first: int) -> str:
        """Return the bin's number times its size, in whole numbers."""
        return f"make_timestamp((epoch_us({timestamp}) - ({first})) // {size} * {size} + ({first}))"

    def is_one_of(self, text: str, texts: Sequence[str]) -> str:
        """Return a CASE of few texts, evaluated once for each entry of a column's dictionary: 8 times faster than IN."""
        if len(texts) > _FEW_TEXTS:
            return f"{text} IN ({', '.join(texts)})"
        return f"(CASE {text} {' '.join(f'WHEN {literal} THEN TRUE' for literal in texts)} ELSE FALSE END)"

    def if_one_of(self, text: str, texts: Sequence[str]) -> str:
        """Return the text where it has a place among `texts`, unless they are few.

        IN inside a CASE goes through all texts for every row; a place is found once for each entry of a dictionary.
        """
        few = len(texts) <= _FEW_TEXTS
        test = self.is_one_of(text, texts) if few else f"list_position([{', '.join(texts)}], {text}) > 0"
        return f"(CASE WHEN {test} THEN {text} END)"

    def looked_up(self, text: str, keys: Sequence[str], results: Sequence[str]) -> str:
        """Return the key's place, or the entry at it, as functions: evaluated once for each entry of a dictionary."""
        place = f"list_position([{', '.join(keys)}], {text})"
        if list(results) == [str(n) for n in range(1, len(results) + 1)]:
            return place
        return f"list_extract([{', '.join(results)}], {place})"

    def entry(self, number: str, first: int, results: Sequence[str]) -> str:
        """Return the entry of a list, far faster than a CASE of thousands; a place below 0 would be one from its end."""
        return f"list_extract([{', '.join(results)}], greatest({number}, {first - 1}) - ({first - 1}))"

    def unit_weight(self, mass: int, rows: str, *, heaviest: int) -> str:
        """Return the quotient in 32 bits where they suffice."""
        return f"CAST({mass} // {rows} AS {self.weight_type(heaviest)})"

    def weight_type(self, heaviest: int) -> str:
        """Return 32 bits where they suffice."""
        return "INTEGER" if heaviest < 2**31 else "BIGINT"

    def whole_mean(self, text: str) -> str:
        """Return the quotient in 128 bits."""
        return f"CAST(sum({text}) // count(*) AS BIGINT)"

    def nearest(self, text: str, type_: SqlType, *, most: int) -> str:
        """Return a cast, which rounds so, and fails at no number that DuckDB might compute of a row that is left out."""
        del most
        return f"TRY_{self.cast(text, type_)}"

    def significant(self, text: str, digits: int) -> str:
        """Return what it is written as; of most numbers in single precision it is computed, in a sixth of the time."""
        written = f"TRY_CAST(printf('%.{digits}g', {text}) AS DOUBLE)"
        if digits == SINGLE_DIGITS:
            return single_by_powers(self, text, written, "1e{}", large=False)
        return unless_short(self, text, "TRY_CAST({} AS BIGINT)".format, written)

    def narrowed(self, text: str, low: int, high: int) -> str:
        """Return the number in 8 or 16 bits if they hold it: DuckDB then groups by an array."""
        fits = [name for name, least, most in _NARROW if least <= low and high <= most]
        return f"TRY_CAST({text} AS {fits[0]})" if fits else text

    def maybe_heavy(
        self, unit: str, type_: SqlType, rows: str, *, most: int, slots: int, normed: bool, alone: bool
    ) -> tuple[str, str] | None:
        """Return the list of heavy units, and the test for it, of which DuckDB makes a filter of its scan.

        Texts are told apart by their hash, which takes two thirds of the time: one that has it by chance is marked, too. Of
        whole numbers neighbours share a counter, so that half as many are counted: in an array, whose range DuckDB knows of
        a quotient, as it does not of a shift. Where few rows count, two that share it would often be marked in vain. Rows
        of joins that are only counted are all weighed: to join a third time takes longer.
        """
        del slots
        if not (type_.is_text or (type_.is_integer and (normed or (alone and most >= _SHARED_FROM)))):
            return None
        shared = "{} // 2" if most >= _SHARED_FROM else "{}"
        key = ("hash({})" if type_.is_text else shared).format
        heavy = f"SELECT {key(unit)} AS u {rows} GROUP BY 1 HAVING count(*) > {most}"
        return f"heavy AS MATERIALIZED ({heavy})", f"{key('u')} IN (SELECT u FROM heavy)"

    def without_range(self, unit: str, type_: SqlType) -> str:
        """Return a whole number after an operation of which DuckDB forgets the range.

        Otherwise it would count some thousand units in an array with a place for each unit of the table, which takes longer
        to clear than the rest of the statement.
        """
        return f"({unit} | 0)" if type_.is_integer else unit

    def product_type(self, most: int) -> SqlType:
        """Return 32 bits where they suffice: DuckDB adds them up in 128."""
        return SqlType.INTEGER if most < 2**31 else SqlType.BIGINT


DUCKDB: Dialect = DuckDbDialect()
