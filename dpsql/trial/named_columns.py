"""What stands under names of ours, put back where it is read: the second reading knows tables.

Columns:  SELECT s0."dpsql fare" … FROM (SELECT (CASE …) AS "dpsql fare", s0."rider" FROM trips AS s0) AS s0
          →  SELECT (CASE …) … FROM trips AS s0
Rows:     WITH r AS NOT MATERIALIZED (SELECT s0."rider" AS u FROM trips AS s0) SELECT … FROM r WHERE u IN (…)
          →  SELECT … FROM (SELECT s0."rider" AS u FROM trips AS s0 WHERE s0."rider" IN (…)) AS r

Claim: both say the same. The named columns are made of the row's own, and stand first, so that no column of the table that
has the same name is read in their place. Named rows are a SELECT without groups, so that a condition on an output is one
on what this is made of.
"""

import itertools
from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpsql.trial.row_contribution import NotProvedError

Named = Mapping[str, exp.Expr]
_ROWS = "r"
_OF_UNITS = ("heavy", "h")
"""The members of WITH that may read units alone, and are said in words of the tables then."""
_PLAIN = {"expressions", "from_", "joins", "where"}


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
            # In brackets: a + b in the place of n would make of n * 2 another number.
            column.replace(exp.Paren(this=wrapped[id(source)][column.name].copy()))
    # From inside out: `find_all` comes to what is around first, and a copy of that would have the inner ones in it
    # still.
    for source in reversed([source for source in tree.find_all(exp.Subquery) if id(source) in wrapped]):
        source.replace(source.this.args["from_"].this.copy())
    return tree


def with_rows_in_place(tree: exp.Expr) -> exp.Expr:
    """Return a statement without rows under a name.

    Raises:
        NotProvedError: they, or what reads them, are not as they are written here.
    """
    named = [cte for cte in tree.args["with_"].expressions if _is_named(cte)] if tree.args.get("with_") else []
    if not named:
        return tree
    rows = named[0].this
    if len(named) > 1 or not isinstance(rows, exp.Select) or not {n for n, part in rows.args.items() if part} <= _PLAIN:
        raise NotProvedError
    named[0].pop()
    for table in [table for table in tree.find_all(exp.Table) if table.sql() == _ROWS]:
        _put_rows(table, rows)
    return tree


def _is_named(cte: exp.Expr) -> bool:
    return cte.alias == _ROWS and cte.args.get("materialized") is False


def _put_rows(table: exp.Table, rows: exp.Select) -> None:
    """Put the SELECT of rows where their name stands, with the conditions on their unit that stand there."""
    select = table.find_ancestor(exp.Select)
    if select is None or select.args["from_"].this is not table:
        raise NotProvedError
    of = {output.alias: output.this for output in rows.expressions if isinstance(output, exp.Alias)}
    within, conditions = rows.copy(), select.args.get("where")
    if conditions is not None:
        _of_tables(conditions, select, of)
        # a OR b, and then AND c without brackets, would ask for c beside b alone.
        own, more = (exp.Paren(this=c) if isinstance(c, exp.Or) else c for c in (_condition(within), conditions.this))
        within.set("where", exp.Where(this=exp.And(this=own, expression=more)))
        select.set("where", None)
    cte = select.find_ancestor(exp.CTE)
    if select.args.get("joins"):  # to the weights: such rows stand there as they are
        cte = None
        if conditions is not None or select.is_star:
            raise NotProvedError
    own = {column.sql() for column in select.find_all(exp.Column) if column.find_ancestor(exp.Select) is select}
    if select.is_star and len(select.expressions) == 1:
        within.set("offset", select.args.get("offset"))
        if {name for name, part in select.args.items() if part} - {"expressions", "from_", "offset"}:
            raise NotProvedError
        select.replace(within)
    elif isinstance(cte, exp.CTE) and cte.alias in _OF_UNITS and own <= {"u"}:
        for part in (*select.expressions, select.args.get("group"), select.args.get("having")):
            if part is not None:
                _of_tables(part, select, of)
        for part in ("from_", "joins", "where"):
            select.set(part, within.args.get(part))
    else:
        table.replace(exp.Subquery(this=within, alias=exp.TableAlias(this=exp.to_identifier(_ROWS))))


def _condition(select: exp.Select) -> exp.Expr:
    where = select.args.get("where")
    return exp.true() if where is None else where.this


def _of_tables(tree: exp.Expr, select: exp.Select, of: Named) -> None:
    """Say in words of the tables, in place, what is said of a row's unit.

    Raises:
        NotProvedError: something is said of another column.
    """
    for column in list(tree.find_all(exp.Column)):
        if column.find_ancestor(exp.Select) is select:
            if column.sql() != "u" or "u" not in of:
                raise NotProvedError
            column.replace(of["u"].copy())


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
    # SELECT (CASE …) AS "dpsql fare", s0."rider" FROM trips AS s0   →  named: "dpsql fare"; own: rider
    # A column of ours that stood behind the table's own could be hidden by one that has the same name there.
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
    # As SQL looks for a name: in the nearest FROM first, and then in those around it.
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
