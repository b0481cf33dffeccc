"""What one client may take: time, bytes, connections; and how the server takes its leave."""

import asyncio
import threading
import time
from contextlib import ExitStack, closing

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.server.listener import Listener
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening

ENDLESS = "set statement_timeout = 0; select count(*) from generate_series(1, 1000000000000)"


def _open(listener: Listener, user: str = "ana") -> psycopg.Connection:
    return psycopg.connect(f"{dsn(listener, user)} password=pw", autocommit=True)


def _ask(listener: Listener, statement: str) -> None:
    with _open(listener) as connection:
        psycopg.ClientCursor(connection).execute(statement.encode())


def test_statement_without_timeout_is_cancelled(shadow: Postgres, answers: Exact) -> None:
    """Whatever statement_timeout says, the shadow does not work for ever."""
    limits = Limits(statement_time=0.5)
    with listening(answers, shadow, limits) as (served, _), pytest.raises(psycopg.errors.QueryCanceled):
        _ask(served, ENDLESS)


def test_time_starts_anew_with_each_statement(shadow: Postgres, answers: Exact) -> None:
    """A session may last longer than a statement."""
    limits, begun = Limits(statement_time=3.0), time.monotonic()
    with listening(answers, shadow, limits) as (served, _), _open(served) as connection:
        while time.monotonic() - begun < 3.5:
            connection.execute("select count(*) from generate_series(1, 10000)")
            time.sleep(0.1)


def test_huge_result_is_cancelled(shadow: Postgres, answers: Exact) -> None:
    """There is an end to what a statement may send."""
    many = "select repeat('x', 10000), generate_series(1, 1000000)"
    with (
        listening(answers, shadow, Limits(result=50_000_000)) as (served, _),
        closing(_open(served)) as connection,
        pytest.raises(psycopg.errors.QueryCanceled),
    ):
        for _ in connection.cursor().stream(many):
            pass


def test_one_user_has_so_many_connections(shadow: Postgres, answers: Exact) -> None:
    """The next one hears 53300; another user does not."""
    with listening(answers, shadow, Limits(connections_per_user=2)) as (served, _):
        with _open(served), _open(served):
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                _open(served)
            _open(served, "gus").close()
        _open(served).close()


def test_shadow_has_so_many_sessions(shadow: Postgres, answers: Exact) -> None:
    """With one more its client hears 53300; one that was asked nothing yet makes room."""
    with listening(answers, shadow, Limits(sessions=2)) as (served, _):
        with _open(served) as session, _open(served, "gus") as other:
            session.execute("select 1")
            with _open(served) as third:
                assert third.execute("select 1").fetchone() == (1,)
            other.execute("select 1")
            with pytest.raises(psycopg.OperationalError, match="too many sessions are in use") as caught:
                _ask(served, "select 1")
            assert caught.value.sqlstate in ("53300", None)  # a driver tells no code where it can't log in
        _ask(served, "select 1")


def test_many_that_begin_at_once_are_no_more(shadow: Postgres, answers: Exact) -> None:
    """Those that are on their way are counted as well."""
    refused: list[str] = []
    with listening(answers, shadow, Limits(sessions=5)) as (served, _), ExitStack() as held:

        def ask() -> None:
            try:
                held.enter_context(_open(served)).execute("select 1")
            except psycopg.OperationalError as failed:
                refused.append(str(failed))

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 7
        assert all("too many sessions" in told for told in refused)


def test_client_that_does_not_read_does_not_fill_the_memory(shadow: Postgres, answers: Exact) -> None:
    """The shadow is not read from while nobody reads from us."""
    with listening(answers, shadow) as (served, loop), closing(_open(served)) as connection:
        connection.pgconn.send_query(b"select repeat('x', 1000), generate_series(1, 1000000)")
        connection.pgconn.flush()
        (served_one,) = served._open.values()

        def held() -> int:
            """Return the bytes that wait for the client, once nothing moves any more."""
            transport = served_one._transport._transport
            assert transport is not None
            return transport.get_write_buffer_size()

        async def still() -> int:
            last = -1
            while last != held():
                last = held()
                await asyncio.sleep(0.3)
            return last

        waiting = asyncio.run_coroutine_threadsafe(still(), loop).result(20)
        assert 0 < waiting < 2_000_000


def test_running_statement_may_end_before_the_server_stops(shadow: Postgres, answers: Exact) -> None:
    """It gets its rows, and then the goodbye."""
    with listening(answers, shadow) as (served, loop), _open(served) as connection:
        answers.working.clear()
        rows: list[object] = []
        asking = threading.Thread(
            target=lambda: rows.extend(
                connection.execute("select count(*) from generate_series(1, 3000000)").fetchall()
            )
        )
        asking.start()
        (served_one,) = served._open.values()
        while not (served_one._backend is not None and served_one._backend.replies.is_working):
            assert asking.is_alive()
            time.sleep(0.001)
        asyncio.run_coroutine_threadsafe(served.stop(60.0), loop).result(90)
        asking.join()
        assert rows == [(3_000_000,)]
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")


@pytest.mark.parametrize("statement", [ENDLESS, "select count(*) slow from trips"])
def test_endless_statement_is_cancelled_when_the_server_stops(shadow: Postgres, answers: Exact, statement: str) -> None:
    """After the grace, in the shadow or in the gateway, with the code of a cancellation."""
    with listening(answers, shadow) as (served, loop):
        caught: list[str | None] = []

        def ask() -> None:
            try:
                _ask(served, statement)
            except psycopg.Error as failed:
                caught.append(failed.sqlstate)

        asking = threading.Thread(target=ask)
        asking.start()
        while not any(
            g.working or (g._backend and g._backend.replies.is_working) for g in tuple(served._open.values())
        ):
            assert asking.is_alive()
            time.sleep(0.001)
        asyncio.run_coroutine_threadsafe(served.stop(0.2), loop).result(60)
        asking.join()
        assert caught in (["57014"], ["57P01"])  # cancelled, or told that the server stops, whichever comes first


def test_stop_button_of_tools_reaches_the_gateway(shadow: Postgres, answers: Exact) -> None:
    """pg_cancel_backend with the number that pg_backend_pid gave stops a question, for the same user only."""
    with listening(answers, shadow) as (served, _), _open(served) as asking:
        row = asking.execute("select pg_backend_pid()").fetchone()
        assert row is not None
        answers.working.clear()

        def stop() -> None:
            answers.working.wait(10)
            with _open(served, "gus") as other:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    other.execute(f"select pg_cancel_backend({row[0]})".encode())
                stopped.append("not by gus")
            with _open(served) as same:
                same.execute(f"select pg_cancel_backend(pid) from pg_stat_activity where pid = '{row[0]}'".encode())

        stopped: list[str] = []
        thread = threading.Thread(target=stop)
        thread.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            asking.execute("select count(*) slow from trips")
        thread.join()
        assert stopped == ["not by gus"]
        assert asking.execute("select 1").fetchone() == (1,)
