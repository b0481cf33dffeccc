"""Mistakes in who has one row alone, each as a patch: what the tests of how far a unit moves a ladder must catch."""

from dataclasses import replace

import pytest

from dpsql.privacy.measurement import engine_sql
from dpsql.privacy.measurement.contribution import ContributionBound
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.kept_columns import HeavyRows
from dpsql.rewrite.ir.relation import Relation


def doubled_rows_are_one(patch: pytest.MonkeyPatch) -> None:
    """Take a unit with one row of the table for one with one measured row, where a join makes several of it."""
    right = engine_sql._rows_apart

    def rows_apart(relation: Relation, bound: ContributionBound, emitter: Emitter) -> HeavyRows | None:
        return right(relation, replace(bound, once=True), emitter)

    patch.setattr(engine_sql, "_rows_apart", rows_apart)


def some_rows_are_one(patch: pytest.MonkeyPatch) -> None:
    """Take each row of a unit that has no more than are declared for a unit with that row alone."""
    right, apart = engine_sql.of_several_rows, engine_sql._rows_apart

    def of_several_rows(
        relation: Relation, bound: ContributionBound, emitter: Emitter
    ) -> engine_sql.HeavyMarking | None:
        kept = apart(relation, bound, emitter)
        with pytest.MonkeyPatch.context() as within:
            within.setattr(engine_sql, "_rows_apart", lambda *_: kept and replace(kept, rows=1))
            return right(relation, bound, emitter)

    patch.setattr(engine_sql, "of_several_rows", of_several_rows)
