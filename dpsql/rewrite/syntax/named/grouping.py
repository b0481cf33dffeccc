"""GROUP BY as PostgreSQL reads it: the keys, and the grouping sets over them.

GROUP BY zone, ROLLUP (year, month)  →  keys zone, year, month; sets (zone, year, month), (zone, year), (zone)
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.frozen import quickly_made
from dpsql.rewrite.syntax.read.dialect import render

_MOST_SETS = 256
Set = tuple[int, ...]


@quickly_made
@dataclass(frozen=True, slots=True)
class Grouping:
    """The distinct key expressions of a SELECT, and for each grouping set the indices of the keys that it groups by."""

    keys: tuple[exp.Expr, ...]
    sets: tuple[Set, ...]

    @property
    def plain(self) -> bool:
        """Return whether it is an ordinary GROUP BY: one set, of all keys."""
        return self.sets == (tuple(range(len(self.keys))),)


def ordinary(keys: Sequence[exp.Expr]) -> Grouping:
    """Return the grouping by all of `keys`, each counted once."""
    distinct = tuple({render(key): key for key in reversed(keys)}.values())[::-1] if len(keys) > 1 else tuple(keys)
    return Grouping(distinct, (tuple(range(len(distinct))),))


def grouping_in(select: exp.Select, aggregates: Sequence[exp.Expr]) -> Grouping:
    """Return how a SELECT groups; DISTINCT without aggregates groups by its outputs."""
    if select.args.get("group") is not None:
        return grouping_of(select)
    distinct = select.args.get("distinct") is not None and not aggregates
    return ordinary([_named(e) for e in select.expressions] if distinct else [])


def grouping_of(select: exp.Select) -> Grouping:
    """Return what the GROUP BY of `select` says.

    Several elements multiply: every set of one is joined with every set of the next.

    Raises:
        Unsupported: there are too many sets, or an element is not known.
    """
    group = select.args["group"]
    # Counted before they are made: CUBE of thirty columns has a thousand million sets.
    size = math.prod(map(_size, group.expressions))
    if size > _MOST_SETS:
        raise Unsupported(
            f"GROUP BY has {size:,} grouping sets, the limit is {_MOST_SETS}",
            because="too-many-grouping-sets",
            hint="Name the sets that you need with GROUPING SETS.",
        )
    elements = [_sets(select, element) for element in group.expressions]
    # GROUP BY zone, ROLLUP (year, month)  →  [(zone)] × [(year, month), (year), ()], of which each pair is one set.
    combined = [tuple(itertools.chain(*parts)) for parts in itertools.product(*elements)]
    if len(combined) == len(combined[0]) == 1:
        return Grouping(combined[0], ((0,),))
    places: dict[str, int] = {}
    nodes: dict[str, exp.Expr] = {}
    texts = {id(node): render(node) for node in itertools.chain(*combined)}
    for node in itertools.chain(*combined):
        nodes.setdefault(texts[id(node)], node)
        places.setdefault(texts[id(node)], len(places))
    sets = tuple(tuple(sorted({places[texts[id(node)]] for node in members})) for members in combined)
    # GROUP BY DISTINCT: sqlglot writes that it is not ALL.
    return Grouping(tuple(nodes.values()), tuple(dict.fromkeys(sets)) if group.args.get("all") is False else sets)


def _size(element: exp.Expr) -> int:
    """Return how many grouping sets one element of GROUP BY stands for."""
    match element:
        case exp.Rollup():
            return len(element.expressions) + 1
        case exp.Cube():
            return 1 << len(element.expressions)
        case exp.GroupingSets():
            return sum(map(_size, element.expressions))
        case _:
            return 1


def _sets(select: exp.Select, element: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    """Return the grouping sets that one element of GROUP BY stands for."""
    match element:
        case exp.Rollup():
            parts = [_columns(select, part) for part in element.expressions]
            return [tuple(itertools.chain(*parts[:n])) for n in range(len(parts), -1, -1)]
        case exp.Cube():
            parts = [_columns(select, part) for part in element.expressions]
            # CUBE (a, b)  →  (a, b), (a), (b), ()
            chosen = itertools.product(*((part, ()) for part in parts))
            return [tuple(itertools.chain(*choice)) for choice in chosen]
        case exp.GroupingSets():
            return [grouping_set for part in element.expressions for grouping_set in _sets(select, part)]
        case _:
            return [_columns(select, element)]


def _columns(select: exp.Select, node: exp.Expr) -> tuple[exp.Expr, ...]:
    """Return the keys in one element: `(a, b)` groups by both at once, `()` by nothing."""
    if isinstance(node, exp.Tuple):
        return tuple(_resolved(select, part) for part in node.expressions)
    in_brackets = isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Subquery, exp.Column))
    if isinstance(node, exp.Paren) or in_brackets:
        return _columns(select, node.this)
    return (_resolved(select, node),)


def _resolved(select: exp.Select, key: exp.Expr) -> exp.Expr:
    """Return the expression that a key means; an output with a query in it is written by its place (`bind.plain`)."""
    if isinstance(key, exp.Literal) and not key.is_string:
        return _named(select.expressions[int(key.name) - 1])
    return key


def _named(output: exp.Expr) -> exp.Expr:
    """Return an output of which a key is made.

    Raises:
        Unsupported: it is made of several rows.
    """
    if output.find(exp.Window):
        raise Unsupported(
            "DISTINCT over private rows takes no window functions",
            because="window-as-key",
            hint="SELECT DISTINCT zone, count(*) OVER (PARTITION BY zone) is SELECT zone, count(*) with GROUP BY zone.",
        )
    key: exp.Expr = output.unalias()
    return key
