"""An engine never fails on a row: its error would say that there is such a row, and a retry would say it again."""

from fractions import Fraction

import pytest

from dpsql.errors import DpsqlError, MissingBounds
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Policy, SqlType
from dpsql.rewrite.analysis.bounds import facts, facts_where
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.ir.expr import Apply, Const, Env, Expr, Facts, Ref
from tests.support.exactness import Measured, measurements
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import Maker

OVERFLOWING = (
    "SELECT count(*) FROM rides WHERE number + 9223372036854775807 > 0",
    "SELECT count(*) FROM rides WHERE seats > 0 AND (late OR -number > 0)",
    "SELECT count(*) FILTER (WHERE number * 2 > 0) FROM rides",
    "SELECT count(CASE WHEN number * 2 > 0 THEN 1 END) FROM rides",
    "SELECT count(*) FROM rides JOIN zones z ON z.zone_id = from_zone AND abs(number) > 0",
    "SELECT count(*) FROM (SELECT * FROM rides WHERE number - 1 > 0) AS r",
    "SELECT count(number * 2) FROM rides",
    "SELECT sum(seats * 9000000000000000000) FROM rides",
    "SELECT CASE WHEN number * 2 > 0 THEN 1 ELSE 0 END, count(*) FROM rides GROUP BY 1",
    "SELECT count(*) FROM rides WHERE day + seats * 1000000000 > '2019-03-05'",
    "SELECT count(*) FROM rides WHERE picked + interval '1000000 years' > '2019-03-05'",
    "SELECT count(*) FROM rides WHERE picked + seats * interval '1000000 days' > '2019-03-05'",
    "SELECT count(*) FILTER (WHERE dropped - interval '3000 years' IS NULL) FROM rides",
)
EXTREME = (
    "SELECT sum(fare / (seats - 3)), sum(fare / nullif(tip, 0)) FROM rides WHERE seats > 3 AND tip > 1",
    "SELECT count(*) FROM rides WHERE fare / tip > 1 OR age / (seats - seats) = 1 OR age % (seats - 1) = 0",
    "SELECT count(*) FROM rides WHERE sqrt(tip) > 1 OR ln(refund) > 1 OR exp(fare * 10) > 1 OR power(tip, 16) > 1",
    "SELECT count(*) FROM rides WHERE width_bucket(fare, 1e-100, 1e100, 10) = 1 OR width_bucket(age, -9, 2147483647, 9) = 1",
    "SELECT count(*) FROM rides WHERE fare::integer = 2 OR price::smallint = 3 OR tip::bigint = 4 OR fare::numeric = 5",
    "SELECT count(*) FROM rides WHERE date_trunc('week', picked) > dropped - interval '2000 years' + interval '1 second'",
    "SELECT sum(fare) FROM rides WHERE fare <= 1e-400",
    "SELECT sum(fare) FROM rides WHERE fare BETWEEN 5 AND 5." + "0" * 400 + "1",
    "SELECT count(*) FROM rides WHERE number > 99999999999999999999 OR number = ANY (ARRAY[1, 99999999999999999999])",
    "SELECT count(*) FROM rides WHERE note LIKE '%\\%%' OR note = 'it''s' OR note IN ('\\', '')",
)
TOO_LARGE = ("1e400", "1e5000", "-1e310", "1" + "0" * 320, "'1e400'::numeric")


@pytest.mark.parametrize("sql", OVERFLOWING)
def test_what_could_overflow_is_refused(sql: str, policy: Policy, world: World) -> None:
    """Arithmetic that the declared bounds do not keep small is refused wherever it stands."""
    with pytest.raises(MissingBounds):
        measurements(sql, policy, world, Memory(policy))


@pytest.mark.parametrize("sql", EXTREME)
def test_no_row_makes_the_engine_fail(sql: str, policy: Policy, world: World) -> None:
    """Roots of negative numbers, divisors of 0, NaN, infinities and the ends of every type are all computed."""
    engine, maker = Memory(policy), Maker(1, dirt=0.5, edges=0.5)
    engine.fill("rides", [maker.row(policy.tables["rides"]) for _ in range(300)])
    (sums,) = measurements(sql, policy, world, engine)
    assert len(Measured.of(sums, engine, world).rows()) == 1


@pytest.mark.parametrize("number", TOO_LARGE)
@pytest.mark.parametrize("shape", ["WHERE fare < {}", "WHERE seats = {}", "GROUP BY fare * {} > 1"])
def test_numbers_beyond_double_precision_are_refused(shape: str, number: str, policy: Policy, world: World) -> None:
    """A constant that no engine can hold is refused, not a crash."""
    with pytest.raises(DpsqlError):
        measurements(f"SELECT count(*) FROM rides {shape.format(number)}", policy, world, Memory(policy))


_LONG, _SHARE = (Ref(0, "t", n, Column(n, t, t.value)) for n, t in (("n", SqlType.BIGINT), ("x", SqlType.DOUBLE)))
_DECLARED: Env = {
    _LONG: Facts(nullable=False, interval=Interval.of(0, 2**61)),
    _SHARE: Facts.of_values((0, Fraction(1, 10)), nullable=False),
}


def _narrowed(ref: Ref, op: str, value: Fraction | int, type_: SqlType, factor: int) -> Facts:
    """Return what is known where `ref op value` holds of what is 0 there exactly, times a large factor."""
    env = dict(_DECLARED)
    condition = Apply(op, (ref, Const(value, type_)), SqlType.BOOLEAN)
    narrowed_env = (
        facts_where(condition, env, holds=True) if ref is _LONG else refine_by_predicate([ref], condition, _Only())
    )
    assert narrowed_env is not None
    expr: Expr = Apply("sub", (ref, Const(value if ref is _LONG else 0, ref.type)), ref.type)
    for _ in range(1 if ref is _LONG else 3):
        expr = Apply("mul", (expr, Const(factor, ref.type)), ref.type)
    return facts(expr, narrowed_env)


class _Only(DeclaredFacts):
    """The facts above."""

    def __init__(self) -> None:
        super().__init__({})

    def facts_of(self, ref: Ref) -> Facts:
        """Return what is known about one column."""
        return _DECLARED[ref]


@pytest.mark.parametrize(
    ("ref", "op", "value", "type_", "factor"),
    [
        (_LONG, "eq", 2**60, SqlType.NUMERIC, 10**18),
        (_LONG, "in", 2**60, SqlType.DOUBLE, 10**18),
        (_SHARE, "le", Fraction(1, 10) - Fraction(1, 10**30), SqlType.NUMERIC, 10**139),
    ],
)
def test_numbers_are_narrowed_as_engines_compare_them(
    ref: Ref, op: str, value: Fraction | int, type_: SqlType, factor: int
) -> None:
    """In double precision 2^60 = 2^60 + 1, and more rows stay than exact arithmetic lets: they must not overflow."""
    with pytest.raises(MissingBounds):
        _narrowed(ref, op, value, type_, factor)


def test_whole_numbers_are_narrowed_where_they_are_exact() -> None:
    """Else no product of long ones could be computed."""
    assert _narrowed(_LONG, "eq", 2**60, SqlType.BIGINT, 10**18).interval == Interval.of(0, 0)
    assert _narrowed(_LONG, "eq", 2**50, SqlType.NUMERIC, 10**18).interval == Interval.of(0, 0)
