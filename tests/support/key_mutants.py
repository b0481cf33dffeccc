"""Mistakes in how keys are found and rows selected, each as a patch."""

from typing import Any

import pytest

from dpsql.privacy.measurement import contribution, engine_sql, plan
from dpsql.privacy.mechanisms.gaussian_selection import Weight, full_weight


def no_selection(patch: pytest.MonkeyPatch) -> None:
    """Keep all rows of a unit."""
    patch.setattr(engine_sql, "rows_within_bound", lambda rows, *_: rows)


def selection_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """Keep one row too many."""
    patch.setattr(
        engine_sql,
        "rows_within_bound",
        lambda rows, columns, most, salt: contribution.rows_within_bound(rows, columns, most + 1, salt),
    )


def weights_where_selection_is_due(patch: pytest.MonkeyPatch) -> None:
    """Keep all rows of a heavy unit, lightly: it is then in any number of groups."""

    def grouped(reading: engine_sql.BoundedScan, rows: str, *_: Any, **__: Any) -> str:
        return f"SELECT {reading.outputs(['1'])} FROM ({rows}) AS r{reading.group_by}"

    patch.setattr(engine_sql.BoundedScan, "grouped", grouped)


def full_for_each_key(patch: pytest.MonkeyPatch) -> None:
    """Let a unit add to each of its keys what it may add to one."""
    patch.setattr(plan, "weights", lambda keys: [Weight(keys, full_weight(keys))])


def rows_for_units(patch: pytest.MonkeyPatch) -> None:
    """Count a unit's rows where each of its keys is to count once."""
    right = engine_sql.BoundedScan.spread

    def spread(reading: engine_sql.BoundedScan, weight: str) -> str:
        return right(reading, weight).replace("SELECT DISTINCT", "SELECT")

    patch.setattr(engine_sql.BoundedScan, "spread", spread)


def keys_before_selection(patch: pytest.MonkeyPatch) -> None:
    """Weigh by half of the keys that a unit has."""
    right = engine_sql.BoundedScan.spread
    patch.setattr(
        engine_sql.BoundedScan, "spread", lambda reading, weight: right(reading, weight.replace("n <=", "n / 2 <="))
    )
