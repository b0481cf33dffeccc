"""Statements, tables and neighbours that nobody thought of."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError, EngineFailed, InternalError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.plan import Measurement
from tests.support.exactness import Measured, measurements
from tests.support.fix_engines import Engines
from tests.support.fix_policy import of_unknown_size, with_rows
from tests.support.fix_world import World
from tests.support.served import Filled
from tests.support.strategies import statements, tables

_SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def few(policy: Policy) -> Policy:
    """The policy with at most two rows a passenger."""
    return with_rows(policy, "rides", "passenger", 2)


def check(sql: str, data: st.DataObject, policy: Policy, world: World, engines: Engines) -> None:
    """Take every unit away and look how far that moves the measurements on both engines, which never fail."""
    policy = policy if data.draw(st.booleans()) else of_unknown_size(policy, "rides")
    for measurement in _measurements(sql, policy, world, engines["duckdb"]):
        rows = data.draw(tables(policy.tables["rides"], set(re.findall(r"\w+", sql))))
        for engine in engines.values():
            measured = Measured.of(measurement, engine, world)
            note(measured.sql)
            assert all(move <= measured.claim for move in measured.moves("rides", rows, "rider"))


def _measurements(sql: str, policy: Policy, world: World, engine: Filled) -> Sequence[Measurement]:
    try:
        return measurements(sql, policy, world, engine)
    except (EngineFailed, InternalError):
        raise
    except DpsqlError as refusal:
        note(refusal.message)
        assume(False)
        return ()


@_SETTINGS
@given(sql=statements(), data=st.data())
def test_any_statement(sql: str, data: st.DataObject, few: Policy, world: World, tiny: Engines) -> None:
    """Whatever is not refused is as sensitive as it claims, and is computed for every row."""
    check(sql, data, few, world, tiny)


@pytest.mark.slow
@settings(_SETTINGS, derandomize=False, max_examples=5_000)
@given(sql=statements(), data=st.data())
def test_many_more_statements(sql: str, data: st.DataObject, few: Policy, world: World, tiny: Engines) -> None:
    """The same for thousands, others each time."""
    check(sql, data, few, world, tiny)
