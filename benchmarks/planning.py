"""How long planning takes: from a statement's text to what would be measured, without the engine and the noise.

Cold, a text was never seen before; so is one with another constant. Warm, it is the same text again. What the shadow is
asked for the types of the outputs is the wire's round trip and not counted; what planning itself asks it is.
"""

import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.gateway.gateway import Gateway
from dpsql.question import Asker
from dpsql.rewrite.syntax.analyze import AnalyzedStatement
from tests.support.fix_policy import read_policy
from tests.support.fix_world import USERS, Client, World, noon, running
from tests.support.golden import load
from tests.support.memory import Memory

ROUNDS = 5
FILES = ("analysts", "tools", "keys", "times", "joins", "sums", "where", "subqueries")
"""Golden files of statements: as analysts and tools write them, and of every kind."""
_LIMIT = 2.0
_CONSTANT = re.compile(r"((?<!<)[<>]=? )(\d+)\b")


@dataclass(frozen=True, slots=True)
class Planning:
    """Milliseconds that each statement took, by how well it was known."""

    cold: Sequence[float]
    other: Sequence[float]
    warm: Sequence[float]


def main() -> None:
    """Print the median and the 95th percentile over the statements of the golden files."""
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name, running(read_policy(Path(name))) as world:
        taken = measure(world, Path(name))
    table = Table("statement", "number", "median, ms", "95 %, ms")
    for label, times in (
        ("never seen", taken.cold),
        ("seen with another constant", taken.other),
        ("seen", taken.warm),
    ):
        table.add_row(label, str(len(times)), f"{statistics.median(times):.2f}", f"{_most(times):.2f}")
    Console().print(table)
    Console().print(f"warm below {_LIMIT:g} ms: {'ok' if statistics.median(taken.warm) < _LIMIT else 'MISSED'}")


def measure(world: World, directory: Path) -> Planning:
    """Return the best of some rounds for each statement, each round with a gateway that knows nothing."""
    ledger = SqliteLedger(directory / "planning.db", noon)
    engine, owner = Memory(world.policy), world.connect("dpsql_owner")
    client = Client(world.gateway(engine, ledger), ledger, world.connect("ana"), owner, Asker("ana", USERS["ana"]))
    cold, other, warm = [], [], []
    for sql in (g.sql for g in load() if g.file in FILES and g.user == "ana" and g.cost):
        rounds = [_planned(world.gateway(engine, ledger), client, sql) for _ in range(ROUNDS)]
        cold.append(min(times[0] for times in rounds))
        warm.append(min(times[1] for times in rounds))
        if _CONSTANT.search(sql):
            other.append(min(times[2] for times in rounds))
    for connection in (client.connection, owner):
        connection.close()
    return Planning(cold, other, warm)


def _planned(gateway: Gateway, client: Client, sql: str) -> tuple[float, float, float]:
    """Return the milliseconds for a text, for the same again, and for it with another constant."""
    changed = _CONSTANT.sub(lambda match: f"{match[1]}{int(match[2]) + 1}", sql)
    first, again, another = (_timed(gateway, client, text) for text in (sql, sql, changed))
    return first, again, another


def _timed(gateway: Gateway, client: Client, sql: str) -> float:
    begun = time.perf_counter()
    question = gateway.examine(sql, client.asker)
    examined = time.perf_counter() - begun
    assert question is not None
    assert isinstance(question.parsed, AnalyzedStatement)
    request = client.request(question)
    begun = time.perf_counter()
    gateway.priced(question.parsed, request)
    return (examined + time.perf_counter() - begun) * 1000


def _most(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    main()
