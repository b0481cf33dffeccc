"""One analyst does his worst: others are answered meanwhile, memory returns, and the server stops when it is told to."""

import time
from pathlib import Path

import psycopg
import pytest

from tests.clients.site import configure, serving
from tests.support.processes import megabytes
from tests.support.stalling import ATTACKS, OTHER, RAW, attacking, prepare, waits, with_another

_CONNECTIONS = 12
_LONGEST = 3.0
"""Seconds, ten times what `python -m benchmarks.availability` asks for: other tests run beside."""
_MOST = 260
"""MiB; of it some sixty that a trial takes for the numbers of a hundred thousand groups in two synthetic databases."""


@pytest.mark.parametrize("attack", [*ATTACKS, *RAW])
def test_others_are_answered_meanwhile(attack: str, directory: Path) -> None:
    """Nobody waits for one who stalls, whatever he sends, and nothing of it stays."""
    config = configure(directory)
    with_another(config)
    with serving(config) as site:
        assert site.process is not None
        other = site.dsn.replace("user=ana", f"user={OTHER}")
        prepare(other)
        before = megabytes(site.process.pid)
        with attacking(site.dsn, attack, _CONNECTIONS):
            time.sleep(3)
            waited = waits(other, 3.0)
        assert max(waited.connecting) < _LONGEST
        assert max(waited.plain) < _LONGEST
        assert max(waited.again) < _LONGEST
        assert max(waited.explained) < _LONGEST
        assert megabytes(site.process.pid) < before + _MOST


def test_what_takes_too_long_is_refused(directory: Path) -> None:
    """Its author hears what to shorten, and may ask on."""
    with serving(configure(directory)) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.StatementTooComplex, match="planning this statement takes more than"):
            connection.execute(ATTACKS["18 CTEs, each twice the one before"](0).encode())
        assert connection.execute("SELECT 1").fetchone() == (1,)
