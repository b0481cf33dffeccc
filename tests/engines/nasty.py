"""A table of values that break careless SQL, in both engines, and what expressions make of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import psycopg

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType, Value
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.emitter import Emitter, identity
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Expr, Facts, Ref, refs
from tests.support.dialects import DIALECTS, DUCKDB, POSTGRES

DOUBLES = (
    "NULL", "'NaN'", "'Infinity'", "'-Infinity'", "1.7976931348623157e308", "-1.7976931348623157e308", "5e-324", "-5e-324",
    "1e-320", "1e-200", "1e-160", "-1e-131", "-0.0", "0.0", "0.1", "-0.5", "0.5", "1.5", "2.5", "0.30000000000000004",
    "-2.675", "-16", "99.99999999999999", "100", "100.00000000000001", "150", "-20", "4503599627370497.5", "1e15", "1e16",
)  # fmt: skip
INTEGERS = ("NULL", "0", "1", "-1", "2", "3", "6", "7", "-7", "2147483647", "-2147483648", "100", "99")
BIGINTS = (
    *INTEGERS,
    "9223372036854775807",
    "-9223372036854775808",
    "1152921504606846976",
    "1152921504606847000",
    "1152921504606847174",
)
NUMERICS = (
    "NULL",
    "0",
    "0.01",
    "-0.01",
    "0.05",
    "0.15",
    "2.50",
    "-2.50",
    "99999999.99",
    "-99999999.99",
    "10.00",
    "10.01",
)
DATES = (
    "NULL", "'infinity'", "'-infinity'", "'0001-01-01'", "'9999-12-31'", "'2019-03-01'", "'2019-03-31'", "'2020-02-29'",
    "'2021-01-03'", "'1969-12-31'", "'1970-01-01'",
)  # fmt: skip
TIMES = (
    "NULL", "'infinity'", "'-infinity'", "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'", "'2019-03-01 00:00:00'",
    "'2019-03-31 23:59:59.999999'", "'2020-02-29 12:34:56.789012'", "'2021-01-03 23:00:00'", "'1969-12-31 23:59:59.5'",
    "'2019-12-30 06:07:08'",
)  # fmt: skip
TEXTS = (
    "NULL", "''", "' '", "'a'", "'A'", "'a '", "'b'", "'é'", "'e\u0301'", "'%'", "'_'", "'a_b'", "'\\'", "''''", "'日本'",
    "'NULL'",
)  # fmt: skip
PADDED = ("NULL", "''", "'a'", "'a  '", "' a'", "'A'", "'é'", "'_'", "'abc'")
UUIDS = (
    "NULL",
    "'00000000-0000-0000-0000-000000000000'",
    "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
)
DAYTIMES = ("NULL", "'00:00:00'", "'00:00:00.000001'", "'12:34:56.789012'", "'23:59:59.999999'", "'24:00:00'")
SPANS = (
    "NULL", "'0 days'", "'1 day'", "'24 hours'", "'1 day -24 hours'", "'1 month'", "'1 month -30 days'", "'-1 years'",
    "'99999 days -999999 hours'", "'100000 days'", "'2147483647 days'", "'-2147483648 days'", "'178000000 years'",
    "'1.000001 seconds'", "'-90 minutes'",
)  # fmt: skip
BOOLEANS = ("NULL", "TRUE", "FALSE")

MARCH = Interval.of(Fraction(17956 * DAY), Fraction(17987 * DAY - 1))


@dataclass(frozen=True, slots=True)
class Stored:
    """One column: its type in each engine, and the values that it holds."""

    column: Column
    duckdb: str
    postgres: str
    values: tuple[str, ...]


def _stored(
    name: str,
    type_: SqlType,
    values: tuple[str, ...],
    kinds: tuple[str, str],
    bounds: Interval | None = None,
    *,
    domain: tuple[Value, ...] | None = None,
    nullable: bool = False,
    declared: str = "",
) -> Stored:
    column = Column(name, type_, declared or type_.value, bounds, domain, nullable=nullable)
    return Stored(column, *kinds, values)


DOUBLE, BIG = ("DOUBLE", "float8"), ("BIGINT", "bigint")
COLUMNS = (
    _stored("x", SqlType.DOUBLE, DOUBLES, DOUBLE, Interval.of(0, 100)),
    _stored("xn", SqlType.DOUBLE, DOUBLES, DOUBLE, Interval.of("-20.5", "99.9"), nullable=True),
    _stored("wide", SqlType.DOUBLE, DOUBLES, DOUBLE, Interval.of(-(10**30), 10**30)),
    _stored("free", SqlType.DOUBLE, DOUBLES, DOUBLE, nullable=True),
    _stored("xv", SqlType.DOUBLE, DOUBLES, DOUBLE, domain=(Fraction(1, 10), Fraction(1, 2), 100)),
    _stored("r", SqlType.REAL, (*DOUBLES[:4], "0", "0.1", "1e-45", "3e38"), ("FLOAT", "real"), Interval.of(-1, 1)),
    _stored("i", SqlType.INTEGER, INTEGERS, ("INTEGER", "integer"), Interval.of(-7, 100)),
    _stored("iv", SqlType.INTEGER, BIGINTS, BIG, domain=(0, 1, 2, 3, 7)),
    _stored("ivn", SqlType.INTEGER, BIGINTS, BIG, domain=(0, 1, 2, 3), nullable=True),
    _stored("b", SqlType.BIGINT, BIGINTS, BIG, Interval.of(2**60, 2**60 + 23)),
    _stored("c", SqlType.BIGINT, BIGINTS, BIG, Interval.of(-(10**9), 10**9), nullable=True),
    _stored("n", SqlType.NUMERIC, NUMERICS, ("DECIMAL(10,2)", "numeric(10,2)"), Interval.of(0, 10), declared="numeric(10,2)"),
    _stored("m", SqlType.NUMERIC, NUMERICS, ("DECIMAL(10,2)", "numeric"), Interval.of("-2.5", "2.5"), nullable=True),
    _stored("d", SqlType.DATE, DATES, ("DATE", "date"), Interval.of(17956, 18700)),
    _stored("dv", SqlType.DATE, DATES, ("DATE", "date"), domain=(0, 17956)),
    _stored("t", SqlType.TIMESTAMP, TIMES, ("TIMESTAMP", "timestamp"), Interval.of(-DAY, 18700 * DAY)),
    _stored("tn", SqlType.TIMESTAMP, TIMES, ("TIMESTAMP", "timestamp"), MARCH, nullable=True),
    _stored("s", SqlType.TEXT, TEXTS, ("VARCHAR COLLATE NOCASE", "varchar(20)"), nullable=True),
    _stored("sv", SqlType.TEXT, TEXTS, ("VARCHAR COLLATE NOCASE", "text"), domain=("a", "A", "é"), nullable=True),
    _stored("sw", SqlType.TEXT, TEXTS, ("VARCHAR", "text"), domain=("a", "b")),
    _stored("tz", SqlType.TIMESTAMPTZ, TIMES, ("TIMESTAMPTZ", "timestamptz"), Interval.of(-DAY, 18700 * DAY), nullable=True),
    _stored("ch", SqlType.CHARACTER, PADDED, ("VARCHAR", "char(3)"), nullable=True, declared="character(3)"),
    _stored("u", SqlType.UUID, UUIDS, ("UUID", "uuid"), nullable=True),
    _stored("tod", SqlType.TIME, DAYTIMES, ("TIME", "time"), Interval.of(0, DAY), nullable=True),
    _stored("span", SqlType.INTERVAL, SPANS, ("INTERVAL", "interval"), Interval.of(-(10**12), 10**12), nullable=True),
    _stored("z", SqlType.BOOLEAN, BOOLEANS, ("BOOLEAN", "boolean"), nullable=True),
    _stored("y", SqlType.BOOLEAN, BOOLEANS, ("BOOLEAN", "boolean")),
)  # fmt: skip
REF = {stored.column.name: Ref(0, "nasty", stored.column.name, stored.column) for stored in COLUMNS}
DECLARED = DeclaredFacts({})


def ddl(dialect: Dialect) -> str:
    """Return the statements that make the table; its rows combine the values of all columns unevenly."""
    kinds = [s.duckdb if dialect is DUCKDB else s.postgres for s in COLUMNS]
    columns = ", ".join(f'"{s.column.name}" {kind}' for s, kind in zip(COLUMNS, kinds, strict=True))
    rows = ", ".join(f"({i}, {', '.join(_value(s, i, k) for k, s in enumerate(COLUMNS))})" for i in range(180))
    return f"CREATE TABLE nasty (id INTEGER, {columns}); INSERT INTO nasty VALUES {rows};"


def _value(stored: Stored, row: int, place: int) -> str:
    at = row if row < 30 else row * (2 * place + 1) + place
    return stored.values[at % len(stored.values)]


@dataclass(frozen=True, slots=True)
class Engines:
    """The table in both engines."""

    duckdb: duckdb.DuckDBPyConnection
    postgres: psycopg.Connection[tuple[Any, ...]]

    def ask(self, dialect: Dialect, texts: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the values of some expressions in every row, one tuple an expression; a text that occurs again is one."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        sql = f"SELECT {', '.join(places)} FROM nasty AS s0 ORDER BY id"
        rows = (
            self.duckdb.execute(sql).fetchall() if dialect is DUCKDB else self.postgres.execute(sql.encode()).fetchall()
        )
        columns = list(zip(*rows, strict=True))
        return [columns[places[text]] for text in texts]


def texts_of(expr: Expr, dialect: Dialect) -> tuple[str, str]:
    """Return what the engine computes for an expression, and the condition that its row is one that counts."""
    emitter = Emitter(dialect, DECLARED)
    text = emitter.as_number(emitter.sql(expr), expr.type)
    present = [emitter.present(c) for c in refs(expr) if not c.column.nullable]
    return text, f"COALESCE({' AND '.join(present) or 'TRUE'}, FALSE)"


def check(engines: Engines, exprs: Sequence[Expr], *, nested: bool = False) -> None:
    """See that expressions never fail, mean the same on both engines, and are where the facts say that they are.

    Not so where they are nested: intervals are exact, and a step function of a rounded value may be one step beyond.
    """
    columns_of = {}
    for dialect in DIALECTS:
        texts = [text for expr in exprs for text in texts_of(expr, dialect)]
        columns_of[dialect] = engines.ask(dialect, texts)
    for index, expr in enumerate(exprs):
        duck, kept, pg, kept_too = (columns_of[d][2 * index + k] for d in (DUCKDB, POSTGRES) for k in (0, 1))
        assert kept == kept_too, expr
        expr_facts = facts(expr, {ref: DECLARED.facts_of(ref) for ref in refs(expr)})
        claimed = _Claim.of(replace(expr_facts, interval=None, values=None) if nested else expr_facts)
        for row, (a, b) in enumerate(zip(duck, pg, strict=True)):
            assert alike(a, b), (expr, row, a, b)
            assert not kept[row] or claimed.holds(a), (expr, row, a, expr_facts)


def alike(a: object, b: object) -> bool:
    """Return whether two engines' values are one: numbers to 9 digits, or both smaller than 1e-100."""
    if a == b:
        return True
    if isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)):
        x, y = float(a), float(b)
        return x == y or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-100) or (math.isnan(x) and math.isnan(y))
    return False


@dataclass(frozen=True, slots=True)
class _Claim:
    """What is known of an expression's values, with ends as numbers that are quickly compared with."""

    facts: Facts
    low: float
    high: float

    @classmethod
    def of(cls, facts_: Facts) -> "_Claim":
        """Compute the ends once for all rows."""
        if facts_.interval is None:
            return cls(facts_, 0.0, 0.0)
        slack = 1e-9 * max(float(facts_.interval.magnitude), 1e-100)
        return cls(facts_, float(facts_.interval.low) - slack, float(facts_.interval.high) + slack)

    def holds(self, value: Any) -> bool:
        """Return whether a value is one of those that there may be."""
        if value is None:
            return self.facts.nullable
        if self.facts.interval is None or isinstance(value, str):
            return self.facts.values is None or value in self.facts.values
        return self.low <= float(value) <= self.high


def compared(engines: Engines, refs: Sequence[Ref]) -> None:
    """See that both engines read the same: as a number or a text, as whose it is, and what is there at all."""
    columns_of = {}
    for dialect in (DUCKDB, POSTGRES):
        emitter = Emitter(dialect, DECLARED)
        texts = [emitter.as_number(emitter.sql(ref), ref.type) for ref in refs]
        texts += [f"{identity(ref, dialect)} IS NULL" for ref in refs]
        texts += [f"COALESCE({emitter.present(ref)}, FALSE)" for ref in refs]
        columns_of[dialect] = engines.ask(dialect, texts)
    for place, (duck, pg) in enumerate(zip(columns_of[DUCKDB], columns_of[POSTGRES], strict=True)):
        assert all(map(_same, duck, pg)), (refs[place % len(refs)].name, duck, pg)


def _same(a: object, b: object) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))
