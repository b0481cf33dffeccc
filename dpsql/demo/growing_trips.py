"""The demo as a table that grows: the trips of March arrive by the day, and a day lasts a minute.

    00:00  a copy is made, and the day before yesterday has closed in it
    12:00  yesterday's trips arrive

The clock is the demo's own, which runs ahead of ours, and everything that a server dates goes by it: no configuration can
say that of another server.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from dpsql.clock import Clock
from dpsql.demo.trips import TRIPS_TABLE, ZONES_TABLE
from dpsql.engines.duckdb.files import duckdb_literal
from dpsql.policy.config import Config, DuckDbFile, SnapshotConfig
from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.model import Table, fingerprint
from dpsql.private_files import make_directory

BEGINS = datetime(2019, 3, 8, tzinfo=UTC)
"""The demo's first moment, when a week of trips is there."""
_ENDS = datetime(2019, 4, 1, tzinfo=UTC)
MINUTE = 60.0
"""Seconds that a day lasts."""
GROWS = Grows("pickup_ts", Every.DAY, 1, TermLength.MONTH, 30)
"""`grows: {by: pickup_ts, closes: {every: day, after: 1 day}, term: month}`."""
MAX_ROWS: Mapping[str, int] = {"passenger": 100, "driver": 500}
"""How many trips of one in March count; so many that next to none are cut."""
_ARRIVES = timedelta(hours=12)
"""The hour at which trips arrive of the day before: as far as can be from the making of copies."""
_LOOK = 0.2
"""Seconds between two looks at the clock."""
_GROWING = "trips"


class HurriedClock:
    """Tells a time in which a day lasts so many seconds of ours; it stands still until it is started."""

    def __init__(
        self, begins: datetime = BEGINS, day: float = MINUTE, passing: Callable[[], float] = time.monotonic
    ) -> None:
        # By the monotonic clock: the demo's days go on evenly where the machine's clock is set.
        self._begins, self._day, self._passing = begins, day, passing
        self._started: float | None = None

    def start(self) -> None:
        """Let time pass from now on."""
        self._started = self._passing()

    def __call__(self) -> datetime:
        """Return its time, in UTC."""
        # The server starts, and the first question is answered, on the first day, however long that takes.
        if self._started is None:
            return self._begins
        return self._begins + timedelta(days=(self._passing() - self._started) / self._day)


def growing_config(config: Config, run: Path) -> tuple[Config, "Arrivals"]:
    """Return the demo's configuration with trips that grow, copied within the directory `run`, and what lets them arrive.

    Roles pay the ε that they have for a question: one that aims at an error has no standing questions.
    """
    assert isinstance(config.engine, DuckDbFile)
    policy = config.policy
    tables = {name: _with_growth(table) if name == _GROWING else table for name, table in policy.tables.items()}
    roles = {name: replace(role, noise=None) for name, role in policy.roles.items()}
    # A file of the run's own: that of all trips is kept from run to run, and other demos may read it.
    arrivals = Arrivals(config.engine.path, run / "private" / "records" / "taxi.duckdb")
    changed = replace(
        config,
        engine=DuckDbFile(arrivals.records),
        snapshot=SnapshotConfig(run / "private" / "copies" / "snapshot"),
        policy=replace(policy, tables=tables, roles=roles, fingerprint=fingerprint(tables)),
    )
    return changed, arrivals


def _with_growth(table: Table) -> Table:
    # A number and no `auto`, with which questions stand only once a whole month has closed (`dpsql check` says so).
    units = {kind: replace(unit, max_rows=MAX_ROWS[kind], up_to=None) for kind, unit in table.units.items()}
    return replace(table, grows=GROWS, units=units)


class Arrivals:
    """The demo's records: a file that has what has arrived of another."""

    def __init__(self, every: Path, records: Path) -> None:
        """Let `records` have the tables of the file `every`, and of its trips those that have arrived."""
        self._every, self.records = every, records
        self.until = BEGINS
        # Each by itself: what `make_directory` makes above a directory others may pass through.
        make_directory(records.parent.parent)
        make_directory(records.parent)
        self.let_in(BEGINS)

    def let_in(self, until: datetime) -> None:
        """Let the records have all that came before a moment; the file is replaced whole."""
        # In the same folder, so that the move is one step: a copy that is made meanwhile reads all of the old file, or all of
        # the new one.
        draft = self.records.with_name(f".{self.records.name}.{os.getpid()}")
        before = f"{_GROWING} WHERE {GROWS.by} < TIMESTAMP '{until:%Y-%m-%d %H:%M:%S}'"
        # Closed before it is moved: until then some of it may lie in a .wal beside it.
        with duckdb.connect(draft) as connection:
            connection.execute(f"ATTACH {duckdb_literal(str(self._every))} AS every (READ_ONLY)")
            connection.execute(TRIPS_TABLE)
            connection.execute(f"INSERT INTO {_GROWING} FROM every.{before}")
            connection.execute(ZONES_TABLE)
            connection.execute("INSERT INTO zones FROM every.zones")
        draft.chmod(0o600)
        draft.replace(self.records)
        self.until = until

    async def arrive(self, clock: Clock) -> None:
        """Let trips arrive by a clock, until the month is over."""
        while self.until < _ENDS:
            await asyncio.sleep(_LOOK)
            # At noon this becomes the midnight before, and the trips of yesterday are there.
            there = _midnight(clock() - _ARRIVES)
            if there > self.until:
                await asyncio.to_thread(self.let_in, there)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
