"""Decimals that are computed are compared and cut off as PostgreSQL does it, which has all their digits."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import ceil, floor, trunc
from pathlib import Path

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from tests.policy.fix_config import write_files
from tests.support.exactness import unnoised
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_world import World
from tests.support.memory import Memory

_D = Decimal
_CONDITIONS: list[tuple[str, Callable[[Decimal], object]]] = [
    ("price * 3 = price + price + price", lambda _: True),
    ("price + 0.1 - 0.1 = price", lambda _: True),
    ("price + 0.1 - 0.1 IS NOT DISTINCT FROM price", lambda _: True),
    ("price * 1.1 <> price + price / 10", lambda _: False),
    ("price - 0.07 >= 0.22", lambda p: p - _D("0.07") >= _D("0.22")),
    ("price - 0.07 > 0.22", lambda p: p - _D("0.07") > _D("0.22")),
    ("price * 0.1 BETWEEN 0.03 AND 0.07", lambda p: _D("0.3") <= p <= _D("0.7")),
    ("price * seats IN (0.6, 0.7, 1.4)", lambda p: p * 2 in (_D("0.6"), _D("0.7"), _D("1.4"))),
    ("abs(price - 0.3) < 0.1", lambda p: abs(p - _D("0.3")) < _D("0.1")),
    ("greatest(price - 0.1, 0.2) = 0.2", lambda p: p <= _D("0.3")),
    ("price % 0.1 = 0", lambda p: p % _D("0.1") == 0),
    ("mod(price, 0.03) > 0.02", lambda p: p % _D("0.03") > _D("0.02")),
    ("CASE price * 3 WHEN 0.9 THEN 1 WHEN 2.1 THEN 2 END > 0", lambda p: p in (_D("0.3"), _D("0.7"))),
    ("sign(price * 3 - 0.3) = 0", lambda p: p * 3 == _D("0.3")),
    ("(price * 3)::float8 = 0.3", lambda p: p * 3 == _D("0.3")),
    ("nullif(price * 3, price + price + price) IS NULL", lambda _: True),
]
_NUMBERS: list[tuple[str, Callable[[Decimal], Decimal | int]]] = [
    ("floor(price * 100)", lambda p: floor(p * 100)),
    ("ceil(price * 100)", lambda p: ceil(p * 100)),
    ("trunc((price - 0.5) * 100)", lambda p: trunc((p - _D("0.5")) * 100)),
    ("floor(price / 0.1)", lambda p: floor(p / _D("0.1"))),
    ("price % 0.1", lambda p: p % _D("0.1")),
    ("floor(mod(price, 0.3) * 100)", lambda p: floor(p % _D("0.3") * 100)),
    ("floor(mod(price * 3, 0.7) * 100)", lambda p: floor(p * 3 % _D("0.7") * 100)),
    ("width_bucket(price, 0, 1, 100)", lambda p: min(floor(p * 100), 100) + 1),
    (
        "width_bucket(price, 0.3, 2.4, 7)",
        lambda p: 0 if p < _D("0.3") else min(floor((p - _D("0.3")) / _D("0.3")), 7) + 1,
    ),
    ("width_bucket(price * 2, 0, 6.6, 11)", lambda p: min(floor(p * 2 / _D("0.6")), 11) + 1),
    ("(price - 1) % 0.07", lambda p: (p - 1) % _D("0.07")),
]
PRICES = [Decimal(n) / 100 for n in range(300)]


@pytest.mark.parametrize("dialect", ENGINES)
def test_computed_decimals_have_the_digits_that_they_should(
    dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """19.99 - 5.00 is 14.99, though the difference in double precision is a little less."""
    tiny[dialect].fill("rides", [])
    rows = "i, 2, CAST(i - 1 AS DECIMAL(12, 4)) / 100"
    tiny[dialect].execute(
        f"INSERT INTO rides (rider, seats, price) SELECT {rows} FROM generate_series(1, {len(PRICES)}) AS t(i)"
    )
    for condition, holds in _CONDITIONS:
        ((found,),) = unnoised(f"SELECT count(*) FROM rides WHERE {condition}", policy, world, tiny[dialect]).values()
        assert found == sum(1 for price in PRICES if holds(price)), condition
    for number, of_price in _NUMBERS:
        ((found,),) = unnoised(f"SELECT sum({number}) FROM rides", policy, world, tiny[dialect]).values()
        assert found == pytest.approx(float(sum(of_price(price) for price in PRICES)), abs=1e-4), number


@pytest.mark.parametrize("dialect", ENGINES)
def test_what_passes_a_condition_is_in_a_group(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """0.2 * 3 in double precision is above 0.6: it is kept by WHERE, has its group, and counts in full."""
    cents = replace(policy.tables["rides"].columns["price"], bounds=Interval.of(0, 1), step=Fraction(1, 100))
    columns = {**policy.tables["rides"].columns, "price": cents}
    near = replace(policy, tables={**policy.tables, "rides": replace(policy.tables["rides"], columns=columns)})
    tiny[dialect].fill("rides", [])
    tiny[dialect].execute(
        "INSERT INTO rides (rider, price, seats) "
        "SELECT i, CAST(i % 101 AS DECIMAL(12, 4)) / 100, i % 7 FROM generate_series(0, 706) AS t(i)"
    )
    for key, condition in (
        ("price * 3", "price * 3 <= 0.6"),
        ("price * 3", "price * 3 BETWEEN 0.3 AND 0.6"),
        ("price * 3", "price * 3 IN (0.3, 0.6)"),
        ("price * 3", "price * 3 < 0.6"),
        ("seats * 0.1", "seats * 0.1 <= 0.3"),
    ):
        of_all = f"SELECT count(*), sum({key}) FROM rides WHERE {condition}"
        ((rows, total),) = unnoised(of_all, near, world, tiny[dialect]).values()
        by_key = f"SELECT {key}, count(*) FROM rides WHERE {condition} GROUP BY 1"
        groups = {shown[0]: number for shown, (number,) in unnoised(by_key, near, world, tiny[dialect]).items()}
        assert sum(number or 0 for number in groups.values()) == rows, (key, condition)
        sums = [Fraction(value or 0) * Fraction(number or 0) for value, number in groups.items()]
        assert total == pytest.approx(float(sum(sums)), abs=1e-4), (key, condition)
        assert " IN " in condition or 0 not in groups.values(), (key, condition)


_OF_UNITS = [
    ("SELECT sum(price) AS v FROM rides GROUP BY rider", "v = 0.35", 100),
    ("SELECT sum(price) AS v FROM rides GROUP BY rider", "v > 0.35", 0),
    ("SELECT avg(price) AS v FROM rides GROUP BY rider", "v = 0.175", 100),
    ("SELECT sum(price) OVER (PARTITION BY rider ORDER BY price) AS v FROM rides", "v <= 0.35", 200),
    ("SELECT stddev_pop(price) AS v FROM rides GROUP BY rider", "v = 0.025", 100),
    ("SELECT fare - avg(fare) OVER (PARTITION BY fare, rider) AS v FROM rides", "v = 0", 200),
    ("SELECT sum(price * 0.1) AS v, min(price * 0.1) AS m FROM rides GROUP BY rider, price", "v <> m", 0),
    ("SELECT avg(price * 0.1) AS v, min(price * 0.1) AS m FROM rides GROUP BY rider, price", "v < m", 0),
    ("SELECT avg(fare) AS v, max(fare) AS m FROM rides GROUP BY rider", "v >= m", 0),
    ("SELECT avg(fare) AS v, min(fare) AS m FROM rides WHERE price < 0.18 GROUP BY rider", "v <> m", 0),
]


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_units_numbers_are_those_with_which_they_are_compared(
    dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """0.15 and 0.20 are 0.35 together, as 35 hundredths and not as 35 times 0.01; a mean of one row is that row's value."""
    tiny[dialect].fill("rides", [])
    rows = "(i - 1) / 2, CAST(15 + 5 * ((i - 1) % 2) AS DECIMAL(12, 4)) / 100, CAST(i AS DOUBLE PRECISION) / 7 + i % 2"
    whole = rows.replace("(i - 1) / 2", "CAST(floor((i - 1) / 2) AS INTEGER)")
    tiny[dialect].execute(f"INSERT INTO rides (rider, price, fare) SELECT {whole} FROM generate_series(1, 200) AS t(i)")
    for query, condition, units in _OF_UNITS:
        asked = f"SELECT count(*) FROM ({query}) AS x WHERE {condition}"
        ((found,),) = unnoised(asked, policy, world, tiny[dialect]).values()
        assert found == units, (query, condition)


_SINGLES = [
    ("weight = '0.1'", 10),
    ("weight IN (0.1, 0.3)", 20),
    ("weight > '0.1'", 20),
    ("weight BETWEEN '0.1' AND '0.2'", 10),
    ("weight NOT IN (0.1, 0.3)", 10),
    ("CASE weight WHEN '0.25' THEN true ELSE false END", 10),
    ("weight = 0.1", 0),
    ("fare = 0.1::real", 0),
    ("fare::real = 0.1::real", 10),
    ("fare::real = weight", 30),
    ("fare::real <> fare", 20),
    ("price::real = weight", 30),
    ("weight = ANY('{0.1,0.3}'::real[])", 20),
    ("weight = ALL('{0.1}')", 10),
    ("weight + weight = '0.2'", 10),
    ("(weight + weight)::real = '0.6'", 10),
    ("floor(weight / '0.1') = 3", 10),
]


@pytest.mark.parametrize("stored", ["DOUBLE", "DECIMAL(10, 2)", "FLOAT"])
def test_real_may_be_stored_with_more_digits(stored: str, policy: Policy, world: World) -> None:
    """In Parquet and CSV files it mostly is: it is read as what it is declared to be, whatever it holds."""
    engine = Memory(policy)
    engine.execute(f"ALTER TABLE rides ALTER weight TYPE {stored}")
    engine.execute("INSERT INTO rides (rider, weight) SELECT i, [0.1, 0.25, 0.3][i % 3 + 1] FROM range(30) AS t(i)")
    if stored != "DECIMAL(10, 2)":
        engine.execute(
            f"INSERT INTO rides (rider, weight) SELECT 50, v::{stored} FROM (VALUES ('NaN'), ('inf')) AS t(v)"
        )
    if stored == "DOUBLE":
        engine.execute("INSERT INTO rides (rider, weight) VALUES (51, 1e300), (52, 1e-300)")
    for condition, number in (("weight = '0.1'", 10), ("weight IN (0.1, 0.3)", 20), ("weight = 0.1", 0)):
        ((found,),) = unnoised(f"SELECT count(*) FROM rides WHERE {condition}", policy, world, engine).values()
        assert found == number, condition
    if (
        stored == "DOUBLE"
    ):  # what is beyond the type is beyond the bounds, and counts as the nearest: infinity, and 1e300
        ((found,),) = unnoised("SELECT count(*) FROM rides WHERE weight >= 2", policy, world, engine).values()
        assert found == 2
    engine.close()


@pytest.mark.parametrize("dialect", ENGINES)
def test_real_has_single_precision(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """0.1 as a constant of the type, in a list and after a cast, as it is stored: what is not so far is another number."""
    tiny[dialect].fill("rides", [])
    tenth = "CASE i % 3 WHEN 0 THEN 0.1 WHEN 1 THEN 0.25 ELSE 0.3 END"
    rows = f"i, CAST({tenth} AS REAL), CAST({tenth} AS DOUBLE PRECISION), {tenth}"
    tiny[dialect].execute(
        f"INSERT INTO rides (rider, weight, fare, price) SELECT {rows} FROM generate_series(1, 30) AS t(i)"
    )
    for condition, number in _SINGLES:
        ((found,),) = unnoised(f"SELECT count(*) FROM rides WHERE {condition}", policy, world, tiny[dialect]).values()
        assert found == number, condition


_AROUND_0 = Interval.of(-1, 1)
_WEIGHTS = [Decimal(n) / 1000 for n in range(-300, 1000)]
_OF_DECIMALS_OF_SINGLES: list[tuple[str, Callable[[Decimal], object]]] = [
    ("weight::numeric = 0.29", lambda w: w == _D("0.29")),
    ("weight::numeric >= 0.65", lambda w: w >= _D("0.65")),
    ("weight::numeric IN (0.1, -0.1, 0.3)", lambda w: w in (_D("0.1"), _D("-0.1"), _D("0.3"))),
    ("weight::numeric * 100 = 29", lambda w: w == _D("0.29")),
    ("weight::numeric * 1.1 <= 0.319", lambda w: w <= _D("0.29")),
    ("-weight::numeric * 100 > 28.9", lambda w: w < _D("-0.289")),
    ("weight::decimal(10, 2) = 0.29", lambda w: _D("0.285") <= w < _D("0.295")),
    ("round(weight::numeric, 2) = -0.29", lambda w: _D("-0.295") < w <= _D("-0.285")),
    ("weight::float8 = 0.29", lambda _: False),
    ("(fare + 0.1::float8)::numeric = 0.3", lambda w: w == _D("0.2")),
    ("-(fare + 0.1::float8)::numeric IN (-0.3, -0.8)", lambda w: w in (_D("0.2"), _D("0.7"))),
    ("fare::numeric * 100 = 29", lambda w: w == _D("0.29")),
    ("abs(fare::numeric) * 1000 > 289.9", lambda w: abs(w) >= _D("0.29")),
    ("floor((fare * 3)::numeric * 10) = 6", lambda w: floor(w * 30) == 6),
    ("weight::float8::numeric = 0.29", lambda _: False),
    ("(weight + weight)::numeric = 0.58", lambda w: w == _D("0.29")),
    ("floor(weight::numeric * 100) = 29", lambda w: floor(w * 100) == 29),
    ("ceil(weight::numeric * 1000) = 290", lambda w: w == _D("0.29")),
    ("CASE WHEN weight > 0 THEN weight END::numeric = 0.29", lambda w: w == _D("0.29")),
]

_KEYS_OF_SINGLES: list[tuple[str, Callable[[Decimal], object]]] = [
    ("round(weight::numeric, 1)", lambda w: _rounded(w, 1)),
    ("weight::numeric(5, 2)", lambda w: _rounded(w, 2)),
    ("floor(weight::numeric * 100)", lambda w: floor(w * 100)),
    ("weight::numeric", lambda w: w),
]
"""The last one where the column has a step."""


@pytest.mark.parametrize("step", [None, Fraction(1, 1000)])
@pytest.mark.parametrize("dialect", ENGINES)
def test_the_decimals_of_floats_are_those_of_postgres(
    dialect: str, step: Fraction | None, policy: Policy, world: World, tiny: Engines
) -> None:
    """0.29 as a `real` is 0.28999999165534973, and as the `numeric` of that 0.29: with a step that is declared or without.

    0.1 + 0.2 in double precision is 0.30000000000000004, and as a `numeric` 0.3.
    """
    near = _with_weights(policy, step)
    tiny[dialect].fill("rides", [])
    number = "CAST(i - 301 AS DECIMAL(12, 4)) / 1000"
    rows = f"i, CAST({number} AS REAL), CAST({number} AS DOUBLE PRECISION)"
    tiny[dialect].execute(
        f"INSERT INTO rides (rider, weight, fare) SELECT {rows} FROM generate_series(1, {len(_WEIGHTS)}) AS t(i)"
    )
    for condition, holds in _OF_DECIMALS_OF_SINGLES:
        ((found,),) = unnoised(f"SELECT count(*) FROM rides WHERE {condition}", near, world, tiny[dialect]).values()
        assert found == sum(1 for w in _WEIGHTS if holds(w)), condition
        summed = f"SELECT sum(CASE WHEN {condition} THEN 1 ELSE 0 END) FROM rides"
        ((found,),) = unnoised(summed, near, world, tiny[dialect]).values()
        assert found == sum(1 for w in _WEIGHTS if holds(w)), condition
    for key, of_weight in _KEYS_OF_SINGLES[: None if step else -1]:
        groups = unnoised(f"SELECT {key}, count(*) FROM rides GROUP BY 1", near, world, tiny[dialect])
        found_groups = {Fraction(str(shown)): number for (shown,), (number,) in groups.items() if number}
        assert found_groups == Counter(Fraction(str(of_weight(w))) for w in _WEIGHTS), key
    ((total,),) = unnoised("SELECT sum(weight::numeric) FROM rides", near, world, tiny[dialect]).values()
    assert total == pytest.approx(float(sum(_WEIGHTS)), abs=1e-4)


@pytest.mark.parametrize("dialect", ENGINES)
def test_the_group_of_the_bound_is_there(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """0.29 * 100 in double precision is 28.999999999999996, of which floor made the last group."""
    near = _with_weights(policy, None, Interval.of(0, "0.29"))
    tiny[dialect].fill("rides", [])
    number = "CAST(i - 1 AS DECIMAL(12, 4)) / 100"
    rows = f"i, {number}, CAST({number} AS REAL), CAST({number} AS DOUBLE PRECISION)"
    tiny[dialect].execute(
        f"INSERT INTO rides (rider, price, weight, fare) SELECT {rows} FROM generate_series(1, 30) AS t(i)"
    )
    for number in ("price", "weight::numeric", "fare::numeric"):
        groups = unnoised(f"SELECT floor({number} * 100), count(*) FROM rides GROUP BY 1", near, world, tiny[dialect])
        assert {shown: rows for (shown,), (rows,) in groups.items() if rows} == dict.fromkeys(range(30), 1), number


def _with_weights(policy: Policy, step: Fraction | None, bounds: Interval = _AROUND_0) -> Policy:
    columns = dict(policy.tables["rides"].columns)
    for name in ("weight", "fare", "price"):
        columns[name] = replace(columns[name], bounds=bounds, step=Fraction(1, 100) if name == "price" else step)
    return replace(policy, tables={**policy.tables, "rides": replace(policy.tables["rides"], columns=columns)})


def _rounded(number: Decimal, digits: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def test_distinct_decimals_are_as_many_as_there_are(policy: Policy, world: World, tiny: Engines) -> None:
    """Sums that are one number as decimals, and several in double precision, are one."""
    tiny["duckdb"].fill("rides", [])
    tiny["duckdb"].execute(
        "INSERT INTO rides (rider, price, seats) SELECT i, i % 11 / 10, i % 7 FROM generate_series(0, 76) AS t(i)"
    )
    asked = "SELECT count(DISTINCT price + seats * 0.1) FROM rides"
    ((found,),) = unnoised(asked, policy, world, tiny["duckdb"]).values()
    assert found == 17


def test_values_of_single_precision_have_the_step_of_what_was_written(tmp_path: Path) -> None:
    """A tenth of the type is a multiple of 2^-27, of which there would be millions."""
    path = write_files(
        tmp_path, {"schemas/trips.yaml": ("type: smallint, values: [1, 2]", "type: real, values: [0.1, 0.25]")}
    )
    assert load(path).policy.tables["trips"].columns["seats"].step == Fraction(1, 20)
