"""Two servers that share a ledger on PostgreSQL, and kills of either and of the ledger's: no charge lost, none made twice."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tests.clients.data import write as write_records
from tests.clients.site import Site, configure, serving
from tests.faults.controls import write
from tests.support.plain_server import PlainServer, running_server

SESSIONS = 64
ROUNDS = 4
QUESTIONS = 20
_PATIENCE = 120.0


@dataclass
class Pair:
    """Two configurations of one data set, each with its own shadow and trail, and the servers that run now."""

    ledger: PlainServer
    dsn: str
    configs: list[Path]
    sites: list[Site] = field(default_factory=list)
    until: list[ExitStack] = field(default_factory=lambda: [ExitStack(), ExitStack()])

    def start(self, number: int) -> None:
        """Start one of them, again if it was killed."""
        site = self.until[number].enter_context(serving(self.configs[number]))
        self.sites[number : number + 1] = [site]

    def kill(self, number: int) -> None:
        """Kill one of them, with all that it was doing."""
        process = self.sites[number].process
        assert process is not None
        process.kill()
        with suppress(AssertionError, ProcessLookupError):
            self.until[number].close()
        self.until[number] = ExitStack()

    def stop(self) -> None:
        """Stop both."""
        for each in self.until:
            each.close()

    def charged(self) -> list[tuple[str, str]]:
        """Return the text of the statement and the key of each measurement that was charged."""
        with psycopg.connect(self.dsn) as owner:
            return owner.execute(
                "SELECT s.text, c.key FROM dpsql_ledger.charges c JOIN dpsql_ledger.statements s ON s.id = c.statement "
                "WHERE c.measured = 1"
            ).fetchall()


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Let two serve the same file of records."""
    with running_server() as ledger, TemporaryDirectory(prefix="dpsql-shared-") as made, ExitStack() as until:
        directory = Path(made)
        directory.chmod(0o711)
        write_records(directory / "taxi.duckdb")
        dsn = ledger.database()
        configs = []
        for name in ("one", "two"):
            (directory / name).mkdir()
            config = configure(directory / name)
            write(config, "database: taxi.duckdb", f"database: {directory}/taxi.duckdb")
            write(config, "sqlite:///ledger.db", f"'{dsn}'")
            configs.append(config)
        running = Pair(ledger, dsn, configs)
        until.callback(running.stop)
        for number in range(2):
            running.start(number)
        yield running


@contextmanager
def _at(pair: Pair, number: int) -> Iterator[psycopg.Connection]:
    with psycopg.connect(pair.sites[number].dsn, autocommit=True, connect_timeout=10) as connection:
        yield connection


def test_the_same_new_question_is_paid_once(pair: Pair) -> None:
    """However many ask either at the same time; all hear the same, and the budget of both is one."""
    together, answers = threading.Barrier(16), list[list[tuple[object, ...]]]()

    def ask(number: int) -> None:
        with _at(pair, number % 2) as connection:
            heard = []
            for question in range(QUESTIONS):
                asked = f"SELECT count(*), sum(fare) FROM trips WHERE fare > 11.{question:02}"
                together.wait(_PATIENCE)
                heard += connection.execute(asked.encode()).fetchall()
            answers.append(heard)

    askers = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for each in askers:
        each.start()
    for each in askers:
        each.join(_PATIENCE)
    assert len(answers) == 16
    assert all(answer == answers[0] for answer in answers)
    charged = Counter(key for _, key in pair.charged())
    assert len(charged) >= QUESTIONS
    assert set(charged.values()) == {1}
    left = []
    for number in range(2):
        with _at(pair, number) as connection:
            left.append(connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall())
    assert left[0] == left[1]


def _asks(pair: Pair, number: int, over: threading.Event, heard: set[str]) -> None:
    """Ask new questions of one server, each once, and connect again when that breaks."""
    count = 0
    while not over.is_set():
        with suppress(psycopg.Error), _at(pair, number % 2) as connection:
            while not over.is_set():
                count += 1
                statement = f"SELECT count(*) FROM trips WHERE fare > {number}.{count:05}"
                with suppress(psycopg.errors.IoError):  # the ledger is away
                    connection.execute(statement.encode()).fetchall()
                    heard.add(statement)
        time.sleep(0.05)


def _until_heard(heard: set[str], more: int) -> None:
    """Wait until so many more were answered."""
    before, deadline = len(heard), time.monotonic() + _PATIENCE
    while len(heard) < before + more:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_kills_of_either_and_of_the_ledgers_server(pair: Pair) -> None:
    """Whoever has an answer has paid for it; nobody has paid for one statement twice."""
    over, heard, chance = threading.Event(), set[str](), random.Random(7)  # noqa: S311 # any moment will do
    askers = [threading.Thread(target=_asks, args=(pair, number, over, heard)) for number in range(SESSIONS)]
    for each in askers:
        each.start()
    try:
        for step in range(ROUNDS):
            _until_heard(heard, 2 * SESSIONS)
            time.sleep(chance.uniform(0, 0.5))
            if step % 2:
                pair.ledger.kill()
                pair.ledger.start()
            else:
                pair.kill(step // 2)
                pair.start(step // 2)
        _until_heard(heard, SESSIONS)
    finally:
        over.set()
        for each in askers:
            each.join(_PATIENCE)
    charged = Counter(text for text, _ in pair.charged())
    assert heard <= set(charged)
    assert set(charged.values()) == {1}
    assert set(Counter(key for _, key in pair.charged()).values()) == {1}
    with closing(psycopg.connect(pair.dsn)) as owner:
        ids = owner.execute("SELECT count(*), max(id) FROM dpsql_ledger.charges").fetchone()
    assert ids is not None
    assert ids[0] == ids[1]
