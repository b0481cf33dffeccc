"""Maps from few values."""

from fractions import Fraction

import duckdb
import pytest

from dpsql.policy.model import Value
from dpsql.rewrite.analysis.bounds import evaluate, facts
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.functions.table import function_of
from dpsql.rewrite.ir.expr import Const, Results
from tests.rewrite.refs import BIGINT, BOOL, DOUBLE, ENV, FARE, PAID, SEATS, TEXT, apply, number
from tests.support.dialects import DUCKDB, POSTGRES

UPPER = apply("map", PAID, Const("card", TEXT), Const("cash", TEXT), type_=TEXT, option=Results(("CARD", None)))
ODD = apply("map", SEATS, *map(number, range(9)), type_=BOOL, option=Results(tuple(n % 2 == 1 for n in range(9))))


@pytest.mark.parametrize(("value", "result"), [("card", "CARD"), ("cash", None), ("coin", None), (None, None)])
def test_what_is_not_among_the_keys_is_null(value: Value | None, result: Value | None) -> None:
    """On every engine as in Python."""
    assert evaluate(UPPER, {PAID: value}) == result


def test_only_results_of_possible_keys_are_possible() -> None:
    """Of a column from 0 to 6 the keys beyond do not count."""
    assert facts(UPPER, ENV).values == ("CARD",)
    assert facts(UPPER, ENV).nullable
    seats = apply("map", SEATS, *map(number, range(9)), option=Results(tuple(range(10, 19))))
    assert facts(seats, ENV).values == tuple(range(10, 17))
    assert not facts(seats, ENV).nullable


def test_a_map_is_a_case_or_what_is_faster() -> None:
    """DuckDB looks texts up in a list, once for each entry of a column's dictionary."""
    args = ["p", "'card'", "'cash'"]
    emit = function_of(UPPER).emit
    assert emit(args, UPPER, POSTGRES) == "(CASE p WHEN 'card' THEN 'CARD' WHEN 'cash' THEN (NULL)::text END)"
    assert emit(args, UPPER, DUCKDB) == "list_extract(['CARD', CAST(NULL AS TEXT)], list_position(['card', 'cash'], p))"
    mapped = apply("map", SEATS, number(1), type_=BOOL, option=Results((True,)))
    assert emit(["s", "1"], mapped, DUCKDB) == "(CASE s WHEN 1 THEN TRUE END)"


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES])
def test_a_map_of_consecutive_numbers_is_an_array(dialect: Dialect) -> None:
    """If they are computed: a column, or numbers with gaps, may be anything, and are compared."""
    places = apply("add", SEATS, number(0), type_=BIGINT)
    for first, second, of, array in ((3, 4, places, True), (3, 5, places, False), (3, 4, SEATS, False)):
        text = apply("map", of, number(first), number(second), type_=TEXT, option=Results(("a", "b")))
        assert ("CASE" not in function_of(text).emit(["n", str(first), str(second)], text, dialect)) == array


def test_a_map_of_nothing_is_null() -> None:
    """A domain may be empty."""
    empty = apply("map", PAID, type_=BIGINT, option=Results(()))
    assert function_of(empty).emit(["p"], empty, POSTGRES) == "(NULL)::bigint"
    assert evaluate(ODD, {SEATS: 3}) is True


@pytest.mark.parametrize(
    ("given", "expected"), [("0.07e0", "7"), ("1.99e0", "199"), ("0.075e0", None), ("-3e0", None), ("NULL", None)]
)
def test_many_keys_are_looked_up_in_a_list(given: str, expected: str | None) -> None:
    """DuckDB would compute what is looked up for each WHEN of a CASE, which takes seconds with thousands."""
    keys = [f"{n / 100}e0" for n in range(200)]
    many = apply(
        "map",
        FARE,
        *(Const(Fraction(n, 100), DOUBLE) for n in range(200)),
        type_=TEXT,
        option=Results(tuple(map(str, range(200)))),
    )
    text = function_of(many).emit([f"CAST({given} AS DOUBLE)", *keys], many, DUCKDB)
    assert "WHEN" not in text
    assert duckdb.execute(f"SELECT {text}").fetchone() == (expected,)
