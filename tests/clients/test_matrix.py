"""Each driver of the Python index takes the twelve steps, as docs/clients.md says it does."""

import json
import sys
from collections.abc import Mapping

import pytest

from tests.clients.matrix.asked import KINDS, WORDS
from tests.clients.matrix.catalogue import DRIVERS, PYTHON
from tests.clients.matrix.driver import Driver
from tests.clients.matrix.exceptions import EXCEPTIONS
from tests.clients.matrix.page import PAGE, rows, written
from tests.clients.matrix.run import Wrong, row, times
from tests.clients.matrix.steps import STEPS, Step
from tests.clients.site import Site

_PAGE = PAGE.read_text(encoding="utf-8")
_ROWS = rows(_PAGE)
_DJANGO = next(driver for driver in PYTHON if driver.name == "Django")

_OVER_OTHERS = {
    *("SQLAlchemy, psycopg2", "SQLAlchemy, pg8000", "SQLAlchemy, asyncpg"),
    *("Tortoise", "peewee", "pandas", "polars", "ibis", "dbt", "pgcli", "harlequin"),
}
"""Drivers that put one more layer over another of the list, which only `make test-all` tries."""
_TRIED = [
    pytest.param(driver, marks=[pytest.mark.slow] * (driver.name in _OVER_OTHERS), id=driver.name) for driver in PYTHON
]


@pytest.mark.parametrize("driver", _TRIED)
def test_driver_does_what_the_page_says(driver: Driver, matrix: Site) -> None:
    """`python -m tests.clients.matrix` writes the page."""
    assert row(driver, matrix) == _ROWS[driver.name]


def test_django_groups_by_units_of_time(matrix: Site) -> None:
    """With USE_TZ and zones of its own, as PostgreSQL does over the same rows."""
    told = times(_DJANGO, matrix)
    assert len(told) == 3
    for answered, plain in told.values():
        assert [cells for cells in answered if cells[1]] == plain


def test_page_is_current() -> None:
    """Its tables are what the steps, the drivers and the rows on it give."""
    assert written(_PAGE, _ROWS) == _PAGE
    assert list(_ROWS) == [driver.name for driver in DRIVERS]


def test_drivers_over_others_are_drivers() -> None:
    """So that one which is renamed does not silently come or go."""
    assert {driver.name for driver in PYTHON} > _OVER_OTHERS


def test_exceptions_are_of_drivers_and_steps() -> None:
    """An exception whose driver or step is gone goes as well."""
    steps = {(driver.name, step.name) for driver in DRIVERS for step in STEPS}
    assert set(EXCEPTIONS) <= steps


_RIGHT = {
    "connect": ["ana", "taxi"],
    "TLS": "bound",
    "tables": ["endless", "trips", "zones"],
    "columns": (
        "trip_id driver_id passenger_id pickup_ts pickup_zone payment_type passenger_count trip_distance fare tip total"
    ).split(),
    "grouped": [["cash", 1000], ["credit card", "1000"], [None, 1000]],
    "lists": ["1200", 1200],
    "types": {kind.name: [str(kind.count), 0] for kind in KINDS},
    "refusal": "42501",
    "cursor": [["cash", 1000], ["credit card", 1000], [None, 1000]],
    "cancel": "stopped",
    "timeout": "57014",
    "encodings": dict(WORDS),
}
_WRONG = {
    "connect": ["ana", "trips"],
    "TLS": "SCRAM-SHA-256",
    "tables": ["trips", "zones"],
    "columns": ["trip_id"],
    "grouped": [["cash", 1000], ["credit card", 1000]],
    "lists": [1200, 0],
    "types": {kind.name: [kind.count, 0] for kind in KINDS[1:]},
    "refusal": "answered",
    "cursor": [["cash", 1000], ["credit card", 1000], [None, 999]],
    "cancel": "answered",
    "timeout": "answered",
    "encodings": {**WORDS, "SJIS": "東京 浮"},
}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_steps_tell_right_from_wrong(step: Step) -> None:
    """Each takes the right answer, and not one that is nearly right."""
    assert step.right(_RIGHT[step.name])
    assert not step.right(_WRONG[step.name])


def _driver(name: str, told: Mapping[str, object]) -> Driver:
    """Return a driver whose script tells this."""
    lines = "\n".join(json.dumps({"step": step, "got": got}) for step, got in told.items())
    return Driver(name, (sys.executable, "-c", f"print({lines!r})"), "")


def test_all_that_is_wrong_is_named(matrix: Site) -> None:
    """What went wrong, and of what the script told nothing."""
    with pytest.raises(Wrong) as caught:
        row(_driver("tried", {**_RIGHT, "cursor": [], "TLS": None}), matrix)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()][:-1] == ["tried, TLS", "tried, cursor"]
    with pytest.raises(Wrong, match="tried, encodings"):
        row(_driver("tried", {step: got for step, got in _RIGHT.items() if step != "encodings"}), matrix)


def test_exception_that_is_none_any_more_is_wrong(matrix: Site) -> None:
    """A step that has become right is to be taken from the exceptions."""
    for name, step in EXCEPTIONS:
        with pytest.raises(Wrong, match=f"{step}: is right, so it is no exception any more"):
            row(_driver(name, _RIGHT), matrix)
