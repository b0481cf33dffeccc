"""asyncpg: everything binary and prepared, types asked of the catalogue."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from tests.clients.asked import COLUMNS, GROUPED, LONG, REFUSED, ROWS, TABLES
from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site

Rows = list[tuple[Any, ...]]


def _on(site: Site, work: Callable[[Any], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        connection = await asyncpg.connect(site.url(), ssl=False)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(run())


def _rows(site: Site, statement: str, *parameters: object) -> Rows:
    async def fetch(connection: Any) -> Rows:
        return [tuple(row) for row in await connection.fetch(statement, *parameters)]

    rows: Rows = _on(site, fetch)
    return rows


@pytest.mark.parametrize("statement", [TABLES, COLUMNS])
def test_catalogue_is_as_on_a_plain_server(here: Site, plain: Site, statement: str) -> None:
    """Tables and columns, with types and comments."""
    assert _rows(here, statement) == _rows(plain, statement)


def test_aggregates_are_answered(here: Site) -> None:
    """Without and with parameters, an array too."""
    assert _rows(here, GROUPED) == BY_PAYMENT
    assert _rows(here, f"{LONG}$1", 20.0) == [(LONG_TRIPS,)]
    assert _rows(here, "SELECT count(*) FROM trips WHERE pickup_zone = ANY($1)", [1, 2]) == [(1200,)]


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("pickup_zone IN ($1,$2)", (1, 2)),
        ("pickup_zone = ANY(array[$1,$2]::int[])", (1, 2)),
        ("pickup_zone-$1=$2-$1 OR pickup_zone=$1", (1, 2)),
    ],
)
def test_parameters_need_no_space(here: Site, condition: str, values: tuple[int, ...]) -> None:
    """As most drivers and mappers write them."""
    assert _rows(here, f"SELECT count(*) FROM trips WHERE {condition}", *values) == [(1200,)]


def test_statements_about_a_table_are_passed_on(here: Site) -> None:
    """Its name in a literal, in syntax that only PostgreSQL knows, reads no row."""
    rows = _rows(here, "SELECT '{int}'::regtype[]::text, relname FROM pg_class WHERE relname = 'trips'")
    assert rows == [("{integer}", "trips")]


def test_rows_are_refused(here: Site) -> None:
    """With PostgreSQL's code."""
    with pytest.raises(asyncpg.InsufficientPrivilegeError) as caught:
        _rows(here, ROWS)
    assert caught.value.sqlstate == REFUSED


def test_cursor_fetches_in_steps(here: Site) -> None:
    """A portal with a row limit, open over several Syncs."""

    async def steps(connection: Any) -> Rows:
        async with connection.transaction():
            return [tuple(row) async for row in connection.cursor(GROUPED, prefetch=2)]

    assert _on(here, steps) == BY_PAYMENT


def test_pool_gives_connections_back(here: Site) -> None:
    """What asyncpg says to clean a connection is allowed."""

    async def twice() -> list[int]:
        async with asyncpg.create_pool(here.url(), ssl=False, min_size=1, max_size=1) as pool:
            return [await pool.fetchval(f"{LONG}20") for _ in range(2)]

    assert asyncio.run(twice()) == [LONG_TRIPS] * 2


def test_copy_gives_the_rows(here: Site) -> None:
    """As CSV."""
    copied: list[bytes] = []

    async def keep(data: bytes) -> None:
        copied.append(bytes(data))

    _on(here, lambda connection: connection.copy_from_query(GROUPED, output=keep, format="csv"))
    assert b"".join(copied) == b"cash,1000\ncredit card,1000\n,1000\n"
