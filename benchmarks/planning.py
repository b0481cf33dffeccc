"""How long planning takes: from a statement's text to what would be measured, without the engine and the noise.

A text was never seen before, or with another constant, or with two others, from which on it takes its tree from them; or it
is the same text again. What the shadow is asked for the types of the outputs is the wire's round trip and not counted; what
planning itself asks it is. The largest are statements over several protected tables, of rows of single units, and of two
stages; semantic layers' are those of MetricFlow and Cube. Garbage is collected as often as where `dpsql serve` runs.
"""

import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.gateway.gateway import Gateway
from dpsql.question import Asker
from dpsql.system_limits import collect_seldom
from tests.lists.conftest import rides_lists
from tests.lists.layers import LAYERS
from tests.lists.statements import load as load_list
from tests.lists.statements import verdicts
from tests.support import fix_shop
from tests.support.fix_policy import read_policy
from tests.support.fix_world import USERS, Client, World, noon, running
from tests.support.golden import load
from tests.support.memory import Memory
from tests.support.shop_statements import ANSWERED

ROUNDS = 5
FILES = ("analysts", "tools", "keys", "times", "joins", "sums", "where", "subqueries")
"""Golden files of statements: as analysts and tools write them, and of every kind."""
LARGEST = ("two_stage", "units", "unions", "windows", "correlated", "pivots")
"""Those of the largest statements; the others of these are the shop's."""
_USUAL, _LARGE, _LAYERS = 2.0, 10.0, 50.0
"""Milliseconds at the median that planning is to stay below; what semantic layers write, every statement."""
_CONSTANT = re.compile(r"((?<!<)[<>]=? )(\d+)\b")


class Milliseconds(NamedTuple):
    """What planning took: by the clock, and of the processor, which others on the machine disturb less."""

    clock: float
    processor: float


@dataclass(frozen=True, slots=True)
class Planning:
    """What each statement took, by how well it was known."""

    cold: Sequence[Milliseconds]
    other: Sequence[Milliseconds]
    third: Sequence[Milliseconds]
    warm: Sequence[Milliseconds]


def main() -> None:
    """Print the median and the 95th percentile over the statements of the golden files, and of the shop."""
    collect_seldom()
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        directory = Path(name)
        with running(read_policy(directory)) as world:
            usual = measure(world, Memory(world.policy), directory / "usual.db", golden(*FILES))
            largest = measure(world, Memory(world.policy), directory / "largest.db", golden(*LARGEST))
        policy = fix_shop.read_shop(directory / "shop")
        engine = Memory(policy, public=fix_shop.PUBLIC)
        with running(policy, fix_shop.USERS, engine) as world:
            shop = measure(world, engine, directory / "shop.db", ANSWERED)
        with contextmanager(rides_lists)(directory / "rides") as ridden:
            layers = measured_by(ridden.clients["duckdb", "layers"], layered())
    large = Planning(
        [*largest.cold, *shop.cold],
        [*largest.other, *shop.other],
        [*largest.third, *shop.third],
        [*largest.warm, *shop.warm],
    )
    table = Table("statement", "number", "median, ms", "95 %, ms", "processor, median, ms")
    for kind, taken in (("usual", usual), ("largest", large), ("of semantic layers", layers)):
        for label, times in (
            ("never seen", taken.cold),
            ("seen with another constant", taken.other),
            ("seen with two others", taken.third),
            ("seen", taken.warm),
        ):
            clock, processor = zip(*times, strict=True)
            figures = (statistics.median(clock), _most(clock), statistics.median(processor))
            table.add_row(f"{kind}, {label}", str(len(times)), *(f"{figure:.2f}" for figure in figures))
    Console().print(table)
    for label, took, limit in (
        ("usual, seen", _median(usual.warm), _USUAL),
        ("usual, never seen", _median(usual.cold), _USUAL),
        ("largest, never seen", _median(large.cold), _LARGE),
        ("every one of semantic layers, never seen", max(one.processor for one in layers.cold), _LAYERS),
    ):
        Console().print(f"{label}, below {limit:g} ms: {'ok' if took < limit else f'MISSED, {took:.1f}'}")


def golden(*files: str) -> list[str]:
    """Return the statements of golden files that are answered and cost something."""
    return [one.sql for one in load() if one.file in files and one.user == "ana" and one.cost]


def layered() -> list[str]:
    """Return what semantic layers write, and is answered."""
    return [
        sql for name in LAYERS for number, sql in load_list(name).items() if verdicts(name).get(number) == "answered"
    ]


def measure(world: World, engine: Memory, ledger_file: Path, asked: Sequence[str]) -> Planning:
    """Return what planning statements takes, for a new client."""
    ledger, owner = SqliteLedger(ledger_file, noon), world.connect("dpsql_owner", world.policy.dataset)
    connection = world.connect("ana", world.policy.dataset)
    client = Client(world.gateway(engine, ledger), ledger, connection, owner, Asker("ana", USERS["ana"]))
    planning = measured_by(client, asked)
    for one in (client.connection, owner):
        one.close()
    return planning


def measured_by(client: Client, asked: Sequence[str]) -> Planning:
    """Return the best of some rounds for each statement, each round with a gateway that knows nothing."""
    cold, other, third, warm = [], [], [], []
    for sql in asked:
        rounds = [_planned(client.new_gateway(), client, sql) for _ in range(ROUNDS)]
        first, again, *others = (_least(times) for times in zip(*rounds, strict=True))
        cold.append(first)
        warm.append(again)
        if _CONSTANT.search(sql):
            other.append(others[0])
            third.append(others[1])
    return Planning(cold, other, third, warm)


def _least(rounds: Sequence[Milliseconds]) -> Milliseconds:
    return Milliseconds(min(one.clock for one in rounds), min(one.processor for one in rounds))


def _planned(gateway: Gateway, client: Client, sql: str) -> list[Milliseconds]:
    """Return the milliseconds for a text, for the same again, and for it with two other constants."""
    return [timed(gateway, client, text) for text in (sql, sql, _changed(sql, 1), _changed(sql, 2))]


def _changed(sql: str, more: int) -> str:
    """Return a statement with the whole numbers that it compares with, and so much more."""
    return _CONSTANT.sub(lambda match: f"{match[1]}{int(match[2]) + more}", sql)


def timed(gateway: Gateway, client: Client, sql: str) -> Milliseconds:
    """Return what it takes to plan a statement."""
    begun = _now()
    question = gateway.examine(sql, client.asker)
    examined = _now()
    assert question is not None
    request = client.request(question)
    described = _now()
    analyzed = gateway.analyzed(request)
    assert analyzed is not None
    gateway.priced(analyzed, request)
    ended = _now()
    taken = (1000 * (b - a + d - c) for a, b, c, d in zip(begun, examined, described, ended, strict=True))
    return Milliseconds(*taken)


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.thread_time()


def _median(times: Sequence[Milliseconds]) -> float:
    return statistics.median(one.clock for one in times)


def _most(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    main()
