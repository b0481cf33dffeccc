"""`python -m benchmarks.peers`: ask all systems all questions, print how it goes, and write the page.

A peer's environment is a directory below `--peers`; `make bench-peers` makes them.
"""

import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.peers.asked import Exact, Ours, Peer, System, Task
from benchmarks.peers.declared import DELTA, EPSILON, PLENTY, configure, declared
from benchmarks.peers.measured import DUCKDB, OURS, POSTGRES, SNAPSHOT, Part, check, load, measure, pooled
from benchmarks.peers.page import Found, page
from benchmarks.peers.questions import questions
from benchmarks.peers.records import write_duckdb
from benchmarks.peers.server import serving

_PEERS = {"SmartNoise SQL": ("smartnoise", "smartnoise-sql"), "Qrlew": ("qrlew", "pyqrlew")}
_CHECKED = 1000
"""Trips that the answers without noise are about: no passenger has more rows than count."""
_LIMIT = 600.0


def run(
    *,
    rows: Annotated[list[int], typer.Option(help="numbers of trips")] = [1000, 1_000_000],  # noqa: B006 # typer's own way
    repetitions: int = 200,
    seconds: Annotated[float, typer.Option(help="no run of a question begins after that")] = 15.0,
    peers: Path = Path(".venv/peers"),
    to: Path = Path("docs/peers.md"),
    kept: Annotated[Path, typer.Option(help="what was measured, of which other numbers of trips stay")] = Path(
        ".venv/peers/measured"
    ),
) -> None:
    """Compare dpsql with its peers."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and the servers with it
    versions = {
        OURS: version(OURS),
        SNAPSHOT: version(OURS),
        **{name: _version(peers, *how) for name, how in _PEERS.items()},
    }
    measured: dict[int, list[Part]] = pickle.loads(kept.read_bytes()) if kept.exists() else {}  # noqa: S301 # our own
    task = Task(EPSILON, DELTA, repetitions, seconds, _LIMIT)
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as directory:
        Path(directory).chmod(0o711)  # PostgreSQL's account passes through
        with _systems(Path(directory) / "check", _CHECKED, peers, (POSTGRES,)) as engines:
            wrong = check(*engines[POSTGRES], questions(), replace(task, epsilon=PLENTY, repetitions=3), _told)
        for number in rows:
            with _systems(Path(directory) / str(number), number, peers, (POSTGRES, DUCKDB)) as engines:
                measured[number] = []
                for engine, of in engines.items():
                    measured[number].append(_part(number, engine, of, task, wrong))
                    kept.write_bytes(pickle.dumps(measured))
    found = Found(questions(), [part for number in sorted(measured) for part in pooled(measured[number])], versions)
    to.write_text(page(found), encoding="utf-8")
    _told(f"written to {to}")


def _part(
    rows: int,
    engine: str,
    asked_of: tuple[Mapping[str, System], System],
    task: Task,
    wrong: Mapping[tuple[str, str], str],
) -> Part:
    before, begin = load(), time.monotonic()
    _told(f"{rows:,} trips, {engine}")
    exact, columns, cells = measure(*asked_of, questions(), task, wrong, _told)
    _told(f"{rows:,} trips, {engine}: {time.monotonic() - begin:.0f} s")
    return Part(rows, engine, exact, columns, cells, (before, load()))


@contextmanager
def _systems(
    directory: Path, rows: int, peers: Path, on: tuple[str, ...]
) -> Iterator[dict[str, tuple[dict[str, System], System]]]:
    """Make the records and yield by engine those that are asked about them, and the exact answers' source."""
    directory.mkdir(mode=0o711)
    file, tables = directory / "records.duckdb", declared(rows)
    write_duckdb(file, rows)
    with ExitStack() as stack:
        dsn = stack.enter_context(serving(directory / "postgres", file))
        engines: dict[str, dict[str, str | bool]] = {
            POSTGRES: {"kind": "postgres", "dsn": dsn},
            DUCKDB: {"kind": "duckdb", "database": str(file)},
        }
        opening = {POSTGRES: {"dsn": dsn}, DUCKDB: {"dsn": dsn, "duckdb": str(file)}}
        units = sorted({table["unit"] for table in tables.values()})
        found: dict[str, tuple[dict[str, System], System]] = {}
        for engine in on:
            settings = engines[engine]
            kept = configure(directory / f"{engine}-snapshot", {**settings, "snapshot": True}, tables)
            systems: dict[str, System] = {
                OURS: Ours(configure(directory / engine, settings, tables), units),
                SNAPSHOT: Ours(kept, units),
            }
            for name, (short, _) in _PEERS.items():
                if engine == POSTGRES or short == "qrlew":
                    python = peers / short / "bin" / "python"
                    systems[name] = Peer(python, f"ask_{short}.py", {**opening[engine], "tables": tables})
            exact = Exact(dsn, file if engine == DUCKDB else None)
            for system in (*systems.values(), exact):
                stack.callback(system.close)
            found[engine] = (systems, exact)
        yield found


def _version(peers: Path, short: str, package: str) -> str:
    """Return what version of a peer is installed; end where there is none."""
    python = peers / short / "bin" / "python"
    question = f"from importlib.metadata import version; print(version('{package}'))"
    try:
        return subprocess.run([python, "-c", question], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        sys.exit(
            f"{package} is not installed in {peers / short}: make bench-peers installs it, with Python 3.11 or 3.12"
        )


def _told(what: str) -> None:
    typer.echo(f"{time.strftime('%H:%M:%S')} {what}", err=True)


if __name__ == "__main__":
    typer.run(run)
