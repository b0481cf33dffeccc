"""Mistakes in the rows of single units, each as a patch: what the tests of privacy must catch."""

import re
from collections.abc import Callable

import pytest

from dpsql.rewrite.analysis import owners
from dpsql.rewrite.analysis.owners import Unique
from dpsql.rewrite.emit import source
from dpsql.rewrite.emit.emitter import Emitter, identity
from dpsql.rewrite.ir.relation import PerUnitRows, Relation, WindowRows
from tests.support.dialects import DUCKDB

Made = Callable[[PerUnitRows, Emitter], str]


def _changed(patch: pytest.MonkeyPatch, change: Callable[[str, PerUnitRows], str]) -> None:
    right = source.unit_rows
    patch.setattr(source, "unit_rows", lambda made, emitter: change(right(made, emitter), made))


def owner_lost(patch: pytest.MonkeyPatch) -> None:
    """Take one row of several units that have the same keys, as DISTINCT would that forgot whose they are."""

    def change(text: str, made: PerUnitRows) -> str:
        unit = identity(made.unit, DUCKDB)
        return re.sub(r"GROUP BY 1, ", "GROUP BY ", text.replace(f"SELECT {unit}", f"SELECT min({unit})", 1))

    _changed(patch, change)


def first_units_only(patch: pytest.MonkeyPatch) -> None:
    """Keep the first two units: whoever leaves makes room for another."""
    _changed(patch, lambda text, _: f"{text} ORDER BY 1 LIMIT 2")


def numbered_among_all(patch: pytest.MonkeyPatch) -> None:
    """Give units numbers by their order among all units."""
    _changed(
        patch, lambda text, _: text.replace("count(*) AS", "1 + row_number() OVER (ORDER BY min(s0.rider)) % 2 AS")
    )


def merged_owners(patch: pytest.MonkeyPatch) -> None:
    """Group by a cast of the unit that makes several of them one."""
    _changed(patch, lambda text, _: text.replace('s0."rider" AS', 's0."rider" - s0."rider" % 4 AS'))


def one_row_for_all_keys(patch: pytest.MonkeyPatch) -> None:
    """Claim one row for a unit that has one for each of its keys."""

    def with_made(relation: Relation, _: object, __: object, unique: Unique) -> Unique:
        units = {
            s.table.name: frozenset({frozenset({s.made.unit.name})})
            for s in relation.sources
            if isinstance(s.made, PerUnitRows)
        }
        return lambda name: units[name] if name in units else unique(name)

    patch.setattr(owners, "with_made", with_made)


def any_value_of_many(patch: pytest.MonkeyPatch) -> None:
    """Show of a unit what stands first in an order that is not its own."""
    first = "(array_agg(s0.seats ORDER BY md5(CAST(s0.seats AS VARCHAR) || (SELECT count(*) FROM {})))) [1] AS"

    def change(text: str, _: PerUnitRows) -> str:
        table = re.search(r"FROM (\S+) AS s0", text)
        return text.replace("count(*) AS", first.format(table[1] if table else "rides"))

    _changed(patch, change)


def order_by_others(patch: pytest.MonkeyPatch) -> None:
    """Leave the order of rows that tie to the engine, here one that hangs on how many rows everybody has."""
    right = source.window_rows

    def window_rows(made: WindowRows, emitter: Emitter) -> str:
        text = right(made, emitter)
        table = re.search(r"FROM (\S+) AS s0", text)
        chance = f'md5(CAST("seats" AS VARCHAR) || (SELECT count(*) FROM {table[1] if table else "rides"})'
        return re.sub(r"NULLS LAST, [^)]*\)", f"NULLS LAST, {chance}))", text)

    patch.setattr(source, "window_rows", window_rows)


def window_of_all(patch: pytest.MonkeyPatch) -> None:
    """Number everybody's rows together."""
    right = source.window_rows
    patch.setattr(
        source,
        "window_rows",
        lambda made, emitter: right(made, emitter).replace('PARTITION BY "rider" ', ""),
    )


def ties_have_places(patch: pytest.MonkeyPatch) -> None:
    """Take a rank for a place: rows that tie have the same."""
    patch.setattr(
        owners, "_counts_all", lambda window: window.function in {"rank", "row_number"} and not window.partition
    )


def places_of_parts(patch: pytest.MonkeyPatch) -> None:
    """Take the first row of each part of a unit's rows for the unit's only one."""
    patch.setattr(owners, "_counts_all", lambda window: window.function == "row_number")


def last_place_is_one_row(patch: pytest.MonkeyPatch) -> None:
    """Forget that all rows further behind are read as at the last place."""
    patch.setattr(owners, "_told_apart", lambda last, every: last <= every.high)
