"""Sums are whole numbers of any length; an engine's type that would reach Python as a float is an error, not a number."""

from collections.abc import Callable, Sequence

import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.errors import InternalError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import EngineRow, exact_sums
from dpsql.rewrite.emit.emitter import Emitter
from tests.engines.asking import asked
from tests.support.exactness import measurements
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory

BY_FEW = "SELECT to_zone, date_trunc('hour', picked), count(*), variance(fare) FROM rides GROUP BY 1, 2"
HUGE = "SELECT g, CAST({} AS {}) FROM (SELECT g, sum(x) AS s FROM {{numbers}} GROUP BY g) AS t"
NUMBERS = "CREATE TABLE numbers AS SELECT i % {} AS g, 600 * 17592186044416 + i AS x FROM {} AS t (i)"
Rows = Sequence[EngineRow]


def _run(engine: DuckDb | PostgresEngine, sql: str, charge: Charge) -> Rows:
    return asked(engine, sql, charge, timeout=60.0)


@pytest.mark.parametrize("groups", [5, 500])
def test_a_sum_as_text_is_exact(
    groups: int,
    duck: Callable[[str], DuckDb],
    postgres: Callable[[str], PostgresEngine],
    charge: Charge,
) -> None:
    """Beyond double precision, in few rows and in so many that they come as arrays."""
    rows = 3 * groups
    expected = {g: sum(600 * 2**44 + i for i in range(g, rows, groups)) for g in range(groups)}
    answers = (
        _run(duck(NUMBERS.format(groups, f"range({rows})")), HUGE.format("s", "VARCHAR"), charge),
        _run(postgres(NUMBERS.format(groups, f"generate_series(0, {rows} - 1)")), HUGE.format("s", "text"), charge),
    )
    for answer in answers:
        assert {int(str(g)): int(str(x)) for g, x in answer} == expected
    assert any(int(float(x)) != x for x in expected.values())


def test_a_huge_integer_is_not_read_as_a_float(duck: Callable[[str], DuckDb], charge: Charge) -> None:
    """DuckDB would give 128-bit integers as floats in arrays; a statement that asks for them fails."""
    engine = duck(NUMBERS.format(500, "range(1500)"))
    with pytest.raises(InternalError):
        _run(engine, HUGE.format("s", "HUGEINT"), charge)


def test_a_measurement_that_forgets_the_text_fails(
    policy: Policy, world: World, charge: Charge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums that leave the engine as they are never become an answer."""
    bounded = with_rows(policy, "rides", "passenger", 3)
    engine = Memory(bounded)
    engine.execute(
        "INSERT INTO rides (rider, picked, fare, to_zone, from_zone) SELECT i, "
        "TIMESTAMP '2019-03-01' + to_hours(i % 168), i % 150, 1, 1 FROM range(3000) AS t (i)"
    )
    (part,) = measurements(BY_FEW, bounded, world, engine)
    assert isinstance(part, Sums)
    emitter = Emitter(engine.dialect, world.public.declared, engine.named)
    assert any(any(values) for values in exact_sums(part, _run(engine, part.sql(emitter), charge)).coordinates)
    monkeypatch.setattr(type(engine.dialect), "as_text", lambda _, text: text)
    with pytest.raises(InternalError):
        exact_sums(part, _run(engine, part.sql(emitter), charge))
