"""Previews as tools send them, to a server whose role sees made-up rows."""

from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy

from dpsql.private_files import Scratch
from tests.clients.data import TRIPS
from tests.clients.site import Site, configure, serving


@pytest.fixture(scope="module")
def previewed() -> Iterator[Site]:
    """Give a server with previews."""
    with Scratch("dpsql-previews-", mode=0o711) as place:
        config = configure(place.path)
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("per_query: {epsilon: 1000}", "per_query: {epsilon: 1000}, preview: made-up"))
        with serving(config) as site:
            yield site


def test_drivers_read_made_up_rows(previewed: Site) -> None:
    """In both protocols, through a cursor, and with LIMIT as a parameter; all the same, with a notice, and for nothing."""
    told: list[str | None] = []
    with psycopg.connect(previewed.dsn, autocommit=True) as session:
        session.add_notice_handler(lambda notice: told.append(notice.message_primary))
        rows = session.execute("SELECT * FROM trips LIMIT 3").fetchall()
        simple = psycopg.ClientCursor(session).execute("SELECT * FROM trips LIMIT 3").fetchall()
        given = session.execute("SELECT * FROM public.trips LIMIT %s", (3,)).fetchall()
        with session.transaction(), session.cursor("c") as cursor:
            read = cursor.execute("SELECT * FROM trips LIMIT 3").fetchall()
        assert rows == simple == given == read
        assert len(rows) == 3
        assert len(told) == 4
        assert all("are made up from its declaration" in (notice or "") for notice in told)
        assert session.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall() == [(0,)]
        assert session.execute("SELECT count(*) FROM trips").fetchall() == [(TRIPS,)]


def test_tables_say_that_rows_are_made_up(previewed: Site, here: Site) -> None:
    """In the comment, which tools and language models read; not where nobody sees such rows, nor of public tables."""
    for site, said in ((previewed, True), (here, False)):
        with psycopg.connect(site.dsn, autocommit=True) as session:
            comments = session.execute(
                "SELECT obj_description('trips'::regclass), obj_description('zones'::regclass)"
            ).fetchone()
        assert ["made up" in str(comment) for comment in comments or ()] == [said, False]


def test_sqlalchemy_shows_sample_rows_as_language_models_get_them(previewed: Site) -> None:
    """LangChain's SQLDatabase selects all columns of each table with LIMIT 3."""
    engine = sqlalchemy.create_engine(previewed.url("postgresql+psycopg"), connect_args={"sslmode": "disable"})
    table = sqlalchemy.Table("trips", sqlalchemy.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        assert len(connection.execute(sqlalchemy.select(table).limit(3)).fetchall()) == 3
    engine.dispose()
