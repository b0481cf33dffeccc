"""Which conditions are proven to exclude each other, beside what all rows of a table say of them."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.analysis import exclusion as module
from dpsql.rewrite.analysis.bounds import evaluate, facts
from dpsql.rewrite.analysis.exclusion import Exclusion, exclusion
from dpsql.rewrite.ir.expr import FALSE, Apply, Const, Env, Expr, Facts, Ref, both

BOOL = SqlType.BOOLEAN


def _ref(name: str, type_: SqlType) -> Ref:
    return Ref(0, "t", name, Column(name, type_, type_.value))


PAID, LATE = _ref("paid", SqlType.TEXT), _ref("late", BOOL)
SEATS, FARE, TIP = _ref("seats", SqlType.INTEGER), _ref("fare", SqlType.DOUBLE), _ref("tip", SqlType.DOUBLE)
NOTE = _ref("note", SqlType.TEXT)
KNOWN: Env = {
    PAID: Facts.of_values(("card", "cash"), nullable=True),
    LATE: Facts.of_values((False, True), nullable=False),
    SEATS: Facts(nullable=False, interval=Interval.of(0, 6)),
    FARE: Facts(nullable=False, interval=Interval.of(0, 150)),
    TIP: Facts(nullable=True, interval=Interval.of(-5, 35)),
    NOTE: Facts(),
}


def facts_of(expr: Expr) -> Facts:
    """Return the facts about an expression over the columns here."""
    return facts(expr, KNOWN)


def _is(op: str, a: Expr, b: str | float | Fraction) -> Expr:
    value = b if isinstance(b, str) else Fraction(b)
    return Apply(op, (a, Const(value, a.type)), BOOL)


def _not(a: Expr) -> Expr:
    return Apply("not", (a,), BOOL)


def _null(a: Expr) -> Expr:
    return Apply("is_null", (a,), BOOL)


CASH, CARD = _is("eq", PAID, "cash"), _is("eq", PAID, "card")
SUM = Apply("add", (FARE, TIP), SqlType.DOUBLE)
MORE = Apply("gt", (FARE, TIP), BOOL)
HOUR = Apply("like", (NOTE, Const("a%", SqlType.TEXT)), BOOL)

CASES: Sequence[tuple[str, Sequence[Expr], bool | None]] = (
    ("values", [CASH, CARD], False),
    ("values and NULL", [CASH, CARD, _null(PAID)], True),
    ("a condition and its opposite, which may be unknown", [CASH, _not(CASH)], False),
    ("a condition twice", [CASH, both(CASH, LATE)], None),
    ("conditions and opposites of something certain", [LATE, _not(LATE)], True),
    ("bands that meet", [_is("lt", FARE, 10), _is("ge", FARE, 10)], True),
    ("bands with a gap", [_is("lt", FARE, 10), _is("gt", FARE, 10)], False),
    ("bands that share one point", [_is("le", FARE, 10), _is("ge", FARE, 10)], None),
    ("whole numbers have none between", [_is("gt", SEATS, 1), _is("lt", SEATS, 2)], True),
    ("numbers have", [_is("gt", FARE, 1), _is("lt", FARE, 2)], None),
    (
        "numbers that are one in double precision",
        [_is("le", FARE, 10), _is("ge", FARE, 10 + Fraction(1, 10**20))],
        None,
    ),
    ("only beyond the bounds", [_is("lt", FARE, 0), _is("lt", FARE, 10)], False),
    ("at a bound, where larger values are", [_is("ge", FARE, 150), _is("eq", FARE, 150)], None),
    ("of a computed value", [_is("lt", SUM, 10), both(_is("ge", SUM, 10), LATE)], False),
    ("of two columns", [_is("lt", FARE, 10), _is("ge", TIP, 10)], None),
    ("a comparison of columns, and its opposite", [MORE, _not(MORE)], False),
    ("something not looked into, and its opposite", [HOUR, _not(HOUR)], False),
    ("texts without a domain", [_is("eq", NOTE, "a"), _is("eq", NOTE, "b")], False),
    ("a text and all others", [_is("eq", NOTE, "a"), _is("ne", NOTE, "a"), _null(NOTE)], True),
    ("texts other than two", [_is("ne", NOTE, "a"), _is("ne", NOTE, "b")], None),
    ("what never holds", [FALSE, LATE], False),
)


@pytest.mark.parametrize(("conditions", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_exclusion(conditions: Sequence[Expr], expected: bool | None) -> None:
    """What is proven: whether some condition holds in every row, or, with None, nothing."""
    assert exclusion(conditions, facts_of) == (None if expected is None else Exclusion(exhaustive=expected))


def test_too_many_cases_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are on cases and on the work for all of them."""
    conditions = [both(_is("eq", SEATS, 1), CASH), both(_is("eq", SEATS, 2), CASH)]
    assert exclusion(conditions, facts_of) is not None
    for limit, most in (("_MOST_CASES", 11), ("_MOST_STEPS", 167)):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, most)
            assert exclusion(conditions, facts_of) is None


_ATOMS = st.one_of(
    st.builds(_is, st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), st.just(SEATS), st.integers(-1, 7)),
    st.builds(_is, st.sampled_from(["eq", "ne"]), st.just(PAID), st.sampled_from(["card", "cash"])),
    st.sampled_from([LATE, _null(PAID)]),
)
_FORMULAS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        inner.map(_not),
        st.builds(lambda op, a, b: Apply(op, (a, b), BOOL), st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=4,
)
_ROWS = [
    dict(zip((SEATS, PAID, LATE), row, strict=True))
    for row in itertools.product(range(7), ("card", "cash", None), (False, True))
]


@settings(deadline=None, derandomize=True, database=None, max_examples=300)
@given(conditions=st.lists(_FORMULAS, min_size=1, max_size=3))
def test_as_all_rows_say(conditions: list[Expr]) -> None:
    """Over columns of which every row can be written down, what is proven is what is true, and nothing is missed."""
    true = [sum(evaluate(condition, row) is True for condition in conditions) for row in _ROWS]
    expected = None if max(true) > 1 else Exclusion(exhaustive=min(true) == 1)
    assert exclusion(conditions, facts_of) == expected
