"""Records on an engine, with dpsql in front of it in several ways, and the plain query beside them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from time import perf_counter

import duckdb
import psycopg

from benchmarks.peers.declared import EPSILON, configure
from benchmarks.peers.measured import DUCKDB, POSTGRES
from benchmarks.peers.server import serving
from benchmarks.speed.asked import ALONE, SNAPSHOT, Asked
from benchmarks.speed.records import Records
from dpsql.engines.base import OwnerEngine
from dpsql.engines.duckdb.opening import ATTACHED, DUCKDB_SETTINGS
from dpsql.engines.open import open_engine
from dpsql.errors import DpsqlError
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.policy.model import Policy, UnitBound
from dpsql.privacy.measurement.plan import pay_parts
from dpsql.rewrite.emit.emitter import Emitter
from tests.support.exactness import plans
from tests.support.fix_world import World, running

_LIMIT = 3600.0
Plain = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Opened:
    """Records that can be asked."""

    records: Records
    engine: str
    plain: Plain
    """Runs a query as it is, to its last row."""
    ways: Mapping[str, tuple[Policy, OwnerEngine]]
    world: World
    about: str

    def statements(self, way: str, question: Asked) -> Sequence[str]:
        """Return what the engine is asked for a question; nothing for one that is refused."""
        policy, engine = self.ways[way]
        emitter = Emitter(engine.dialect, self.world.public.declared, engine.named, engine.kept)
        try:
            found = plans(question.sql, policy, self.world, engine, question.role)
        except DpsqlError:
            return ()
        each = Fraction(EPSILON) / sum(len(plan.parts) for plan in found)
        return [part.sql(emitter) for plan in found for part in pay_parts(plan, each).parts]

    def run(self, way: str, statements: Sequence[str]) -> None:
        """Run them as the gateway would, one after the other."""
        for sql in statements:
            self.ways[way][1].for_owner(sql, timeout=_LIMIT)


@contextmanager
def opened(directory: Path, records: Records, engine: str, ways: Sequence[str]) -> Iterator[Opened]:
    """Write the records, serve them where a server is needed, copy them where a way needs that."""
    directory.mkdir(mode=0o711)
    file = directory / "records.duckdb"
    records.write(file)
    with ExitStack() as until:
        if engine == POSTGRES:
            dsn = until.enter_context(serving(directory / "postgres", file))
            source, plain = {"kind": "postgres", "dsn": dsn}, until.enter_context(_plain_postgres(dsn))
        else:
            source, plain = {"kind": "duckdb", "database": str(file)}, until.enter_context(_plain_duckdb(file))
        config = load(_configured(directory / "config", source, records), {})
        found, about = {}, ""
        for way in ways:
            begun = perf_counter()
            own: OwnerEngine = open_engine(config if way == SNAPSHOT else replace(config, snapshot=None))  # type: ignore[assignment] # all are
            until.callback(own.close)
            if way == SNAPSHOT:
                about = _of_copy(config, perf_counter() - begun)
            found[way] = (_alone(config.policy) if way == ALONE else config.policy, own)
        _, some = found[ways[0]]
        world = until.enter_context(running(config.policy, {role: role for role in config.policy.roles}, some))
        yield Opened(records, engine, plain, found, world, about)


def _configured(directory: Path, source: Mapping[str, str], records: Records) -> Path:
    """Write a configuration whose roles pay for a question what the 22 questions are to cost."""
    file = configure(directory, {**source}, records.declared, epsilon=EPSILON)
    document = json.loads(file.read_text())
    document["engine"]["snapshot"] = True
    file.write_text(json.dumps(document))
    return file


def _alone(policy: Policy) -> Policy:
    """Return the policy by which each trip is a unit."""
    trips = replace(policy.tables["taxi"], units={"passenger": UnitBound("trip_id", 1)})
    return replace(policy, tables={**policy.tables, "taxi": trips})


def _of_copy(config: Config, seconds: float) -> str:
    assert config.snapshot is not None
    size = sum(file.stat().st_size for file in config.snapshot.directory.glob("*.duckdb"))
    return f"The snapshot was written in {seconds:.0f} s and takes {size / 2**20:,.0f} MiB."


@contextmanager
def _plain_duckdb(file: Path) -> Iterator[Plain]:
    with duckdb.connect(config=dict(DUCKDB_SETTINGS)) as own:
        own.execute(f"ATTACH '{file}' AS {ATTACHED} (READ_ONLY); USE {ATTACHED}")
        yield lambda sql: own.execute(sql).fetchall()


@contextmanager
def _plain_postgres(dsn: str) -> Iterator[Plain]:
    with psycopg.connect(dsn, options="-c jit=off", autocommit=True) as own:
        yield lambda sql: own.execute(sql.encode()).fetchall()


ENGINES = {"duckdb": DUCKDB, "postgres": POSTGRES}
"""By the name that a configuration has for it."""
