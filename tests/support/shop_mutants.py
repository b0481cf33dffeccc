"""Mistakes in statements over several protected tables, each as a patch: what made-up statements over the shop must show."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from dpsql.gateway import inner_answers
from dpsql.privacy.measurement import engine_sql
from dpsql.rewrite.analysis import owners
from dpsql.rewrite.emit import source
from dpsql.rewrite.emit.emitter import Emitter, identity
from dpsql.rewrite.ir.relation import UnionRows, Window, with_answers


def different_units(patch: pytest.MonkeyPatch) -> None:
    """Take any joined row for the first table's."""
    patch.setattr(owners, "_require_one_unit", lambda *_: None)


def rows_that_find_none_are_lost(patch: pytest.MonkeyPatch) -> None:
    """Join where LEFT JOIN is asked for."""
    _joined(patch, " LEFT JOIN ", " JOIN ")


def _joined(patch: pytest.MonkeyPatch, asked: str, done: str) -> None:
    right = source._joined
    patch.setattr(source, "_joined", lambda *args: right(*args).replace(asked, done))


def there_are_none(patch: pytest.MonkeyPatch) -> None:
    """Look for rows where there should be none."""
    right = source._tests

    def tests(*args: Any) -> Iterator[str]:
        return (text.replace("NOT EXISTS", "EXISTS") for text in right(*args))

    patch.setattr(source, "_tests", tests)


def rows_without_a_value(patch: pytest.MonkeyPatch) -> None:
    """Keep rows that have no value where there should be one."""
    patch.setattr(Emitter, "present", lambda *_: "TRUE")


def one_part_of_two(patch: pytest.MonkeyPatch) -> None:
    """Leave out what stands below."""
    right = source.union_rows
    patch.setattr(source, "union_rows", lambda made, *rest: right(replace(made, parts=made.parts[:1]), *rest))


def units_twice(patch: pytest.MonkeyPatch) -> None:
    """Show each part of UNION ALL twice, and claim one."""

    def rows(made: UnionRows, *rest: Any) -> str:
        return right(replace(made, parts=made.parts * 2), *rest)

    right = source.union_rows
    patch.setattr(source, "union_rows", rows)


def places_among_all(patch: pytest.MonkeyPatch) -> None:
    """Number everybody's rows together."""
    right = source.window_text

    def text(window: Window, *rest: Any) -> str:
        return re.sub(r'PARTITION BY "[^"]*",? ?', "", right(window, *rest), count=1)

    patch.setattr(source, "window_text", text)


def ties_as_they_come(patch: pytest.MonkeyPatch) -> None:
    """Leave the order of rows that tie to the engine."""
    right = source.window_text
    patch.setattr(source, "window_text", lambda window, unit, _, emitter: right(window, unit, (), emitter))


def neighbours_are_one(patch: pytest.MonkeyPatch) -> None:
    """Make one row of two units."""
    right = source.unit_rows

    def rows(made: Any, emitter: Emitter) -> str:
        own = identity(made.unit, emitter.dialect)
        return right(made, emitter).replace(f"SELECT {own} AS", f"SELECT {own} / 2 * 2 AS", 1)

    patch.setattr(source, "unit_rows", rows)


def no_answer(patch: pytest.MonkeyPatch) -> None:
    """Ask the second stage as if the first had no rows."""
    patch.setattr(
        inner_answers, "_answered", lambda relation, _: with_answers(relation, lambda awaited: awaited.answered(()))
    )


def weighed_before_the_join(patch: pytest.MonkeyPatch) -> None:
    """Bound the rows of the first table, and not what the join makes of them."""
    right = engine_sql.BoundedScan._weighed

    def weighed(self: engine_sql.BoundedScan, *rest: Any, **named: Any) -> str:
        first = re.sub(r" JOIN .*", f" WHERE {self.unit} IS NOT NULL", self.from_where)
        text = right(self, *rest, **named).replace("SELECT u AS hu", f"SELECT {self.unit} AS hu", 1)
        return text.replace("FROM r GROUP BY 1", f"{first} GROUP BY 1", 1)

    patch.setattr(engine_sql.BoundedScan, "_weighed", weighed)
