"""Some rides, for all tests of a file."""

import pytest

from dpsql.policy.model import Policy
from tests.gateway.growing_ward import ward, ward_world  # noqa: F401
from tests.support.memory import Memory
from tests.support.records import Maker


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Some rides."""
    engine, maker = Memory(policy), Maker(5)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n // 5} for n in range(200)])
    return engine
