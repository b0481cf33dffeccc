"""The stage: dpsql over a PostgreSQL engine, and fleets of clients in processes of their own."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from dpsql.shadow.server.postgres import Postgres
from tests.clients.site import Site, configure, serving
from tests.faults.chaos.fleet import Done
from tests.faults.controls import write
from tests.faults.engine_server import engine_server, of, use
from tests.support.demo_schemas import copy_with_numbers
from tests.support.forked import Forked
from tests.support.processes import children, descriptors, megabytes

_ENDING = 30.0  # seconds
_FLEET = "tests.faults.chaos.fleet"


@dataclass(slots=True)
class Fleet:
    """The clients of one driver."""

    driver: str
    count: int
    process: Forked
    log: Path

    def kill(self) -> None:
        """Kill them all at once."""
        self.process.kill()
        self.process.wait(_ENDING)
        self.close()

    def close(self) -> None:
        """Forget a process that has ended."""
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclass(frozen=True, slots=True)
class Size:
    """What dpsql takes of the machine while nobody asks."""

    megabytes: int
    descriptors: int
    sessions: int
    """Processes of the shadow."""


@dataclass(slots=True)
class Scene:
    """What runs, and where."""

    directory: Path
    site: Site
    engine: Postgres
    pause: float
    """The most seconds between two operations of a client."""
    fleets: dict[str, Fleet] = field(default_factory=dict)
    logs: list[Path] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """The lines that the server wrote on standard output."""

    @property
    def config(self) -> Path:
        """Return the configuration."""
        return self.directory / "config.yaml"

    @property
    def ledger(self) -> Path:
        """Return the ledger."""
        return self.directory / "ledger.db"

    @property
    def log(self) -> str:
        """Return what the server has logged."""
        return (self.directory / "log").read_text()

    @property
    def pid(self) -> int:
        """Return dpsql's process."""
        assert self.site.process is not None
        return self.site.process.pid

    def shadow(self) -> int | None:
        """Return the shadow's server, if there is one at the moment."""
        with suppress(OSError):
            for child in children(self.pid):
                if b"postgres" in Path(f"/proc/{child}/exe").readlink().name.encode():
                    return child
        return None

    def launch(self, driver: str, count: int, seed: str) -> None:
        """Let a fleet begin."""
        log = self.directory / f"{driver}-{len(self.logs)}.json"
        # No two clients have the same number: by it they ask what nobody else does.
        first = 100 * (len(self.logs) + 1)
        words = (driver, self.site.dsn, range(first, first + count), self.pause, seed, str(log))
        process = Forked([], before=f"from {_FLEET} import sail; sail{words!r}; raise SystemExit", modules=[_FLEET])
        self.logs.append(log)
        self.fleets[driver] = Fleet(driver, count, process, log)

    def land(self) -> None:
        """Let all fleets end."""
        for fleet in self.fleets.values():
            fleet.process.send_signal(signal.SIGTERM)
        for fleet in self.fleets.values():
            fleet.process.wait(_ENDING * 3)
            fleet.close()
        self.fleets.clear()

    def records(self) -> list[Done]:
        """Return what all clients have lived through."""
        lines = [line for log in self.logs if log.exists() for line in log.read_text().splitlines()]
        return [Done(**json.loads(line)) for line in lines if line.endswith("}")]

    def size(self) -> Size:
        """Return what dpsql takes once everything has ended."""
        deadline, now = time.monotonic() + _ENDING, self._size()
        while time.monotonic() < deadline:
            time.sleep(1)
            now, before = self._size(), now
            if (now.descriptors, now.sessions) == (before.descriptors, before.sessions):
                break
        return now

    def _size(self) -> Size:
        shadow = self.shadow()
        return Size(megabytes(self.pid), descriptors(self.pid), 0 if shadow is None else len(children(shadow)))

    def is_served(self) -> bool:
        """Return whether a client is let in, and its session begins."""
        try:
            with psycopg.connect(self.site.dsn, connect_timeout=20) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.Error:
            return False


@contextmanager
def scene(directory: Path, pause: float) -> Iterator[Scene]:
    """Start everything but the clients."""
    copy_with_numbers(directory / "schemas")
    config = configure(directory, schemas=Path("schemas/"))
    write(config, "per_query: {epsilon: 1000}", "per_query: {epsilon: 1000}, limits: {runs: 1000000}")
    write(config, "epsilon: 10000000}", "epsilon: 10000000000}")  # more than ten minutes' questions cost
    with engine_server(directory) as engine, (directory / "log").open("w") as log:
        use(config, of(engine))
        with serving(config, log=log) as site:
            staged = Scene(directory, site, engine, pause)
            threading.Thread(target=_listen, args=(staged,), daemon=True).start()
            try:
                yield staged
            finally:
                for fleet in staged.fleets.values():
                    fleet.kill()


def _listen(staged: Scene) -> None:
    """Read what the server says, which would wait for a reader otherwise."""
    assert staged.site.process is not None
    assert staged.site.process.stdout is not None
    for line in staged.site.process.stdout:
        staged.said.append(line)
