"""Which columns are equal in every row that satisfies a condition."""

from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.analysis.owners import EqualColumns
from dpsql.rewrite.ir.expr import Apply, Expr, Ref, both


def _ref(source: int, name: str, type_: SqlType = SqlType.INTEGER) -> Ref:
    return Ref(source, f"t{source}", name, Column(name, type_, type_.value))


def _eq(expr: Expr, other: Expr) -> Apply:
    return Apply("eq", (expr, other), SqlType.BOOLEAN)


A, B, C, D = (_ref(i, name) for i, name in enumerate("abcd"))


def test_what_is_equal_to_one_is_equal_to_the_other() -> None:
    """However the equations stand, each column once and first what comes first."""
    equal = EqualColumns.of(both(_eq(A, B), _eq(C, D), _eq(D, A)))
    assert list(equal.to(2, "c")) == [C, D, A, B]
    assert equal.to(2, "a") == ()
    assert equal.sources_of(1, "b") == {0, 2, 3}


def test_only_conjuncts_count() -> None:
    """One side of an OR does not hold of every row, nor does what is denied."""
    either = Apply("or", (_eq(A, B), _eq(C, D)), SqlType.BOOLEAN)
    denied = Apply("not", (_eq(B, C),), SqlType.BOOLEAN)
    assert EqualColumns.of(both(either, denied)).classes == {}


def test_only_exact_comparisons_count() -> None:
    """Whole numbers of any width, and texts of one type; double precision takes several for one."""
    wide, text, code = _ref(1, "b", SqlType.BIGINT), _ref(2, "c", SqlType.TEXT), _ref(3, "d", SqlType.CHARACTER)
    double, number = _ref(4, "e", SqlType.DOUBLE), _ref(5, "f", SqlType.NUMERIC)
    assert EqualColumns.of(_eq(A, wide)).sources_of(0, "a") == {1}
    assert (
        EqualColumns.of(both(_eq(text, code), _eq(double, double), _eq(number, number), _eq(A, double))).classes == {}
    )


def test_columns_are_equal_in_their_places() -> None:
    """All of them, each to the one that is asked for."""
    x, y = _ref(0, "x"), _ref(1, "y")
    equal = EqualColumns.of(both(_eq(A, B), _eq(x, y)))
    assert equal.are_equal(0, ("a", "x"), 1, ("b", "y"))
    assert not equal.are_equal(0, ("a", "x"), 1, ("y", "b"))
    assert not EqualColumns.of(_eq(A, B)).are_equal(0, ("a", "x"), 1, ("b", "y"))
