"""Keys that look alike: what is released, and its order, depends on no order of rows, and on a unit by the claim at most."""

import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError, EngineFailed, InternalError
from dpsql.privacy.measurement.plan import Measurement
from dpsql.privacy.measurement.sums import Sums
from tests.support.exactness import Measured, measurements, owners_of, turned_round
from tests.support.fix_wide import PLANS, USERS, Engines, Wide
from tests.support.records import Row
from tests.support.wide_statements import UNITS, Asked, asked, tables

_SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def check(question: Asked, data: st.DataObject, plans: Engines) -> None:
    """Take every unit away, and shuffle the rows: on some engine, going about it in some way."""
    setting = plans[data.draw(st.sampled_from(PLANS))]
    note(question.sql)
    for part in _measurements(question, setting):
        rows = data.draw(tables(question.table))
        measured = Measured.of(part, setting.engine, setting.world)
        note(measured.sql)
        assert all(move <= measured.claim for move in measured.moves(question.table, rows, UNITS[question.table]))
        assert not turned_round(measured, question.table, rows, UNITS[question.table])
        orders = [rows, rows[::-1], random.Random(1).sample(rows, len(rows))]  # noqa: S311  (an order)
        first, *others = [_listed(measured, question.table, order) for order in orders]
        assert all(other == first for other in others)
        assert not isinstance(part, Sums) or not part.delta or len(first) <= _most_keys(part, rows, question)


def _measurements(question: Asked, wide: Wide) -> Sequence[Measurement]:
    try:
        return measurements(question.sql, wide.policy, wide.world, wide.engine, USERS[question.user])
    except (EngineFailed, InternalError):
        raise
    except DpsqlError as refusal:
        note(refusal.message)
        assume(False)
        return ()


def _listed(measured: Measured, table: str, rows: Sequence[Row]) -> list[object]:
    """Return the groups in their order, with their numbers."""
    measured.engine.fill(table, rows)
    return list(measured.exact().items())


def _most_keys(part: Sums, rows: Sequence[Row], question: Asked) -> int:
    """Return in how many groups found out the units can be together."""
    units = {Fraction(str(row[UNITS[question.table]])) for row in rows if row[UNITS[question.table]] is not None}
    return part.bound.rows * len(units)


def test_numbers_of_other_scales_are_one_individual() -> None:
    """Neighbours differ in all rows of somebody: of 1 and 1.00 together."""
    assert owners_of([{"payer": Decimal(text)} for text in ("1", "1.00", "2.0", "-0.0")], "payer") == ["0", "1", "2"]


@_SETTINGS
@given(question=asked(), data=st.data())
def test_any_statement_over_keys_that_look_alike(question: Asked, data: st.DataObject, plans: Engines) -> None:
    """Whatever is joined with whatever through any comparison, a unit moves the release by what is claimed at most."""
    check(question, data, plans)


@pytest.mark.slow
@settings(_SETTINGS, derandomize=False, max_examples=10_000)
@given(question=asked(), data=st.data())
def test_many_more_of_them(question: Asked, data: st.DataObject, plans: Engines) -> None:
    """The same for thousands, others each time."""
    check(question, data, plans)
