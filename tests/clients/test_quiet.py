"""What clients write is theirs: no library repeats it on the server's standard error."""

import contextlib
from pathlib import Path

import psycopg
import pytest

from tests.clients.site import configure, serving

STATEMENTS = (
    "ALTER TABLE trips ENABLE hushed",
    "EXPLAIN ALTER TABLE trips SET hushed",
    "PREPARE p AS ALTER TABLE trips FOO hushed",
    "SELECT count(*) FROM trips MATCH_RECOGNIZE (hushed)",
    "SELECT payment_type -> '$.a[hushed' FROM trips",
    "SELECT json_value(payment_type, '$.a[hushed') FROM trips",
    "SELECT count(*)::hushed FROM trips",
    "SELECT count(*) FROM trips WHERE fare < 'hushed'",
    "SELECT count(*) FROM trips AS t (hushed, hushed, hushed) TABLESAMPLE hushed (1)",
    "SELECT * FROM trips FOR UPDATE OF hushed",
    "INSERT INTO trips DEFAULT VALUES RETURNING hushed",
    "WITH RECURSIVE h AS (SELECT 'hushed' FROM trips UNION SELECT hushed FROM h) SELECT * FROM h",
    "SELECT count(*) FROM trips WHERE payment_type ~ '(hushed' GROUP BY 1",
    "SELECT (trips).hushed, E'\\400hushed' FROM trips",
    "CALL trips(hushed)",
    "DO 'hushed trips'",
    "SELECT '\x07hushed\u0378' FROM trips",
    "SELECT 1/0, 'hushed'",
    "SELECT hushed FROM pg_class",
    "hushed trips",
)


def test_statements_do_not_reach_standard_error(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever becomes of them: refused, not understood, wrong, or failed in the shadow."""
    directory = place / "quiet"
    directory.mkdir(mode=0o711)
    with serving(configure(directory)) as site, psycopg.connect(site.dsn, autocommit=True) as session:
        for statement in STATEMENTS:
            for prepare in (False, True):
                with contextlib.suppress(psycopg.Error):
                    session.execute(statement.encode(), prepare=prepare)
    assert "hushed" not in capfd.readouterr().err
