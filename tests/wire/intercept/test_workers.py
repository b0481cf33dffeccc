"""Who asks much waits for themselves."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dpsql.errors import QueryCanceled
from dpsql.question import Cancellation
from dpsql.wire.backend.fair_share import Turns

_PATIENCE = 20.0


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Give four threads."""
    with ThreadPoolExecutor(4) as executor:
        yield executor


def test_one_user_leaves_threads_to_others(threads: ThreadPoolExecutor) -> None:
    """However many statements they have at once; theirs go on when one of them ends."""
    go, begun = threading.Event(), threading.Semaphore(0)

    def work() -> None:
        begun.release()
        assert go.wait(_PATIENCE)

    async def run() -> None:
        workers = Turns(threads, 2)
        many = [asyncio.create_task(workers.run("ana", work, Cancellation())) for _ in range(8)]
        for _ in range(2):
            assert await asyncio.to_thread(begun.acquire, timeout=_PATIENCE)
        answer = await asyncio.wait_for(workers.run("gus", lambda: "answer", Cancellation()), _PATIENCE)
        assert (answer, begun.acquire(blocking=False)) == ("answer", False)
        go.set()
        await asyncio.wait_for(asyncio.gather(*many), _PATIENCE)

    asyncio.run(run())


def test_a_statement_that_waits_can_be_cancelled(threads: ThreadPoolExecutor) -> None:
    """It never begins, and whoever comes after it has its turn."""
    go, ran = threading.Event(), threading.Event()

    async def run() -> None:
        workers, cancellation = Turns(threads, 1), Cancellation()
        first = asyncio.create_task(workers.run("ana", lambda: go.wait(_PATIENCE), Cancellation()))
        await asyncio.sleep(0)
        second = asyncio.create_task(workers.run("ana", ran.set, cancellation))
        await asyncio.sleep(0)
        cancellation.cancel()
        with pytest.raises(QueryCanceled):
            await asyncio.wait_for(second, _PATIENCE)
        go.set()
        assert await asyncio.wait_for(first, _PATIENCE)
        assert await asyncio.wait_for(workers.run("ana", lambda: "third", Cancellation()), _PATIENCE) == "third"
        assert not ran.is_set()

    asyncio.run(run())


def test_a_statement_that_was_cancelled_takes_no_turn(threads: ThreadPoolExecutor) -> None:
    """It never begins, though nobody is before it, and the turn is there for the next."""
    ran = threading.Event()

    async def run() -> None:
        workers, cancellation = Turns(threads, 1), Cancellation()
        cancellation.cancel()
        with pytest.raises(QueryCanceled):
            await workers.run("ana", ran.set, cancellation)
        assert await asyncio.wait_for(workers.run("ana", lambda: "next", Cancellation()), _PATIENCE) == "next"

    asyncio.run(run())
    assert not ran.is_set()
