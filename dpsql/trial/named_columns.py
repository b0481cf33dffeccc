"""Columns that stand beside a table's own under names of ours, put back where they are read: the second reading knows tables.

SELECT s0."dpsql fare" … FROM (SELECT (CASE …) AS "dpsql fare", s0."rider" FROM trips AS s0) AS s0
→  SELECT (CASE …) … FROM trips AS s0

Claim: both say the same. The named ones are made of the row's own columns, and stand first, so that no column of the table
that has the same name is read in their place.
"""

import itertools
from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpsql.trial.column_bounds import NotProvedError

Named = Mapping[str, exp.Expr]


def with_columns_in_place(tree: exp.Expr) -> exp.Expr:
    """Return a statement without such names.

    Raises:
        NotProvedError: something is read by them that is not plain.
    """
    wrapped = {id(source): found for source in tree.find_all(exp.Subquery) if (found := _named(source)) is not None}
    if not wrapped:
        return tree
    for column in list(tree.find_all(exp.Column)):
        source = _source_of(column)
        if source is not None and id(source) in wrapped and column.name in wrapped[id(source)]:
            column.replace(exp.Paren(this=wrapped[id(source)][column.name].copy()))
    for source in reversed([source for source in tree.find_all(exp.Subquery) if id(source) in wrapped]):
        source.replace(source.this.args["from_"].this.copy())
    return tree


def _named(source: exp.Subquery) -> Named | None:
    """Return what stands beside the columns of a table, or of rows that are made; None of any other subquery."""
    select = source.this
    if not isinstance(select, exp.Select) or {name for name, part in select.args.items() if part} != {
        "expressions",
        "from_",
    }:
        return None
    table = select.args["from_"].this
    if not isinstance(table, (exp.Table, exp.Subquery)) or not table.alias or table.alias != source.alias:
        return None
    named = list(itertools.takewhile(lambda one: not _is_own(one, table.alias), select.expressions))
    own = select.expressions[len(named) :]
    if not named or not own or not all(_is_own(one, table.alias) for one in own):
        return None
    made = {one.alias: one.this for one in named if isinstance(one, exp.Alias)}
    of_rows = all(_is_of_row(text, table.alias) for text in made.values())
    if len(made) != len(named) or not of_rows:
        raise NotProvedError
    return made


def _is_own(output: exp.Expr, alias: str) -> bool:
    """Return whether an output is a column of the table by its own name, or all of them."""
    return isinstance(output, exp.Column) and output.table == alias


def _is_of_row(text: exp.Expr, alias: str) -> bool:
    """Return whether an expression is made of the columns of one row."""
    if text.find(exp.AggFunc, exp.Window, exp.Query, exp.Anonymous) is not None:
        return False
    return all(column.table == alias for column in text.find_all(exp.Column))


def _source_of(column: exp.Column) -> exp.Expr | None:
    """Return what a column is read from: the nearest table, or subquery, of its name."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        for source in _sources(select):
            if source.alias_or_name == column.table:
                return source
        select = select.find_ancestor(exp.Select)
    return None


def _sources(select: exp.Expr) -> Iterator[exp.Expr]:
    if select.args.get("from_") is not None:
        yield select.args["from_"].this
    for join in select.args.get("joins") or ():
        yield join.this
