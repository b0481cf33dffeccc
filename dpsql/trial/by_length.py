"""Weights by the length of a unit's rows over the groups, read again from the text: w·√(Σ n²) ≤ M, and over which groups.

    h: SELECT u AS hu, CASE WHEN q < TOP THEN CAST(M // greatest(l, C) AS …) ELSE 0 END AS w FROM (l) AS c
    l: SELECT u, q, n, CASE WHEN (r - 1) * (r - 1) >= q THEN r - 1 WHEN r * r >= q THEN r ELSE r + 1 END AS l FROM (r) AS b
    r: SELECT u, q, n, CAST(ceil(sqrt(CAST(q AS DOUBLE))) AS BIGINT) AS r FROM (q) AS a
    q: SELECT u, CAST(least(sum(least(n, MOST) * least(n, MOST)), TOP) AS BIGINT) AS q, … AS n FROM (g) AS g GROUP BY u
    g: SELECT u, count(*) AS n FROM (SELECT u, … AS k0, … FROM (rows) AS r) AS p GROUP BY u, k0, …

Claim: a unit with n rows in group after group has w·√(Σ n²) ≤ M. Proof: TOP = MOST², so where q < TOP no n is MOST, and q is
Σ n² to the digit; elsewhere w is 0. A double's root of q < 2^62 errs by less than a half, so that r + 1 is never below √q,
and each other branch asks that its square is q at least: l² ≥ q. And w·l ≤ M. ∎

The groups are those of what is put out: keys are the same expressions in both places, so that rows which come back as one
group were counted as one. NULL is one group in both.
"""

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from dpsql.trial.column_bounds import NotProvedError
from dpsql.trial.statement_parts import (
    RowsRead,
    grouped_by,
    is_column,
    projected,
    see_that_it_is_plain,
    weight_of,
)
from dpsql.trial.summed import is_text

_OF_BYTES = re.compile(r"\(*CAST\([^()]+ AS (VARCHAR|TEXT)\) COLLATE \"C\"\)*( of .*)?")
_MOST = 2**31 - 1
_TOP = _MOST**2
_LENGTH = "CASE WHEN (r - 1) * (r - 1) >= q THEN r - 1 WHEN r * r >= q THEN r ELSE r + 1 END"
_ROOT = "CAST(ceil(sqrt(CAST(q AS DOUBLE))) AS BIGINT)"
_ALL = f"CAST(least(sum(n), {2**62}) AS BIGINT)"
_SQUARES = f"CAST(least(sum(least(n, {_MOST}) * least(n, {_MOST})), {_TOP}) AS BIGINT)"


def mass_by_length(
    weights: exp.Select,
    rows: RowsRead,
    keys: Sequence[exp.Expr],
    read: Callable[[exp.Expr], RowsRead],
) -> int:
    """Return M, of which no unit's weight times the length of its rows over the groups of these keys is more.

    Raises:
        NotProvedError: it is not that form, or of other rows or other groups.
    """
    see_that_it_is_plain(weights)
    columns = projected(weights)
    if list(columns) != ["hu", "w"] or not is_column(columns["hu"], "u") or grouped_by(weights):
        raise NotProvedError
    most = _weighed(columns["w"])
    lengths = _below(weights, "c", {"u": "u", "q": "q", "n": "n", "l": _LENGTH})
    roots = _below(lengths, "b", {"u": "u", "q": "q", "n": "n", "r": _ROOT})
    squares = _select(roots, "a")
    own = projected(squares)
    if list(own) != ["u", "q", "n"] or not is_column(own["u"], "u"):
        raise NotProvedError
    if not is_text(own["q"], _SQUARES) or not is_text(own["n"], _ALL):
        raise NotProvedError
    by_group = _select(squares, "g")
    counted = projected(by_group)
    if list(counted) != ["u", "n"] or not is_column(counted["u"], "u") or not is_text(counted["n"], "count(*)"):
        raise NotProvedError
    parted = _select(by_group, "p")
    _see_groups(squares, ["u"])
    _see_groups(by_group, list(projected(parted)))
    _see_keys(parted, rows, keys, read)
    return most


def _see_keys(
    parted: exp.Select, rows: RowsRead, keys: Sequence[exp.Expr], read: Callable[[exp.Expr], RowsRead]
) -> None:
    """See that rows are told apart by the very values by which they come back, and are the same rows."""
    unit, *own = projected(parted).items()
    if unit[0] != "u" or not is_column(unit[1], "u") or grouped_by(parted):
        raise NotProvedError
    if [column.sql() for _, column in own] != [key.unalias().sql() for key in keys]:
        raise NotProvedError
    again = read(parted.args["from_"].this)
    named = {column.name for key in keys for column in key.find_all(exp.Column)}
    same = all(name in rows.definitions and rows.definitions[name] == again.definitions.get(name) for name in named)
    if not again.same_rows(rows) or not same or not all(_is_told_apart(key.unalias(), rows) for key in keys):
        raise NotProvedError


def _is_told_apart(key: exp.Expr, rows: RowsRead) -> bool:
    """Return whether values of a key that come back alike are so to the engine: whole numbers, and texts by their bytes."""
    inner = key
    while isinstance(inner, exp.Cast):
        inner = inner.this
    if not isinstance(inner, exp.Column) or inner.table:
        return False
    whole = isinstance(key, exp.Cast) and key.to.is_type("bigint")
    return whole or (key is inner and _OF_BYTES.fullmatch(rows.definitions[inner.name]) is not None)


def _see_groups(select: exp.Select, names: Sequence[str]) -> None:
    if [key.sql() for key in grouped_by(select)] != list(names):
        raise NotProvedError


def _weighed(text: exp.Expr) -> int:
    """Return M of CASE WHEN q < TOP THEN CAST(M // greatest(l, C) AS …) ELSE 0 END."""
    if not isinstance(text, exp.Case) or text.args.get("this") is not None or len(text.args["ifs"]) != 1:
        raise NotProvedError
    (if_,) = text.args["ifs"]
    if not is_text(if_.this, f"q < {_TOP}") or not is_text(text.args.get("default"), "0"):
        raise NotProvedError
    most, least, length = weight_of(if_.args["true"])
    if not is_column(length, "l") or least <= 0:
        raise NotProvedError
    return most


def _below(above: exp.Select, name: str, columns: dict[str, str]) -> exp.Select:
    """Return what a SELECT is made of, if its columns are these."""
    select = _select(above, name)
    own = projected(select)
    if list(own) != list(columns) or grouped_by(select):
        raise NotProvedError
    if not all(is_text(own[column], text) or _is_root(own[column], text) for column, text in columns.items()):
        raise NotProvedError
    return select


def _is_root(column: exp.Expr, text: str) -> bool:
    """Return whether a column is the root, in PostgreSQL's words."""
    return text == _ROOT and is_text(column, "CAST(ceil(sqrt((q)::float8)) AS BIGINT)", "postgres")


def _select(above: exp.Select, name: str) -> exp.Select:
    """Return the SELECT that one is made of, under this name, which leaves nothing out."""
    source = above.args["from_"].this
    if not isinstance(source, exp.Subquery) or source.alias != name or not isinstance(source.this, exp.Select):
        raise NotProvedError
    see_that_it_is_plain(source.this)
    return source.this
