"""Joins and subqueries that are followed in other words: no unit moves more, and nothing else is meant.

Each attack is first shown to succeed where one mistake was put in.
"""

from collections.abc import Sequence

import pytest

from dpsql.errors import DpsqlError
from tests.support import shop_mutants, word_mutants
from tests.support.dialects import DUCKDB
from tests.support.exactness import Measured
from tests.support.fix_dirty import NewUser
from tests.support.fix_engines import ENGINES
from tests.support.fix_shop import Shop, Shops, Tables
from tests.support.mutants import Break
from tests.support.records import Row
from tests.support.reference import Reference
from tests.support.shop_moves import UNITS, asked, worst

CROSSED = "SELECT count(*) FROM customers CROSS JOIN nations"
"""Each customer has one row by a constraint, of which a join makes several."""
CROSSED_ORDERS = "SELECT count(*) FROM orders CROSS JOIN parts"
TWICE = (
    "SELECT count(*) FROM customers c JOIN (SELECT o.order_id AS k, o.buyer AS b, row_number() OVER (PARTITION BY o.buyer "
    "ORDER BY o.total) AS n FROM orders o JOIN items i ON i.of_order = o.order_id) AS s ON s.b = c.customer "
    "AND s.k = c.balance"
)
"""An order stands as often among the rows with windows as it has items."""
OTHERS = (
    "SELECT count(*) FROM (SELECT q.k, row_number() OVER (PARTITION BY q.b ORDER BY q.k) AS n FROM (SELECT o.buyer AS b, "
    "CASE WHEN o.order_id > 5 THEN 0 ELSE 1 END AS k FROM orders o GROUP BY 1, 2) AS q) AS s JOIN items i ON i.of_order = s.k"
)
"""Items of another's order."""
FIRST = (
    "SELECT l.total, count(*) FROM customers c CROSS JOIN LATERAL (SELECT o.total FROM orders o WHERE o.buyer = c.customer "
    "ORDER BY o.total LIMIT 1) AS l GROUP BY 1"
)
FIRSTS = (
    "SELECT p.status, count(*) FROM orders p CROSS JOIN LATERAL (SELECT o.total FROM orders o WHERE o.buyer = p.buyer "
    "ORDER BY o.total LIMIT 1) AS l GROUP BY 1"
)
"""The first row of each unit."""

MOVED: Sequence[tuple[Break, str]] = (
    (word_mutants.constants_found_once, CROSSED),
    (shop_mutants.weighed_before_the_join, CROSSED_ORDERS),
    (word_mutants.joined_rows_once, TWICE),
    (word_mutants.computed_keys_named, OTHERS),
    (word_mutants.laterals_untied, FIRST),
    (shop_mutants.places_among_all, FIRSTS),
)


def _world() -> Tables:
    """Return three customers, of whom two have orders, each of one total, with many items of one order."""
    customers: list[Row] = [{"customer": n, "nation": 0, "segment": "home", "balance": n} for n in UNITS]
    orders: list[Row] = [
        {"order_id": n, "buyer": 1 + n // 6, "status": ("open", "done")[n // 6], "total": 3 + n // 6, "code": 1}
        for n in range(12)
    ]
    items: list[Row] = [
        {"item": n, "of_order": n if n < len(orders) else 1, "part": 1, "quantity": 2, "late": True} for n in range(40)
    ]
    return {"customers": customers, "orders": orders, "items": items}


def _falls(sql: str, shop: Shop) -> bool:
    """Return whether some unit moves what is measured further than the noise is made for."""
    try:
        (part,) = asked(sql, shop)
    except DpsqlError:
        return False
    return worst(part, shop, [_world()], *UNITS) > Measured.of(part, shop.engine, shop.world).claim


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", sorted({sql for _, sql in MOVED}))
def test_attack_fails(sql: str, dialect: str, shops: Shops) -> None:
    """No unit moves it further than is claimed, or it is refused."""
    assert not _falls(sql, shops[dialect])


@pytest.mark.parametrize(("mistake", "sql"), MOVED, ids=lambda case: getattr(case, "__name__", "sql"))
def test_attack_succeeds_on_a_mistake(mistake: Break, sql: str, shops: Shops, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attack moves more than is claimed where the mistake is that it is made for."""
    mistake(monkeypatch)
    assert _falls(sql, shops["duckdb"])


_NONE = "FROM zones z LEFT JOIN rides r ON r.to_zone = z.zone_id AND r.seats > 5 AND r.age > 99 GROUP BY 1"
EMPTY = f"SELECT z.zone, count(*) {_NONE}"
FILLED = f"SELECT z.zone, sum(coalesce(r.seats, 1)) {_NONE}"
LISTED = "SELECT paid FROM rides UNION ALL SELECT payment_type FROM trips"
MEANT: Sequence[tuple[Break, str]] = (
    (word_mutants.rows_that_are_empty, EMPTY),
    (word_mutants.rows_that_are_empty, FILLED),
    (word_mutants.lists_of_rows, LISTED),
)


def _misleads(sql: str, user: NewUser, reference: Reference) -> bool:
    """Return whether something else is answered than PostgreSQL says."""
    client = user("ana", DUCKDB)
    try:
        answer = client.ask(sql)
    except DpsqlError:
        return False
    kind = reference.policy.roles[client.asker.role].protects
    return sorted(map(repr, answer.rows)) != sorted(map(repr, reference.answer(sql, kind).rows))


@pytest.mark.parametrize("sql", sorted({sql for _, sql in MEANT}))
def test_nothing_else_is_answered(sql: str, user: NewUser, reference: Reference) -> None:
    """What can't be followed is refused."""
    assert not _misleads(sql, user, reference)


@pytest.mark.parametrize(("mistake", "sql"), MEANT, ids=lambda case: getattr(case, "__name__", "sql"))
def test_something_else_is_answered_on_a_mistake(
    mistake: Break, sql: str, user: NewUser, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is answered wrongly where the mistake is that it is made for."""
    mistake(monkeypatch)
    assert _misleads(f"{sql} -- by mistake", user, reference)
