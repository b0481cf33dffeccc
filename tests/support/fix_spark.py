"""A Spark Connect server: Sail, which needs no Java, in a process of its own, or what `make test-spark` has installed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_dirty import Records
from tests.support.sailing import Sailing
from tests.support.spark_cluster import spark_cluster

_SERVE = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print(server.listening_address[1], flush=True)
sys.stdin.read()
server.stop()
"""
"""It serves for as long as it is referred to, and until we close its input, or are gone."""


@contextmanager
def sail(**options: str) -> Iterator[str]:
    """Start Sail with options of its own, by the names of their variables; give its address."""
    command = [sys.executable, "-c", _SERVE]
    with subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **options},
    ) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        assert port, "Sail does not start"
        yield f"sc://127.0.0.1:{port}"
        server.communicate(timeout=60)


@pytest.fixture(scope="session")
def spark_server() -> Iterator[str]:
    """Give the address of a server."""
    home = os.environ.get("SPARK_HOME")
    with sail() if home is None else spark_cluster(Path(home)) as address:
        yield address


@pytest.fixture(scope="session")
def dirty_spark(spark_server: str, policy: Policy, records: Records) -> Iterator[Sailing]:
    """Spark as the engine, with the dirty records."""
    engine = Sailing(spark_server, policy)
    for table, rows in records.items():
        engine.fill(table, rows)
    yield engine
    engine.close()
