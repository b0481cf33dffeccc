"""Statements that nobody thought of mean what PostgreSQL says they mean, on the clamped tables."""

import psycopg
import pytest
from hypothesis import HealthCheck, assume, given, note, settings

from dpsql.errors import DpsqlError, EngineFailed, InternalError
from tests.support.dialects import DIALECTS
from tests.support.fix_dirty import NewUser
from tests.support.fix_world import Client
from tests.support.reference import Reference
from tests.support.strategies import counts

_SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def check(sql: str, client: Client, reference: Reference) -> None:
    """Compare; what dpsql refuses, and what PostgreSQL can't compute for some row, is nothing to compare."""
    note(sql)
    try:
        answer, expected = client.ask(sql), reference.answer(sql, "passenger")
    except (EngineFailed, InternalError):
        raise
    except (DpsqlError, psycopg.Error) as error:
        note(str(error))
        assume(False)
        return
    assert (answer.names, answer.types) == (expected.names, expected.types)
    assert sorted(map(str, expected.rows)) == sorted(str(row) for row in answer.rows if row in expected.rows)
    assert all(not any(row[-2:]) for row in answer.rows if row not in expected.rows)


@_SETTINGS
@given(sql=counts())
def test_any_count(sql: str, user: NewUser, reference: Reference) -> None:
    """Every count of every condition is PostgreSQL's."""
    for dialect in DIALECTS:
        check(sql, user("ana", dialect), reference)


@pytest.mark.slow
@settings(_SETTINGS, derandomize=False, max_examples=5_000)
@given(sql=counts())
def test_many_more_counts(sql: str, user: NewUser, reference: Reference) -> None:
    """The same for thousands, others each time."""
    for dialect in DIALECTS:
        check(sql, user("ana", dialect), reference)
