# ruff: noqa: E501  (two statements a line)
"""Records that break what is declared: an answer is the same whatever was asked before it, and stays what it is."""

import math
from decimal import Decimal
from functools import partial

import pytest

from dpsql.engines.base import Engine
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.gateway.reuse.test_contained import ROUNDED, pairs
from tests.support.fix_policy import with_chosen_rows
from tests.support.fix_world import Answer, NewClient

MORE = [
    ("SELECT payment_type, avg(fare), count(*) FROM trips GROUP BY 1", "SELECT payment_type, count(*) FROM trips GROUP BY 1"),
    ("SELECT pickup_zone, count(*) FROM trips GROUP BY 1", "SELECT count(*) FROM trips"),
    ("SELECT pickup_zone, payment_type, count(*) FROM trips GROUP BY 1, 2", "SELECT payment_type, count(*) FROM trips GROUP BY 1"),
    ("SELECT stars, count(*) FROM rides GROUP BY 1", "SELECT count(*) FROM rides"),
    ("SELECT from_zone, count(*) FROM rides GROUP BY 1", "SELECT count(*) FROM rides"),
    ("SELECT count(*) FILTER (WHERE stars = 1), count(*) FROM rides", "SELECT count(*) FROM rides"),
    ("SELECT paid, avg(price), count(*) FROM rides GROUP BY 1", "SELECT paid, count(*) FROM rides GROUP BY 1"),
    ("SELECT day, max(fare) FROM rides GROUP BY 1", "SELECT day, max(fare) FROM rides WHERE day < '2019-03-05' GROUP BY 1"),
    ("SELECT n, count(*) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS r GROUP BY 1", "SELECT count(*) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS r"),
    ("SELECT seats, count(*) FROM (SELECT rider, seats, stars FROM rides UNION ALL SELECT passenger_id, passenger_count, NULL FROM trips) AS r GROUP BY 1", "SELECT count(*) FROM (SELECT rider, seats, stars FROM rides UNION ALL SELECT passenger_id, passenger_count, NULL FROM trips) AS r"),
    ("SELECT stars, count(*) FROM (SELECT rider, seats, stars FROM rides UNION ALL SELECT passenger_id, passenger_count, NULL FROM trips) AS r GROUP BY 1", "SELECT count(*) FROM (SELECT rider, seats, stars FROM rides UNION ALL SELECT passenger_id, passenger_count, NULL FROM trips) AS r"),
]  # fmt: skip
"""What was asked before, and what is asked then, of columns of which rows lack what is declared."""
OFF = Settings(reuse="off")


@pytest.fixture(params=[False, True], ids=["declared", "auto"])
def bounded(request: pytest.FixtureRequest, policy: Policy) -> Policy:
    """A policy whose C is declared, and one whose C is chosen."""
    chosen = with_chosen_rows(with_chosen_rows(policy, "trips", "passenger"), "rides", "passenger")
    return chosen if request.param else policy


@pytest.mark.parametrize(("first", "second"), [*pairs("contained.sql"), *MORE])
def test_answers_do_not_depend_on_what_was_asked_before(
    first: str, second: str, soiled: Engine, bounded: Policy, new_client: NewClient
) -> None:
    """In both orders, and asked again at the end."""
    client = new_client(soiled, policy=bounded)
    alone = {sql: client.ask(sql, OFF) for sql in (first, second)}
    for order in ((first, second, first), (second, first, second)):
        client.ledger.advance("the other order")
        answers = [client.ask(sql) for sql in order]
        assert answers[2] == answers[0]
        for sql, answer in zip(order, answers, strict=True):
            _compare(answer, alone[sql], 0.3 if any(word in sql for word in ROUNDED) else 1e-6)


def _compare(answer: Answer, alone: Answer, within: float) -> None:
    keyed = [sorted(some.rows, key=repr) for some in (answer, alone)]
    assert len(keyed[0]) == len(keyed[1])
    alike = partial(_alike, within=within)
    assert all(all(map(alike, *rows)) for rows in zip(*keyed, strict=True)), (answer.rows, alone.rows)


def _alike(value: object, other: object, within: float) -> bool:
    if isinstance(value, int | float | Decimal) and isinstance(other, int | float | Decimal):
        return math.isclose(value, other, rel_tol=1e-6, abs_tol=within)
    return value == other
