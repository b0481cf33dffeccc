"""Mistakes in what a role is told of in part, each as a patch: what the tests of rights must catch."""

from dataclasses import replace
from typing import Any

import pytest

from dpsql.rewrite.ir.expr import TRUE
from dpsql.rewrite.ir.relation import Relation, left_join, scan
from dpsql.rewrite.translate.rows import relations
from dpsql.rewrite.translate.rows.relations import Tracker


def every_row(patch: pytest.MonkeyPatch) -> None:
    """Tell a role of all rows of its tables."""
    patch.setattr(Tracker, "_rows", lambda _, table: scan(table))


def every_row_on_the_right(patch: pytest.MonkeyPatch) -> None:
    """Forget the condition of what a LEFT JOIN adds."""
    right = left_join

    def joined(left: Relation, added: Relation, on: Any) -> Relation:
        return right(left, Relation(added.sources, TRUE, added.columns), on)

    patch.setattr(relations, "left_join", joined)


def every_column(patch: pytest.MonkeyPatch) -> None:
    """Let a role name all columns of its tables."""
    patch.setattr(relations, "require_column", lambda *_: None)


def columns_by_using(patch: pytest.MonkeyPatch) -> None:
    """Let a role name columns by USING that it may not name."""
    right = relations._condition

    def condition(t: Any, join: Any, left: Any, columns: Any) -> Any:
        return right(t if not join.args.get("using") else _lenient(t), join, left, columns)

    patch.setattr(relations, "_condition", condition)


def _lenient(t: Any) -> Any:
    return replace(t, names=replace(t.names, require=lambda _: None))
