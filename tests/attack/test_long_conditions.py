"""Conditions of hundreds of ranges are planned by engines in as many steps, and not in their square."""

from collections.abc import Iterator

import psycopg
import pytest

from dpsql.private_files import Scratch
from tests.clients.data import TRIPS
from tests.clients.site import Site, configure, serving
from tests.support.processes import seconds_worked

RANGES = 400
_CONDITIONS = {
    "one of": " OR ".join(f"fare BETWEEN {n / 4} AND {n / 4 + 0.1}" for n in range(RANGES)),
    "one of two": " OR ".join(
        f"(fare BETWEEN {n / 4} AND {n / 4 + 0.1} AND tip BETWEEN {n / 10} AND {n / 10 + 1})" for n in range(RANGES)
    ),
    "none of": f"NOT ({' OR '.join(f'fare BETWEEN {n / 4} AND {n / 4 + 0.1}' for n in range(RANGES))})",
}
_SECONDS = 10.0
"""Of the processor: at most four on a quiet one, and half as much again on a busy one; before, more than twenty."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Give a server of which one of the statements is the first question."""
    with Scratch("dpsql-ranges-", mode=0o711) as place, serving(configure(place.path)) as site:
        yield site


@pytest.mark.parametrize("condition", _CONDITIONS.values(), ids=_CONDITIONS)
def test_many_ranges_are_answered_soon(site: Site, condition: str) -> None:
    """It is tried on synthetic people, and asked of the records."""
    assert site.process is not None
    before = seconds_worked(site.process.pid)
    with psycopg.connect(site.dsn, autocommit=True) as session:
        ((count,),) = session.execute(f"SELECT count(*) FROM trips WHERE {condition}".encode()).fetchall()
    assert 0 <= count <= TRIPS
    assert seconds_worked(site.process.pid) - before < _SECONDS
