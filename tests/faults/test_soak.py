"""64 sessions that keep asking: no error, and memory that stays where it is."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.sessions import dpsql_site, soak

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")


@pytest.mark.slow
def test_ten_minutes_of_sessions_grow_nothing() -> None:
    """What is remembered fills up within the first two; from then on a tenth is the most."""
    with dpsql_site() as site:
        soaked = asyncio.run(soak(site, 600))
    assert soaked.errors == ()
    assert soaked.growth < 0.1, soaked.memory
