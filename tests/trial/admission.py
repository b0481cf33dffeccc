"""Admission of an engine: each way in which it may run a statement finds the same integers in synthetic databases."""

import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from dpsql.engines.duckdb.opening import ALLOWED_OPTIMIZERS
from dpsql.engines.postgres.pool import PLAIN_SWITCHES, Pool
from dpsql.engines.spark.client import SparkConnection
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import DpsqlError, EngineFailed, InternalError
from dpsql.policy.config import Resources
from dpsql.policy.model import Policy
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.trial.database_comparison import MeasuredNumbers, reader
from dpsql.trial.duckdb_engine import DuckDbTrialEngine
from dpsql.trial.engine import (
    PATIENCE,
    DatabaseVariant,
    OptimizerLevel,
    TrialEngine,
    TrialEngineFailed,
    database_variants,
)
from dpsql.trial.postgres_engine import PostgresTrialEngine
from dpsql.trial.spark_engine import SparkTrialEngine
from dpsql.trial.subject import TrialSubject
from tests.support.fix_world import World
from tests.support.served import Filled
from tests.support.tried import Court, court

_FEW, _MANY = Resources(memory="512MB", threads=1), Resources(memory="1GB", threads=4)
_NOBODYS = 4096
"""Rows without any value between those that a table has: the first and the last are then different threads' to read."""
_PARALLEL = {
    "min_parallel_table_scan_size": 0,
    "parallel_setup_cost": 0,
    "parallel_tuple_cost": 0,
    "max_parallel_workers_per_gather": 3,
}
_ALONE = {"max_parallel_workers_per_gather": 0}
_TABLES = """
SELECT n.nspname, c.relname,
  string_agg(format('%%I %%s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relkind = 'r' AND n.nspname LIKE %s GROUP BY c.oid, n.nspname, c.relname
"""
Reading = Callable[[Sequence[EngineRow]], MeasuredNumbers]
Way = tuple[TrialEngine, OptimizerLevel]
"""Where a statement runs, and how far it is optimized."""


class Divided(DuckDbTrialEngine):
    """DuckDB over files whose tables several threads read, since each has several groups of rows."""

    def __init__(self, subject: TrialSubject, optimizers: Collection[str], directory: Path) -> None:
        """Make the files in a directory."""
        self._directory = directory
        super().__init__(subject, optimizers, _MANY)

    def _attach(self, name: str) -> None:
        self._connection.execute(f"ATTACH '{self._directory}/{name}.duckdb' AS {name} (ROW_GROUP_SIZE 2048)")

    def _fill(self, place: DatabaseVariant) -> None:
        super()._fill(place)
        run = self._connection.execute
        for name in self._subject.records[place.world].tables:
            table = f"{place.name}.main.{quote_name(name)}"
            ((rows,),) = run(f"SELECT count(*) // 2 FROM {table}").fetchall()
            empty = ", ".join("NULL" for _ in self._subject.types[name])
            half, rest = f"SELECT * FROM {table} LIMIT {rows}", f"SELECT * FROM {table} OFFSET {rows}"
            run(
                f"CREATE TABLE {place.name}.main.divided AS ({half}) UNION ALL "
                f"(SELECT {empty} FROM range({_NOBODYS})) UNION ALL ({rest})"
            )
            run(f"DROP TABLE {table}; ALTER TABLE {place.name}.main.divided RENAME TO {quote_name(name)}")


class Elsewhere(PostgresTrialEngine):
    """An owner's PostgreSQL, in sessions with settings of their own, with a copy of the shadow's synthetic databases."""

    def __init__(
        self, world: World, subject: TrialSubject, dsn: Callable[[str], str], settings: Mapping[str, int]
    ) -> None:
        """Copy the databases to the cluster whose owner connects by `dsn`."""
        super().__init__(subject, world.server.dsn)
        with (
            psycopg.connect(world.server.dsn("postgres")) as here,
            psycopg.connect(dsn("postgres"), autocommit=True) as there,
        ):
            for schema, table, columns in here.execute(_TABLES, (f"{self.names.prefix}%",)).fetchall():
                there.execute(SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(schema)))
                name = Identifier(schema, table)
                there.execute(SQL("CREATE TABLE {} ({})").format(name, SQL(columns)))
                with (
                    here.cursor().copy(SQL("COPY {} TO STDOUT").format(name)) as source,
                    there.cursor().copy(SQL("COPY {} FROM STDIN").format(name)) as target,
                ):
                    for block in source:
                        target.write(block)
        for pool in (self._pool, self._plain):
            pool.close()
        chosen = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._pool = Pool(make_conninfo(dsn("postgres"), options=chosen), most=2)
        self._plain = Pool(dsn("postgres"), most=2, allowed=PLAIN_SWITCHES)
        for pool in (self._pool, self._plain):
            weakref.finalize(self, pool.close)


@dataclass(frozen=True, slots=True)
class Admission:
    """All ways in which an engine may run statements over one world."""

    court: Court
    ways: Mapping[str, Way]
    places: Sequence[DatabaseVariant]
    all_taken: bool = True
    """Whether the engine takes every statement that is written for it: Sail has not all of Spark's SQL."""

    def differences(self, sql: str, role: str) -> Iterator[str]:
        """Yield what is found otherwise than by the first way, for what a statement measures.

        Raises:
            DpsqlError: it is refused.
        """
        kind = self.court.policy.roles[role].protects
        for part in self.court.priced(sql, role).measurements:
            for measurement, text in self.court.trial._variants(part):
                for place in self.places:
                    if place.kind == kind:
                        answers = {
                            name: self._found(way, text, reader(measurement), place) for name, way in self.ways.items()
                        }
                        first = next(iter(answers.values()))
                        if not self.all_taken and not any(
                            isinstance(answer, MeasuredNumbers) for answer in answers.values()
                        ):
                            raise EngineFailed
                        yield from (
                            f"{name}, in {place.name}: {answer} instead of {first}: {text}"
                            for name, answer in answers.items()
                            if not isinstance(answer, MeasuredNumbers)
                            or not isinstance(first, MeasuredNumbers)
                            or not first.same(answer)
                        )

    @staticmethod
    def _found(way: Way, sql: str, read: Reading, place: DatabaseVariant) -> MeasuredNumbers | str:
        trial_engine, optimized = way
        try:
            return read(
                trial_engine.run(trial_engine.names.split(sql).at(place.name), Cancellation(), PATIENCE, optimized)
            )
        except (TrialEngineFailed, InternalError) as failed:
            return f"a failure ({failed})"


def admission(
    policy: Policy,
    world: World,
    engine: Filled,
    directory: Path,
    optimizers: Collection[str] = tuple(ALLOWED_OPTIMIZERS),
    *,
    others: Mapping[str, str] = {},
    dsn: Callable[[str], str] | None = None,
) -> Admission:
    """Return the ways of an engine, the plainest first.

    `optimizers` are DuckDB's, its files in a directory; `others` the addresses of more servers of Spark's, by what they do;
    by `dsn` the owner of the PostgreSQL that holds records connects.
    """
    subject = TrialSubject.of(policy, world.public.rows, engine)
    places = [place for place in database_variants(subject.records) if place.whole or place.unit == 0]
    if engine.dialect.name == "duckdb":
        alone, divided = DuckDbTrialEngine(subject, optimizers, _FEW), Divided(subject, optimizers, directory)
        ways: Mapping[str, Way] = {
            "no optimizer, one thread": (alone, OptimizerLevel.NOT),
            "one thread": (alone, OptimizerLevel.AS_SERVED),
            "no optimizer, several threads": (DuckDbTrialEngine(subject, optimizers, _MANY), OptimizerLevel.NOT),
            "several threads": (divided, OptimizerLevel.AS_SERVED),
        }
    elif isinstance(engine, SparkEngine):
        sessions = {"one partition": engine.another_session}
        sessions |= {how: partial(SparkConnection.of, remote) for how, remote in others.items()}
        ways = {
            how: (SparkTrialEngine(subject, connect), OptimizerLevel.AS_SERVED) for how, connect in sessions.items()
        }
    else:
        assert dsn is not None
        alone_there, parallel = (Elsewhere(world, subject, dsn, settings) for settings in (_ALONE, _PARALLEL))
        ways = {
            "where statements are tried": (PostgresTrialEngine(subject, world.server.dsn), OptimizerLevel.AS_SERVED),
            "loops and sorting": (alone_there, OptimizerLevel.NOT),
            "one process": (alone_there, OptimizerLevel.AS_SERVED),
            "several processes": (parallel, OptimizerLevel.AS_SERVED),
        }
    return Admission(court(policy, world, engine), ways, places, all_taken=not isinstance(engine, SparkEngine))


def refused_or_differing(ways: Admission, sql: str, role: str) -> list[str] | None:
    """Return what is found in different ways; None where a statement is refused before anything is asked."""
    try:
        return list(ways.differences(sql, role))
    except DpsqlError:
        return None
