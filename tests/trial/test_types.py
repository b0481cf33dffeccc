"""Statements over columns of every type pass: UUIDs, char(n), enumerations, times with a zone, spans; both kinds of unit."""

from collections.abc import Iterator, Mapping

import pytest

from dpsql.policy.model import Policy
from tests.properties.test_types import KEYS, SUMS, UNITS
from tests.support.fix_engines import ENGINES
from tests.support.fix_types import DOORS, TypedEngines
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.served import Served
from tests.support.tried import Court, court


@pytest.fixture(scope="module")
def courts(typed_policy: Policy, typed_world: tuple[World, TypedEngines]) -> Iterator[Mapping[str, Court]]:
    """Give a place to try statements in, for each engine."""
    world, memory = typed_world[0], Memory(typed_policy, public={"doors": DOORS})
    served = Served(world, "typed_trials", {"doors": DOORS})
    yield {"duckdb": court(typed_policy, world, memory), "postgres": court(typed_policy, world, served)}
    served.close()
    memory.close()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", UNITS)
def test_statements_over_every_type_pass(unit: str, engine: str, courts: Mapping[str, Court]) -> None:
    """Whoever is protected, with declared keys and with such that are found."""
    _, sure, finding = UNITS[unit]
    for sql in SUMS:
        assert courts[engine].tried(sql.format(unit=unit), sure).new
    for sql in KEYS:
        assert courts[engine].tried(sql.format(unit=unit), finding).new
