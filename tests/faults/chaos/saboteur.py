"""What goes wrong, one thing after the other, as a seed has it."""

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from dpsql.wire.protocol.scram import Verifier
from tests.faults.chaos.scene import Scene
from tests.faults.controls import signal_to
from tests.support.processes import children

_PAUSE = (0.3, 1.5)
_HELD = (0.3, 2.0)
_BACK = 60.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that was done, and from when to when it lasted."""

    what: str
    began: float
    ended: float

    def meets(self, began: float, ended: float) -> bool:
        """Return whether it may have been felt in a span of time."""
        return self.began <= ended + 0.5 and began <= self.ended + 2.0


class Saboteur:
    """Breaks things, and mends what dpsql can't mend itself."""

    def __init__(self, scene: Scene, seed: str) -> None:
        self._scene = scene
        self._random = random.Random(seed)  # noqa: S311 # what is drawn has to be drawn again
        self._count = 0
        self.faults: list[Fault] = []
        self.unanswered: list[str] = []
        """What dpsql did not come back from in time."""

    def work(self, until: float) -> None:
        """Do one thing after the other until a moment of the monotonic clock."""
        acts: dict[Callable[[], None], int] = {
            self.kill_shadow: 3,
            self.kill_session: 2,
            self.kill_engine: 3,
            self.end_engine_sessions: 2,
            self.hang_up: 2,
            self.change_users: 2,
            self.change_description: 1,
            self.hide_config: 2,
            self.lock_ledger: 3,
            self.move_ledger: 2,
            self.kill_fleet: 2,
        }
        while time.monotonic() < until:
            (act,) = self._random.choices(list(acts), list(acts.values()))
            self.do(act)
            time.sleep(self._random.uniform(*_PAUSE))

    def do(self, act: Callable[[], None]) -> None:
        """Do one thing, and wait until users are served again."""
        began = time.time()
        act()
        since = time.monotonic()
        while not self._scene.is_served():
            if time.monotonic() - since > _BACK:
                self.unanswered.append(f"nobody was served for {_BACK:g} seconds after {act.__name__}")
                break
        self.faults.append(Fault(act.__name__, began, time.time()))

    def _wait(self) -> None:
        time.sleep(self._random.uniform(*_HELD))

    def kill_shadow(self) -> None:
        """Kill the shadow's server."""
        shadow = self._scene.shadow()
        if shadow is not None:
            with suppress(ProcessLookupError):
                os.kill(shadow, signal.SIGKILL)

    def kill_session(self) -> None:
        """Kill a session in the shadow, upon which PostgreSQL ends all."""
        shadow = self._scene.shadow()
        sessions = [] if shadow is None else [pid for pid in children(shadow) if b"ana taxi" in _title(pid)]
        if sessions:
            with suppress(ProcessLookupError):
                os.kill(self._random.choice(sessions), signal.SIGKILL)

    def kill_engine(self) -> None:
        """Kill the engine's server, and start it again after a while."""
        engine = self._scene.engine
        os.kill(engine.pid, signal.SIGKILL)
        while engine.alive:  # until the system has told
            time.sleep(0.01)
        self._wait()
        engine.restart()

    def end_engine_sessions(self) -> None:
        """End dpsql's sessions with the engine."""
        with psycopg.connect(self._scene.engine.dsn("postgres"), autocommit=True) as owner:
            owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")

    def hang_up(self) -> None:
        """Have the configuration read again, as it is."""
        assert self._scene.site.process is not None
        signal_to(self._scene.site, signal.SIGHUP)

    def change_users(self) -> None:
        """Add a user or remove them."""
        text = self._scene.config.read_text()
        kept = [line for line in text.splitlines() if "extra" not in line]
        if len(kept) == len(text.splitlines()):
            kept.append(f'  extra: {{role: analyst, password: "{Verifier.of("pw")}"}}')
        self._scene.config.write_text("\n".join(kept) + "\n")
        self.hang_up()

    def change_description(self) -> None:
        """Describe a column otherwise."""
        self._count += 1
        schema = self._scene.directory / "schemas" / "trips.yaml"
        lines = schema.read_text().splitlines()
        changed = [f"description: words, {self._count}" if line.startswith("description:") else line for line in lines]
        schema.write_text("\n".join(changed) + "\n")
        self.hang_up()

    def hide_config(self) -> None:
        """Move the configuration away, and have it read."""
        hidden = self._scene.config.rename(self._scene.directory / "hidden.yaml")
        self.hang_up()
        self._wait()
        hidden.rename(self._scene.config)

    def lock_ledger(self) -> None:
        """Lock the ledger, as a forgotten program would."""
        with closing(sqlite3.connect(self._scene.ledger, isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN EXCLUSIVE")
            self._wait()
            other.execute("ROLLBACK")

    def move_ledger(self) -> None:
        """Move the ledger away and back."""
        away = self._scene.ledger.rename(self._scene.directory / "away.db")
        self._wait()
        away.rename(self._scene.ledger)

    def kill_fleet(self) -> None:
        """Kill all clients of a driver, and start as many."""
        fleet = self._scene.fleets[self._random.choice(sorted(self._scene.fleets))]
        fleet.kill()
        self._count += 1
        self._scene.launch(fleet.driver, fleet.count, f"{self._random.random()}")


def _title(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
