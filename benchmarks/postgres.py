"""What privacy costs a PostgreSQL engine: the 22 questions of `benchmarks.peers` beside plain queries, over a million trips.

The statements are those that the gateway would send, in sessions as its own, where passengers have many trips and where each
trip is a unit of its own. Plain and private run in turn, and a ratio is the median of the rounds', so that a busy machine
is so for both.
"""

import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import perf_counter

import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.peers.declared import configure, declared
from benchmarks.peers.questions import Question, questions
from benchmarks.peers.records import write_duckdb
from benchmarks.peers.server import serving
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.postgres.settings import options
from dpsql.errors import DpsqlError
from dpsql.policy.load import load
from dpsql.policy.model import Policy, UnitBound
from dpsql.rewrite.emit.emitter import Emitter
from tests.support.exactness import plans
from tests.support.fix_world import World, running

TRIPS = 1_000_000
ROUNDS = 3
_CLAIMS = {"bounded": 5.0, "one row a unit": 1.3}
"""What the median ratio over the questions is to be at most."""


def main() -> None:
    """Print for each question what the plain query takes, and the private one's ratio to it."""
    table = Table("question", "plain, ms", *_CLAIMS)
    ratios: dict[str, list[float]] = {label: [] for label in _CLAIMS}
    before = os.getloadavg()[0]
    with _records() as (dsn, policies):
        asked = {label: _statements(policy, dsn) for label, policy in policies.items()}
        session = options("-c search_path=public")
        with psycopg.connect(dsn, options="-c jit=off") as plain, psycopg.connect(dsn, options=session) as private:
            for question in questions():
                found = {label: _ratio(plain, private, question.sql, asked[label][question.name]) for label in _CLAIMS}
                for label, (_, ratio) in found.items():
                    ratios[label] += [] if ratio is None else [ratio]
                shown = ("" if ratio is None else f"{ratio:.2f}" for _, ratio in found.values())
                exact = min(ms for ms, _ in found.values())
                table.add_row(f"{question.name} {question.about}", f"{exact:.0f}", *shown)
    Console().print(table)
    for label, most in _CLAIMS.items():
        median = statistics.median(ratios[label])
        Console().print(
            f"{label}: {median:.2f} at the median, at most {most:g}: {'ok' if median <= most else 'MISSED'}"
        )
    Console().print(f"the machine's load was {before:.1f} and is {os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores")


@contextmanager
def _records() -> Iterator[tuple[str, Mapping[str, Policy]]]:
    """Serve the records; yield how to connect, and the policies: in the second each row is a unit."""
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        home = Path(name)
        home.chmod(0o711)
        write_duckdb(home / "records.duckdb", TRIPS)
        with serving(home / "postgres", home / "records.duckdb") as dsn:
            policy = load(configure(home / "config", {"kind": "postgres", "dsn": dsn}, declared(TRIPS)), {}).policy
            trips = replace(policy.tables["taxi"], units={"passenger": UnitBound("trip_id", 1)})
            alone = replace(policy, tables={**policy.tables, "taxi": trips})
            yield dsn, dict(zip(_CLAIMS, (policy, alone), strict=True))


def _statements(policy: Policy, dsn: str) -> Mapping[str, Sequence[str]]:
    """Return what the engine is asked for each question, nothing for one that is refused."""
    engine = PostgresEngine(dsn, list(policy.tables))
    with running(policy, {role: role for role in policy.roles}, engine) as world:
        found = {question.name: _measured(question, policy, world, engine) for question in questions()}
    engine.close()
    return found


def _measured(question: Question, policy: Policy, world: World, engine: PostgresEngine) -> Sequence[str]:
    role = policy.roles[question.unit]
    role = replace(role, per_query=replace(role.per_query, epsilon=Fraction(1)))
    policy = replace(policy, roles={**policy.roles, question.unit: role})
    emitter = Emitter(engine.dialect, world.public.declared, engine.named)
    try:
        found = plans(question.sql, policy, world, engine, question.unit)
    except DpsqlError:
        return ()
    return [part.sql(emitter) for plan in found for part in plan.parts]


def _ratio(
    plain: psycopg.Connection, private: psycopg.Connection, sql: str, parts: Sequence[str]
) -> tuple[float, float | None]:
    """Return the plain query's milliseconds, and the median ratio of the private statements together to it."""
    rounds = [(_timed(plain, [sql]), _timed(private, parts)) for _ in range(ROUNDS + 1)][1:]
    exact = statistics.median(one for one, _ in rounds)
    return exact, statistics.median(ours / one for one, ours in rounds) if parts else None


def _timed(connection: psycopg.Connection, statements: Sequence[str]) -> float:
    """Return how many milliseconds the statements take."""
    start = perf_counter()
    for sql in statements:
        connection.execute(sql.encode()).fetchall()
    return (perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
