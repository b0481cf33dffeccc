"""A Spark server that takes calls and never answers: whoever asks hears so in time, and all is well when it talks again."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.spark import engine as spark_engine
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import EngineAway, QueryCanceled
from dpsql.question import Cancellation
from tests.engines.asking import asked

PATIENCE = 1.0
SOON = 15.0
"""Seconds on a busy machine: gRPC by itself waits for twenty, or for minutes."""


class Relay:
    """Takes connections and passes them on to a server, unless it is told to be silent."""

    def __init__(self, target: str) -> None:
        """Listen; `target` is a host and a port."""
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.talks = threading.Event()
        self.talks.set()
        self.remote = f"sc://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self.talks.set()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _address = self._listening.accept()
                server = socket.create_connection(self._target)
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source, target:
            while data := source.recv(65536):
                self.talks.wait()
                target.sendall(data)


@pytest.fixture
def relay(spark_server: str) -> Iterator[Relay]:
    """Give a way to the server."""
    relay = Relay(spark_server.removeprefix("sc://"))
    yield relay
    relay.close()


@pytest.fixture
def engine(relay: Relay) -> Iterator[SparkEngine]:
    """Give an engine at its other end, without tables."""
    engine = SparkEngine(relay.remote, {})
    yield engine
    relay.talks.set()
    engine.close()


@pytest.mark.parametrize("lost", [False, True], ids=["in a session", "to a new connection"])
def test_what_is_not_made_ready_in_time_is_told(relay: Relay, engine: SparkEngine, charge: Charge, lost: bool) -> None:
    """Nothing is charged, and nobody waits for longer than a statement may take."""
    if lost:
        engine._connection.drop()
    relay.talks.clear()
    begun = time.monotonic()
    with pytest.raises(EngineAway), engine.ready(["SELECT '1'"], timeout=PATIENCE, cancellation=Cancellation()):
        pass
    assert PATIENCE / 2 < time.monotonic() - begun < SOON
    relay.talks.set()
    assert list(asked(engine, "SELECT '1'", charge)) == [("1",)]


def test_a_measurement_that_is_not_answered_ends(
    relay: Relay, engine: SparkEngine, charge: Charge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When its time is over, although the server can't be told to stop."""
    monkeypatch.setattr(spark_engine, "_GRACE", PATIENCE)
    with engine.ready(["SELECT '1'"], timeout=60, cancellation=Cancellation()) as made:
        relay.talks.clear()
        begun = time.monotonic()
        with pytest.raises(QueryCanceled):
            replace(made, timeout=PATIENCE).run("SELECT '1'", charge)
        assert time.monotonic() - begun < SOON
    relay.talks.set()
    assert list(asked(engine, "SELECT '1'", charge)) == [("1",)]
