"""The explorer's question about a real column: one GROUP BY through the server, paid for like any other."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.model import Policy
from dpsql.web.site import Cells, RowsClient

_BUCKETS = 100
_WHOLE = frozenset({"smallint", "integer", "bigint"})
_NUMBERS = re.compile(r"(smallint|integer|bigint|real|double precision|numeric)\b")
_QUOTED = (
    "CASE WHEN strpos(table_name, '.') = 0 AND to_regclass(quote_ident(table_name)) IS DISTINCT FROM "
    "to_regclass(concat('public.', quote_ident(table_name))) THEN 'public.' ELSE '' END || "
    "array_to_string(ARRAY(SELECT quote_ident(part) FROM unnest(string_to_array(table_name, '.')) WITH ORDINALITY "
    "AS u (part, place) ORDER BY place), '.')"
)
_DECLARED = (
    f"SELECT table_name, column_name, {_QUOTED}, quote_ident(column_name), type, lower_bound, upper_bound, "  # noqa: S608
    "coalesce(description, '') FROM dpsql.columns WHERE lower_bound IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number column of a protected table with equal buckets over its declared range."""

    table: str
    column: str
    quoted: tuple[str, str]
    """The names as SQL spells them: table and column."""
    low: Fraction
    high: Fraction
    buckets: int
    description: str

    @property
    def name(self) -> str:
        """Return `table.column`."""
        return f"{self.table}.{self.column}"

    @property
    def statement(self) -> str:
        """Return the question, as anybody could type it."""
        table, column = self.quoted
        bucket = f"width_bucket({column}, {_decimal(self.low)}, {_decimal(self.high)}, {self.buckets})"
        # Names are quoted by the shadow and numbers are numbers: nothing here is a visitor's text.
        return f"SELECT {bucket} AS bucket, COUNT(*) FROM {table} GROUP BY 1 ORDER BY 1"  # noqa: S608

    def counts(self, rows: Iterable[Cells]) -> list[int]:
        """Return the noisy count of each bucket; values at the upper end or beyond it belong to the last."""
        counts = [0] * self.buckets
        for bucket, count in rows:
            if isinstance(bucket, int) and isinstance(count, int) and bucket > 0:
                counts[min(bucket, self.buckets) - 1] += count
        return counts


async def bounded_columns(client: RowsClient, policy: Policy) -> tuple[Bounded, ...]:
    """Return the columns that the visitor may ask about, read from `dpsql.columns` over their own connection."""
    rows = [tuple(map(str, row)) for row in await client.rows(_DECLARED)]
    tables = {name for name, table in policy.tables.items() if not table.public}
    paths = {(name, path.name) for name in tables for path in policy.tables[name].paths}
    numbers = (row for row in rows if _NUMBERS.match(row[4]) and row[0] in tables)
    return tuple(_bounded(row, is_path=(row[0], row[1]) in paths) for row in numbers)


def _bounded(row: Sequence[str], *, is_path: bool) -> Bounded:
    """Return a column, or a path in one of JSON, whose name is SQL already."""
    table, column, table_sql, column_sql, kind, low, high, description = row
    column_sql = f"({column})::{kind}" if is_path else column_sql
    first, last, buckets = Fraction(low), Fraction(high), _BUCKETS
    if kind in _WHOLE:
        # Whole numbers stand in the middle of their buckets.
        buckets = min(buckets, int(last - first) + 1)
        first, last = first - Fraction(1, 2), last + Fraction(1, 2)
    return Bounded(table, column, (table_sql, column_sql), first, last, buckets, description)


def _decimal(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.15g}"
