"""Spark is told to stop: a measurement that is cancelled, or takes too long, ends at the server too."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.canaries.served_people import sail
from dpsql.engines.apart import ready_apart
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import QueryCanceled
from dpsql.question import Cancellation
from tests.engines.asking import asked
from tests.support.processes import children

LONG = "SELECT sum(n) FROM (SELECT count(*) AS n FROM range(9000000000) AS r(i) GROUP BY i % 1000003) AS g"
"""Minutes, of an operator that looks now and then whether it is to stop: Sail's cross joins never do."""


@pytest.fixture(scope="module")
def engine(spark_server: str) -> Iterator[SparkEngine]:
    """Give an engine without tables."""
    engine = SparkEngine(spark_server, {})
    yield engine
    engine.close()


def _running(engine: SparkEngine, tag: str) -> list[str]:
    """Return what runs at the server under a tag."""
    return list(engine._connection.session.interruptTag(tag))


@pytest.mark.parametrize("wait", [0.0, 1.0], ids=["at once", "while it runs"])
def test_a_cancel_reaches_the_server(engine: SparkEngine, charge: Charge, wait: float) -> None:
    """The statement ends, and so does what the server does for it; the session goes on."""
    cancellation = Cancellation()
    with engine.ready([LONG], timeout=600, cancellation=cancellation) as prepared:
        stop = threading.Timer(wait, cancellation.cancel)
        stop.start()
        with pytest.raises(QueryCanceled):
            prepared.run(LONG, charge)
        stop.join()
        assert not _running(engine, prepared.tag)
    assert list(asked(engine, "SELECT '1'", charge)) == [("1",)]


def test_a_time_limit_reaches_the_server(engine: SparkEngine, charge: Charge) -> None:
    """A statement has the seconds that the configuration gives it."""
    with engine.ready([LONG], timeout=3, cancellation=Cancellation()) as prepared:
        with pytest.raises(QueryCanceled):
            prepared.run(LONG, charge)
        assert not _running(engine, prepared.tag)


def test_a_cancel_stops_nobody_else(engine: SparkEngine, charge: Charge) -> None:
    """Two measurements share a session; each has its own tag."""
    cancellation, heard = Cancellation(), []

    def ask() -> None:
        try:
            asked(engine, LONG, charge, timeout=600, cancellation=cancellation)
        except QueryCanceled as error:
            heard.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    sql = "SELECT CAST(sum(i % 7) AS STRING) FROM range(50000000) AS r(i)"
    threading.Timer(0.5, cancellation.cancel).start()
    assert list(asked(engine, sql, charge, timeout=600)) == [("149999997",)]
    asking.join()
    assert len(heard) == 1


def test_a_server_that_hangs_is_not_waited_for(charge: Charge) -> None:
    """Whoever cancels hears so in seconds, though the server's process stands still."""
    before = set(children(os.getpid()))
    with sail() as address:
        (server,) = set(children(os.getpid())) - before
        engine, cancellation = SparkEngine(address, {}), Cancellation()
        try:
            with ready_apart(engine, [LONG], timeout=600, cancellation=cancellation) as prepared:
                os.kill(server, signal.SIGSTOP)
                threading.Timer(0.5, cancellation.cancel).start()
                since = time.monotonic()
                with pytest.raises(QueryCanceled):
                    prepared.run(LONG, charge)
            assert time.monotonic() - since < 10
        finally:
            os.kill(server, signal.SIGKILL)  # it would go on for minutes
        engine.close()
