"""No row makes a measurement fail, whatever the engine tests first: nobody may hear of an order by an error."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dpsql.errors import DpsqlError, MissingBounds
from dpsql.policy.model import Policy
from tests.support.exactness import Measured, measurements
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_shop import Shop, Shops, shops
from tests.support.fix_world import NewClient, World
from tests.support.memory import Memory
from tests.support.records import Maker, Row
from tests.support.schema import of

__all__ = ["shops"]  # a fixture
ORDERS: Sequence[Row] = [
    {"order_id": n, "buyer": n % 7, "status": "open", "total": n % 3, "code": 1 + n % 3} for n in range(50)
]
LARGE: Row = {"order_id": 9 * 10**18, "buyer": 4, "status": "open", "total": 8, "code": 1}
BIG = "total::bigint * 2000000000 * 2000000000"
"""Too large for a bigint where the total is 8, and not where it is 1."""
SLOW = f"{'abs(' * 12}total{')' * 12} <= 1"
"""What takes an engine longer to test than `BIG`, so that it tests it last."""

UNCHECKED = [
    "SELECT count(*) FROM orders o WHERE total IN (SELECT p.order_id * p.order_id FROM orders p WHERE p.buyer = o.buyer)",
    "SELECT count(*) FROM orders o WHERE order_id * order_id IN (SELECT p.total FROM orders p WHERE p.buyer = o.buyer)",
    "SELECT count(*) FROM orders o WHERE order_id * order_id = ANY (SELECT p.total FROM orders p WHERE p.buyer = o.buyer)",
    "SELECT count(*) FROM orders WHERE order_id * order_id IN (SELECT nation FROM nations)",
    f"SELECT count(*) FROM orders o WHERE {BIG} IN (SELECT p.total FROM orders p WHERE p.buyer = o.buyer)",
    f"SELECT count(*) FROM (SELECT {BIG} AS q FROM orders) u WHERE q < 5",
]
MADE = [
    f"(SELECT {BIG} AS q FROM orders WHERE {SLOW} UNION ALL SELECT total FROM orders) u",
    f"(SELECT buyer, {BIG} AS q, count(*) FROM orders WHERE {SLOW} GROUP BY 1, 2) u",
    f"(SELECT {BIG} AS q, row_number() OVER (PARTITION BY buyer ORDER BY order_id) AS n FROM orders WHERE {SLOW}) u",
    f"(SELECT {BIG} AS q, row_number() OVER (PARTITION BY buyer, {BIG} ORDER BY total) AS n FROM orders WHERE {SLOW}) u",
    f"(SELECT buyer, sum({BIG}) AS q FROM orders WHERE {SLOW} GROUP BY 1) u",
]


def _counts(sql: str, shop: Shop, orders: Sequence[Row]) -> object:
    shop.fill({"orders": orders})
    return [
        Measured.of(part, shop.engine, shop.world).exact()
        for part in measurements(sql, shop.policy, shop.world, shop.engine)
    ]


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", UNCHECKED)
def test_what_could_overflow_is_refused(sql: str, dialect: str, shops: Shops) -> None:
    """On either side of a membership, too, before the engine is asked."""
    shop = shops[dialect]
    with pytest.raises(DpsqlError) as caught:
        measurements(sql, shop.policy, shop.world, shop.engine)
    assert caught.value.because in ("may-overflow", "column-without-bounds")


def test_what_could_overflow_is_refused_beside_an_answer(new_client: NewClient, policy: Policy) -> None:
    """Before any of the two is paid for."""
    client = new_client(Memory(policy))
    most = "(SELECT stars FROM rides GROUP BY stars ORDER BY count(*) DESC LIMIT 2)"
    for x in (" * ".join(["stars::bigint"] * 30), "price * 1e300"):
        with pytest.raises(DpsqlError) as caught:
            client.ask(f"SELECT count(*) FROM rides WHERE {x} IN {most}")
        assert caught.value.because in ("may-overflow", "column-without-bounds")
    assert client.charges == 0


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("made", MADE)
def test_rows_that_are_left_out_are_not_computed_with(made: str, dialect: str, shops: Shops) -> None:
    """A condition around rows that are made may be tested before the one that keeps an order out of them."""
    shop = shops[dialect]
    sql = f"SELECT count(*) FROM {made} WHERE q < 5"
    assert _counts(sql, shop, ORDERS) == _counts(sql, shop, [*ORDERS, LARGE])


ALONE = "least(power(tip, 16), length(paid))"
"""Too large for a bigint where there is no text, which each row that counts has."""


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(
    "asked", [f"sum({ALONE}) FROM rides", f"count(*) FROM rides WHERE {ALONE} < 5", "sum(length(paid)) FROM rides"]
)
def test_rows_that_lack_what_is_grouped_by_do_not_fail(
    asked: str, dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """PostgreSQL computes all that is asked of such a row before it leaves it out."""
    table, engine = policy.tables[of("rides")], tiny[dialect]
    columns = {**table.columns, "paid": replace(table.columns["paid"], nullable=False)}
    policy = replace(policy, tables={**policy.tables, table.name: replace(table, columns=columns)})
    row = Maker(1).row(table) | {"rider": 1, "tip": 35.0, "paid": "card"}
    exact, parts = [], measurements(f"SELECT paid, {asked} GROUP BY paid", policy, world, engine)
    for rows in ([row], [row, row | {"paid": None}, row | {"paid": "neither" * 100}]):
        engine.fill("rides", rows)
        exact.append([Measured.of(part, engine, world).exact() for part in parts])
    assert exact[0] == exact[1]
    for whole in (f"sum({ALONE}::bigint) FROM rides", f"count(*) FROM rides WHERE {ALONE}::bigint < 5"):
        with pytest.raises(MissingBounds):
            measurements(f"SELECT paid, {whole} GROUP BY paid", policy, world, engine)
