# ruff: noqa: E501  (a chart a line)
"""A dashboard that three users of one role look at all day: it costs its first load, and what is new."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from dpsql.question import Asker, Settings
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory

CHARTS: Sequence[tuple[str, str, Sequence[str]]] = (
    # As Superset, Metabase, Grafana and Tableau write them: what is shown, by what, and what it is filtered by.
    ("SELECT COUNT(*) AS count FROM public.trips WHERE {} LIMIT 50000", "", ("payment_type", "pickup_zone")),
    ('SELECT payment_type AS payment_type, COUNT(*) AS count, AVG(fare) AS "AVG(fare)", SUM(tip) AS "SUM(tip)" FROM public.trips WHERE {} GROUP BY payment_type ORDER BY count DESC LIMIT 1000', "payment_type", ("payment_type",)),
    ("SELECT DATE_TRUNC('day', \"pickup_ts\") AS __timestamp, COUNT(*) AS count FROM public.trips WHERE {} GROUP BY DATE_TRUNC('day', \"pickup_ts\") ORDER BY count DESC LIMIT 10000", "pickup_ts", ("pickup_ts",)),
    ("SELECT DATE_TRUNC('week', pickup_ts) AS week, COUNT(*) FROM trips WHERE {} GROUP BY 1", "pickup_ts", ("whole weeks",)),
    ("SELECT CAST(pickup_ts AS date) AS day, AVG(fare) AS fare FROM trips WHERE {} GROUP BY CAST(pickup_ts AS date) ORDER BY day ASC", "pickup_ts", ("pickup_ts",)),
    ('SELECT EXTRACT(dow FROM pickup_ts) AS dow, SUM(1) AS "sum:Number of Records:ok" FROM "public"."trips" "trips" WHERE {} GROUP BY 1', "pickup_ts", ("pickup_ts",)),
    ('SELECT "zones"."borough" AS "borough", COUNT(*) AS count FROM trips INNER JOIN zones ON trips.pickup_zone = zones.zone_id WHERE {} GROUP BY "zones"."borough"', "pickup_zone", ("pickup_zone", "borough")),
    ("SELECT pickup_zone, COUNT(*) AS n, AVG(fare) AS fare FROM trips WHERE {} GROUP BY pickup_zone ORDER BY n DESC LIMIT 10", "pickup_zone", ("pickup_zone",)),
    ("SELECT passenger_count, COUNT(*) AS count FROM trips WHERE {} GROUP BY passenger_count HAVING COUNT(*) > 10", "passenger_count", ("passenger_count",)),
    ("SELECT passenger_count > 2 AS many, AVG(tip) AS tip, COUNT(*) FROM trips WHERE {} GROUP BY 1", "passenger_count", ("passenger_count > 2",)),
    ("SELECT payment_type, percentile_cont(0.5) WITHIN GROUP (ORDER BY fare) AS median FROM trips WHERE {} GROUP BY payment_type", "payment_type", ("payment_type",)),
    ("SELECT payment_type, COUNT(DISTINCT passenger_id) AS people FROM trips WHERE {} GROUP BY payment_type", "payment_type", ("payment_type",)),
)  # fmt: skip
FILTERS = {
    "payment_type": ("payment_type = 'cash'", "payment_type IN ('cash', 'credit card')", "payment_type IS NOT NULL"),
    "pickup_ts": (
        "pickup_ts >= '2019-03-05' AND pickup_ts < '2019-03-12'",
        "pickup_ts BETWEEN '2019-03-20' AND '2019-03-24 23:59:59.999999'",
        "CAST(pickup_ts AS date) = '2019-03-09'",
    ),
    "whole weeks": ("pickup_ts >= '2019-03-04' AND pickup_ts < '2019-03-18'",),
    "pickup_zone": ("pickup_zone = 2", "pickup_zone IN (SELECT zone_id FROM zones WHERE borough = 'Bronx')"),
    "borough": ("borough = 'Queens'", "borough IN ('Bronx', 'Queens')"),
    "passenger_count": ("passenger_count = 1", "passenger_count BETWEEN 2 AND 4"),
    "passenger_count > 2": ("passenger_count > 2",),
}
ACROSS = "fare > 20"
"""A filter by what no chart is grouped by: each chart is a new question."""
REFRESHES = 500


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a dashboard has cost."""

    loaded: int
    charged: int
    new: int
    """The questions that no earlier answer said."""


def _refreshed(clients: Sequence[Client], settings: Settings) -> Refreshed:
    """Load all charts, then refresh charts with filters on what they show, and some by what none shows."""
    chance, asked = random.Random(9), set[str]()  # noqa: S311  # what people click on
    for chart, _, _ in CHARTS:
        clients[0].ask(chart.format("1 = 1"), settings)
    loaded = clients[0].charges
    for _ in range(REFRESHES):
        chart, _, names = chance.choice(CHARTS)
        condition = chance.choice(FILTERS[chance.choice(names)])
        if chance.random() < 1 / 50:
            condition = ACROSS
            asked.add(chart)
        chance.choice(clients).ask(chart.format(condition), settings)
    return Refreshed(loaded, clients[0].charges, len(asked))


def test_a_day_of_a_dashboard(engine: Memory, new_client: NewClient) -> None:
    """What is filtered by what a chart shows, and what is coarser, is free for all three; other filters are paid once."""
    first = new_client(engine)
    users = [first, *(Client(first.gateway, first.ledger, first.connection, first.owner, Asker(name, "owner")) for name in ("bob", "cai"))]  # fmt: skip
    day = _refreshed(users, Settings(epsilon="1"))
    assert day.loaded < len(CHARTS)
    assert day.charged <= day.loaded + day.new


def test_what_it_would_cost_without(engine: Memory, new_client: NewClient) -> None:
    """Where each question is measured that was not asked alike."""
    day = _refreshed([new_client(engine)], Settings(epsilon="1", reuse="off"))
    assert day.charged > 3 * len(CHARTS)
