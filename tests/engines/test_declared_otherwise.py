"""A column may be declared as one type and stored as another that fits: whatever it holds can be read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from functools import cache

import duckdb
import psycopg
import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.tables import LOOSE, fits, identifies
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.emitter import Emitter, salt
from dpsql.rewrite.ir.expr import Facts, Ref
from tests.engines.asking import asked
from tests.support.dialects import DUCKDB, POSTGRES

Engine = DuckDb | PostgresEngine
POSTGRES_VALUES: Mapping[str, Sequence[str]] = {
    "smallint": ["-32768", "32767", "0"],
    "integer": ["-2147483648", "2147483647", "0"],
    "bigint": ["-9223372036854775808", "9223372036854775807", "0"],
    "numeric(10,2)": ["-99999999.99", "0.01", "'NaN'"],
    "numeric": ["'NaN'", "'Infinity'", "'-Infinity'", "-1e400", "1e-400", "-1e-301", "0.00", "1.10", "1e100000"],
    "real": ["'NaN'", "'Infinity'", "-3e38", "1e-45", "'-0'"],
    "double precision": ["'NaN'", "'-Infinity'", "-1.7e308", "5e-324", "'-0'"],
    "date": ["'4713-01-01 BC'", "'5874897-12-31'", "'infinity'", "'-infinity'", "'0001-01-01'", "'9999-12-31'"],
    "timestamp without time zone": ["'4713-01-01 BC'", "'294276-12-31'", "'infinity'", "'-infinity'", "'0001-01-01'"],
    "time without time zone": ["'00:00'", "'24:00'", "'23:59:59.999999'"],
    "interval": ["'178000000 years'", "'-1 mon'", "'2147483647 days'", "'-2562047788 hours'", "'1 day -25:00'"],
    "uuid": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "character(4)": ["''", "'a'", "'ab  '"],
    "character varying(9)": ["''", "'a   '", "'abcdefghi'"],
    "timestamp with time zone": ["'4713-01-02 BC'", "'294276-12-30'", "'infinity'", "'-infinity'", "'0001-01-01'"],
}
DUCKDB_VALUES: Mapping[str, Sequence[str]] = {
    "TINYINT": ["-128", "127"],
    "UBIGINT": ["18446744073709551615", "0"],
    "HUGEINT": ["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "DECIMAL(38, 2)": ["-999999999999999999999999999999999999.99", "0.01"],
    "FLOAT": ["'NaN'", "'Infinity'", "-3e38"],
    "DOUBLE": ["'NaN'", "'-Infinity'", "1.7e308", "'-0'"],
    "DATE": ["'5877642-06-25 (BC)'", "'5881580-07-10'", "'infinity'", "'-infinity'", "'0001-01-01'"],
    "TIME": ["'00:00:00'", "'24:00:00'", "'23:59:59.999999'"],
    "INTERVAL": ["'178000000 years'", "'-1 mon'", "'2147483647 days'", "'-2562047788 hours'", "'1 day -25 hours'"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "VARCHAR": ["''", "'a   '", "'abcdefghi'", "'ä\u0301bc  '"],
    "TIMESTAMP WITH TIME ZONE": [
        "'290309-12-23 (BC) 00:00:00+00'",
        "'infinity'",
        "'-infinity'",
        "'0001-01-01 00:00:00+00'",
    ],
    "TIMESTAMP": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10'", "'infinity'", "'-infinity'", "'0001-01-01'"],
}
DECLARED = [t for t in SqlType if t not in {SqlType.BOOLEAN, SqlType.ENUM, SqlType.JSON}]
CASES = [
    (dialect, stored, declared)
    for dialect, every in ((POSTGRES, POSTGRES_VALUES), (DUCKDB, DUCKDB_VALUES))
    for stored in every
    for declared in DECLARED
    if fits(declared, declared.value, stored, dialect)
]


def _table(stored: str, values: Sequence[str]) -> str:
    rows = ", ".join(f"(CAST({value} AS {stored}))" for value in ["NULL", *values])
    return f"CREATE TABLE t (a {stored}); INSERT INTO t VALUES {rows}"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], DuckDb]]:
    """Give a function that opens DuckDB over a table `t` with values of a type, once for all that it is declared as."""
    with ExitStack() as until:

        @cache
        def opened(stored: str) -> DuckDb:
            path = tmp_path_factory.mktemp("declared") / "records.duckdb"
            with duckdb.connect(path) as connection:
                connection.execute(_table(stored, DUCKDB_VALUES[stored]))
            engine = DuckDb(path)
            until.callback(engine.close)
            return engine

        yield opened


@pytest.fixture
def made(files: Callable[[str], DuckDb], postgres: Callable[[str], PostgresEngine]) -> Callable[[Dialect, str], Engine]:
    """Give a function that opens an engine of a dialect over a table `t` with values of a type."""

    def make(dialect: Dialect, stored: str) -> Engine:
        if dialect is POSTGRES:
            return postgres(_table(stored, POSTGRES_VALUES[stored]))
        return files(stored)

    return make


def _ref(declared: SqlType) -> Ref:
    return Ref(0, "t", "a", Column("a", declared, declared.value, nullable=True))


@pytest.mark.parametrize(("dialect", "stored", "declared"), CASES)
def test_every_value_can_be_read(
    dialect: Dialect, stored: str, declared: SqlType, made: Callable[[Dialect, str], Engine], charge: Charge
) -> None:
    """As it is stored, as one text, as a number, as what ranks a unit's rows, and as a public value."""
    engine, ref = made(dialect, stored), _ref(declared)
    emitter = Emitter(dialect, DeclaredFacts({("t", "a"): Facts(True)}))
    texts = [emitter.raw(ref), emitter.one_text(emitter.raw(ref), declared), salt(ref, 's0."a"', dialect)]
    texts += [emitter.as_number(emitter.raw(ref), declared)]
    outputs = ", ".join(f"CAST({text} AS VARCHAR)" for text in texts)
    rows = asked(engine, f"SELECT {outputs} FROM {{t}} AS s0", charge)
    public = engine.public_rows("t", ["a"], 100)
    assert len(rows) == len(public) == len((POSTGRES_VALUES if dialect is POSTGRES else DUCKDB_VALUES)[stored]) + 1


_CALENDAR = {
    SqlType.DATE: (-719162, 2932896),
    SqlType.TIMESTAMP: (-62135596800000000, 253402300799999999),
    SqlType.TIMESTAMPTZ: (-62135596800000000, 253402300799999999),
}


@pytest.mark.parametrize(("dialect", "stored", "declared"), [case for case in CASES if case[2].is_temporal])
def test_public_times_are_in_the_calendar(
    dialect: Dialect, stored: str, declared: SqlType, made: Callable[[Dialect, str], Engine]
) -> None:
    """A public day before the year 1 or after 9999 is no value, for the shadow could not be given it."""
    low, high = _CALENDAR[declared]
    values = [row[0] for row in made(dialect, stored).public_rows("t", ["a"], 100)]
    assert low in values
    assert all(value is None or low <= Fraction(value) <= high for value in values)


def test_a_text_of_which_others_are_the_same_identifies_nobody(
    owner: psycopg.Connection, postgres: Callable[[str], PostgresEngine]
) -> None:
    """One unit by the engine's comparison would be several, byte by byte, with as many times the rows."""
    owner.execute("CREATE COLLATION records.loose (provider = libc, locale = 'C')")
    owner.execute('CREATE TABLE t (a text COLLATE loose, b varchar(9) COLLATE "C", c integer)')
    owner.execute("UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'loose'")
    kinds = postgres("SELECT 1").columns("t")
    assert [kinds[name] for name in "abc"] == [f"text{LOOSE}", "character varying(9)", "integer"]
    assert all(fits(SqlType.TEXT, "text", kinds[name], POSTGRES) for name in "ab")
    assert [identifies(SqlType.TEXT, kinds[name], POSTGRES) for name in "ab"] == [False, True]
    assert not identifies(SqlType.TEXT, "citext", POSTGRES)
    assert identifies(SqlType.BIGINT, kinds["c"], POSTGRES)
