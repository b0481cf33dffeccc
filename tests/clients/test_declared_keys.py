"""Keys that the owner declares are PostgreSQL's own: SQLAlchemy's automap maps the tables, and goes from one to another."""

from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.ext.automap import automap_base

from dpsql.private_files import Scratch
from tests.clients.site import Site, configure, serving
from tests.support.demo_schemas import copy_with_numbers


@pytest.fixture(scope="module")
def keyed() -> Iterator[Site]:
    """Give a server whose trips have a key."""
    with Scratch("dpsql-keys-", mode=0o711) as place:
        schemas = copy_with_numbers(place.path / "declared")
        trips = schemas / "trips.yaml"
        text = trips.read_text(encoding="utf-8").replace("table: trips\n", "table: trips\nkey: trip_id\n")
        trips.write_text(text, encoding="utf-8")
        with serving(configure(place.path, schemas=schemas)) as site:
            yield site


def test_automap_finds_tables_and_how_they_point(keyed: Site) -> None:
    """By primary and foreign keys; what it then asks is answered."""
    engine = sqlalchemy.create_engine(keyed.url("postgresql+psycopg"), connect_args={"sslmode": "disable"})
    base = automap_base()
    base.prepare(autoload_with=engine)
    trips, zones = base.classes.trips, base.classes.zones
    assert [column.name for column in sqlalchemy.inspect(trips).primary_key] == ["trip_id"]
    assert trips.zones.property.mapper.class_ is zones
    asked = sqlalchemy.select(zones.borough, sqlalchemy.func.count()).join(trips.zones).group_by(zones.borough)
    with engine.connect() as connection:
        assert sorted(map(tuple, connection.execute(asked))) == [("Bronx", 1800), ("Queens", 1200)]
    engine.dispose()


@pytest.mark.parametrize("listed", ["IN (SELECT unnest(%s::text[]))", "= ANY (SELECT unnest(%s::text[]))"])
def test_a_list_may_be_an_array_that_is_taken_apart(keyed: Site, listed: str) -> None:
    """As drivers write lists of any length in one parameter."""
    with psycopg.connect(keyed.dsn, autocommit=True) as session:
        asked = f"SELECT count(*) FROM trips WHERE payment_type {listed}"
        assert session.execute(asked.encode(), (["cash", "x"],)).fetchall() == [(1000,)]
        assert session.execute(asked.encode(), (["cash", "credit card"],), binary=True).fetchall() == [(2000,)]


COPIED = [
    ("COPY trips TO STDOUT", "rows-of-protected-table"),
    ("COPY trips (fare) TO STDOUT WITH CSV", "rows-of-protected-table"),
    ("COPY (SELECT * FROM trips) TO STDOUT", "rows-of-protected-table"),
    ("COPY (SELECT fare, count(*) FROM trips GROUP BY 1) TO STDOUT", "key-without-domain"),
    ("COPY trips TO '/tmp/trips.csv'", "clients-only-read"),
    ("COPY (SELECT count(*) FROM trips) TO PROGRAM 'id'", "clients-only-read"),
    ("COPY trips FROM STDIN", "privileges-of-clients"),
    ("COPY zones (zone) FROM STDIN WITH CSV", "privileges-of-clients"),
    ("COPY dpsql.budget FROM STDIN", "privileges-of-clients"),
    ('COPY "dpsql".budget TO STDOUT', "copy-of-accounts"),
    ("COPY pg_authid TO STDOUT", "privileges-of-clients"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "rule"), COPIED)
def test_refused_copies_say_by_which_rule(keyed: Site, statement: str, rule: str) -> None:
    """As every refusal does; and the session goes on."""
    with psycopg.connect(keyed.dsn, autocommit=True) as session:
        with pytest.raises(psycopg.Error) as caught, session.cursor().copy(statement.encode()) as copy:
            list(copy)
        assert f"rule: {rule}" in (caught.value.diag.message_detail or "")
        assert session.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    "statement", ["INSERT INTO trips (fare) VALUES (1)", "TRUNCATE zones", "DROP TABLE trips", "TABLE pg_authid"]
)
@pytest.mark.parametrize("factory", [psycopg.ClientCursor, psycopg.Cursor])
def test_what_postgresql_denies_has_a_rule(keyed: Site, factory: type[psycopg.Cursor], statement: str) -> None:
    """And says what a client may do instead."""
    with psycopg.connect(keyed.dsn, autocommit=True, cursor_factory=factory) as session:
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            session.execute(statement.encode())
        assert caught.value.diag.message_detail == "rule: privileges-of-clients"
        assert "temporary tables of their own" in (caught.value.diag.message_hint or "")
