"""Whole transcripts on neighbours: what a client, the ledger and the engine see is the same with anybody and without."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from dpsql.question import Settings
from tests.support.exactness import owner, owners_of
from tests.support.fix_wide import PLANS, Engines, Wide
from tests.support.transcripts import Sessions, sessions
from tests.support.wide_statements import UNITS, Asked, asked, tables

_SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_EPSILONS = st.sampled_from(["1", "0.25", "0.004"])


@pytest.fixture(scope="module")
def open_sessions(wide: Engines) -> Iterator[Sessions]:
    """Sessions in the shadow."""
    with sessions(wide["duckdb"]) as opened:
        yield opened


def check(question: Asked, data: st.DataObject, wide: Wide, opened: Sessions) -> None:
    """Ask with everybody, without each unit, and with nobody at all: only released numbers may differ."""
    rows, given_ = data.draw(tables(question.table)), Settings(data.draw(_EPSILONS))
    note(question.sql)
    unit = UNITS[question.table]
    databases = [rows, *([row for row in rows if owner(row[unit]) != name] for name in owners_of(rows, unit)), []]
    told = []
    for database in databases:
        wide.engine.fill(question.table, database)
        told.append(opened.transcript(wide, question.sql, question.user, given_).told(fixed=question.fixed))
    note(str(told))
    assert all(other == told[0] for other in told)


@_SETTINGS
@given(question=asked(), data=st.data(), plan=st.sampled_from(PLANS))
def test_any_statement_tells_the_same_of_neighbours(
    question: Asked, data: st.DataObject, plan: str, plans: Engines, open_sessions: Sessions
) -> None:
    """Errors, charges, statements of the engine, the number of rows: on the first try and on the second."""
    check(question, data, plans[plan], open_sessions)


@pytest.mark.slow
@settings(_SETTINGS, derandomize=False, max_examples=5_000)
@given(question=asked(), data=st.data(), plan=st.sampled_from(PLANS))
def test_thousands_tell_the_same(
    question: Asked, data: st.DataObject, plan: str, plans: Engines, open_sessions: Sessions
) -> None:
    """The same for thousands, others each time."""
    check(question, data, plans[plan], open_sessions)
