"""See that what stands for one value in a planned statement has one row at most: PostgreSQL would fail when it is paid."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.analysis.joined import PublicRows
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import Statement, Wrap
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.scopes import tables_read
from dpsql.rewrite.syntax.whole.single_row import (
    Released,
    ReleasedRows,
    depends_on_nothing,
    has_values,
    is_written_value,
    several_rows,
    values_of_several_rows,
)
from dpsql.rewrite.translate.public.public_queries import with_ctes_in_place
from dpsql.rewrite.translate.rows.inner_answers import value_of_several_rows


def known_rows(released: Released, policy: Policy, rows: PublicRows) -> Released:
    """Return the facts about the rows of answers, and of public tables."""
    public = {
        name: ReleasedRows(
            len(next(iter(columns.values()), ())),
            None if policy.tables[name].key is None else frozenset({policy.tables[name].key or ""}),
            tuple(columns),
            columns,
        )
        for name, columns in rows.items()
        if name in policy.tables
    }
    return {**public, **released}


def trials_of_values(tree: exp.Query, policy: Policy) -> Iterator[str]:
    """Yield what fails if something that stands for one value in a query has several rows, and depends on no answer."""
    if not has_values(tree):
        return
    for subquery in values_of_several_rows(with_ctes_in_place(tree, {}), {}):
        if not tables_read(subquery, policy) and depends_on_nothing(subquery, tree):
            yield f"SELECT {render(subquery)} IS NULL"


def trials_beside(statement: Statement, policy: Policy) -> Iterator[str]:
    """Yield the same of the queries that a statement has beside those that are answered."""
    for beside in statement.beside:
        tree = beside.query.tree
        yield from trials_of_values(tree, policy)
        flat = with_ctes_in_place(tree, {})
        if (
            not is_written_value(beside.before, beside.behind)
            or tables_read(flat, policy)
            or not several_rows(flat, {})
        ):
            continue
        if depends_on_nothing(exp.Subquery(this=flat), tree) and not beside.reads_row:
            yield f"SELECT ({render(tree)}) IS NULL"


def require_values_beside(statement: Statement, released: Released, policy: Policy) -> None:
    """See that what reads an answer beside it, by the name of a CTE, has one row at most where it stands for one value.

    Raises:
        Unsupported: it may have several rows.
    """
    for beside in statement.beside:
        flat = with_ctes_in_place(beside.query.tree, {})
        values = [value for value in values_of_several_rows(flat, released) if tables_read(value, policy)]
        if (
            is_written_value(beside.before, beside.behind)
            and tables_read(flat, policy)
            and several_rows(flat, released)
        ):
            values.append(exp.Subquery(this=flat))
        if values:
            raise value_of_several_rows()


def require_values(tree: exp.Query, asked: exp.Query, released: Released, answers: Mapping[str, object]) -> None:
    """See that what stands for one value in a query over `answers` has one row at most; `asked` is it as it was asked.

    Of what depends on no answer the session has tried whether it has.

    Raises:
        Unsupported: one of them may have several rows.
    """
    if not has_values(tree):
        return
    for subquery in values_of_several_rows(with_ctes_in_place(tree, {}), released):
        read = {table.name for table in every(subquery, exp.Table)}
        if read & answers.keys() or not depends_on_nothing(subquery, asked):
            raise value_of_several_rows()


def in_parentheses(statement: Statement) -> bool:
    """Return whether a query of a statement stands in parentheses that are not the query's."""
    return any("(" in text for text in statement.around[:-1])


def require_written_value(statement: Statement, place: int, tree: exp.Query, released: Released) -> None:
    """See that the query in one place of a statement has one row at most, if what is written around it wants one value.

    Raises:
        Unsupported: it may have several rows.
    """
    around = statement.around[place : place + 2]
    if statement.wrap is Wrap.COPY or not is_written_value(*around):
        return
    if several_rows(with_ctes_in_place(tree, {}), released):
        raise value_of_several_rows()
