"""Previews: some rows of one table, whichever. They can be made up, because nothing is asked of them.

SELECT * FROM trips LIMIT 100; the same with columns and casts, in a subquery or CTE, by the key, as a cursor  →  a preview
SELECT substring(name, 1, 1234) FROM trips LIMIT 10000, as Metabase looks at texts                            →  a preview
EXPLAIN of one                                                                                                →  a preview
SELECT * FROM trips; … WHERE, a join, a view, an aggregate, COPY, CREATE TABLE AS                             →  none
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpsql.policy.model import Policy, Table
from dpsql.rewrite.syntax.named.aggregate_names import function_name, top_aggregates
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.dialect import ViewRead, render
from dpsql.rewrite.syntax.read.parse import Query, Statement, Wrap
from dpsql.rewrite.syntax.whole.scopes import declared_table

# Queries that never return a row, and two by which Django and Superset learn the columns.
#
# LIMIT 0, WHERE 1 = 0           →  no row
# SELECT * FROM trips LIMIT 1    →  rows, unless it is written as those two write it: no row would look like an empty table

_OF_DJANGO = re.compile('SELECT \\* FROM "[^"]+" LIMIT 1')


def is_empty(tree: exp.Expr) -> bool:
    """Return whether a query has LIMIT 0, or nothing but a false condition between its rows and its outputs."""
    if limit_of(tree) == 0:
        return True
    if isinstance(tree, exp.Subquery):
        return is_empty(tree.this)
    if not isinstance(tree, exp.Select) or _aggregates(tree):
        return False
    where, from_ = tree.args.get("where"), tree.args.get("from_")
    if where is not None and _is_false(where.this):
        return True
    inner = from_.this if from_ is not None and not tree.args.get("joins") else None
    return isinstance(inner, exp.Subquery) and is_empty(inner)


def is_column_probe(query: Query) -> bool:
    """Return whether a query for one row, whichever, is one that Django or Superset sends for the columns.

    Superset writes the query of a data set anew, a word a line, with LIMIT 1 behind it; Django selects everything of one
    table, whose name it quotes: nobody asks so.
    """
    tree = query.tree
    if limit_of(tree) != 1 or tree.args.get("order") is not None:
        return False
    return _OF_DJANGO.fullmatch(query.text) is not None or _is_of_superset(query.text)


def _is_of_superset(text: str) -> bool:
    try:
        return sqlglot.parse_one(text, read="postgres").sql("postgres", pretty=True) == text.strip().rstrip("; \n")
    except SqlglotError:
        return False


def limit_of(tree: exp.Expr) -> int | None:
    """Return the constant number of rows of LIMIT or FETCH FIRST, None where there is none."""
    limit = tree.args.get("limit")
    if isinstance(limit, exp.Fetch) and limit.args.get("count") is None:
        return 1
    count = (
        limit.args.get("expression") or limit.args.get("count") if isinstance(limit, (exp.Limit, exp.Fetch)) else None
    )
    return int(count.name) if isinstance(count, exp.Literal) and str(count.name).isdigit() else None


def _aggregates(select: exp.Select) -> bool:
    """Return whether a SELECT may have a row even if FROM has none."""
    if select.args.get("group") or select.args.get("having"):
        return True
    return any(True for node in select.expressions for _ in top_aggregates(node))


def _is_false(node: exp.Expr) -> bool:
    match node:
        case exp.Boolean():
            return not node.this
        case exp.Paren():
            return _is_false(node.this)
        case exp.And():
            return _is_false(node.this) or _is_false(node.expression)
        case exp.Not():
            return isinstance(node.this, exp.Boolean) and bool(node.this.this)
        case exp.EQ(this=exp.Literal() as a, expression=exp.Literal() as b):
            return _comparable(a, b) and a.name != b.name
        case exp.NEQ(this=exp.Literal() as a, expression=exp.Literal() as b):
            return _comparable(a, b) and a.name == b.name
        case _:
            return False


def _comparable(a: exp.Literal, b: exp.Literal) -> bool:
    """Return whether two numbers are equal only if they are written in the same way: 1 and 1.0 are not."""
    return a.name.isdigit() and b.name.isdigit()


_READ_AS = "_dpsql_made_up"
_OUTER = {"where", "expressions", "from_", "limit", "offset", "order"}
_INNER = {"where", "expressions", "from_"}


@dataclass(frozen=True, slots=True)
class TablePreview:
    """A statement that asks for rows of one table, whichever they are."""

    table: Table
    before: str
    """The statement up to where it reads the table, and behind that."""
    behind: str
    most: int | None
    """How many rows it looks at, where that is a constant."""
    columns: frozenset[str] = frozenset()
    """The columns that it names."""

    def text(self, rows: str) -> str:
        """Return the statement over other rows, which are something that may stand in FROM."""
        return f"{self.before}{rows}{self.behind}"


def preview_of(statement: Statement, policy: Policy) -> TablePreview | None:
    """Return the preview that a statement is; None if it is none."""
    if statement.wrap not in (Wrap.NOTHING, Wrap.DECLARE, Wrap.EXPLAIN) or _READ_AS in statement.queries[0].text:
        return None
    tree, item = statement.queries[0].tree, _read(statement.queries[0].tree, _OUTER)
    table = None if item is None else declared_table(item, policy)
    if item is None or table is None or table.public:
        return None
    if not tree.args.get("limit") or not _is_counted(tree) or not _by_key(tree, table):
        return None
    tree = tree.copy()
    item = _read(tree, _OUTER)
    assert item is not None
    alias = item.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
    item.replace(exp.Table(this=exp.to_identifier(_READ_AS, quoted=True), alias=alias.copy()))
    _drop_unread(tree)
    # A query within may give its columns names of its own.
    made = {fold(output.args["alias"]) for output in tree.find_all(exp.Alias)} - table.columns.keys()
    columns = frozenset(fold(column.this) for column in tree.find_all(exp.Column)) - made
    if not columns <= table.columns.keys():
        return None
    # The stand-in's name is in the text once: a statement that has it itself is no preview, as is asked first.
    before, behind = statement.text([render(tree)]).split(f'"{_READ_AS}"')
    return TablePreview(table, before, behind, _most(tree), columns)


def _read(tree: exp.Expr, clauses: set[str], ctes: Mapping[str, exp.CTE] = MappingProxyType({})) -> exp.Table | None:
    """Return the table whose rows a query passes on, each unchanged, also through CTEs; None of another query."""
    if not isinstance(tree, exp.Select) or {key for key, value in tree.args.items() if value} - {*clauses, "with_"}:
        return None
    if tree.args.get("where") and not _is_true(tree.args["where"].this):
        return None
    if not tree.expressions or not all(_is_plain(output.unalias()) for output in tree.expressions):
        return None
    ctes = {**ctes, **_ctes(tree)}
    item = tree.args["from_"].this if tree.args.get("from_") else None
    match item:
        case ViewRead():
            return None
        case exp.Subquery() if _is_named_only(item):
            return _read(item.this, _INNER, ctes)
        case exp.Table(this=exp.Identifier()) if _is_named_only(item):
            cte = None if item.args.get("db") else ctes.get(fold(item.this))
            if cte is None:
                return item
            others = {name: other for name, other in ctes.items() if other is not cte}
            return None if cte.args["alias"].args.get("columns") else _read(cte.this, _INNER, others)
        case _:
            return None


def _is_true(node: exp.Expr) -> bool:
    """Return whether a condition is one that Prisma writes where it has none: 1 = 1."""
    node = node.unnest()
    if isinstance(node, exp.EQ):
        return isinstance(node.this, exp.Literal) and node.this == node.expression
    return isinstance(node, exp.Boolean) and bool(node.this)


def _ctes(tree: exp.Select) -> Mapping[str, exp.CTE]:
    with_ = tree.args.get("with_")
    return {} if with_ is None else {fold(cte.args["alias"].this): cte for cte in with_.expressions}


def _drop_unread(tree: exp.Expr) -> None:
    """Remove the CTEs that nothing reads: they are no part of the answer, and may name protected tables."""
    ctes = list(tree.find_all(exp.CTE))
    named = {fold(table.this) for table in tree.find_all(exp.Table) if not table.args.get("db")}
    unread = [cte for cte in ctes if fold(cte.args["alias"].this) not in named]
    for cte in unread:
        with_ = cte.parent
        cte.pop()
        if with_ is not None and not with_.expressions:
            with_.pop()
    if unread:
        _drop_unread(tree)


def _is_named_only(item: exp.Expr) -> bool:
    """Return whether nothing is done with what stands in FROM, but that it has a name."""
    alias, given = item.args.get("alias"), {key for key, value in item.args.items() if value}
    return given <= {"this", "db", "catalog", "alias"} and not (alias is not None and alias.args.get("columns"))


def _is_plain(output: exp.Expr) -> bool:
    """Return whether an output is a column, a cast of one, or the beginning of its text."""
    uncast = _uncast(output)
    if isinstance(uncast, exp.Substring):
        return _is_cut(uncast.this, [part for key, part in uncast.args.items() if key != "this" and part is not None])
    if function_name(uncast) in {"left", "substr", "substring"} and uncast.expressions:
        return _is_cut(uncast.expressions[0], uncast.expressions[1:])
    return isinstance(uncast, exp.Column) and not isinstance(uncast.this, exp.Star)


def _is_cut(text: exp.Expr, lengths: Iterable[exp.Expr]) -> bool:
    """Return whether a plain output is cut by constants alone."""
    return _is_plain(text) and all(isinstance(length, (exp.Literal, exp.Parameter)) for length in lengths)


def _is_counted(tree: exp.Expr) -> bool:
    """Return whether LIMIT and OFFSET are numbers or parameters."""
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    if isinstance(limit, exp.Fetch):
        return limit_of(tree) is not None and offset is None
    return all(
        isinstance(_uncast(clause.expression), (exp.Literal, exp.Parameter)) for clause in (limit, offset) if clause
    )


def _uncast(node: exp.Expr) -> exp.Expr:
    while isinstance(node, (exp.Cast, exp.Paren)):
        node = node.this
    return node


def _by_key(tree: exp.Expr, table: Table) -> bool:
    """Return whether a query sorts by nothing, or by columns of the key: who asks for the largest fare wants to know it."""
    order = tree.args.get("order")
    ordered = [] if order is None else [term.this for term in order.expressions]
    names = {fold(term.this) for term in ordered if isinstance(term, exp.Column)}
    return not ordered or (
        all(isinstance(term, exp.Column) for term in ordered) and any(names <= key for key in table.keys)
    )


def _most(tree: exp.Expr) -> int | None:
    limit = limit_of(tree)
    return limit if limit is not None and not tree.args.get("offset") and not tree.args.get("order") else None
