"""What dpsql adds to the engine's own time: a grouped COUNT and AVG, client to client, on the demo's million trips.

Every answer is measured and paid anew (each has an ε of its own); the engine's own time is that of the very statements
that EXPLAIN VERBOSE shows, run in turn on another engine like the server's: with its settings, and with what it keeps beside
the records. Aim: under 8 ms at the median.
"""

import re
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

import psycopg
from rich.console import Console
from rich.table import Table

import dpsql
from dpsql.demo.setting import packaged_config
from dpsql.demo.trips import generate
from dpsql.engines.base import OwnerEngine
from dpsql.engines.open import open_engine
from dpsql.policy.load import load

ROUNDS, _LIMIT = 60, 60.0
_UNTIL_READ = 10.0
"""Seconds until the server has read what it keeps in memory."""
QUESTIONS = {
    "a count": "SELECT count(*) FROM trips",
    "COUNT and AVG by payment": "SELECT payment_type, count(*), avg(fare) FROM trips GROUP BY payment_type",
    "COUNT and AVG by zone": "SELECT pickup_zone, count(*), avg(fare) FROM trips GROUP BY pickup_zone",
    "a restricted AVG by hour": "SELECT extract(hour FROM pickup_ts) AS h, avg(tip) FROM trips WHERE fare > 10 GROUP BY 1",
}


@dataclass(frozen=True, slots=True)
class Added:
    """What one question takes of one client, in milliseconds at the median."""

    about: str
    whole: float
    engine: float
    added: float
    """The whole without the engine's: the median of the differences."""
    again: float
    """The same question once more, whose answer is known."""


def main() -> None:
    """Print, for each question, the whole time, the engine's, and what was added."""
    table = Table("question", "whole, ms", "engine, ms", "added, ms", "again, ms")
    for one in added():
        table.add_row(one.about, *(f"{ms:.1f}" for ms in (one.whole, one.engine, one.added, one.again)))
    Console().print(table)


def added() -> Iterator[Added]:
    """Measure each question on a server of its own process."""
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        home = Path(name)
        home.chmod(0o711)
        data = home / "taxi.duckdb"
        generate(data)
        config = _config(home, data)
        own: OwnerEngine = open_engine(load(config, {}))  # type: ignore[assignment] # DuckDB's is
        with closing(own), dpsql.connect(config, role="bench") as connection:
            connection.autocommit = True
            sleep(_UNTIL_READ)
            for about, question in QUESTIONS.items():
                yield _measured(connection, own, about, question)


def _config(home: Path, data: Path) -> Path:
    """Write a configuration with a role that may ask for long."""
    demo = packaged_config()
    text = demo.read_text(encoding="utf-8").split("budget:")[0]
    text = text.replace("schemas: schemas/", f"schemas: {demo.parent / 'schemas'}")
    text = text.replace(".dpsql/demo/taxi.duckdb", str(data)).replace(
        "sqlite:///.dpsql/ledger.db", "sqlite:///ledger.db"
    )
    # Sixty answers to one question, each of another ε, would be put together with each other: nobody asks so.
    role = "{protects: passenger, budget: {epsilon: 100000}, per_query: {epsilon: 1}, reuse: exact}"
    text += f"budget: {{passenger: {{epsilon: 100000}}}}\nroles:\n  bench: {role}\nusers: {{}}\n"
    config = home / "config.yaml"
    config.write_text(text, encoding="utf-8")
    return config


def _measured(connection: psycopg.Connection, own: OwnerEngine, about: str, question: str) -> Added:
    lines = [str(line) for (line,) in connection.execute(f"EXPLAIN VERBOSE {question}".encode()).fetchall()]
    statements = [found[1] for line in lines if (found := re.search(r"Engine(?:, for C)?: (.*)", line))]
    whole, engine, again = [], [], []
    for number in range(ROUNDS):
        connection.execute(f"SET dpsql.epsilon = '0.{90_000 + number}'".encode())
        whole.append(_ms(lambda: connection.execute(question.encode()).fetchall()))
        engine.append(_ms(lambda: [own.for_owner(sql, timeout=_LIMIT) for sql in statements]))
        again.append(_ms(lambda: connection.execute(question.encode()).fetchall()))
    warm = slice(5, None)
    differences = [w - e for w, e in zip(whole[warm], engine[warm], strict=True)]
    return Added(about, *map(statistics.median, (whole[warm], engine[warm], differences, again[warm])))


def _ms(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return (perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
