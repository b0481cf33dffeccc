"""A Spark Connect server: Sail, which needs no Java, in a process of its own, or what `make test-spark` has installed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.canaries.served_people import sail
from dpsql.policy.model import Policy
from tests.support.fix_dirty import Records
from tests.support.sailing import Sailing
from tests.support.spark_cluster import spark_cluster


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
