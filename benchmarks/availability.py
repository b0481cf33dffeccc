"""What one analyst can do to another: how long a statement, a stored answer and EXPLAIN of a new one take beside his worst.

`dpsql serve` in a process of its own, as many connections of one user as he may have, each of which sends one kind of
attack again and again; another user asks meanwhile, and says the median and the longest time by the clock. It ends with 1
where one of them waits longer than is promised on two cores that have nothing else to do.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import typer

from dpsql.wire.protocol.messages import Limits
from tests.clients.site import configure, serving
from tests.support.processes import megabytes
from tests.support.stalling import ATTACKS, OTHER, RAW, attacking, prepare, waits, with_another

_CONNECTIONS = Limits().connections_per_user
_SECONDS = 8.0
_PROMISED = {"SELECT 1": 0.3, "a stored answer": 0.5, "EXPLAIN": 1.0}
"""Seconds."""


def main(names: Sequence[str] = ()) -> None:
    """Print a line an attack."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-availability-"))
    directory.chmod(0o711)
    config = configure(directory)
    with_another(config)
    missed = False
    for name in (*ATTACKS, *RAW):
        if names and not any(one in name for one in names):
            continue
        with serving(config) as site:
            other = site.dsn.replace("user=ana", f"user={OTHER}")
            assert site.process is not None
            prepare(other)
            before = megabytes(site.process.pid)
            with attacking(site.dsn, name, _CONNECTIONS):
                time.sleep(5)
                waited = waits(other, _SECONDS)
                during = megabytes(site.process.pid)
            taken = dict(zip(_PROMISED, (waited.plain, waited.again, waited.explained), strict=True))
            missed |= any(max(each) > _PROMISED[what] for what, each in taken.items())
            said = (
                f"{what} {statistics.median(each) * 1000:.0f} ms, longest {max(each) * 1000:.0f}"
                for what, each in taken.items()
            )
            memory = f"{before} MiB before, {during} during, {megabytes(site.process.pid)} after"
            typer.echo(f"{name}: {'; '.join(said)}; {memory}")
    if missed:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
