"""A Spark Connect server without Java, Sail, in a process of its own that ends with the tests."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_dirty import Records
from tests.support.sailing import Sailing

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


@pytest.fixture(scope="session")
def sail() -> Iterator[str]:
    """Give the address of a server."""
    command = [sys.executable, "-c", _SERVE]
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        assert port, "Sail does not start"
        yield f"sc://127.0.0.1:{port}"
        server.communicate(timeout=60)


@pytest.fixture(scope="session")
def dirty_spark(sail: str, policy: Policy, records: Records) -> Iterator[Sailing]:
    """Spark as the engine, with the dirty records."""
    engine = Sailing(sail, policy)
    for table, rows in records.items():
        engine.fill(table, rows)
    yield engine
    engine.close()
