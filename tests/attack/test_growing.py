"""Planning takes as much for each word of a long statement as for each of a short one: calls are counted, not seconds."""

import sys
from collections.abc import Callable, Iterator

import pytest

from dpsql.rewrite.bind.bound_reader import BoundReader
from dpsql.rewrite.syntax.whole.analyze import analyze
from tests.support.fix_shop import Shops
from tests.support.shop_desk import Desk

FEW, TIMES = 24, 4
GROWTH = 1.6 * TIMES
"""How many times as many calls are made for a statement that has so many times as many parts; squared it would be 16."""


def _each(write: Callable[[int], str], by: str = ", ") -> Callable[[int], str]:
    return lambda number: by.join(map(write, range(number)))


def _chain(number: int) -> str:
    return ", ".join(f"c{i + 1} AS (SELECT total FROM c{i})" for i in range(number))


SHAPES: dict[str, Callable[[int], str]] = {
    "conditions": lambda n: f"SELECT count(*) FROM orders WHERE {_each(lambda i: f'total <> {i}', ' AND ')(n)}",
    "sum of columns": lambda n: f"SELECT sum({_each(lambda i: f'(total + {i})', ' + ')(n)}) FROM orders",
    "HAVING": lambda n: f"SELECT status FROM orders GROUP BY 1 HAVING {_each(lambda i: f'count(*) > {i}', ' AND ')(n)}",
    "HAVING of keys": lambda n: (
        f"SELECT status FROM orders GROUP BY 1 HAVING {_each(lambda i: f'status <> {i!r}::text', ' AND ')(n)}"
    ),
    "outputs": lambda n: f"SELECT {_each(lambda i: f'count(*) + {i}')(n)} FROM orders",
    "CTEs in a chain": lambda n: f"WITH c0 AS (SELECT total FROM orders), {_chain(n)} SELECT count(*) FROM c{n}",
    "CTEs": lambda n: f"WITH {_each(lambda i: f'c{i} AS (SELECT total FROM orders)')(n)} SELECT count(*) FROM c0",
    "columns of LATERAL": lambda n: (
        f"SELECT sum({_each(lambda i: f'x.s{i}', ' + ')(n)}) FROM customers AS c, "
        f"LATERAL (SELECT {_each(lambda i: f'sum(total + {i}) AS s{i}')(n)} FROM orders AS o WHERE o.buyer = c.customer) AS x"
    ),
    "subqueries of a row": lambda n: (
        f"SELECT sum({_each(lambda i: f'(SELECT sum(total + {i}) FROM orders AS o WHERE o.buyer = c.customer)', ' + ')(n)}) "
        "FROM customers AS c"
    ),
    "subqueries nested": lambda n: f"SELECT count(*) FROM {'(SELECT * FROM ' * n}orders{') AS t' * n}",
    "answers": _each(lambda i: f"SELECT count(*) + {i} FROM orders", " UNION ALL "),
    "values": lambda n: (
        f"SELECT count(*) FROM items JOIN (VALUES {_each(lambda i: f'({i})')(n)}) AS v (n) ON v.n = part"
    ),
}


class _Calls:
    """Counts the calls of functions, those of Python's own too: the same in every run."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, _frame: object, event: str, _arg: object) -> None:
        self.number += event in ("call", "c_call")


@pytest.fixture(scope="module")
def desk(shops: Shops) -> Iterator[Desk]:
    """Plan statements over the shop."""
    shop = shops["duckdb"]
    with shop.world.connect("ana", "shop") as connection, shop.world.connect("dpsql_owner", "shop") as owner:
        yield Desk(shop, shop.policy, connection, owner)


def _calls(desk: Desk, sql: str) -> int:
    assert analyze(sql, desk.policy, BoundReader(desk.shop.world.oracle())) is not None
    calls = _Calls()
    sys.setprofile(calls)
    try:
        desk.priced(sql, "ana")
    finally:
        sys.setprofile(None)
    return calls.number


@pytest.mark.parametrize("name", list(SHAPES))
def test_planning_grows_as_statements_do(name: str, desk: Desk) -> None:
    """Whatever a statement has more of."""
    few, many = (_calls(desk, SHAPES[name](number)) for number in (FEW, FEW * TIMES))
    assert many < GROWTH * few, many / few
