"""Noise levels hold what they say, of whatever is asked: over many epochs; the true answers are known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import mean

import numpy as np
import pytest

from dpsql.engines.duckdb.engine import DuckPrepared
from dpsql.policy.model import NoiseLevel, Policy
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Settings
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory
from tests.support.records import Maker

pytestmark = pytest.mark.slow

ROWS, EPOCHS, MORE = 100_000, 30, 300
FARES = np.round(np.minimum(np.random.default_rng(3).lognormal(2.3, 0.5, ROWS), 149), 2)
AGES = np.arange(ROWS) % 100
FILTERS = {
    "true": np.full(ROWS, True),
    "age < 50": AGES < 50,
    "age < 20": AGES < 20,
    "age < 10": AGES < 10,
    "age < 5": AGES < 5,
    "age = 1": AGES == 1,
    "fare > 10": FARES > 10,
    "fare > 20": FARES > 20,
    "fare BETWEEN 5 AND 8": (FARES >= 5) & (FARES <= 8),
    "fare < 5 AND age < 50": (FARES < 5) & (AGES < 50),
    "fare > 15 AND age < 20": (FARES > 15) & (AGES < 20),
}
"""The whole table, and ten conditions with 1,000 rows or more."""
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
ASKED: dict[str, Callable[[Values], object]] = {
    "count(*)": len,
    "sum(fare)": np.sum,
    "avg(fare)": np.mean,
    "var_pop(fare)": np.var,
    "median(fare)": np.median,
}


@pytest.fixture(scope="module")
def each_once() -> Iterator[None]:
    """Have the engine compute each measurement once: records stay as they are, and only noise differs between epochs."""
    rows_of: dict[str, Sequence[EngineRow]] = {}
    right = DuckPrepared.rows

    def rows(prepared: DuckPrepared, sql: str) -> Sequence[EngineRow]:
        if sql not in rows_of:
            rows_of[sql] = right(prepared, sql)
        return rows_of[sql]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckPrepared, "rows", rows)
        yield


@pytest.fixture(scope="module")
def rides(policy: Policy, each_once: None) -> Memory:
    """Give as many riders, with the fares above."""
    _ = each_once
    engine, maker = Memory(policy), Maker(7)
    row = maker.row(policy.tables["rides"])
    engine.fill(
        "rides",
        [
            row | {"rider": n, "fare": float(fare), "age": int(age)}
            for n, (fare, age) in enumerate(zip(FARES, AGES, strict=True))
        ],
    )
    return engine


def _asked(client: Client, sql: str) -> tuple[float, bool]:
    """Return an answer, and whether the client was told that it errs by more than it should."""
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    reply = replied(client.gateway, client.request(question, Settings(), ()))
    value = client.connection.execute(reply.text.encode()).fetchall()[0][0]
    return float("nan") if value is None else float(str(value)), bool(reply.notices)


@pytest.mark.parametrize("level", list(NoiseLevel))
@pytest.mark.parametrize("condition", FILTERS)
@pytest.mark.parametrize("asked", ASKED)
def test_answers_err_by_their_level(
    asked: str, condition: str, level: NoiseLevel, rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """The typical error of thirty epochs is below the level's upper end, or the client was told that it is not.

    Single errors of averages have a deviation of up to twice their mean, so that the mean of thirty is above the end by
    chance now and then, in one of hundreds of cells. Then three hundred more decide: where their expected mean is three
    quarters of the end, it is above it in at most one cell of 500.
    """
    roles = with_epsilon(policy, Fraction(1)).roles
    levelled = replace(policy, roles={name: replace(role, noise=level) for name, role in roles.items()})
    client = new_client(rides, policy=levelled)
    kept = FARES[FILTERS[condition]]
    exact = float(str(ASKED[asked](kept)))
    assert len(kept) >= 1000
    upper = {NoiseLevel.LOW: 0.05, NoiseLevel.MEDIUM: 0.1, NoiseLevel.HIGH: 0.2}[level]
    sql = f"SELECT {asked} FROM rides WHERE {condition}"
    assert _holds(client, sql, exact, upper, EPOCHS) or _holds(client, sql, exact, upper, MORE)


def _holds(client: Client, sql: str, exact: float, upper: float, epochs: int) -> bool:
    """Return whether the answers of so many epochs err by little enough, or most of them came with a notice."""
    errors, told = [], 0
    for _ in range(epochs):
        client.ledger.advance("another")
        value, noticed = _asked(client, sql)
        told += noticed
        if not noticed:
            errors.append(abs(value / exact - 1))
    return told > epochs / 2 or mean(errors) < upper
