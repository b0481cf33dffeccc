"""Data frames: pandas over three drivers, polars over connectorx and ADBC, which reads binary COPY.

They are imported by those who ask them: that takes more than a second, which every process would spend that runs tests.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from tests.clients.asked import COLUMNS, GROUPED, LONG, REFUSED, ROWS, TABLES
from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site

if TYPE_CHECKING:
    import pandas as pd


def _polars(site: Site, statement: str, engine: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = (
        import_module("polars").read_database_uri(statement, site.url(), engine=engine).rows()
    )
    return rows


def _adbc(site: Site) -> Any:
    return import_module("adbc_driver_postgresql.dbapi").connect(site.url())


def _pandas(site: Site, driver: str, statement: str, **parameters: object) -> "pd.DataFrame":
    engine = sa.create_engine(site.url(f"postgresql+{driver}"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        return import_module("pandas").read_sql(sa.text(statement), connection, params=parameters)


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "pg8000"])
def test_pandas_reads_answers(here: Site, driver: str) -> None:
    """Rows, names and types; with a parameter; in pieces."""
    frame = _pandas(here, driver, GROUPED)
    assert list(frame.columns) == ["payment_type", "n"]
    assert frame["n"].dtype == "int64"
    assert [
        (None if import_module("pandas").isna(key) else key, count) for key, count in frame.itertuples(index=False)
    ] == BY_PAYMENT
    assert _pandas(here, driver, f"{LONG}:fare", fare=20).iloc[0, 0] == LONG_TRIPS


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "pg8000"])
def test_pandas_reads_the_catalogue(here: Site, plain: Site, driver: str) -> None:
    """The same frame as from a plain server."""
    import_module("pandas").testing.assert_frame_equal(_pandas(here, driver, COLUMNS), _pandas(plain, driver, COLUMNS))


@pytest.mark.parametrize("statement", [TABLES, GROUPED, f"{LONG}20"])
def test_polars_over_connectorx(here: Site, statement: str) -> None:
    """It counts first, then copies in binary."""
    got = _polars(here, statement, "connectorx")
    assert got == {TABLES: [("trips", "BASE TABLE"), ("zones", "BASE TABLE")], GROUPED: BY_PAYMENT}.get(
        statement, [(LONG_TRIPS,)]
    )


def test_connectorx_is_refused_rows(here: Site) -> None:
    """The error says what dpsql said."""
    with pytest.raises(RuntimeError, match="rows of trips are protected"):
        _polars(here, ROWS, "connectorx")


@pytest.mark.parametrize("statement", [TABLES, GROUPED, f"{LONG}20"])
def test_polars_over_adbc(here: Site, statement: str) -> None:
    """ADBC reads the whole of pg_type first, then binary COPY."""
    got = _polars(here, statement, "adbc")
    assert got == {TABLES: [("trips", "BASE TABLE"), ("zones", "BASE TABLE")], GROUPED: BY_PAYMENT}.get(
        statement, [(LONG_TRIPS,)]
    )


def _columns(site: Site) -> list[tuple[object, ...]]:
    with _adbc(site) as connection, connection.cursor() as cursor:
        cursor.execute(COLUMNS)
        rows: list[tuple[object, ...]] = cursor.fetchall()
    return rows


def test_adbc_sees_a_plain_server(here: Site, plain: Site) -> None:
    """Its own description of a table, and the columns by SQL."""

    def schema(site: Site) -> object:
        with _adbc(site) as connection:
            return connection.adbc_get_table_schema("trips")

    assert _columns(here) == _columns(plain)
    assert schema(here) == schema(plain)


def test_adbc_parameter_and_refusal(here: Site) -> None:
    """A bound parameter is answered, rows are refused with the code."""
    with _adbc(here) as connection, connection.cursor() as cursor:
        cursor.execute(f"{LONG}$1", (20.0,))
        assert cursor.fetchall() == [(LONG_TRIPS,)]
        with pytest.raises(import_module("adbc_driver_manager").Error) as caught:
            cursor.execute(ROWS)
        assert caught.value.sqlstate == REFUSED
