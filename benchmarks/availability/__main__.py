"""What one analyst can do to another: how long a statement, a stored answer and EXPLAIN of a new one take beside his worst.

Run `python -m benchmarks.availability [attack …]`. `dpsql serve` and `dpsql mcp` run in processes of their own. One user has
as many connections as he may, each of which sends one kind of attack again and again. Another user asks meanwhile, and the
median and the longest time by the clock are told. It ends with 1 where one of them waits longer than is promised on two cores
that have nothing else to do.
"""

import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dpsql.wire.protocol.messages import Limits
from tests.clients.site import Site, configure, free_port, serving
from tests.support.forked import Forked
from tests.support.processes import megabytes
from tests.support.stalling import (
    AGENTS,
    ATTACKS,
    OTHER,
    RAW,
    WRONG_PASSWORDS,
    Waits,
    attacking,
    prepare,
    waits,
    with_another,
)

CONNECTIONS = Limits().connections_per_user
EVERY = (*ATTACKS, *RAW, *AGENTS, WRONG_PASSWORDS)
_SECONDS = 8.0
_PROMISED = {"SELECT 1": 0.3, "a stored answer": 0.5, "EXPLAIN": 1.0}
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """A server and what serves its agents, both of which are attacked."""

    site: Site
    server: int
    """Its process."""
    agents: int
    """The process of `dpsql mcp`."""
    port: int
    """On which that listens."""

    @property
    def other(self) -> str:
        """Return where another user logs in."""
        return self.site.dsn.replace("user=ana", f"user={OTHER}")


@contextmanager
def attacked() -> Iterator[Attacked]:
    """Serve two users, and agents."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-availability-"))
    directory.chmod(0o711)
    config = configure(directory)
    with_another(config)
    with serving(config) as site:
        port = free_port()
        address = f"host={site.host} port={site.port} dbname={site.database} sslmode=disable"
        agents = Forked(["mcp", address, "--http", f"127.0.0.1:{port}"])
        try:
            assert site.process is not None
            own = Attacked(site, site.process.pid, agents.pid, port)
            prepare(own.other)
            while not _listens(port):
                time.sleep(0.05)
            yield own
        finally:
            agents.kill()
            agents.wait()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def told(waited: Waits) -> Mapping[str, list[float]]:
    """Return how long each kind of statement took."""
    return dict(zip(_PROMISED, (waited.plain, waited.again, waited.explained), strict=True))


def missed(waited: Waits) -> bool:
    """Return whether somebody has waited for longer than is promised."""
    return any(max(each) > _PROMISED[what] for what, each in told(waited).items())


def described(waited: Waits) -> str:
    """Return the median and the longest time of each, in milliseconds."""
    return "; ".join(
        f"{what} {statistics.median(each) * 1000:.0f} ms, longest {max(each) * 1000:.0f}"
        for what, each in told(waited).items()
    )


def main(names: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Print a line an attack, of all or of those that have one of these words in their names."""
    some = False
    for name in EVERY:
        if names and not any(one in name for one in names):
            continue
        with attacked() as own:
            before = megabytes(own.server)
            with attacking(own.site.words, name, CONNECTIONS, own.port):
                time.sleep(5)
                waited = waits(own.other, _SECONDS)
                during, agents = megabytes(own.server), megabytes(own.agents)
            some |= missed(waited)
            memory = f"{before} MiB before, {during} during, {megabytes(own.server)} after; dpsql mcp {agents}"
            typer.echo(f"{name}: {described(waited)}; {memory}")
    sys.exit(some)


if __name__ == "__main__":
    typer.run(main)
