"""What a condition says about an expression holds in both engines, for each row that satisfies it: to the last bit."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Expr, Facts, both, refs
from tests.engines.nasty import DECLARED, REF, Engines, texts_of
from tests.engines.test_any_expression import EXPRESSIONS
from tests.support.dialects import DIALECTS, DUCKDB
from tests.support.samples import examples

BOOL, DOUBLE = SqlType.BOOLEAN, SqlType.DOUBLE
_OPS = st.sampled_from(["lt", "le", "gt", "ge", "eq"])
_CONSTANTS = st.sampled_from(
    ["0", "0.1", "0.5", "2", "-2.5", "99.99999999999999", "0.09999999999999999999999", "1e-400"]
)


def _known(expr: Expr) -> Facts | None:
    try:
        return facts(expr, {ref: DECLARED.facts_of(ref) for ref in refs(expr)})
    except DpsqlError:
        return None


def _values(engines: Engines, expr: Expr) -> list[Any]:
    return list(engines.ask(DUCKDB, [texts_of(expr, DUCKDB)[0]])[0])


def _constant(data: st.DataObject, engines: Engines, expr: Expr) -> Const:
    """Return a constant to compare an expression with: one of its values, or another."""
    numbers = [float(v) for v in _values(engines, expr) if isinstance(v, (int, float))]
    finite = sorted({number for number in numbers if math.isfinite(number)})
    if data.draw(st.booleans()) and finite:
        value = data.draw(st.sampled_from(finite))
        return Const(data.draw(st.sampled_from([Fraction(value), Fraction(repr(value))])), DOUBLE)
    return Const(Fraction(data.draw(_CONSTANTS)), SqlType.NUMERIC)


def _inside(value: Any, interval: Interval | None) -> bool:
    return interval is None or interval.low <= Fraction(value) <= interval.high


@settings(
    max_examples=examples(50, 1_500),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(st.data())
def test_rows_that_pass_are_within_what_a_condition_says(engines: Engines, data: st.DataObject) -> None:
    """No value is beyond where an engine is said to find it, and none is NULL; a branch of CASE knows its condition."""
    expr = data.draw(EXPRESSIONS.filter(lambda e: _known(e) is not None and e.type.is_number))
    constants = [_constant(data, engines, expr) for _ in range(data.draw(st.integers(1, 2)))]
    condition = both(*(Apply(data.draw(_OPS), (expr, constant), BOOL) for constant in constants))
    note(f"{condition}")
    assume(refs(expr))
    try:
        env = refine_by_predicate(refs(expr), condition, DECLARED)
        chosen = Apply("case", (condition, expr, Const(None, expr.type)), expr.type)
        branch = _known(chosen)
        texts = {d: [*texts_of(expr, d), Emitter(d, DECLARED).sql(condition)] for d in DIALECTS}
    except DpsqlError:
        assume(False)
        return
    expr_facts = None if env is None else facts(expr, env)
    for dialect in DIALECTS:
        for value, present, holds in zip(*engines.ask(dialect, texts[dialect]), strict=True):
            if present and holds:
                assert expr_facts is not None, value
                assert not (value is None and not expr_facts.nullable)
                assert _inside(value, expr_facts.float_range), (value, expr_facts)
                assert branch is None or _inside(value, branch.float_range)


_COMPARED = EXPRESSIONS.filter(lambda e: _known(e) is not None and e.type.is_number)


def _condition(data: st.DataObject, engines: Engines) -> Expr:
    """Return a comparison of expressions, or of one and a constant; or one of two that holds, also in a CASE."""
    if data.draw(st.integers(0, 3)) == 3:
        first, second = _condition(data, engines), _condition(data, engines)
        case = Apply("case", (first, second, data.draw(st.sampled_from([FALSE, TRUE, Const(None, BOOL)]))), BOOL)
        return data.draw(st.sampled_from([Apply("or", (first, second), BOOL), both(first, second), case]))
    expr = data.draw(_COMPARED)
    other = data.draw(_COMPARED) if data.draw(st.integers(0, 3)) == 3 else _constant(data, engines, expr)
    return Apply(data.draw(_OPS), tuple(data.draw(st.permutations([expr, other]))), BOOL)


@settings(
    max_examples=examples(50, 1_500),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(st.data())
def test_no_row_that_passes_is_outside_a_column_s_interval(engines: Engines, data: st.DataObject) -> None:
    """Whatever is computed of the columns, and whatever is stored: NaN, infinities, either zero, the smallest numbers."""
    condition = _condition(data, engines)
    note(f"{condition}")
    columns = [*refs(condition)]
    assume(columns)
    env = refine_by_predicate(columns, condition, DECLARED)
    for dialect in DIALECTS:
        try:
            texts = [Emitter(dialect, DECLARED).sql(condition), texts_of(condition, dialect)[1]]
        except DpsqlError:
            assume(False)
        holds, present, *columns_of = engines.ask(dialect, [*texts, *(texts_of(ref, dialect)[0] for ref in columns)])
        for row in (row for row, passes in enumerate(holds) if passes and present[row]):
            assert env is not None, row
            for ref, values in zip(columns, columns_of, strict=True):
                ref_facts = env[ref]
                assert ref_facts.nullable or values[row] is not None, ref
                assert values[row] is None or _inside(values[row], facts(ref, env).float_range), (ref, values[row])


@pytest.mark.parametrize(
    ("expr", "op", "constant", "interval"),
    [
        (Apply("abs", (REF["xn"],), DOUBLE), "lt", "5", Interval.of(0, 5)),
        (Apply("sub", (REF["x"], REF["xn"]), DOUBLE), "ge", "3", Interval.of(3, "120.5")),
        (Apply("elapsed", (REF["t"], REF["tn"]), SqlType.BIGINT), "gt", "7.5", None),
        (Apply("div", (REF["x"], REF["xn"]), DOUBLE), "eq", "7", Interval.of(7, 7)),
        (Apply("div", (REF["x"], REF["xn"]), DOUBLE), "le", "7", None),
    ],
)
def test_a_condition_narrows_an_expression(expr: Expr, op: str, constant: str, interval: Interval | None) -> None:
    """Also one that has no bounds of its own, where it bounds both sides."""
    condition = Apply(op, (expr, Const(Fraction(constant), DOUBLE)), BOOL)
    env = refine_by_predicate(refs(expr), condition, DECLARED)
    assert env is not None
    expr_facts = facts(expr, env)
    assert not expr_facts.nullable
    if interval is not None or expr.type is DOUBLE:
        assert expr_facts.interval == interval
    else:
        assert expr_facts.interval is not None
        assert expr_facts.interval.low == 8


@pytest.mark.parametrize(
    ("op", "value", "bound"), [("lt", "40", "39.99999999999999"), ("gt", "40", "40.00000000000001")]
)
def test_an_end_that_is_left_out_is_not_computed(op: str, value: str, bound: str) -> None:
    """The next number in double precision is the last that can occur."""
    condition = Apply(op, (REF["x"], Const(Fraction(value), DOUBLE)), BOOL)
    env = refine_by_predicate([REF["x"]], condition, DECLARED)
    assert env is not None
    within = facts(REF["x"], env).float_range
    assert within is not None
    assert float(within.high if op == "lt" else within.low) in (
        float(bound),
        math.nextafter(float(value), float(bound)),
    )


def test_nothing_is_below_the_bound(engines: Engines) -> None:
    """What no value can be costs nothing to ask; in neither engine a row says otherwise."""
    below = Apply("lt", (REF["x"], Const(0, DOUBLE)), BOOL)
    assert refine_by_predicate([REF["x"]], below, DECLARED) is None
    for dialect in DIALECTS:
        below_bound, present = engines.ask(
            dialect, [Emitter(dialect, DECLARED).sql(below), texts_of(REF["x"], dialect)[1]]
        )
        assert not any(a and b for a, b in zip(below_bound, present, strict=True))
