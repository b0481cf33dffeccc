"""The pieces of a server without the wire: a shadow, and gateways over any engine.

One PostgreSQL serves all tests; the database `clamped` in it is the reference evaluator's.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import psycopg.sql
import pytest

from dpsql.accounting.ledger import Ledger
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.assembly import make_database
from dpsql.clock import StageTimes
from dpsql.engines.base import Engine
from dpsql.gateway.catalogue.public_tables import Public, read_public
from dpsql.gateway.dependencies import GatewayDependencies
from dpsql.gateway.gateway import Gateway
from dpsql.gateway.request import Question, Reply, Request
from dpsql.policy.model import Period, Policy, Table
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.question import Argument, Asker, Cancellation, ColumnDescription, Settings
from dpsql.rewrite.ir.literal import format_value
from dpsql.rewrite.syntax.read.parse import locate_lone_query
from dpsql.shadow.contents.role import ORACLE
from dpsql.shadow.questions.oracle import OracleSession, ShadowOracle
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch.warden import LeftoverSessions
from dpsql.trial.trial import StatementTrial
from dpsql.wire.intercept import interceptor
from dpsql.wire.intercept.interceptor import named_temporary_tables
from tests.support import clusters
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_directory
from tests.support.samples import ALL
from tests.support.schema import in_session

USERS = {
    "ana": "owner",
    "cleo": "clamped",
    "tess": "third_party",
    "leo": "auditor",
    "eve": "explorer",
    "nell": "narrow",
}


_NAMED: dict[tuple[int, int], str] = {}
_FIRST_OF_OTHERS = 16_384
"""The first number of a type that is not PostgreSQL's own."""


def noon() -> datetime:
    """Return the time at which all questions are asked."""
    return datetime(2019, 4, 2, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client gets: names, types by their numbers, rows."""

    names: tuple[str, ...]
    types: tuple[int, ...]
    rows: Sequence[tuple[object, ...]]


def fields(connection: psycopg.Connection, owner: psycopg.Connection, probe: str) -> Iterator[ColumnDescription]:
    """Yield the row description of a statement that is not run."""
    server = connection.pgconn
    prepared = server.prepare(b"", probe.encode())
    if prepared.status != psycopg.pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.lookup((prepared.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode())(
            prepared.error_message.decode()
        )
    described = server.describe_prepared(b"")
    for i in range(described.nfields):
        type_, modifier = described.ftype(i), described.fmod(i)
        yield ColumnDescription((described.fname(i) or b"").decode(), type_, modifier, _named(owner, type_, modifier))


def _named(owner: psycopg.Connection, type_: int, modifier: int) -> str:
    """Return the name of a type; those of PostgreSQL's own have the same in every database."""
    name = _NAMED.get((type_, modifier))
    if name is not None:
        return name
    row = owner.execute("SELECT format_type(%s, %s)", (type_, modifier)).fetchone()
    assert row is not None
    if type_ < _FIRST_OF_OTHERS:
        _NAMED[type_, modifier] = str(row[0])
    return str(row[0])


@dataclass(slots=True)
class Client:
    """Asks a gateway as the wire would: describe the probes, have the answer made, run it in the shadow."""

    gateway: Gateway
    ledger: Ledger
    connection: psycopg.Connection
    owner: psycopg.Connection
    asker: Asker
    _described: dict[str, tuple[ColumnDescription, ...]] = field(default_factory=dict)

    def new_gateway(self) -> Gateway:
        """Return a gateway like this one's that remembers nothing."""
        return type(self.gateway)(self.gateway._deps)

    def ask(self, sql: str, settings: Settings = Settings(), arguments: tuple[Argument, ...] = ()) -> Answer:
        """Return the answer.

        Raises:
            DpsqlError: the gateway refuses.
            psycopg.Error: the shadow refuses.
        """
        question = self.gateway.examine(sql, self.asker)
        text = sql if question is None else self.text(question, settings, arguments)
        return fetched(self.connection, text)

    def text(self, question: Question, settings: Settings = Settings(), arguments: tuple[Argument, ...] = ()) -> str:
        """Return the statement that answers a question."""
        return answered(self.gateway, self.request(question, settings, arguments))

    def request(
        self, question: Question, settings: Settings = Settings(), arguments: tuple[Argument, ...] = ()
    ) -> Request:
        """Return what the wire would ask of the gateway."""
        place = locate_lone_query(question.text)
        if place is not None:
            self.describe(question.text[place[1] : place[2]])
        for probe in question.probes:
            self.describe(probe)
        ((told,),) = self.connection.execute("SELECT pg_dpsql.temporary()").fetchall()
        if told:
            tables = tuple(named_temporary_tables(told, question.text))
            asks = interceptor.select_of_lists(tables)
            lists = self.connection.execute(psycopg.sql.SQL(asks)).fetchone() if asks else ()
            settings = replace(settings, temporary=interceptor.with_list_rows(tables, lists or ()))
        return Request(question, arguments, in_session(settings), self.asker, Cancellation())

    def describe(self, probe: str) -> tuple[ColumnDescription, ...]:
        """Return the row description of a statement that is not run."""
        if probe not in self._described:
            self._described[probe] = tuple(fields(self.connection, self.owner, probe))
        return self._described[probe]

    @property
    def charges(self) -> int:
        """Return how many measurements were charged so far, without reading the lines: hundreds of tests share a ledger."""
        assert isinstance(self.ledger, SqliteLedger)
        with self.ledger._file.read(None) as connection:
            (number,) = connection.execute("SELECT count(*) FROM charges").fetchone()
        return int(number)


def answered(gateway: Gateway, request: Request) -> str:
    """Return the statement that answers a request, whatever it takes."""
    return replied(gateway, request).text


def replied(gateway: Gateway, request: Request) -> Reply:
    """Return what answers a request, whatever it takes."""
    told, begun = gateway.recalled(request), gateway.answer(request)
    reply = begun if isinstance(begun, Reply) else begun()
    assert told in (None, reply)
    return reply


def fetched(connection: psycopg.Connection, text: str) -> Answer:
    """Run a statement."""
    cursor = connection.execute(text)  # not a literal in the source
    columns = cursor.description
    if columns is None:
        return Answer((), (), [])
    return Answer(tuple(c.name for c in columns), tuple(c.type_code for c in columns), cursor.fetchall())


@dataclass(frozen=True, slots=True)
class World:
    """A shadow made from the policy, and what is public."""

    policy: Policy
    public: Public
    server: Postgres
    session: OracleSession
    owner: psycopg.Connection
    """The superuser of the cluster, in no database of ours."""

    def oracle(self, settings: Settings = Settings(), user: str = "ana") -> ShadowOracle:
        """Return the oracle of one statement."""
        return ShadowOracle(self.session, in_session(settings), user)

    def gateway(
        self,
        engine: Engine,
        ledger: Ledger,
        *,
        policy: Policy | None = None,
        entropy: Entropy = os.urandom,
        trial: StatementTrial | None = None,
    ) -> Gateway:
        """Return a gateway to an engine; `policy` may differ from the world's in amounts only."""
        facts = (self.public.declared, self.public.rows)
        return Gateway(
            GatewayDependencies(
                policy or self.policy,
                engine,
                ledger,
                self.oracle,
                *facts,
                entropy,
                Period.NEVER,
                60.0,
                tuple,
                StageTimes(),
                trial,
            )
        )

    def connect(self, user: str, database: str = "taxi") -> psycopg.Connection:
        """Return a session."""
        dsn = self.server.dsn(database).replace("user=dpsql_owner", f"user={user}")
        return psycopg.connect(dsn, autocommit=True)


@contextmanager
def running(policy: Policy, users: Mapping[str, str] = USERS, engine: Engine | None = None) -> Iterator[World]:
    """Start the shadow of a policy, with the public rows that an engine has."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-heart-"))
    directory.chmod(0o711)
    public = read_public(policy, engine or Memory(policy))

    def rows(table: Table) -> list[tuple[str | None, ...]]:
        texts = [
            [None if v is None else format_value(v, table.columns[name].type) for v in values]
            for name, values in public.rows[table.name].items()
        ]
        return list(zip(*texts, strict=True))

    server = clusters.start(directory / "shadow")
    session = OracleSession(server.dsn(policy.dataset, ORACLE), LeftoverSessions())
    policy = make_database(server, policy, users, rows, ShadowOracle(session, Settings(), ORACLE))
    owner = psycopg.connect(server.dsn("postgres"), autocommit=True)
    yield World(policy, public, server, session, owner)
    owner.close()
    session.close()
    server.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def world(policy: Policy) -> Iterator[World]:
    """The shadow of the tests' policy."""
    with running(policy) as world:
        yield world


NewClient = Callable[..., Client]


@pytest.fixture
def new_client(world: World, request: pytest.FixtureRequest) -> Iterator[NewClient]:
    """Give a function that makes a client of an engine, with a fresh ledger.

    In `make test` a test's clients have the same noise in every run, so that none fails once in a hundred; in `make test-all`
    it is new.
    """
    opened: list[psycopg.Connection] = []
    draws = os.urandom if ALL else random.Random(request.node.nodeid).randbytes  # noqa: S311

    def make(
        engine: Engine,
        user: str = "ana",
        *,
        policy: Policy | None = None,
        entropy: Entropy = draws,
        ledger: Ledger | None = None,
        trial: StatementTrial | None = None,
    ) -> Client:
        ledger = ledger or until.enter_context(SqliteLedger(directory / "ledger.db", noon))
        gateway = world.gateway(engine, ledger, policy=policy, entropy=entropy, trial=trial)
        opened.extend((world.connect(user), world.connect("dpsql_owner")))
        return Client(gateway, ledger, opened[-2], opened[-1], Asker(user, USERS[user]))

    with quick_directory() as directory, ExitStack() as until:
        yield make
    for connection in opened:
        connection.close()
