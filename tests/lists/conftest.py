"""The tables of the benchmarks in DuckDB and in a PostgreSQL, which also says what their statements mean."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.question import Asker
from tests.docs.pages import ROOT
from tests.lists.hits import hits
from tests.lists.retail import retail
from tests.lists.rides import rides
from tests.support.fix_world import Client, World, noon, running
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Row
from tests.support.served import Served

_CONFIG = """\
dataset: lists
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget:
  customer: {epsilon: 1e30, delta: 0.5}
  visitor: {epsilon: 1e30, delta: 0.5}
roles:
  tpch: {protects: customer, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
  clickbench: {protects: visitor, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
users: {}
"""
USERS = {"tom": "tpch", "kim": "clickbench"}
_RETAIL = """\
dataset: retail
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget:
  customer: {epsilon: 1e30, delta: 0.5}
roles:
  tpcds: {protects: customer, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
users: {}
"""

_RIDES = """\
dataset: rides
engine: {kind: duckdb, database: unused.duckdb}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///unused.db
budget:
  rider: {epsilon: 1e30, delta: 0.5}
roles:
  layers: {protects: rider, budget: {epsilon: 1e30, delta: 0.5}, per_query: {epsilon: 1e12, delta: 0.01}}
users: {}
"""


@dataclass(frozen=True, slots=True)
class Lists:
    """Clients by their engine and their role, and the tables as PostgreSQL has them."""

    clients: Mapping[tuple[str, str], Client]
    plain: Served


def read_policy(directory: Path, schemas: str = "lists", config: str = _CONFIG) -> Policy:
    """Return the policy of some benchmarks; its files are put together in `directory`."""
    shutil.copytree(ROOT / "tests" / "schemas" / schemas, directory / "schemas")
    (directory / "config.yaml").write_text(config, encoding="utf-8")
    return load(directory / "config.yaml").policy


def generate(directory: Path, scale: str) -> Mapping[str, Path]:
    """Return the files of TPC-H's tables at a scale."""
    program = Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run([program, "csv", "-s", scale, "--output-dir", directory], check=True, capture_output=True)  # noqa: S603
    return {file.stem: file for file in directory.glob("*.csv")}


def _types(policy: Policy) -> Mapping[str, str]:
    columns = [column for table in policy.tables.values() for column in table.columns.values()]
    return {c.name: c.declared for c in columns if c.declared.startswith("numeric(")}


def _filled(policy: Policy, files: Mapping[str, Path]) -> Memory:
    memory = Memory(policy, public={}, types=_types(policy))
    for table, file in files.items():
        memory.execute(f"INSERT INTO {table} BY NAME SELECT * FROM read_csv('{file}')")
    memory.fill("hits", hits())
    return memory


def _served(world: World, files: Mapping[str, Path]) -> Served:
    served = Served(world, "lists_records", {"hits": hits()})
    for table, file in files.items():
        with served._owner.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)".encode()) as copy:
            copy.write(file.read_bytes())
    served.execute("CREATE INDEX ON lineitem (l_partkey, l_suppkey)")  # without which the reference takes minutes
    served.execute("ANALYZE")
    return served


def lists(directory: Path, scale: str) -> Iterator[Lists]:
    """Yield clients of TPC-H and ClickBench on both engines, for whom nothing is noisy."""
    policy, files = read_policy(directory), generate(directory / "tpch", scale)
    memory = _filled(policy, files)
    with running(policy, USERS, memory) as world:
        yield from _asking(world, USERS, {"duckdb": memory, "postgres": _served(world, files)})


def _asking(world: World, users: Mapping[str, str], engines: Mapping[str, Memory | Served]) -> Iterator[Lists]:
    """Yield users' clients of all engines, and end these."""
    clients: dict[tuple[str, str], Client] = {}
    with quick_ledger(noon) as ledger:
        for name, engine in engines.items():
            gateway = replace(world, public=read_public(world.policy, engine)).gateway(engine, ledger)
            for user, role in users.items():
                connections = (
                    world.connect(user, world.policy.dataset),
                    world.connect("dpsql_owner", world.policy.dataset),
                )
                clients[name, role] = Client(gateway, ledger, *connections, Asker(user, role))
        plain = engines["postgres"]
        assert isinstance(plain, Served)
        yield Lists(clients, plain)
        for client in clients.values():
            client.connection.close()
            client.owner.close()
        for engine in engines.values():
            engine.close()


def retail_lists(directory: Path) -> Iterator[Lists]:
    """Yield clients of TPC-DS on both engines, for whom nothing is noisy."""
    policy = read_policy(directory, "tpcds", _RETAIL)
    yield from _of_rows(policy, retail(), {"tom": "tpcds"})


def rides_lists(directory: Path) -> Iterator[Lists]:
    """Yield clients of what semantic layers ask about on both engines, for whom nothing is noisy."""
    policy = read_policy(directory, "semantic", _RIDES)
    yield from _of_rows(policy, rides(), {"tom": "layers"})


def _of_rows(policy: Policy, rows: Mapping[str, Sequence[Row]], users: Mapping[str, str]) -> Iterator[Lists]:
    memory = Memory(policy, public=rows, types=_types(policy))
    with running(policy, users, memory) as world:
        served = Served(world, f"{policy.dataset}_records", rows)
        served.execute("ANALYZE")
        yield from _asking(world, users, {"duckdb": memory, "postgres": served})


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lists]:
    """The tables at a thousandth of TPC-H's size."""
    yield from lists(tmp_path_factory.mktemp("lists"), "0.001")


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lists]:
    """The tables at a hundredth of TPC-H's size."""
    yield from lists(tmp_path_factory.mktemp("lists"), "0.01")


@pytest.fixture(scope="session")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lists]:
    """A few thousand sales to a few hundred customers, and all that TPC-DS has around them."""
    yield from retail_lists(tmp_path_factory.mktemp("retail"))


@pytest.fixture(scope="session")
def ridden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lists]:
    """A few thousand trips of a few hundred riders, and all that a semantic model has around them."""
    yield from rides_lists(tmp_path_factory.mktemp("rides"))
