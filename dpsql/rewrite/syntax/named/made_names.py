"""Names for what a statement did not name itself: messages show them, so they tell what they are, and no table has them."""

import itertools
from collections.abc import Collection, Iterable

from sqlglot import exp

from dpsql.rewrite.syntax.read.dialect import render

_LONGEST = 36
"""Bytes of an expression in a name, of which PostgreSQL keeps 63."""


def fresh(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken, in capitals or not: DuckDB takes these for the same."""
    lower = {name_taken.lower() for name_taken in taken}
    names = itertools.chain([name], (f"{name} {n}" for n in itertools.count(2)))
    return next(free for free in names if free.lower() not in lower)


def columns_of_subquery(nodes: Iterable[exp.Expr]) -> list[str]:
    """Return a name for each of the outputs of a subquery, such as `avg(fare) of the subquery`."""
    names: list[str] = []
    for node in nodes:
        names.append(column_of_subquery(render(node), names))
    return names


def column_of_subquery(text: str, taken: Collection[str]) -> str:
    """Return a name for an output that is written so, and that is not taken."""
    return fresh(f"{first_bytes(text)} of the subquery", taken)


def first_bytes(text: str, longest: int = _LONGEST) -> str:
    """Return the first bytes of a text that is longer, with an ellipsis; any other is returned unchanged."""
    return text if len(text.encode()) <= longest else f"{text.encode()[:longest].decode(errors='ignore')}…"
