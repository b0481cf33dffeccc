"""Expressions that nobody thought of: nested at random, they are refused before data is read, or never fail."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.bounds import facts, require_interval
from dpsql.rewrite.emit.binning import lattice_step
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.functions.function import arithmetic_type
from dpsql.rewrite.functions.temporal import AGE_FIELDS, FIELDS
from dpsql.rewrite.ir.calendar import UNITS
from dpsql.rewrite.ir.expr import Apply, Const, Digits, Expr, IntervalValue, TimeField, Unit, refs
from tests.engines.nasty import COLUMNS, DECLARED, REF, Engines, check
from tests.support.dialects import DIALECTS, POSTGRES
from tests.support.samples import examples

BOOL, DOUBLE, BIGINT = SqlType.BOOLEAN, SqlType.DOUBLE, SqlType.BIGINT
UNBOUNDED = "free"
_INTEGERS = st.sampled_from([0, 1, -1, 2, 7, 60, 10**6, -(10**9), 2**40]).map(lambda n: Const(n, BIGINT))
_DECIMALS = st.sampled_from(["0.5", "-2.5", "0.1", "1e-9", "1e-140", "1e-200", "1e200", "1e40", "3"]).map(
    lambda text: Const(Fraction(text), SqlType.NUMERIC)
)
_NUMBERS = st.one_of(
    _INTEGERS, _DECIMALS, st.sampled_from([r for r in REF.values() if r.type.is_number and r.name != UNBOUNDED])
)
_TIMES = st.sampled_from([REF["t"], REF["tn"]])
_DATES = st.sampled_from([REF["d"], REF["dv"]])
_AGES = st.sampled_from(sorted(AGE_FIELDS))
_SPANS = st.builds(IntervalValue, st.integers(-30, 30), st.integers(-900, 900), st.integers(-(10**13), 10**13))


def _arithmetic(op: str, a: Expr, b: Expr) -> Expr:
    return Apply(op, (a, b), arithmetic_type(a.type, b.type))


def _rounding(op: str, a: Expr) -> Expr:
    return a if a.type.is_integer and op != "sign" else Apply(op, (a,), a.type)


def _to_digits(a: Expr, digits: int) -> Expr:
    number = a if a.type is SqlType.NUMERIC else Apply("to_double", (a,), SqlType.NUMERIC)
    return Apply("round", (number,), SqlType.NUMERIC, Digits(digits))


def _analytic(op: str, a: Expr) -> Expr:
    return Apply(op, (a if a.type.is_float else Apply("to_double", (a,), DOUBLE),), DOUBLE)


def _power(a: Expr, n: int) -> Expr:
    return Apply("power", (_analytic("abs", a), Const(n, SqlType.INTEGER)), DOUBLE)


def _unified(op: str, a: Expr, b: Expr, *first: Expr) -> Expr:
    type_ = arithmetic_type(a.type, b.type)
    parts = (Apply("to_double", (e,), type_) if e.type.is_integer and not type_.is_integer else e for e in (a, b))
    return Apply(op, (*first, *parts), type_)


def _compared(op: str, a: Expr, b: Expr) -> Expr:
    return Apply(op, (a, b), BOOL)


def _numbers(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    conditions = st.one_of(
        st.sampled_from([REF["z"], REF["y"]]),
        st.builds(_compared, st.sampled_from(["lt", "ge", "eq", "ne", "same"]), inner, inner),
        inner.map(lambda e: Apply("is_null", (e,), BOOL)),
    )
    moved = st.one_of(
        _TIMES,
        st.builds(lambda t, span: Apply("shift", (t,), SqlType.TIMESTAMP, span), _TIMES, _SPANS),
        st.builds(lambda t, u: Apply("date_trunc", (t,), SqlType.TIMESTAMP, Unit(u)), _TIMES, st.sampled_from(UNITS)),
        st.builds(
            lambda t, n: Apply("shift_by", (t, _rounding("floor", n)), SqlType.TIMESTAMP, IntervalValue(0, 1, 1)),
            _TIMES,
            inner,
        ),
        _DATES.map(lambda d: Apply("date_to_timestamp", (d,), SqlType.TIMESTAMP)),
    )
    arithmetic = st.builds(_arithmetic, st.sampled_from(["add", "sub", "mul", "div", "mod"]), inner, inner)
    return st.one_of(
        arithmetic,
        arithmetic.map(lambda e: Apply("abs", (e,), e.type)),
        arithmetic.flatmap(lambda e: st.builds(_arithmetic, st.sampled_from(["mul", "div"]), inner, st.just(e))),
        st.builds(_rounding, st.sampled_from(["floor", "ceil", "trunc", "round", "sign"]), inner),
        st.builds(_to_digits, inner, st.integers(-15, 15)),
        inner.map(lambda e: Apply("neg", (e,), e.type)),
        inner.map(lambda e: e if e.type.is_integer else Apply("to_integer", (e,), BIGINT)),
        st.builds(_analytic, st.sampled_from(["sqrt", "ln", "log10", "exp"]), inner),
        st.builds(_power, inner, st.integers(0, 16)),
        st.builds(_unified, st.sampled_from(["greatest", "least", "coalesce"]), inner, inner),
        st.builds(lambda c, a, b: _unified("case", a, b, c), conditions, inner, inner),
        st.builds(
            lambda f, t: Apply("extract", (t,), SqlType.NUMERIC, TimeField(f)), st.sampled_from(sorted(FIELDS)), moved
        ),
        st.builds(lambda a, b: Apply("elapsed", (a, b), BIGINT), moved, moved),
        st.builds(
            lambda f, a, b: Apply("age", (a, b), SqlType.NUMERIC, TimeField(f)),
            st.sampled_from(sorted(AGE_FIELDS)),
            moved,
            moved,
        ),
        st.builds(
            lambda d, n, e: Apply("date_diff", (Apply("date_add", (d, n), SqlType.DATE), e), SqlType.INTEGER),
            _DATES,
            inner.filter(lambda e: e.type.is_integer),
            _DATES,
        ),
    )


_EXPRESSIONS = st.recursive(_NUMBERS, _numbers, max_leaves=6)


# Without their own names the strategies would be written out in full.
EXPRESSIONS = st.deferred(lambda: _EXPRESSIONS)


def _computable(expr: Expr) -> bool:
    """Return whether planning lets the expression pass; its refusals are no part of this test."""
    try:
        require_interval(expr, facts(expr, {ref: DECLARED.facts_of(ref) for ref in refs(expr)}))
        Emitter(POSTGRES, DECLARED).sql(expr)
    except DpsqlError:
        return False
    return True


@settings(
    max_examples=examples(50, 1_500),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(st.lists(EXPRESSIONS.filter(_computable), min_size=4, max_size=8))
def test_what_planning_lets_pass_never_fails(engines: Engines, exprs: list[Expr]) -> None:
    """What is summed of it stays on the lattice."""
    check(engines, exprs, nested=True)
    for dialect in DIALECTS:
        emitter = Emitter(dialect, DECLARED)
        intervals = [require_interval(e, facts(e, {ref: DECLARED.facts_of(ref) for ref in refs(e)})) for e in exprs]
        texts = [lattice_step(emitter, e, interval, 2048) for e, interval in zip(exprs, intervals, strict=True)]
        for values in engines.ask(dialect, texts):
            assert all(0 <= value <= 2048 for value in values if value is not None)


@pytest.mark.parametrize("name", [s.column.name for s in COLUMNS])
def test_a_column_is_always_within_its_declaration(engines: Engines, name: str) -> None:
    """Whatever is stored."""
    check(engines, [REF[name]])


def _within_word(op: str, far: Expr, near: Expr) -> Expr:
    return Apply("to_integer", (_unified(op, far, near),), BIGINT)


@pytest.mark.parametrize(("op", "sign"), [("least", "abs"), ("greatest", "neg")])
def test_what_a_missing_value_leaves_alone_never_fails(engines: Engines, op: str, sign: str) -> None:
    """LEAST and GREATEST leave NULL out, also where a row without it is not counted; a constant is in every row."""
    far = Apply(sign, (_power(REF["c"], 8),), DOUBLE)
    columns = [_within_word(op, far, r) for r in REF.values() if r.type.is_number and r.name != UNBOUNDED]
    constant = _within_word(op, far, Const(5, BIGINT))
    passing = [expr for expr in (*columns, constant) if _computable(expr)]
    assert constant in passing
    check(engines, passing, nested=True)
