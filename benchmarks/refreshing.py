"""What a refresh takes after one new day, of a table that grows: time, memory and bytes, beside a copy of the whole table.

Aim: what is read and written is the new day's, and what is open, however many days there were before. The table has
three years of visits in a DuckDB file. Its closed days are of one part, as after a first copy; the next copy has a day more.

    python -m benchmarks.refreshing --rows 20000000
"""

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import duckdb
import typer

from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.policy.load import load
from dpsql.question import Cancellation

_DAYS = 1095
_FIRST = datetime(2023, 1, 1, tzinfo=UTC)
_MIB = 2**20
_ROWS_A_UNIT = 25
_CONFIG = """\
dataset: ward
engine: {kind: duckdb, database: records.duckdb, snapshot: true, memory: 4GB}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
budget: {patient: {epsilon: 1}}
roles:
  owner: {protects: patient, budget: {epsilon: 1}, per_query: {epsilon: 0.1}}
users: {}
"""
_TABLE = """\
table: visits
privacy_units: {patient: {column: patient, max_rows: 20}}
grows: {by: admitted_at, closes: {every: day, after: 2 days}, term: year}
columns:
  patient: {type: bigint}
  admitted_at: {type: timestamp, bounds: [2023-01-01, 2040-01-01]}
  ward: {type: text, values: [north, south, east, west]}
  cost: {type: double precision, bounds: [0, 1000]}
  stay: {type: integer, bounds: [0, 90]}
"""
_VISITS = """
CREATE TABLE visits AS SELECT
  (hash(i) % {units})::BIGINT AS patient,
  TIMESTAMP '2023-01-01' + INTERVAL ((i * {seconds})::BIGINT + (hash(i + 4) % 600)::BIGINT) SECOND AS admitted_at,
  ['north', 'south', 'east', 'west'][1 + (hash(i + 1) % 4)::INTEGER] AS ward,
  (hash(i + 2) % 100000)::DOUBLE / 100 AS cost,
  (hash(i + 3) % 60)::INTEGER AS stay
FROM range({rows}) AS r (i)
"""


@dataclass(frozen=True, slots=True)
class Took:
    """What one copy took."""

    seconds: float
    processor: float
    memory: float
    """MiB, at most."""
    read: float
    """MiB that were asked of the system; what it has in its cache counts, too."""
    written: float


def main(
    rows: Annotated[int, typer.Option(help="Of the whole table.")] = 1_000_000,
    place: Annotated[Path | None, typer.Option(help="A directory with room for three times the table.")] = None,
) -> None:
    """Print what a copy of all takes, and one after a day more."""
    with tempfile.TemporaryDirectory(dir=place) as made:
        directory = Path(made)
        (directory / "schemas").mkdir()
        (directory / "config.yaml").write_text(_CONFIG, encoding="utf-8")
        (directory / "schemas" / "visits.yaml").write_text(_TABLE, encoding="utf-8")
        with duckdb.connect(directory / "records.duckdb", config={"memory_limit": "4GB"}) as connection:
            seconds = _DAYS * 86_400 / rows
            connection.execute(_VISITS.format(rows=rows, units=rows // _ROWS_A_UNIT, seconds=seconds))
        typer.echo(f"records: {_size(directory, 'records.duckdb'):,.0f} MiB for {rows:,} rows")
        # Two days later the last but two have closed; a day more closes with each day.
        for about, day in (("all", _DAYS), ("one day more", _DAYS + 1), ("one day more", _DAYS + 2)):
            took = _apart(directory, day)
            typer.echo(
                f"{about}: {took.seconds:,.1f} s, {took.processor:,.1f} s of a processor, {took.memory:,.0f} MiB of memory, "
                f"{took.read:,.0f} MiB read, {took.written:,.1f} MiB written; the copy has "
                f"{_size(directory, '.dpsql/ward/snapshot/*.duckdb'):,.0f} MiB"
            )


def _size(directory: Path, pattern: str) -> float:
    return sum(file.stat().st_size for file in directory.glob(pattern)) / _MIB


def _apart(directory: Path, day: int) -> Took:
    """Copy in a process of its own, whose memory nothing else has used."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_copied, (directory, day))


def _copied(directory: Path, day: int) -> Took:
    config, now = load(directory / "config.yaml"), _FIRST + timedelta(days=day)
    before, began = _moved(), time.monotonic()
    used = resource.getrusage(resource.RUSAGE_SELF)
    write_snapshot(config, _quiet, Cancellation(), _at(now))
    after, since = _moved(), resource.getrusage(resource.RUSAGE_SELF)
    processor = since.ru_utime + since.ru_stime - used.ru_utime - used.ru_stime
    read, written = ((b - a) / _MIB for a, b in zip(before, after, strict=True))
    return Took(time.monotonic() - began, processor, _most(), read, written)


def _moved() -> tuple[int, int]:
    """Return how many bytes this process has read and written, by calls."""
    lines = Path("/proc/self/io").read_text(encoding="utf-8").splitlines()
    numbers = {name: int(number) for name, number in (line.split(": ") for line in lines)}
    return numbers["rchar"], numbers["wchar"]


def _most() -> float:
    """Return how many MiB this program has had at most; `ru_maxrss` is that of the one that started it, too."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _quiet(_: str) -> None:
    """Tell nobody."""


def _at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


if __name__ == "__main__":
    typer.run(main)
