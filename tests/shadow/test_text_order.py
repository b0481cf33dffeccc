"""The shadow orders texts byte by byte, or it does not start to serve."""

from collections.abc import Iterator

import psycopg
import pytest

from dpsql.errors import ConfigError
from dpsql.shadow.contents.build import ensure_shadow, needed_change
from dpsql.shadow.server.postgres import Postgres
from tests.support.fix_shadow import POLICY, USERS, zone_rows

_OTHERWISE = """
CREATE FUNCTION public.as_in_a_dictionary(one text, other text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT
  RETURN pg_catalog.bttextcmp(pg_catalog.lower(one), pg_catalog.lower(other));
CREATE TABLE public.kept AS SELECT * FROM pg_amproc WHERE amproc IN ('bttextcmp'::regproc, 'bttextsortsupport'::regproc);
DELETE FROM pg_amproc WHERE amproc = 'bttextsortsupport'::regproc;
UPDATE pg_amproc SET amproc = 'public.as_in_a_dictionary' WHERE amproc = 'bttextcmp'::regproc;
"""
"""Not every build of PostgreSQL knows a collation that orders texts otherwise, but any server can be made to."""
_AGAIN = """
DELETE FROM pg_amproc WHERE oid IN (SELECT oid FROM public.kept);
INSERT INTO pg_amproc SELECT * FROM public.kept;
DROP TABLE public.kept;
DROP FUNCTION public.as_in_a_dictionary;
"""


@pytest.fixture
def as_in_a_dictionary(shadow: Postgres) -> Iterator[None]:
    """Let the server order texts for a while without regard to capitals."""
    with psycopg.connect(shadow.dsn("postgres"), autocommit=True) as owner:
        owner.execute(_OTHERWISE)
        yield
        owner.execute(_AGAIN)


def test_a_shadow_that_orders_texts_byte_by_byte_is_served(shadow: Postgres) -> None:
    """As every cluster does that dpsql makes."""
    needed_change(shadow, POLICY, USERS)


@pytest.mark.usefixtures("as_in_a_dictionary")
def test_a_shadow_that_orders_texts_otherwise_is_not_served(shadow: Postgres) -> None:
    """The error names the collation, and what to remove; the database is left as it is."""
    with psycopg.connect(shadow.dsn("postgres")) as connection:
        assert connection.execute("SELECT t FROM unnest('{B,a}'::text[]) AS t ORDER BY t").fetchall() == [
            ("a",),
            ("B",),
        ]
    with pytest.raises(ConfigError, match='collation "C') as refused:
        ensure_shadow(shadow, POLICY, USERS, zone_rows)
    assert refused.value.hint is not None
    assert str(shadow.home) in refused.value.hint
