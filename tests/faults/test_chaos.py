"""Everything goes wrong at once, for half a minute or ten: users wait a moment, the books are right, and nothing grows."""

import os
import time
from pathlib import Path

import pytest

from tests.faults.chaos.saboteur import Saboteur
from tests.faults.chaos.scene import scene
from tests.faults.chaos.verdict import complaints

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
FLEETS = {"psycopg": 12, "asyncpg": 12, "pg8000": 8}
SEED = os.environ.get("CHAOS_SEED", "1")


@pytest.mark.parametrize(
    ("warm", "seconds", "pause"),
    [(5, 20, 6.0), pytest.param(30, 600, 0.6, marks=pytest.mark.slow)],
    ids=["half-a-minute", "ten-minutes"],
)
def test_chaos_is_survived(directory: Path, warm: float, seconds: float, pause: float) -> None:
    """Kills of the shadow, the engine and clients, hang-ups, a locked ledger and moved files, beside 32 clients.

    In half a minute they rest longer between two statements, so that other tests have processors as well.
    """
    with scene(directory, pause) as staged:
        for driver, count in FLEETS.items():
            staged.launch(driver, count, f"{SEED} warm {driver}")
        time.sleep(warm)
        staged.land()
        before = staged.size()
        for driver, count in FLEETS.items():
            staged.launch(driver, count, f"{SEED} {driver}")
        saboteur = Saboteur(staged, SEED)
        saboteur.work(time.monotonic() + seconds)
        staged.land()
        after = staged.size()
        assert staged.is_served()
        complained = saboteur.unanswered + list(complaints(staged, saboteur.faults, before, after))
        told = "\n".join((*complained[:20], *map(str, saboteur.faults), staged.log[-3000:]))
        assert not complained, f"{len(complained)} complaints with CHAOS_SEED={SEED}:\n{told}"
