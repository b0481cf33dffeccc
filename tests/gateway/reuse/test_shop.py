"""Statements made at random over several tables, one after the other in one ledger: each answers as it does by itself."""

import math
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from decimal import Decimal

import pytest

from dpsql.errors import DpsqlError
from dpsql.question import Asker, Settings
from tests.queries.test_shop import generous
from tests.support.fix_shop import USERS, Shops, made_up
from tests.support.fix_world import Answer, Client, noon
from tests.support.quick_ledger import quick_ledger
from tests.support.shop_generator import Written, written

_MORE = [pytest.param(first, marks=pytest.mark.slow) for first in range(100, 10_000, 100)]
_OFF = Settings(reuse="off")


@pytest.fixture(scope="module")
def pair(shops: Shops) -> Iterator[tuple[Client, Client]]:
    """Give a client that reads answers off others, and one for whom each question is the first."""
    shop, until = shops["duckdb"], ExitStack()
    shop.fill(made_up(3, size=12, most=12))  # with all kinds of dirt
    with until:
        clients = []
        for _ in range(2):
            ledger = until.enter_context(quick_ledger(noon))
            gateway = shop.world.gateway(shop.engine, ledger, policy=generous(shop.policy))
            connection, owner = shop.world.connect("ana", "shop"), shop.world.connect("dpsql_owner", "shop")
            until.callback(connection.close)
            until.callback(owner.close)
            clients.append(Client(gateway, ledger, connection, owner, Asker("ana", USERS["ana"])))
        yield clients[0], clients[1]


@pytest.mark.parametrize("first", [0, *_MORE])
def test_made_up_statements_in_one_ledger(first: int, pair: tuple[Client, Client]) -> None:
    """What is read off others is what is measured; of the first hundred some are."""
    reading, alone = pair
    read = 0
    for number in range(first, first + 100):
        statement = written(number)
        if statement.user != "ana":
            continue
        before = reading.charges
        answer, expected = _asked(reading, statement.sql, Settings()), _asked(alone, statement.sql, _OFF)
        if answer is None or expected is None:
            assert answer is expected, statement.sql
            continue
        if reading.charges == before:
            _compare(statement, answer, expected)
            read += 1
    assert read or first


def test_days_of_moments_tell_what_days_of_times_do(pair: tuple[Client, Client]) -> None:
    """Months, weeks and ranges of a time with a zone, by a clock that is UTC's."""
    reading, alone = pair
    ask = "SELECT {}, count(*), sum(minutes) FROM calls WHERE minutes > -3{} GROUP BY 1 ORDER BY 1"
    reading.ask(ask.format("date_trunc('day', ended)", ""))
    charges = reading.charges
    for key in (
        "date_trunc('week', ended)",
        "ended::date",
        "extract(dow FROM ended)",
        "date_trunc('month', ended)::date",
    ):
        for part in ("", " AND ended >= '2019-03-04'", " AND date_trunc('day', ended) < '2019-03-10'"):
            sql = ask.format(key, part)
            answer, expected = reading.ask(sql), alone.ask(sql, _OFF)
            assert [row[0] for row in answer.rows] == [row[0] for row in expected.rows], sql
            assert all(
                _alike(a, b)
                for own, other in zip(answer.rows, expected.rows, strict=True)
                for a, b in zip(own, other, strict=True)
            )
    assert reading.charges == charges


def _compare(statement: Written, answer: Answer, expected: Answer) -> None:
    """Compare group by group: the noise of two answers is not one, and what has a row or none may be NULL in either."""
    assert (answer.names, answer.types) == (expected.names, expected.types)
    answered, wanted = (
        {row[: statement.keys]: row[statement.keys :] for row in some.rows} for some in (answer, expected)
    )
    assert answered.keys() == wanted.keys(), statement.sql
    for key, row in answered.items():
        assert all(map(_alike, row, wanted[key])), (statement.sql, key, row, wanted[key])


def _alike(value: object, other: object) -> bool:
    if isinstance(value, int | float | Decimal) and isinstance(other, int | float | Decimal):
        return math.isclose(value, other, rel_tol=1e-3, abs_tol=1 if isinstance(value, int) else 0.1)
    if isinstance(value, timedelta) and isinstance(other, timedelta):
        return abs(value - other) < timedelta(minutes=1)
    return value is None or other is None or value == other


def _asked(client: Client, sql: str, settings: Settings) -> Answer | None:
    try:
        return client.ask(sql, settings)
    except DpsqlError:
        return None
