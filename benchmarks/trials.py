"""What a trial takes: golden statements of every kind and those over the shop, on synthetic people, for each engine.

Run `python -m benchmarks.trials`. Each statement is tried as one of a form that was never seen; how long it takes to make the
databases, which is once for a server that has something to try, stands apart.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.planning import FILES, golden
from dpsql.errors import DpsqlError
from tests.support import fix_shop
from tests.support.fix_policy import read_policy
from tests.support.fix_world import World, running
from tests.support.memory import Memory
from tests.support.records import Row
from tests.support.served import Filled, Served
from tests.support.shop_statements import ANSWERED
from tests.support.tried import court

_LIMIT = 60.0
"""Milliseconds at the median that a trial is to stay below."""


def main() -> None:
    """Print the median and the 95th percentile over the statements, and what the databases take."""
    table = Table("statements", "engine", "number", "median, ms", "95 %, ms", "databases, ms")
    medians: list[float] = []
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        policy = read_policy(Path(name))
        with running(policy) as world, _engines(world, Memory(policy), {}) as engines:
            found = {("golden", engine): _tried(world, one, golden(*FILES)) for engine, one in engines.items()}
        shop = fix_shop.read_shop(Path(name) / "shop")
        memory = Memory(shop, public=fix_shop.PUBLIC)
        with running(shop, fix_shop.USERS, memory) as world, _engines(world, memory, fix_shop.PUBLIC) as engines:
            found |= {("shop", engine): _tried(world, one, ANSWERED) for engine, one in engines.items()}
    for (kind, engine), (databases, times) in found.items():
        medians.append(statistics.median(times))
        most = statistics.quantiles(times, n=20)[-1]
        table.add_row(kind, engine, str(len(times)), f"{medians[-1]:.1f}", f"{most:.1f}", f"{databases:.0f}")
    Console().print(table)
    Console().print(f"below {_LIMIT:g} ms at the median: {'ok' if max(medians) < _LIMIT else 'MISSED'}")


@contextmanager
def _engines(world: World, memory: Memory, public: Mapping[str, Sequence[Row]]) -> Iterator[dict[str, Filled]]:
    served = Served(world, "trials", public) if public else Served(world, "trials")
    yield {"duckdb": memory, "postgres": served}
    served.close()
    memory.close()


def _tried(world: World, engine: Filled, statements: Sequence[str]) -> tuple[float, list[float]]:
    """Return what the databases take, and each statement, in milliseconds."""
    one, times = court(world.policy, world, engine), list[float]()
    since = time.perf_counter()
    one.tried(statements[0], "owner")
    databases = time.perf_counter() - since
    for sql in statements:
        try:
            priced = one.priced(sql, "owner")
        except DpsqlError:
            continue
        since = time.perf_counter()
        if one.see(priced, "owner").new:
            times.append((time.perf_counter() - since) * 1000)
    return databases * 1000, times


if __name__ == "__main__":
    main()
