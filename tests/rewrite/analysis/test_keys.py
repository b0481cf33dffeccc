"""Group keys whose values follow from public facts alone."""

import pytest

from dpsql.errors import MissingBounds, Unsupported
from dpsql.policy.model import Value
from dpsql.rewrite.analysis.keys import key_of
from dpsql.rewrite.ir.expr import Const, Expr, Results, TimeField
from tests.rewrite.refs import (
    BIGINT,
    BOOL,
    DATE,
    DAY_OF,
    DOUBLE,
    ENV,
    FARE,
    NUMERIC,
    PAID,
    PICKED,
    SEATS,
    apply,
    number,
)

PAIRS = apply(
    "mul", apply("floor", apply("div", FARE, number(50), type_=DOUBLE), type_=DOUBLE), number(50), type_=DOUBLE
)


def test_rows_are_grouped_by_what_decides_the_key() -> None:
    """FLOOR(x / 50) * 50 is grouped by FLOOR(x / 50), and shown as itself."""
    key = key_of(PAIRS, ENV, 10)
    assert key.grouped == PAIRS.args[0]
    assert key.shown == {-1: -50, 0: 0, 1: 50, 2: 100, 3: 150, None: None}


def test_few_texts_are_grouped_by_their_numbers() -> None:
    """Engines group by numbers faster; the texts come back from the numbers."""
    key = key_of(PAID, ENV, 10)
    assert key.grouped == apply("map", PAID, *(Const(t, PAID.type) for t in ("card", "cash")), option=Results((1, 2)))
    assert key.shown == {1: "card", 2: "cash", None: None}


@pytest.mark.parametrize(
    ("expr", "values"),
    [
        (SEATS, range(7)),
        (apply("sub", SEATS, number(3)), range(-3, 4)),
        (apply("mod", SEATS, number(3)), range(3)),
        (apply("lt", SEATS, number(3), type_=BOOL), [False, True]),
        (apply("date_add", DAY_OF, number(1), type_=DATE), range(1, 60)),
        (apply("extract", PICKED, type_=NUMERIC, option=TimeField("day")), [1, 2, 3]),
    ],
)
def test_every_value_is_a_group(expr: Expr, values: list[Value]) -> None:
    """Of whole numbers, dates and conditions all that the interval holds, in order."""
    assert list((key_of(expr, ENV, 100).shown or {}).values()) == list(values)


def test_fractions_are_no_keys() -> None:
    """Their values can't be listed; the hint says what can."""
    with pytest.raises(MissingBounds, match='column "fare" has no declared domain') as refused:
        key_of(FARE, ENV, 100)
    assert refused.value.because == "key-without-domain"


def test_too_many_groups_are_refused_before_they_are_listed() -> None:
    """The role's limit is checked on the interval, not by counting."""
    fine = apply("floor", apply("mul", FARE, number(10**12), type_=DOUBLE), type_=DOUBLE)
    with pytest.raises(Unsupported, match="155,000,000,000,001 groups") as refused:
        key_of(fine, ENV, 100)
    assert refused.value.because == "too-many-groups"


def test_a_value_is_returned_as_double_precision_has_it() -> None:
    """A tenth comes back a little beside itself; infinity is no group's value."""
    tenth = apply("div", SEATS, number(10), type_=NUMERIC)
    key = key_of(apply("round", tenth, type_=NUMERIC), ENV, 10)
    assert not key.fractional
    assert key_of(SEATS, ENV, 10).returned(3) == 3
    assert key.grouped.type in {NUMERIC, BIGINT}


def test_arithmetic_over_keys_makes_no_others() -> None:
    """Of seven numbers of seats there are seven multiples, and of pairs of dollars four."""
    seats = apply("add", apply("mul", SEATS, number(10**12)), SEATS)
    assert list(key_of(seats, ENV, 100).shown or {}) == [n * (10**12 + 1) for n in range(7)]
    turned = apply("abs", PAIRS, type_=DOUBLE)
    assert list((key_of(turned, ENV, 100).shown or {}).values()) == [0, 50, 100, 150, None]
