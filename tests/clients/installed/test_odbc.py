"""psqlodbc through pyodbc: with UseDeclareFetch=1 every SELECT becomes a cursor, which is how Tableau connects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.asked import GROUPED, LONG, REFUSED, ROWS
from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site

_TABLE_OID = 22  # psqlodbc adds it to the columns
MODES = ["UseDeclareFetch=0", "UseDeclareFetch=1;Fetch=2", "UseDeclareFetch=1;UseServerSidePrepare=0"]


def _connect(site: Site, mode: str) -> Any:
    import pyodbc  # noqa: PLC0415  # only `make test-clients` installs it

    driver = next(Path("/usr/lib").glob("*/odbc/psqlodbcw.so"))
    where = f"Server={site.host};Port={site.port};Database={site.database};Uid={site.user};Pwd={{{site.password}}}"
    return pyodbc.connect(f"Driver={driver};{where};SSLmode=disable;{mode}", autocommit=True)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """Give each way to connect."""
    return str(request.param)


@pytest.fixture
def cursor(here: Site, mode: str) -> Iterator[Any]:
    """Give a cursor on dpsql."""
    connection = _connect(here, mode)
    yield connection.cursor()
    connection.close()


def _catalogue(site: Site, mode: str) -> list[list[tuple[object, ...]]]:
    connection = _connect(site, mode)
    cursor = connection.cursor()
    seen = [
        [(*row[:_TABLE_OID], *row[_TABLE_OID + 1 :]) for row in rows]
        for rows in (
            cursor.tables(schema="public", tableType="TABLE").fetchall(),
            cursor.columns(schema="public", table="trips").fetchall(),
            cursor.columns(schema="public", table="zones").fetchall(),
            cursor.primaryKeys(schema="public", table="zones").fetchall(),
            cursor.foreignKeys(foreignSchema="public", foreignTable="trips").fetchall(),
        )
    ]
    connection.close()
    return seen


def test_catalogue_is_as_on_a_plain_server(here: Site, plain: Site, mode: str) -> None:
    """What ODBC's own functions tell of tables, columns, keys and indexes."""
    assert _catalogue(here, mode) == _catalogue(plain, mode)


def test_aggregates_are_answered(cursor: Any) -> None:
    """Without and with a parameter."""
    assert [tuple(row) for row in cursor.execute(GROUPED).fetchall()] == BY_PAYMENT
    for _ in range(3):
        assert [tuple(row) for row in cursor.execute(f"{LONG}?", 20.0).fetchall()] == [(LONG_TRIPS,)]


def test_rows_are_refused(cursor: Any) -> None:
    """With PostgreSQL's code, and the connection goes on."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # pyodbc's own, by its code
        cursor.execute(ROWS).fetchall()
    assert caught.value.args[0] == REFUSED
    cursor.connection.rollback()
    assert [tuple(row) for row in cursor.execute(GROUPED).fetchall()] == BY_PAYMENT
