"""What an engine compares as one value is one when rows are ranked, and decides alone which of a unit's rows are kept."""

import random
from collections.abc import Sequence
from decimal import Decimal

import pytest

from tests.support.exactness import Exact, Measured, measurements
from tests.support.fix_wide import PLANS, Engines, plain
from tests.support.records import Row

VALUES = (
    "SELECT count(DISTINCT dbl) FROM {table}",
    "SELECT count(DISTINCT num) FROM {table}",
    "SELECT iv, count(DISTINCT round(g)) FROM {table} GROUP BY iv",
    "SELECT round(g), count(DISTINCT dbl) FROM {table} GROUP BY 1",
    "SELECT ceil(g), count(DISTINCT iv) FROM {table} GROUP BY 1",
    "SELECT trunc(g), count(DISTINCT txt) FROM {table} GROUP BY 1",
    "SELECT count(DISTINCT iv), count(DISTINCT day) FROM {table}",
)
FOUND = (
    "SELECT txt, round(g), count(*) FROM {table} GROUP BY 1, 2",
    "SELECT DISTINCT txt, ceil(g) FROM {table}",
    "SELECT txt, trunc(g), sum(iv) FROM {table} GROUP BY 1, 2",
    "SELECT DISTINCT big FROM {table}",
)
UNITS = {"visits": "person", "payers": "payer"}
CASES = [
    (role, table, sql)
    for role, table, every in (
        ("owner", "visits", VALUES),
        ("explorer", "visits", FOUND),
        ("owner", "payers", VALUES[:1]),
        ("explorer", "payers", FOUND[-1:]),
    )
    for sql in every
]


def _rows(table: str) -> list[Row]:
    """Return rows of units with more than they may have, each value written in both of its ways."""
    names = [Decimal(n) for n in range(1, 13)] if table == "payers" else list(range(1, 13))
    cells = [(-0.0, -0.25), (0.0, 0.25), (0.25, 0.75), (0.5, -0.75), (0.75, 0.0)]
    return [
        plain(UNITS[table], written, dbl=x and float(name) + x, g=g, iv=i % 4, txt="ab"[i % 2], big=i)
        for name in names
        for i, (x, g) in enumerate(cells)
        for written in _written(name)
    ]


def _written(name: int | Decimal) -> Sequence[int | Decimal]:
    """Return the same unit with several numbers of digits after the point, where it is a decimal."""
    return [name] if isinstance(name, int) else [name.quantize(Decimal(1).scaleb(-n)) for n in range(3)]


def _exact(parts: Sequence[Measured], table: str, rows: Sequence[Row]) -> list[Exact]:
    parts[0].engine.fill(table, rows)
    return [part.exact() for part in parts]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("role", "table", "sql"), CASES, ids=range(len(CASES)))
def test_no_order_of_rows_changes_what_is_kept(role: str, table: str, sql: str, plan: str, plans: Engines) -> None:
    """−0 and 0, 1.0 and 1.00: by hash or by sort, on several threads and with workers, the same rows are kept."""
    setting, rows = plans[plan], _rows(table)
    orders = [rows, rows[::-1], *(random.Random(n).sample(rows, len(rows)) for n in range(3))]  # noqa: S311  (an order)
    asked = measurements(sql.format(table=table), setting.policy, setting.world, setting.engine, role)
    parts = [Measured.of(part, setting.engine, setting.world) for part in asked]
    first, *others = [_exact(parts, table, order) for order in orders]
    assert any(any(map(any, exact.values())) for exact in first)
    assert all(other == first for other in others)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("role", "table", "sql"), CASES, ids=range(len(CASES)))
def test_no_unit_moves_what_others_keep(role: str, table: str, sql: str, plan: str, plans: Engines) -> None:
    """A unit that comes first, or last, with either zero, changes nothing but by its own rows."""
    setting, rows = plans[plan], _rows(table)
    for part in measurements(sql.format(table=table), setting.policy, setting.world, setting.engine, role):
        measured = Measured.of(part, setting.engine, setting.world)
        for extra in (0.0, -0.0):
            first = [plain(UNITS[table], 99, dbl=extra, g=extra, big=n) for n in range(3)]
            setting.engine.fill(table, [*first, *rows])
            whole = measured.exact()
            setting.engine.fill(table, rows)
            assert measured.distance(whole, measured.exact()) <= measured.claim
