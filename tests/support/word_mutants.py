"""Mistakes in how queries in other words are followed, each as a patch: what the tests of privacy and meaning must catch."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from sqlglot import exp

from dpsql.policy.model import Table
from dpsql.rewrite.analysis import owners
from dpsql.rewrite.analysis.owners import Finders, Meanings, Unique
from dpsql.rewrite.ir.expr import Expr, refs
from dpsql.rewrite.ir.relation import Relation, WindowRows
from dpsql.rewrite.syntax.forms import decorrelate, outer_joins, set_operations
from dpsql.rewrite.syntax.whole import scopes


def constants_found_once(patch: pytest.MonkeyPatch) -> None:
    """Take what is joined without an equation for one row of each row."""
    right = owners.finders

    def finders(relation: Relation, index: int, unique: Unique) -> Finders:
        every = frozenset({(frozenset(range(len(relation.sources))) - {index},)})
        return every if relation.sources[index].table.public else right(relation, index, unique)

    patch.setattr(owners, "finders", finders)


def joined_rows_once(patch: pytest.MonkeyPatch) -> None:
    """Take a key for unique in rows with windows though a join has each of its rows several times."""
    right = owners.with_made

    def with_made(relation: Relation, kind: str, tables: Mapping[str, Table], unique: Unique) -> Unique:
        below = right(relation, kind, tables, unique)
        made_names = {
            source.table.name: {
                frozenset({name})
                for name, key in source.made.columns
                if any(frozenset({ref.name}) in unique(ref.table) for ref in refs(key))
            }
            for source in relation.sources
            if isinstance(source.made, WindowRows)
        }
        return lambda name: below(name) | frozenset(made_names.get(name, ()))

    patch.setattr(owners, "with_made", with_made)


def computed_keys_named(patch: pytest.MonkeyPatch) -> None:
    """Take what is computed of a row's key for that key."""
    right = owners._as_below

    def as_below(inner: Relation, columns: Iterable[tuple[str, Expr]], *rest: Any) -> Meanings:
        pairs = [(name, refs(key)) for name, key in columns]
        return right(inner, [(name, exprs[0]) for name, exprs in pairs if len(exprs) == 1], *rest)

    patch.setattr(owners, "_as_below", as_below)
    patch.setattr(owners, "as_stored", lambda *_: True)


def laterals_untied(patch: pytest.MonkeyPatch) -> None:
    """Join the first rows of LATERAL subqueries to everybody's, and check nothing."""
    right = decorrelate._as_rows

    def as_rows(select: exp.Select, join: exp.Join, *rest: Any) -> None:
        right(select, join, *rest)
        places = list(join.args["on"].find_all(exp.LTE))
        join.set("on", exp.and_(*(condition.copy() for condition in places), copy=False))

    patch.setattr(decorrelate, "_as_rows", as_rows)
    patch.setattr(owners, "_require_one_unit", lambda *_: None)


def rows_that_are_empty(patch: pytest.MonkeyPatch) -> None:
    """Take any aggregate for one that leaves out public rows which find no private ones."""
    patch.setattr(outer_joins, "_of_missing", lambda *_: "nothing")


def lists_of_rows(patch: pytest.MonkeyPatch) -> None:
    """Take UNION ALL of private values for UNION, which has each of them once."""
    right = set_operations.make_distinct

    def make_distinct(node: exp.SetOperation, *rest: Any) -> None:
        node.set("distinct", True)
        right(node, *rest)

    patch.setattr(scopes, "make_distinct", make_distinct)
