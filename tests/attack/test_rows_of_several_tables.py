"""Rows of several protected tables that belong to several units, or are more than claimed.

Each attack is first shown to succeed where one mistake was put in.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dpsql.engines.tables import require_tables
from dpsql.errors import ConfigError, DpsqlError
from dpsql.privacy.measurement import engine_sql
from dpsql.rewrite.analysis import owners as analysed
from dpsql.rewrite.analysis.owners import EqualColumns
from dpsql.rewrite.emit import source
from tests.support import mutants
from tests.support.exactness import Measured
from tests.support.fix_engines import ENGINES
from tests.support.fix_shop import PUBLIC, Shops, Tables
from tests.support.memory import Memory
from tests.support.mutants import Break
from tests.support.records import Row
from tests.support.schema import SCHEMA, of
from tests.support.served import Served
from tests.support.shop_moves import UNITS, asked, worst
from tests.support.shop_mutants import different_units, weighed_before_the_join

JOIN = "SELECT count(*) FROM orders JOIN calls ON buyer = caller"
LEFT = "SELECT count(*) FROM customers LEFT JOIN calls ON minutes > 2"
PRODUCT = "SELECT count(*) FROM orders, calls"


def many_rows(unit: int) -> Tables:
    """Return a world where one unit has far more rows than it may, and alone has calls."""
    names = [unit] * 9 + [n for n in UNITS if n != unit] * 2
    orders: list[Row] = [
        {"order_id": n, "buyer": u, "status": "open", "total": 1, "code": 1} for n, u in enumerate(names)
    ]
    items: list[Row] = [
        {"item": n, "of_order": n % len(orders), "part": 1, "quantity": n % 5, "late": True}
        for n in range(3 * len(orders))
    ]
    calls: list[Row] = [{"caller": unit, "minutes": 3} for _ in range(9)]
    customers: list[Row] = [{"customer": n, "nation": 0, "segment": "home", "balance": 0} for n in UNITS]
    return {"customers": customers, "orders": orders, "items": items, "calls": calls}


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", [LEFT, PRODUCT])
def test_rows_of_two_units_would_move_it_too_far(
    sql: str, dialect: str, shops: Shops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check a unit's leaving takes rows from all others."""
    different_units(monkeypatch)
    shop = shops[dialect]
    (part,) = asked(sql, shop)
    assert worst(part, shop, [many_rows(1)], *UNITS) > Measured.of(part, shop.engine, shop.world).claim


ONE_BILL: Tables = {
    "lines": [{"bill": 1, "place": 10 - unit, "payer": unit, "amount": 1} for unit in range(1, 5)],
    "returns": [{"bill": 1, "of_line": 9, "back": 4, "worn": True} for _ in range(4)],
}
"""A bill of several units, who paid a line each; one of them returned it, in pieces."""
PART_OF_A_KEY = (
    "SELECT count(*), sum(back) FROM lines l JOIN returns r ON r.bill = l.bill",
    "SELECT count(*) FROM lines l WHERE EXISTS (SELECT 1 FROM returns r WHERE r.bill = l.bill AND of_line > place)",
    "SELECT count(*) FROM lines a JOIN lines b ON a.bill = b.bill",
)


@pytest.mark.parametrize(("sql", "dialect"), [(sql, ENGINES[n % 2]) for n, sql in enumerate(PART_OF_A_KEY)])
def test_a_part_of_a_key_would_move_it_too_far(
    sql: str, dialect: str, shops: Shops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of one bill are several units', and only by all columns of its key is one of them named."""
    with pytest.raises(DpsqlError) as refused:
        asked(sql, shops[dialect])
    assert refused.value.because == "join-on-unit"

    def are_equal(self: EqualColumns, index: int, names: Sequence[str], other: int, others: Sequence[str]) -> bool:
        pairs = zip(names, others, strict=True)
        return any((ref.source, ref.name) == (other, b) for a, b in pairs for ref in self.to(index, a))

    monkeypatch.setattr(EqualColumns, "are_equal", are_equal)
    shop = shops[dialect]
    (part,) = asked(sql, shop)
    assert worst(part, shop, [ONE_BILL], *UNITS) > Measured.of(part, shop.engine, shop.world).claim


IN_LIST = "SELECT count(*) FROM customers WHERE customer NOT IN (SELECT buyer FROM orders WHERE total > 3)"


def as_a_list(patch: pytest.MonkeyPatch) -> None:
    """Ask whether the unit is in a list of all units, in which one NULL makes every answer NULL."""
    right = source.from_where

    def listed(*rest: Any) -> str:
        return re.sub(
            r"NOT EXISTS \(SELECT 1 FROM (\S+) AS s1 WHERE .*",
            r"""s0."customer" NOT IN (SELECT s1."buyer" FROM \1 AS s1 WHERE s1."total" > 3)""",
            right(*rest),
        )

    patch.setattr(engine_sql, "from_where", listed)


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_row_of_nobody_in_a_list_would_change_everybodys(
    dialect: str, shops: Shops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NOT IN is asked as NOT EXISTS, of which NULL is nothing."""
    shop = shops[dialect]
    nobodys: list[Row] = [{"order_id": 1, "buyer": None, "status": "open", "total": 5, "code": 1}]
    tables = {**many_rows(1), "orders": nobodys}
    (part,) = asked(IN_LIST, shop)
    assert worst(part, shop, [tables], None) == 0
    as_a_list(monkeypatch)
    assert worst(part, shop, [tables], None) > Measured.of(part, shop.engine, shop.world).claim


@pytest.mark.parametrize(
    ("mutant", "dialect"),
    [
        (weighed_before_the_join, "duckdb"),
        *((mutant, dialect) for mutant in (mutants.no_cap, mutants.half) for dialect in ENGINES),
    ],
)
def test_more_rows_than_claimed_would_move_it_too_far(
    mutant: Break, dialect: str, shops: Shops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of rows multiply, and are bounded after the join."""
    shop = shops[dialect]
    (part,) = asked(JOIN, shop)
    claim = Measured.of(part, shop.engine, shop.world).claim
    assert worst(part, shop, [many_rows(1)], *UNITS) <= claim
    mutant(monkeypatch)
    (part,) = asked(JOIN, shop)
    broken = Measured.of(part, shop.engine, shop.world).claim
    assert worst(part, shop, [many_rows(1)], *UNITS) > broken


@pytest.fixture(scope="module")
def loose(shops: Shops) -> Iterator[Shops]:
    """The shop where nothing keeps the key of orders unique."""
    policy, world = shops["duckdb"].policy, shops["postgres"].world
    memory, served = Memory(policy, public=PUBLIC), Served(world, "shop_loose", PUBLIC)
    for table in ("orders", "lines"):
        name = memory.named(of(table))
        memory.execute(f"CREATE TABLE copied AS FROM {name}; DROP TABLE {name}; CREATE TABLE {name} AS FROM copied")
        memory.execute("DROP TABLE copied")
        served.execute(f"ALTER TABLE {SCHEMA}.{table} DROP CONSTRAINT {table}_pkey")
    memory.execute(f"CREATE UNIQUE INDEX one ON {memory.named(of('lines'))} (place, bill, payer)")
    served.execute(f"ALTER TABLE {SCHEMA}.lines ADD UNIQUE (place, bill, payer)")
    yield {"duckdb": replace(shops["duckdb"], engine=memory), "postgres": replace(shops["postgres"], engine=served)}
    served.close()
    memory.close()


TWO_OWNERS: Tables = {
    "orders": [{"order_id": 7, "buyer": n, "status": "open", "total": 1, "code": 1} for n in UNITS],
    "items": [{"item": n, "of_order": 7, "part": 1, "quantity": 4, "late": True} for n in range(5)],
    "lines": [{"bill": 7, "place": 1, "payer": n, "amount": 1} for n in UNITS],
    "returns": [{"bill": 7, "of_line": 1, "back": 4, "worn": True} for _ in range(5)],
}
"""Several customers' order, and line of a bill, with one key: whoever leaves takes its items along."""


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM items",
        "SELECT sum(quantity) FROM items JOIN parts ON parts.part = items.part",
        "SELECT count(*), sum(back) FROM returns",
    ],
)
def test_a_reference_that_is_not_enforced_is_refused(
    sql: str, dialect: str, loose: Shops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An item of several customers' order would be taken from all of them when one leaves."""
    shop = loose[dialect]
    with pytest.raises(DpsqlError) as refused:
        asked(sql, shop)
    assert refused.value.because == "reference-not-enforced"
    monkeypatch.setattr(analysed, "_require_enforced", lambda *_: None)
    (part,) = asked(sql, shop)
    assert worst(part, shop, [TWO_OWNERS], *UNITS) > Measured.of(part, shop.engine, shop.world).claim


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_key_that_is_not_enforced_names_no_row(dialect: str, loose: Shops) -> None:
    """A subquery that groups by it would put several customers' orders together."""
    with pytest.raises(DpsqlError) as refused:
        asked(
            "SELECT avg(s) FROM (SELECT order_id, sum(total) AS s FROM orders GROUP BY order_id) AS t", loose[dialect]
        )
    assert refused.value.because == "subquery-by-unit"


def test_a_start_without_the_constraint_is_refused(loose: Shops) -> None:
    """The owner learns which table has to have it."""
    for shop in loose.values():
        with pytest.raises(ConfigError) as refused:
            require_tables(shop.policy, shop.engine)
        for table, key in (("items", f"{of('orders')}.order_id"), ("returns", f"{of('lines')}.(bill, place)")):
            assert f'the unit "customer" of table "{of(table)}" goes through {key}, which' in refused.value.message


def test_a_start_with_the_constraint_is_not(shops: Shops) -> None:
    """The very constraint is enough."""
    for shop in shops.values():
        require_tables(shop.policy, shop.engine)
