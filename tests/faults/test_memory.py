"""Memory that clients can fill, with the sizes that they can send: a server that has them stays small."""

from pathlib import Path

import psycopg
import pytest

from dpsql.wire.protocol.messages import error_fields
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, serving
from tests.support.processes import megabytes
from tests.wire.raw import SYNC, Raw, bind, parse, query

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
PORTAL = 15 * 2**20
ASKED = b"SELECT count(*) FROM trips WHERE payment_type = $1"
MINUTES = "EXPLAIN SELECT date_trunc('minute', pickup_ts), count(*) FROM trips WHERE fare > {} GROUP BY 1"
"""Of 44,640 groups."""


def _megabytes(site: Site) -> int:
    assert site.process is not None
    return megabytes(site.process.pid)


def _open(site: Site) -> psycopg.Connection:
    return psycopg.connect(site.dsn, autocommit=True)


def _until_ready(session: Raw) -> list[bytes]:
    return [error_fields(body)[b"C"] for kind, body in session.receive() if kind == b"E"]


def test_forty_portals_of_fifteen_megabytes_are_too_many(config: Path) -> None:
    """They would take more than 600 MB; who asks beside is answered, and afterwards there is room again."""
    with serving(config) as site, _open(site) as beside:
        assert beside.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        before = _megabytes(site)
        # Only the two digits of its name differ from portal to portal.
        portal = bind(b"00", b"s", "x" * PORTAL)
        kind_and_length, rest = portal[:5], portal[7:]
        for count in (40, 10):
            with _open(site) as connection, Raw(connection) as session:
                session.send(query("BEGIN"), parse(b"s", ASKED), SYNC)
                assert _until_ready(session) + _until_ready(session) == []
                told = []
                for number in range(count):
                    session.send(kind_and_length, b"%02d" % number)
                    session.send(rest)
                    session.send(SYNC)
                    told += _until_ready(session)
                assert told[:2] == [b"54000", b"25P02"]
                assert beside.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
            assert _megabytes(site) - before < 350


@pytest.mark.slow
def test_seventy_dashboards_of_a_month_by_minutes_take_no_gigabyte(config: Path) -> None:
    """Nine megabytes each; those that were asked last are remembered."""
    with serving(config) as site, _open(site) as connection:
        connection.execute(MINUTES.format(0).encode())
        before = _megabytes(site)
        for fare in range(1, 71):
            connection.execute(MINUTES.format(fare).encode())
        assert _megabytes(site) - before < 350
