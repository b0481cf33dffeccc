"""What one analyst can do to another: how long `SELECT 1` and EXPLAIN of a new statement take beside his worst.

`dpsql serve` in a process of its own, as many connections of one user as he may have, each of which sends one kind of
attack again and again; another user asks meanwhile, and says the median and the longest time by the clock.
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
from tests.support.stalling import ATTACKS, OTHER, attacking, waits, with_another

_CONNECTIONS = Limits().connections_per_user
_SECONDS = 8.0


def main(names: Sequence[str] = ()) -> None:
    """Print a line an attack."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-availability-"))
    directory.chmod(0o711)
    config = configure(directory)
    with_another(config)
    for name in ATTACKS:
        if names and not any(one in name for one in names):
            continue
        with serving(config) as site:
            other = site.dsn.replace("user=ana", f"user={OTHER}")
            assert site.process is not None
            before = megabytes(site.process.pid)
            with attacking(site.dsn, name, _CONNECTIONS):
                time.sleep(5)
                plain, explained = waits(other, _SECONDS)
                during = megabytes(site.process.pid)
            typer.echo(
                f"{name}: SELECT 1 {statistics.median(plain) * 1000:.0f} ms, longest {max(plain) * 1000:.0f};"
                f" EXPLAIN {statistics.median(explained) * 1000:.0f}, longest {max(explained) * 1000:.0f};"
                f" {before} MiB before, {during} during, {megabytes(site.process.pid)} after"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
