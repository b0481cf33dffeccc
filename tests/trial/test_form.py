"""The form of a statement: the same for statements that differ in constants alone."""

from collections.abc import Mapping

import pytest

from dpsql.trial.tried_forms import form_of
from tests.support.tried import Court


def _form(sql: str, trial_court: Court) -> list[str]:
    return [form_of(part.measurement, part.sql) for part in trial_court.priced(sql, "owner").measurements]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("SELECT count(*) FROM orders WHERE total > 3", "SELECT count(*) FROM orders WHERE total > 5"),
        ("SELECT sum(total) FROM orders WHERE status = 'open'", "SELECT sum(total) FROM orders WHERE status = 'done'"),
        ("SELECT count(*) FROM orders WHERE code IN (1, 2)", "SELECT count(*) FROM orders WHERE code IN (1, 2, 4)"),
    ],
)
def test_constants_make_no_form(text: str, other: str, shop_courts: Mapping[str, Court]) -> None:
    """A statement with another constant is not tried again."""
    place = shop_courts["duckdb"]
    assert _form(text, place) == _form(other, place)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("SELECT count(*) FROM orders WHERE total > 3", "SELECT count(*) FROM orders WHERE total < 3"),
        ("SELECT sum(total) FROM orders", "SELECT avg(total) FROM orders"),
        ("SELECT status, count(*) FROM orders GROUP BY 1", "SELECT total, count(*) FROM orders GROUP BY 1"),
        ("SELECT count(*) FROM orders", "SELECT count(*) FROM orders JOIN customers ON buyer = customer"),
    ],
)
def test_what_is_asked_makes_the_form(text: str, other: str, shop_courts: Mapping[str, Court]) -> None:
    """Another comparison, statistic, key or table is another form."""
    place = shop_courts["duckdb"]
    assert _form(text, place) != _form(other, place)


def test_a_number_in_a_name_makes_a_form(shop_courts: Mapping[str, Court]) -> None:
    """Columns that differ in a number are two, and have types and bounds of their own."""
    (part,) = shop_courts["duckdb"].priced("SELECT count(*) FROM orders", "owner").measurements
    form, other = (form_of(part.measurement, f'SELECT s0."visit {n} cost" + 3 FROM t') for n in (1, 2))
    assert form != other
    assert form == form_of(part.measurement, 'SELECT s0."visit 1 cost" + 4 FROM t')
