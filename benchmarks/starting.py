"""How long dpsql takes to its first answer: `dpsql serve` on the demo's million trips, and `dpsql query` of a file.

By the clock, and of the processor with all processes that are started for it, which others on the machine disturb less. The
demo is there already. What is compiled is compiled, and files have been read before. Aims: two seconds by the clock for
`serve` whose shadow is there, 1.5 seconds of the processor for `query`.
"""

import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from time import perf_counter

import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.speed.measured import today
from dpsql.demo.setting import packaged_config
from dpsql.demo.trips import generate
from dpsql.wire.protocol.scram import Verifier
from tests.support.processes import children, seconds_with_children

ROUNDS = 7
_SERVE, _QUERY = 2.0, 1.5
"""Seconds that the two are to stay below: by the clock, and of the processor."""
_ROLE = "owner"
_QUESTIONS = (
    f"SELECT payment_type, count(*), avg(fare) FROM trips WHERE fare > {fare} GROUP BY payment_type"  # noqa: S608 # a number
    for fare in itertools.count(5)
)
"""Each is a new one; what was answered before would be answered from the ledger."""
_PASSWORD = "of a benchmark"  # noqa: S105 # of a server that lives for one answer


@dataclass(frozen=True, slots=True)
class Started:
    """Seconds to the first answer, at the median of some rounds."""

    about: str
    clock: float
    processor: float
    """Of all of dpsql's processes, PostgreSQL's included; of whoever asks only where that is dpsql."""
    load: float
    """The machine's load in the last minute, afterwards."""
    taken: str
    """The day."""


def main() -> None:
    """Print what each start takes, and end with 1 if one misses its aim."""
    table = Table("to the first answer", "by the clock, s", "of the processor, s")
    found = list(started())
    for one in found:
        table.add_row(one.about, f"{one.clock:.2f}", f"{one.processor:.2f}")
    Console().print(table)
    serve, _, query, _ = found
    if serve.clock > _SERVE or query.processor > _QUERY:
        sys.exit("MISSED")


def started(rounds: int = ROUNDS) -> Iterator[Started]:
    """Measure each start: as it mostly is, and as it is for the first time."""
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        home = Path(name)
        home.chmod(0o711)
        generate(home / "taxi.duckdb")
        config = _config(home)
        _serve(config)
        yield _median("`dpsql serve`", lambda: _serve(config), rounds)
        yield _median("`dpsql serve`, whose shadow is made", lambda: _serve(config, anew=True), rounds)
        _query(config)
        yield _median("`dpsql query`", lambda: _query(config), rounds)
        yield _median("`dpsql query`, whose shadow is made", lambda: _query(config, anew=True), rounds)


def _median(about: str, start: Callable[[], tuple[float, float]], rounds: int) -> Started:
    clock, processor = zip(*(start() for _ in range(rounds)), strict=True)
    return Started(about, statistics.median(clock), statistics.median(processor), os.getloadavg()[0], today())


def _config(home: Path) -> Path:
    """Write the demo's configuration for records in a directory, with a user, and ports that are free."""
    demo = packaged_config()
    text = re.sub(r"^web: .*\n", "", demo.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = text.replace(".dpsql/demo/taxi.duckdb", "taxi.duckdb").replace("port: 5439", "port: 0")
    text = text.replace("schemas: schemas/", f"schemas: {demo.parent / 'schemas'}")
    text = text.replace("users: {}", f'users: {{olga: {{role: {_ROLE}, password: "{Verifier.of(_PASSWORD)}"}}}}')
    config = home / "config.yaml"
    config.write_text(text, encoding="utf-8")
    return config


def _forget(config: Path) -> None:
    """Remove all shadows, and what was tried in them."""
    for place in (config.parent / ".dpsql").glob("shadow*/"):
        rmtree(place)
    (config.parent / ".dpsql" / "tried").unlink(missing_ok=True)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from dpsql.cli.main import app; app()", *arguments]


def _serve(config: Path, *, anew: bool = False) -> tuple[float, float]:
    """Start a server, ask it once, and stop it; return the seconds until the answer."""
    if anew:
        _forget(config)
    start = perf_counter()
    with subprocess.Popen(  # noqa: S603 # ourselves
        _command("serve", "--config", str(config)), stdout=subprocess.PIPE, text=True, env=_environment()
    ) as server:
        assert server.stdout is not None
        said = next(filter(None, (re.match(r"serving \S+ on \S+:(\d+)", line) for line in server.stdout)))
        words = f"host=127.0.0.1 port={said[1]} user=olga password='{_PASSWORD}' dbname=taxi"
        with psycopg.connect(words, autocommit=True) as connection:
            connection.execute(next(_QUESTIONS).encode()).fetchall()
            clock, processor = perf_counter() - start, _worked(server.pid)
        server.terminate()
    return clock, processor


def _worked(pid: int) -> float:
    """Return how long a process and all that it has started have had a processor, those included that are done."""
    return seconds_with_children(pid) + sum(_worked(child) for child in children(pid))


def _query(config: Path, *, anew: bool = False) -> tuple[float, float]:
    """Ask by a command, which starts a server and stops it; return the seconds that all of it takes."""
    if anew:
        _forget(config)
    before, start = os.times(), perf_counter()
    asked = _command("query", "--config", str(config), "--role", _ROLE, next(_QUESTIONS))
    subprocess.run(asked, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment())  # noqa: S603
    after = os.times()
    worked = after.children_user + after.children_system - before.children_user - before.children_system
    return perf_counter() - start, worked


def _environment() -> dict[str, str]:
    """Return an environment in which what is imported is kept compiled."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


if __name__ == "__main__":
    main()
