"""A running server has the newest copy of the records, and makes one when its time has come."""

import asyncio
import json
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from dpsql import server
from dpsql.engines.base import SnapshotVersion
from dpsql.engines.open import open_engine
from dpsql.engines.snapshot.open import current_snapshot
from dpsql.policy.config import Config
from dpsql.policy.model import Period, SqlType
from dpsql.server import SnapshotKeeper, is_due
from tests.engines.copies import column, copying, table, written


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Give a configuration whose copy was made two days ago, and whose epochs are days."""
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    made = replace(copying(tmp_path, None, table("t", column("a", SqlType.INTEGER), unit="a")), refresh=Period.DAY)
    written(made)
    manifest = tmp_path / "snapshot/manifest.json"
    fields = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(fields | {"taken": (datetime.now(UTC) - timedelta(days=2)).isoformat()}))
    return made


async def _kept(config: Config, until: asyncio.Event) -> None:
    """Keep a copy until something has happened; what is newer is served."""
    engine = open_engine(config)

    async def serve_newest() -> None:
        until.set()
        await asyncio.sleep(60)

    keeper = SnapshotKeeper(lambda: (config, engine), serve_newest)
    await asyncio.wait_for(until.wait(), 60)
    await keeper.stop()
    engine.close()


def test_the_next_period_begins_with_a_copy(config: Config) -> None:
    """It is written, and then served."""
    before = current_snapshot(config)
    asyncio.run(_kept(config, asyncio.Event()))
    after = current_snapshot(config)
    assert before is not None
    assert after is not None
    assert after.name > before.name
    assert after.taken > before.taken


def test_what_can_not_be_written_is_tried_again(
    config: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the records the copy before is served on."""
    (tmp_path / "records.duckdb").rename(tmp_path / "away")
    monkeypatch.setattr(server, "_KEEPER_PAUSES", 0.1)

    async def tried() -> None:
        class Listening(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if "tried again" in record.getMessage() and not (tmp_path / "records.duckdb").exists():
                    (tmp_path / "away").rename(tmp_path / "records.duckdb")

        logging.getLogger("dpsql.server").addHandler(listening := Listening())
        try:
            await _kept(config, asyncio.Event())
        finally:
            logging.getLogger("dpsql.server").removeHandler(listening)

    asyncio.run(tried())
    assert "no newer snapshot is served, which is tried again: there is no DuckDB file" in caplog.text


@pytest.mark.parametrize(
    ("refresh", "taken", "due"),
    [
        (Period.DAY, "2024-05-14 23:59:59", True),
        (Period.DAY, "2024-05-15 00:00:00", False),
        (Period.WEEK, "2024-05-13 00:00:00", False),
        (Period.WEEK, "2024-05-12 23:59:59", True),
        (Period.MONTH, "2024-04-30 23:59:59", True),
        (Period.NEVER, "1999-01-01 00:00:00", False),
        (Period.MONTH, "2024-05-15 12:59:59", False),
        (Period.MONTH, "2024-05-15 13:00:01", True),  # the clock was wrong
        (Period.NEVER, "2025-05-15 12:00:00", False),
    ],
)
def test_the_clock_alone_says_when(config: Config, refresh: Period, taken: str, due: bool) -> None:
    """The period of `refresh` that is over (UTC), never the records."""
    when = datetime.fromisoformat(f"{taken}+00:00")
    edition = SnapshotVersion("x", when, when)
    assert is_due(edition, replace(config, refresh=refresh), datetime(2024, 5, 15, 12, tzinfo=UTC)) is due
