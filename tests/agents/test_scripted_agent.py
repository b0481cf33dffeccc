"""Ten tasks of an analyst, solved from plans and refusals alone: what is wrong and what to write stands in the text."""

import asyncio
from typing import Any

from tests.agents.scripted import solved
from tests.agents.test_mcp import Refused, agent, over_stdio
from tests.clients.data import LONG_TRIPS, TRIPS
from tests.clients.site import Site

TASKS: list[tuple[str, str | None, Any]] = [
    ("SELECT * FROM trips WHERE fare > 20", None, [[LONG_TRIPS]]),
    ("SELECT avg(passenger_id) FROM trips", None, [[500]]),
    ("SELECT fare, count(*) FROM trips GROUP BY fare", None, None),
    ("SELECT pickup_ts, count(*) FROM trips GROUP BY pickup_ts", None, None),
    ("SELECT count(*) FROM trips WHERE fares > 20", None, [[LONG_TRIPS]]),
    ("SELECT string_agg(payment_type, ',') FROM trips", None, [["cash,credit card"]]),
    ("SELECT payment_type, count(*) FROM trips", None, [["cash", 1000], ["credit card", 1000], [None, 1000]]),
    ("SELECT sum(fare / passenger_count) FROM trips", None, None),
    (
        "SELECT borough, count(*) FROM zones LEFT JOIN trips ON pickup_zone = zone_id GROUP BY borough",
        None,
        [["Bronx", 1800], ["Queens", 1200]],
    ),
    ("SELECT fare FROM trips ORDER BY fare DESC LIMIT 1", None, None),
    ("SELECT count(*) FROM trips", "5000", [[TRIPS]]),
]  # fmt: skip


def test_tasks_are_solved_from_what_is_told(served: Site) -> None:
    """The first statement is what somebody writes who knows no privacy; what it becomes is answered."""

    async def run() -> None:
        async with agent(over_stdio(served)) as (_, call):
            for statement, epsilon, rows in TASKS:
                answer, asked = await solved(call, Refused, statement, epsilon)
                assert asked != statement or epsilon is not None
                assert answer["rows"]
                assert rows is None or sorted(answer["rows"], key=str) == sorted(rows, key=str), statement

    asyncio.run(run())
