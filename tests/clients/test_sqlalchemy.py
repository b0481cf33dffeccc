"""SQLAlchemy over three drivers: what its inspector sees, and what it builds from expressions."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.clients.asked import REFUSED, ROWS
from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site

DRIVERS = ["psycopg", "psycopg2", "pg8000"]


def _engine(site: Site, driver: str) -> sa.Engine:
    return sa.create_engine(site.url(f"postgresql+{driver}"), poolclass=sa.NullPool)


@pytest.fixture(params=DRIVERS)
def engine(here: Site, request: pytest.FixtureRequest) -> Iterator[sa.Engine]:
    """Give an engine on dpsql for each driver."""
    made = _engine(here, request.param)
    yield made
    made.dispose()


def _seen(site: Site, driver: str) -> dict[str, object]:
    """Return everything that the inspector tells about the schema `public`, in one session."""
    with _engine(site, driver).connect() as connection:
        return _inspected(sa.inspect(connection))


def _inspected(inspector: sa.Inspector) -> dict[str, object]:
    tables = sorted(inspector.get_table_names())
    return {
        "tables": tables,
        "views": (inspector.get_view_names(), inspector.get_materialized_view_names()),
        "sequences": inspector.get_sequence_names(),
        "columns": {name: _spelled(inspector.get_columns(name)) for name in tables},
        "keys": {name: inspector.get_pk_constraint(name) for name in tables},
        "references": {name: inspector.get_foreign_keys(name) for name in tables},
        "comments": {name: inspector.get_table_comment(name) for name in tables},
        "indexes": {name: inspector.get_indexes(name) for name in tables},
        "unique": {name: inspector.get_unique_constraints(name) for name in tables},
        "checks": {name: inspector.get_check_constraints(name) for name in tables},
        "default schema": inspector.default_schema_name,
    }


def _spelled(columns: list[Any]) -> list[dict[str, object]]:
    return [{**column, "type": str(column["type"])} for column in columns]


@pytest.mark.parametrize("driver", DRIVERS)
def test_inspector_sees_a_plain_server(here: Site, plain: Site, driver: str) -> None:
    """Tables, columns, keys, references, comments and indexes."""
    seen = _seen(here, driver)
    assert seen["tables"] == ["trips", "zones"]
    assert seen == _seen(plain, driver)


def _trips(engine: sa.Engine) -> sa.Table:
    return sa.Table("trips", sa.MetaData(), autoload_with=engine)


def test_grouped_expression_is_answered(engine: sa.Engine) -> None:
    """A reflected table, grouped and ordered."""
    key = _trips(engine).c.payment_type
    with engine.connect() as connection:
        rows = connection.execute(sa.select(key, sa.func.count()).group_by(key).order_by(key)).all()
    assert [tuple(row) for row in rows] == BY_PAYMENT


def test_bound_parameter_is_answered(engine: sa.Engine) -> None:
    """A comparison with a Python value."""
    trips = _trips(engine)
    asked = sa.select(sa.func.count()).select_from(trips).where(trips.c.fare > 20)
    with engine.connect() as connection:
        assert connection.execute(asked).scalar_one() == LONG_TRIPS


def test_rows_are_refused(engine: sa.Engine) -> None:
    """The driver's error is inside SQLAlchemy's; the connection can be used after a rollback."""
    with engine.connect() as connection:
        with pytest.raises(sa.exc.DBAPIError) as caught:
            connection.execute(sa.text(ROWS))
        assert REFUSED in (
            getattr(caught.value.orig, "pgcode", None),
            getattr(caught.value.orig, "sqlstate", None),
        ) or (REFUSED in str(caught.value.orig))
        connection.rollback()
        assert connection.execute(sa.text("SELECT 1")).scalar_one() == 1


def test_stream_comes_in_steps(engine: sa.Engine) -> None:
    """Server-side cursors where the driver has them."""
    key = _trips(engine).c.payment_type
    asked = sa.select(key, sa.func.count()).group_by(key).order_by(key)
    with engine.connect().execution_options(stream_results=True, max_row_buffer=2) as connection:
        assert [tuple(row) for row in connection.execute(asked)] == BY_PAYMENT
