"""Whatever a client calls, and whatever it gives, its session ends soon after it was left behind."""

import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dpsql.shadow.contents.build import ensure_shadow
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch.warden import LeftoverSessions, read_process
from tests.shadow import sweep
from tests.support import clusters
from tests.support.fix_shadow import POLICY, USERS, zone_rows

_TIMEOUT = 1.0
"""Seconds after which PostgreSQL is told to stop, as often as it looks."""
_LATE = 2.0
"""Seconds of the processor after which a session is left behind."""
_SOON = 3.0
"""Seconds of the processor until it must be gone; it looks at nothing but what we send."""
# Each is first read by what looks: that must be over within the timeout, also where others have the processor.
_KNOWN = (
    "SELECT repeat('a', 4000000) LIKE '%' || repeat('a', 2000000) || 'b%'",
    "SELECT length(normalize(repeat(U&'\\0323\\0307', 400000)))",
    "SELECT position(repeat('1', 4000000)::varbit || B'0' IN repeat('1', 8000000)::varbit)",
    "SELECT jsonb_agg('y' || x) - array_agg('x' || x) IS NULL FROM generate_series(1, 100000) AS x",
    "SELECT phraseto_tsquery('simple', repeat('a1 b2, ', 100000)) IS NULL",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """Give a shadow of our own, which would start anew where a session dies."""
    with tempfile.TemporaryDirectory(prefix="dpsql-sweep-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        made = clusters.start(Path(name) / "shadow")
        ensure_shadow(made, POLICY, USERS, zone_rows)
        yield made
        made.stop()


class _Client:
    """One client, who asks one statement after another, in a new session where the last one was ended."""

    def __init__(self, server: Postgres, left: LeftoverSessions) -> None:
        self._dsn, self._left = server.dsn("taxi", "ana"), left
        self._session = self._connected()

    def _connected(self) -> psycopg.Connection:
        options = f"-c statement_timeout={_TIMEOUT:g}s"
        return psycopg.connect(self._dsn, autocommit=True, options=options)

    def close(self) -> None:
        self._session.close()

    def ask(self, statement: str) -> float:
        """Return how many seconds of the processor it took."""
        process = self._session.info.backend_pid
        begun, latest, over = read_process(process), [0.0], threading.Event()
        assert begun is not None

        def watch() -> None:
            while not over.wait(0.1):
                if (now := read_process(process)) is not None:
                    latest[0] = now.worked - begun.worked
                if latest[0] > _LATE:
                    self._left.add(process, "ana")
                    self._left.look()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            self._session.execute(statement.encode())
        except psycopg.Error:
            pass
        finally:
            over.set()
            thread.join()
        if latest[0] > _LATE:  # it was told to end, even if it had just answered
            self._session.close()
            self._session = self._connected()
        return latest[0]


def _too_long(server: Postgres, statements: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the statements that had to be stopped, and those that went on nevertheless, or took others with them."""
    stopped: list[str] = []
    wrong: list[str] = []

    def ask(part: Sequence[str]) -> None:
        with closing(_Client(server, LeftoverSessions())) as client:
            for statement in part:
                took = client.ask(statement)
                if took > _LATE:
                    stopped.append(statement)
                if took > _LATE + _SOON:
                    wrong.append(statement)

    with closing(psycopg.connect(server.dsn("taxi", "gus"), autocommit=True)) as other, ThreadPoolExecutor(2) as pool:
        list(pool.map(ask, (statements[::2], statements[1::2])))
        assert other.execute("SELECT 1").fetchone() == (1,)
    return stopped, wrong


def test_what_is_known_not_to_look_is_stopped(server: Postgres) -> None:
    """Each by itself would go on for ten seconds to hours; were it not so, there would be nothing to see here."""
    stopped, wrong = _too_long(server, _KNOWN)
    assert (sorted(stopped), wrong) == (sorted(_KNOWN), [])


@pytest.mark.slow
def test_all_that_a_client_may_call_is_stopped(server: Postgres) -> None:
    """Functions, operators, aggregates and casts, each with the largest and worst that we know for its types."""
    with psycopg.connect(server.dsn("taxi")) as owner:
        sweep.create_values(owner)
    with psycopg.connect(server.dsn("taxi", "ana")) as client:
        statements = sweep.calls(client)
    assert len(statements) > 10_000
    stopped, wrong = _too_long(server, statements)
    assert wrong == []
    assert stopped != []
