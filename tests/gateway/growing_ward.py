"""A data set that grows: its records, copies and clock are set by a test; its gateway has next to no noise."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.clock import StageTimes
from dpsql.engines.snapshot.accounts import AccountStore
from dpsql.engines.snapshot.open import SnapshotEngine, open_snapshot
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.gateway import Gateway
from dpsql.policy.load import load
from dpsql.policy.model import Period
from dpsql.question import Asker, Cancellation, Settings
from dpsql.standing import measuring
from tests.support.fix_world import Client, World, fetched, replied, running
from tests.support.memory import Memory

CONFIG = """\
dataset: ward
engine: {kind: duckdb, database: records.duckdb, snapshot: true}
schemas: schemas
listen: {host: 127.0.0.1, port: 5439}
ledger: sqlite:///ledger.db
budget: {patient: {epsilon: 1e9}}
roles:
  owner: {protects: patient, budget: {epsilon: 1e9}, per_query: {epsilon: 1e6}}
  other: {protects: patient, budget: {epsilon: 1e9}, per_query: {epsilon: 1e6}}
  level: {protects: patient, budget: {epsilon: 1e9}, per_query: {epsilon: 1e6, noise: low}}
users: {}
"""
TABLE = """\
table: visits
privacy_units: {patient: {column: patient, max_rows: 5}}
grows: {by: admitted_at, closes: {every: day, after: 1 day}, term: month, measured_within: 10 days}
columns:
  patient: {type: text}
  admitted_at: {type: timestamp, bounds: [2020-01-01, 2040-01-01]}
  ward: {type: text, values: [a, b]}
  cost: {type: double precision, bounds: [0, 100]}
"""
_USERS = {"ana": "owner", "bob": "other", "lea": "level"}
DAILY = (
    "SELECT admitted_at::date AS day, count(*) FROM visits "
    "WHERE admitted_at >= '2026-03-01' AND admitted_at < '2026-04-01' GROUP BY 1 ORDER BY 1"
)
Visit = tuple[str, int, str, float]
"""Whose a row is, on which day of March 2026, in which ward, and its cost."""


@dataclass
class Ward:
    """A data set whose records, copies and clock a test sets."""

    directory: Path
    world: World
    until: ExitStack
    now: datetime = datetime(2026, 3, 4, 12, tzinfo=UTC)
    engine: SnapshotEngine | None = None
    ledger: SqliteLedger = field(init=False)
    said: Sequence[str] = ()
    key: bytes = b"key"
    sessions: dict[str, psycopg.Connection] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the configuration, and open the ledger."""
        (self.directory / "schemas").mkdir()
        (self.directory / "config.yaml").write_text(CONFIG, encoding="utf-8")
        self.declare(TABLE)
        self.ledger = self.until.enter_context(SqliteLedger(self.directory / "ledger.db", lambda: self.now))

    def declare(self, text: str) -> None:
        """Let the table's file say this."""
        (self.directory / "schemas" / "visits.yaml").write_text(text, encoding="utf-8")
        self.config = load(self.directory / "config.yaml", {})

    def copy(self, visits: Sequence[Visit], at: datetime | None = None, *, whole: bool = True) -> None:
        """Let a new copy, as of a time, have just these rows; or where it is not `whole`, what is in no part before."""
        self.now = at or self.now
        (self.directory / "records.duckdb").unlink(missing_ok=True)
        with duckdb.connect(self.directory / "records.duckdb") as connection:
            connection.execute(
                "CREATE TABLE visits (patient VARCHAR, admitted_at TIMESTAMP, ward VARCHAR, cost DOUBLE)"
            )
            rows = [(who, datetime(2026, 2, 28) + timedelta(day, 36_000), *rest) for who, day, *rest in visits]  # noqa: DTZ001
            if rows:
                connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)
        write_snapshot(self.config, lambda _: None, Cancellation(), lambda: self.now, whole=whole)
        self.engine = open_snapshot(self.config)
        self.until.callback(self.engine.close)
        assert self.engine.edition is not None
        self.ledger.begin(self.engine.edition.epoch)

    @property
    def place(self) -> Path:
        """Return where the accounts are."""
        assert self.config.snapshot is not None
        return self.config.snapshot.accounts

    def client(self, user: str = "ana") -> Client:
        """Return a client of a gateway to the newest copy."""
        assert self.engine is not None
        assert self.config.snapshot is not None
        store = AccountStore(self.place, self.engine.file, self.config.snapshot.resources, self.key, self.engine.beside)
        policy = self.config.policy
        parts = (
            policy,
            self.engine,
            self.ledger,
            self.world.oracle,
            self.world.public.declared,
            self.world.public.rows,
        )
        gateway = Gateway(
            GatewayDependencies(
                *parts, os.urandom, Period.NEVER, 60.0, tuple, StageTimes(), None, store, lambda: self.now
            )
        )
        session, owner = self._session(user), self._session("dpsql_owner")
        return Client(gateway, self.ledger, session, owner, Asker(user, _USERS[user]))

    def _session(self, user: str) -> psycopg.Connection:
        """Return a user's session: one for all that they ask, since there are not many at a time."""
        if user not in self.sessions:
            self.sessions[user] = self.world.connect(user, "ward")
            self.until.callback(self.sessions[user].close)
        return self.sessions[user]

    def ask(self, sql: str = DAILY, user: str = "ana", settings: Settings = Settings()) -> list[tuple[object, ...]]:
        """Return the rows of an answer; what was said beside it is in `said`."""
        client = self.client(user)
        question = client.gateway.examine(sql, client.asker)
        assert question is not None
        reply = replied(client.gateway, client.request(question, settings))
        self.said = reply.notices
        return list(fetched(client.connection, reply.text).rows)

    def told(self, sql: str = DAILY, user: str = "ana") -> dict[int, object]:
        """Return the last column of an answer, by the day of March."""
        rows = self.ask(sql, user)
        return {row[0].day: row[-1] for row in rows if isinstance(row[0], date)}

    @property
    def charges(self) -> int:
        """Return how many measurements were charged."""
        return len(self.ledger.entries(None, 1000))


@pytest.fixture(scope="module")
def ward_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The shadow of the ward."""
    directory = tmp_path_factory.mktemp("ward")
    (directory / "schemas").mkdir()
    (directory / "config.yaml").write_text(CONFIG, encoding="utf-8")
    (directory / "schemas" / "visits.yaml").write_text(TABLE, encoding="utf-8")
    policy = load(directory / "config.yaml", {}).policy
    with running(policy, _USERS, Memory(policy, public={})) as world:
        yield world


@pytest.fixture
def ward(ward_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ward]:
    """Give a data set whose first copy has three days, of which two are closed."""
    monkeypatch.setattr(measuring, "_LINEAGES", measuring._Lineages())
    with ExitStack() as until:
        made = Ward(tmp_path, ward_world, until)
        made.copy(FIRST)
        yield made


FIRST: list[Visit] = [("p", 1, "a", 10.0), ("q", 1, "b", 20.0), ("p", 2, "a", 30.0), ("r", 3, "a", 40.0)]
MORE: list[Visit] = [*FIRST, ("s", 3, "b", 50.0), ("p", 4, "a", 60.0), ("p", 4, "b", 60.0)]
FOURTH = datetime(2026, 3, 6, 12, tzinfo=UTC)
