"""The decimal that PostgreSQL makes of a `real` has 6 digits, and of double precision 15: every engine makes the same."""

import math
import random
import struct
from collections.abc import Iterator
from fractions import Fraction

import duckdb
import psycopg
import pytest

from dpsql.engines.spark.client import SparkConnection
from dpsql.policy.model import SqlType
from dpsql.rewrite.dialects.base import DOUBLE_DIGITS, SINGLE_DIGITS
from dpsql.rewrite.functions.table import TABLE
from dpsql.rewrite.ir.expr import Apply, Const, Digits
from dpsql.shadow.server.postgres import Postgres
from tests.support.dialects import DUCKDB, POSTGRES, SPARK

NAMED = (
    "0.29", "0.65", "0.1", "1e-45", "1.1754944e-38", "1e-38", "1e38", "3.4028235e38", "16777216.5", "999999.5", "999998.5",
    "0.000123456789", "9.999995e-8", "1e-7", "9.9999946e-8", "1e-6", "0.9999995", "0.99999946", "1234565", "1234575",
    "1234565e3", "100000.5", "100001.5", "10000.25", "10000.75", "1000.125", "1000.375", "131072.5", "9.9999998e18", "2.5",
    "999999.94", "12345.67", "0",
)  # fmt: skip
"""With ties, powers of ten, and the numbers beside them."""


def _single(bits: int) -> float:
    (number,) = struct.unpack("<f", struct.pack("<I", bits))
    return float(number)


def _numbers() -> Iterator[float]:
    for text in NAMED:
        yield from _around(float(text))
    for power in range(-44, 39):
        yield from _around(10.0**power)
    drawn = random.Random(6)  # noqa: S311 -- the same numbers each time
    yield from (_single(drawn.randrange(1, 0x7F800000)) for _ in range(20_000))  # of every size
    yield from (_single(drawn.randrange(0x33D6BF95, 0x49742400)) for _ in range(20_000))  # from 1e-7 to 1e6
    yield from (float(2 * n + 1) * 5 for n in range(100_000, 999_999, 97))  # ties from 10^6 on
    yield from ((2 * n + 1) / 2 ** (1 + n % 3) for n in range(100_000, 199_999, 13))


def _around(number: float) -> Iterator[float]:
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    yield from (_single(b) for b in range(max(bits - 2, 0), min(bits + 3, 0x7F800000)))


SINGLES = sorted({sign * number for number in _numbers() for sign in (1, -1)})


@pytest.fixture(scope="module")
def expected(server: Postgres) -> dict[float, float]:
    """Give what PostgreSQL makes of each, by the table of its singles."""
    with psycopg.connect(server.dsn("postgres")) as pg:
        pg.execute("CREATE TEMP TABLE singles (x float8)")
        with pg.cursor().copy("COPY singles FROM STDIN") as copy:
            for x in SINGLES:
                copy.write_row([repr(x)])
        rows = pg.execute("SELECT x, x::float4::numeric::text FROM singles").fetchall()
        text = POSTGRES.significant("x", SINGLE_DIGITS)
        own: dict[float, float] = dict(pg.execute(f"SELECT x, {text} FROM singles".encode()).fetchall())
    decimals = {x: float(Fraction(text)) for x, text in rows}
    assert own == decimals
    return decimals


def _doubles() -> Iterator[float]:
    drawn = random.Random(15)  # noqa: S311 -- the same numbers each time
    for power in range(-300, 300, 7):
        yield from (drawn.random() * 10.0**power for _ in range(50))
    for digits in (1, 2, 3, 6, 8, 12, 15):
        yield from (round(drawn.random() * 10 ** (15 - digits), digits) for _ in range(1000))
    yield from (drawn.randrange(1000) / 100 + drawn.randrange(1000) / 100 for _ in range(2000))
    yield from (drawn.randrange(1000) / 7 for _ in range(2000))
    for power in range(-20, 20):
        yield from (math.nextafter(10.0**power, 0), 10.0**power, math.nextafter(10.0**power, math.inf))
    yield from (
        0.0,
        0.1 + 0.2,
        1 / 3,
        5e-324,
        2.2250738585072014e-308,
        999999999.9999995,
        123456789012345.5,
        9007199254740993.0,
    )


DOUBLES = sorted({sign * number for number in _doubles() for sign in (1, -1)})


def test_double_precision_has_fifteen_digits(server: Postgres) -> None:
    """As C prints them; what has no room in a numeric of PostgreSQL's, or back, is left as it is."""
    with psycopg.connect(server.dsn("postgres")) as pg, duckdb.connect() as duck:
        pg.execute("CREATE TEMP TABLE doubles (x float8)")
        with pg.cursor().copy("COPY doubles FROM STDIN") as copy:
            for x in (*DOUBLES, math.nan, math.inf, -math.inf, 1.7976931348623157e308):
                copy.write_row([repr(x)])
        inside = "abs(x) BETWEEN 1e-290 AND 1e290"
        expected = {
            x: float(Fraction(text)) for x, text in pg.execute(f"SELECT x, x::numeric FROM doubles WHERE {inside}")
        }
        text = POSTGRES.significant("x", DOUBLE_DIGITS)
        made: dict[float, float] = dict(pg.execute(f"SELECT x, {text} FROM doubles".encode()).fetchall())
        duck.execute("CREATE TABLE doubles AS SELECT unnest(?::DOUBLE[]) AS x", [DOUBLES])
        own = dict(duck.execute(f"SELECT x, {DUCKDB.significant('x', DOUBLE_DIGITS)} FROM doubles").fetchall())
    assert {x: made[x] for x in expected} == expected == {x: float(f"{x:.15g}") for x in expected}
    assert len(made) == len(DOUBLES) + 4
    assert {x: own[x] for x in expected} == expected


def test_spark_has_fifteen_digits(spark_server: str) -> None:
    """Of numbers that are no halves of the last of these digits, which Java rounds up."""
    connection = SparkConnection.of(spark_server)
    text = SPARK.significant("x", DOUBLE_DIGITS).replace('"', "`")
    some = [x for x in DOUBLES if 1e-5 < x < 1e15 and not repr(x).split("e")[0].endswith("5")]
    rows = ", ".join(f"({SPARK.double(Fraction(x))})" for x in some)
    table = connection.session.sql(f"SELECT x, {text} AS y FROM VALUES {rows} AS doubles(x)").toArrow()
    made = dict(zip(*(c.to_pylist() for c in table.columns), strict=True))
    assert made == {x: float(f"{x:.15g}") for x in some}


def test_postgres_has_six_digits(expected: dict[float, float]) -> None:
    """As C prints them, halves to the even digit: also planning makes this of a number."""
    assert expected == {x: float(f"{x:.6g}") for x in SINGLES}
    rule = TABLE["to_decimal"].computed
    apply = Apply("to_decimal", (Const(0, SqlType.REAL),), SqlType.NUMERIC, Digits(SINGLE_DIGITS))
    assert rule is not None
    made = {x: rule([Fraction(x)], apply) for x in SINGLES}
    assert {x: float(Fraction(value)) for x, value in made.items() if value is not None} == expected


def test_duckdb_makes_the_same_decimals(expected: dict[float, float]) -> None:
    """Of all sizes; and it fails at nothing that might be stored, or come of it."""
    with duckdb.connect() as duck:
        duck.execute("CREATE TABLE singles (x DOUBLE)")
        duck.execute("INSERT INTO singles SELECT unnest(?::DOUBLE[])", [SINGLES])
        text = DUCKDB.significant("x", SINGLE_DIGITS)
        assert dict(duck.execute(f"SELECT x, {text} FROM singles").fetchall()) == expected
        odd = "unnest(['NaN', '-Infinity', 'Infinity', '1.7976931348623157e308', '5e-324', '-0.0']::DOUBLE[])"
        duck.execute(f"CREATE TABLE odd AS SELECT {odd} AS x")
        nan, *rest = [made for (made,) in duck.execute(f"SELECT {text} FROM odd").fetchall()]
    assert math.isnan(nan)
    assert rest == [-math.inf, math.inf, 1.79769e308, 5e-324, 0.0]


def test_spark_makes_the_same_decimals(spark_server: str, expected: dict[float, float]) -> None:
    """Java's own text would round halves up."""
    connection = SparkConnection.of(spark_server)
    text = SPARK.significant("x", SINGLE_DIGITS).replace('"', "`")
    some = [x for x in SINGLES if x > 0][::4]
    rows = ", ".join(f"({SPARK.double(Fraction(x))})" for x in some)
    table = connection.session.sql(f"SELECT x, {text} AS y FROM VALUES {rows} AS singles(x)").toArrow()
    assert dict(zip(*(c.to_pylist() for c in table.columns), strict=True)) == {x: expected[x] for x in some}
