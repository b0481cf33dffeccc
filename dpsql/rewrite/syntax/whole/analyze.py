"""One statement that may read protected tables: what kind it is by its words alone, and what it asks once it is bound.

COPY (SELECT zone, avg(fare) FROM trips GROUP BY zone) TO STDOUT  →  the query in COPY (…), and its one scope
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from dpsql.errors import ConfigError, DpsqlError, InternalError, Refusal, TooComplex, Unsupported
from dpsql.lexer.reader import Reader, Token, statement_kind, tokens
from dpsql.policy.model import Column, Policy, SqlType, Table, View, bare_names
from dpsql.question import TemporaryTable
from dpsql.rewrite.ir.literal import quoted_name
from dpsql.rewrite.syntax.forms.simplify import simplify
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.named.units import output_columns
from dpsql.rewrite.syntax.read.dialect import ViewedTable, ViewRead, render
from dpsql.rewrite.syntax.read.parse import ReadQuery, Statement, Wrap, locate_lone_query, not_understood, parse, reads
from dpsql.rewrite.syntax.read.trees import every, take_apart
from dpsql.rewrite.syntax.read.trees import every as every_node
from dpsql.rewrite.syntax.whole.previews import TablePreview, is_column_probe, is_empty, limit_of, preview_of
from dpsql.rewrite.syntax.whole.scopes import FoundScopes, Kind, declared_table, find
from dpsql.rewrite.syntax.whole.writing_statements import parse_writing, rows_refused

# Views of the policy: read once, and put into statements where they name them.
#
# SELECT avg(fare) FROM by_card AS c  →  SELECT avg(fare) FROM (SELECT fare FROM trips WHERE payment_type = 'card') AS c
#
# Claim: a statement that reads a view is measured as the statement in which the view's query stands, since each later
# stage sees that statement only. So nothing about sensitivity, owners or bounds has to be said anew. The tables of a
# view are written with their schema: no CTE of a client's is read in their place.

_PLAIN = frozenset({"this", "db", "catalog", "alias"})
"""The parts that a view may have in FROM."""


def expand_views(tree: exp.Expr, policy: Policy, nodes: Sequence[exp.Expr] = ()) -> Sequence[exp.Expr]:
    """Put the queries of views into a tree, in the places of their names; return the nodes that it has then.

    Its `nodes` are looked for unless they are known.

    Raises:
        Unsupported: a view is read with more than a name.
    """
    nodes = nodes or every(tree, exp.Expr)
    if not policy.views or not any(isinstance(node, exp.Table) and named_view(node, policy) for node in nodes):
        return nodes
    for table in list(tables_in(tree)):
        view = named_view(table, policy)
        if view is not None:
            table.replace(_read(view, table))
    return every(tree, exp.Expr)


def named_view(table: exp.Table, policy: Policy) -> View | None:
    """Return the view that a name in FROM means, which is no CTE's."""
    if fold(table.args.get("db")) not in {"", "public"} or fold(table.args.get("catalog")) not in {"", policy.dataset}:
        return None
    return policy.views.get(fold(table.this))


def tables_in(tree: exp.Expr, ctes: frozenset[str] = frozenset()) -> Iterator[exp.Table]:
    """Yield what is read by name, and is neither a CTE nor a function."""
    with_ = tree.args.get("with_")
    if with_ is not None:
        names = [fold(cte.args["alias"].this) for cte in with_.expressions]
        visible = ctes | frozenset(names if with_.args.get("recursive") else ())
        for cte, name in zip(with_.expressions, names, strict=True):
            yield from tables_in(cte.this, visible)
            visible |= {name}
        ctes = visible
    if isinstance(tree, exp.Table) and _is_view(tree, ctes):
        yield tree
    for key, value in tree.args.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr) and key != "with_":
                yield from tables_in(child, ctes)


def _is_view(table: exp.Table, ctes: frozenset[str]) -> bool:
    return isinstance(table.this, exp.Identifier) and bool(table.args.get("db") or fold(table.this) not in ctes)


def _read(view: View, table: exp.Table) -> ViewRead:
    """Return what stands for a view."""
    more = [key for key, value in table.args.items() if value and key not in _PLAIN]
    if more:
        raise Unsupported(
            f"{more[0].upper()} of a view is not supported",
            because="clause-on-view",
            hint=f'Write FROM "{view.name}" AS v alone, and the rest of the query around it.',
        )
    body = _tree(view).copy()
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(view.name, quoted=True))
    return ViewRead(this=body, alias=alias.copy(), view=view.name, public=view.public)


def answer_views_as_subqueries(nodes: Iterable[exp.Expr]) -> None:
    """Let the answers in views that are no rows stand as subqueries: what is in them is released and no view any more.

    `nodes` are those of a query.
    """
    for node in nodes:
        if isinstance(node, ViewRead) and not node.args["public"]:
            node.replace(exp.Subquery(this=node.this, alias=node.args["alias"]))


def _tree(view: View) -> exp.Query:
    if not isinstance(view.tree, exp.Query):
        raise InternalError  # the policy's views were not read
    return view.tree


def bound_views(policy: Policy, read: ReadQuery) -> Policy:
    """Return the policy with the trees of its views, which the shadow has made: each stands behind those that it reads.

    Raises:
        ConfigError: with a line for each that can't be read: file, line, view and reason.
    """
    bound: dict[str, View] = {}
    wrong: list[str] = []
    for view in policy.views.values():
        try:
            bound[view.name] = _bound(view, replace(policy, views=bound), read)
        except DpsqlError as failed:
            wrong.append(f"{view.file}:{view.line}: view: {failed.message}")
    if wrong:
        raise ConfigError("\n".join(sorted(wrong)), hint="docs/configuration.md says what a view may be.")
    return replace(policy, views=bound)


def _bound(view: View, policy: Policy, read: ReadQuery) -> View:
    tree = read(view.query)
    if tree is None:
        raise ConfigError(f'"{view.name}" can\'t be read: {not_understood(view.query).message}')
    for table in list(tables_in(tree)):
        name = fold(table.this)
        declared = (
            (policy.tables.get(name) or policy.views.get(name)) if fold(table.args.get("db")) == "public" else None
        )
        if declared is None:
            allowed = ", ".join(sorted((*policy.tables, *policy.views)))
            raise ConfigError(
                f'"{view.name}" reads "{_written(table)}", which is no declared table; allowed: {allowed}'
            )
        table.replace(_viewed(table, declared))
    return replace(view, tree=tree)


def _written(table: exp.Table) -> str:
    return ".".join(part.name for part in (table.args.get("db"), table.this) if part is not None)


def _viewed(table: exp.Table, declared: Table | View) -> exp.Expr:
    """Return a table or a view as it stands in the query of a view."""
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(declared.name, quoted=True))
    if isinstance(declared, View):
        return exp.Subquery(this=_tree(declared).copy(), alias=alias.copy())
    table.set("db", exp.to_identifier("public", quoted=True))
    table.set("alias", alias.copy())
    if declared.public:
        return table.copy()
    columns = (f"CAST(NULL AS {_view_type(c)}) AS {quoted_name(c.name)}" for c in declared.columns.values())
    return ViewedTable(**dict(table.copy().args), typed=f"(SELECT {', '.join(columns)})")


def _view_type(column: Column) -> str:
    """Return a column's type by a name that no search path changes."""
    return column.spelled_type


def columns_of(view: View, policy: Policy) -> tuple[str, ...]:
    """Return the names of a view's columns, in order."""
    return tuple(name for name, _ in output_columns(_tree(view), {}, policy))


# Queries whose rows the policy knows: what it declares is not looked for in records.
#
# SELECT 1 FROM trips LIMIT 1                         →  SELECT 1 LIMIT 1, where rows are expected
# SELECT id FROM t GROUP BY id HAVING count(*) > 1    →  SELECT NULL::bigint AS id WHERE FALSE, of a key that is never NULL
# SELECT count(*) FROM (SELECT count(*) AS n FROM t GROUP BY id) AS f WHERE n > 1
# →  SELECT count(*) FROM (SELECT NULL::bigint AS n WHERE FALSE) AS f WHERE n > 1
# SELECT id, count(*) OVER (PARTITION BY id) FROM t   →  SELECT id, 1::bigint FROM t
#
# By the first tools find out whether a table can be read; by the others tests of data ask whether a column is unique.

_LOOK = {"expressions", "from_", "limit", "kind"}
_SOME_ROWS = {"expressions", "from_", "where", "kind"}
_GROUPED = {"expressions", "from_", "where", "group", "having", "order", "limit", "kind"}


def put_known_rows(nodes: Sequence[exp.Expr], policy: Policy) -> dict[str, str]:
    """Change the queries among a tree's nodes whose rows are known; return the tables that they read, and what is said.

    Where nothing is said nothing was changed.
    """
    ctes = {fold(cte.args["alias"].this): cte for cte in nodes if isinstance(cte, exp.CTE)}
    tables = (node for node in nodes if isinstance(node, exp.Table)) if ctes else ()
    read = Counter(fold(table.this) for table in tables if not table.args.get("db"))
    once = {name: cte for name, cte in ctes.items() if read[name] == 1 and not cte.args["alias"].args.get("columns")}
    has_windows = any(isinstance(node, exp.Window) for node in nodes)
    told = {}
    for select in nodes:
        if not isinstance(select, exp.Select):
            continue
        for window in tuple(every(select, exp.Window)) if has_windows else ():
            counted = _counted_by_key(window, select, policy, ctes)
            if counted is not None:
                window.replace(
                    exp.Cast(this=exp.Literal.number(1), to=exp.DataType.build("bigint", dialect="postgres"))
                )
                told[counted.name] = _unique(counted)
        for inner, outer in _looked_at(select, once):
            table = _only_table(inner, policy, ctes)
            if table is None:
                continue
            if outer is None and _is_look(inner, table):
                inner.set("from_", None)
                told[table.name] = f"{table.name} is declared to have rows, and no record was read to see it"
            elif _is_by_key(inner, table) and _asks_for_several(inner, outer):
                _leave_none(inner, table)
                told[table.name] = _unique(table)
    return told


def _unique(table: Table) -> str:
    (key,) = table.keys
    return (
        f"{', '.join(sorted(key))} is declared to be the key of {table.name}: no value is there twice, and no record was read"
        " to see it"
    )


def _counted_by_key(
    window: exp.Window, select: exp.Select, policy: Policy, ctes: Mapping[str, exp.CTE]
) -> Table | None:
    """Return the table whose rows a window counts, one in each partition, since that is by a declared key; else None."""
    given = {key for key, value in window.args.items() if value} - {"this", "partition_by", "over"}
    stars = _is_count(window.this) and isinstance(window.this.expressions[0], exp.Star)
    if given or not stars or window.find_ancestor(exp.Select) is not select:
        return None
    names = {fold(column.this) for column in window.args.get("partition_by") or () if isinstance(column, exp.Column)}
    return _by_key(select, names, policy, ctes)


def _by_key(select: exp.Select, names: AbstractSet[str], policy: Policy, ctes: Mapping[str, exp.CTE]) -> Table | None:
    """Return the table of which a SELECT reads some rows, each once, where a key of it is among these columns."""
    if {key for key, value in select.args.items() if value} - _SOME_ROWS:
        return None
    table = _only_table(select, policy, ctes)
    if table is not None:
        return table if _has_key(names, table) else None
    item = select.args["from_"].this if select.args.get("from_") else None
    inner = item.this if isinstance(item, exp.Subquery) else None
    if not isinstance(inner, exp.Select) or (item is not None and item.args["alias"].args.get("columns")):
        return None
    shown = {
        fold(output.args.get("alias") or output.this): output.unalias()
        for output in inner.expressions
        if _has_name(output)
    }
    if any(isinstance(output, exp.Star) for output in inner.expressions):
        return _by_key(inner, names, policy, ctes) if len(inner.expressions) == 1 else None
    columns = (shown.get(name) for name in names)
    return _by_key(inner, {fold(column.this) for column in columns if isinstance(column, exp.Column)}, policy, ctes)


def _has_name(output: exp.Expr) -> bool:
    return isinstance(output, exp.Alias) or (isinstance(output, exp.Column) and isinstance(output.this, exp.Identifier))


def _has_key(names: AbstractSet[str], table: Table) -> bool:
    return any(key <= names and not any(table.columns[name].nullable for name in key) for key in table.keys)


def _looked_at(select: exp.Select, once: Mapping[str, exp.CTE]) -> Iterator[tuple[exp.Select, exp.Select | None]]:
    """Yield a SELECT by itself, and the one that it alone reads with itself around that; CTEs are those read `once`."""
    yield select, None
    item = select.args["from_"].this if select.args.get("from_") and not select.args.get("joins") else None
    if isinstance(item, exp.Table) and not item.args.get("db"):
        item = once.get(fold(item.this))
    if isinstance(item, (exp.Subquery, exp.CTE)) and isinstance(item.this, exp.Select):
        yield item.this, select


def _only_table(select: exp.Select, policy: Policy, ctes: Mapping[str, exp.CTE]) -> Table | None:
    """Return the protected table that a SELECT reads, and nothing beside it."""
    item = select.args["from_"].this if select.args.get("from_") and not select.args.get("joins") else None
    if not isinstance(item, exp.Table) or not _is_view(item, frozenset(ctes)):
        return None
    if {key for key, value in item.args.items() if value} - {"this", "db", "catalog", "alias"}:
        return None
    table = declared_table(item, policy)
    return None if table is None or table.public else table


def _is_look(select: exp.Select, table: Table) -> bool:
    """Return whether a SELECT asks for one row of constants, of a table that is declared to have rows."""
    given = {key for key, value in select.args.items() if value}
    return (
        bool(table.expected_rows)
        and given <= _LOOK
        and limit_of(select) == 1
        and bool(select.expressions)
        and all(_is_constant(output.unalias()) for output in select.expressions)
    )


def _is_constant(node: exp.Expr) -> bool:
    while isinstance(node, (exp.Cast, exp.Paren)):
        node = node.this
    return isinstance(node, (exp.Literal, exp.Boolean, exp.Null))


def _is_by_key(select: exp.Select, table: Table) -> bool:
    """Return whether a SELECT has a group for each value of a declared key, and shows nothing but its columns and counts."""
    group, given = select.args.get("group"), {key for key, value in select.args.items() if value}
    if group is None or given - _GROUPED or {key for key, value in group.args.items() if value} - {"expressions"}:
        return False
    names = {fold(key.this) for key in group.expressions if isinstance(key, exp.Column)}
    if len(names) < len(group.expressions) or not all(
        _is_output(output.unalias(), table) for output in select.expressions
    ):
        return False
    return _has_key(names, table)


def _is_output(node: exp.Expr, table: Table) -> bool:
    return _is_count(node) or (isinstance(node, exp.Column) and fold(node.this) in table.columns)


def _is_count(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and function_name(node) == "count" and not node.args.get("order")


def _asks_for_several(inner: exp.Select, outer: exp.Select | None) -> bool:
    """Return whether only groups of several rows are asked for, in HAVING or in WHERE around the groups."""
    if outer is None:
        having = inner.args.get("having")
        return having is not None and any(_is_above_one(conjunct, _is_count) for conjunct in _conjuncts(having.this))
    counts = frozenset(output.alias_or_name for output in inner.expressions if _is_count(output.unalias()))
    where, names = outer.args.get("where"), {"", outer.args["from_"].this.alias_or_name}
    names_count = partial(_is_named, counts, names)
    return where is not None and any(_is_above_one(conjunct, names_count) for conjunct in _conjuncts(where.this))


def _is_named(counts: frozenset[str], tables: set[str], node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and fold(node.this) in counts and fold(node.args.get("table")) in tables


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    match node:
        case exp.Paren():
            yield from _conjuncts(node.this)
        case exp.And():
            yield from _conjuncts(node.this)
            yield from _conjuncts(node.expression)
        case _:
            yield node


def _is_above_one(node: exp.Expr, is_count: Callable[[exp.Expr], bool]) -> bool:
    """Return whether a condition holds of no count below 2."""
    match node:
        case (
            exp.GT(this=count, expression=exp.Literal() as least)
            | exp.LT(this=exp.Literal() as least, expression=count)
        ):
            return is_count(count) and least.name.isdigit() and int(least.name) >= 1
        case exp.GTE(this=count, expression=exp.Literal() as least):
            return is_count(count) and least.name.isdigit() and int(least.name) > 1
        case _:
            return False


def _leave_none(select: exp.Select, table: Table) -> None:
    """Leave a SELECT its columns, and no rows."""
    outputs = [_null(output, table) for output in select.expressions]
    for clause in ("from_", "group", "having", "order"):
        select.set(clause, None)
    select.set("expressions", outputs)
    select.set("where", exp.Where(this=exp.false()))


def _null(output: exp.Expr, table: Table) -> exp.Expr:
    """Return NULL of the type and with the name that an output has."""
    node = output.unalias()
    if isinstance(output, exp.Alias):
        name = output.args["alias"].copy()
    else:
        name = exp.to_identifier(node.name if isinstance(node, exp.Column) else "count", quoted=True)
    return exp.Alias(this=exp.Cast(this=exp.Null(), to=_type(node, table)), alias=name)


def _type(node: exp.Expr, table: Table) -> exp.DataType:
    if _is_count(node):
        return exp.DataType.build("bigint", dialect="postgres")
    column = table.columns[fold(node.this)]
    if column.type is SqlType.ENUM:
        return exp.DataType.build(column.spelled_type, dialect="postgres", udt=True)
    return exp.DataType.build(column.declared, dialect="postgres")


_QUERIES = frozenset({"SELECT", "WITH", "DECLARE CURSOR", "COPY", "EXPLAIN"})
_WRITING = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "CREATE TABLE", "CREATE VIEW"})
_LONGEST = 32_000
"""Characters of a statement over private rows: taking it apart keeps everybody else waiting."""


@dataclass(frozen=True, slots=True)
class AskedStatement:
    """A statement that names a protected table, before it is bound."""

    text: str
    probes: tuple[str, ...] = ()
    """Its query, where the shadow does not look at that when it describes the statement."""


@dataclass(frozen=True, slots=True)
class AnalyzedStatement:
    """A statement with its queries bound; `refusal` is what to say instead of an answer.

    It owns the trees of its queries: a reader of one keeps it.
    """

    statement: Statement | None
    kind: Kind
    refusal: Refusal | None = None
    found_scopes: tuple[FoundScopes, ...] = field(default=(), compare=False, repr=False)
    """The scopes of each query, where there is to be an answer."""
    preview: TablePreview | None = field(default=None, compare=False, repr=False)
    """The table that it is a preview of, where it is one."""
    told_tables: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The tables of which the policy itself has told something, and what clients are told of that."""

    def __del__(self) -> None:
        """Take the trees apart: thousands of them, forgotten one by one, would stop everybody while they are collected."""
        for query in () if self.statement is None else self.statement.queries:
            take_apart(every_node(query.tree, exp.Expr))


def tokens_of(text: str) -> Sequence[Token] | None:
    """Return the tokens of a text that can be read, and is not too long to be taken apart."""
    try:
        return None if len(text) > _LONGEST else tuple(tokens(text))
    except DpsqlError:
        return None


def asked_statement(text: str) -> AskedStatement | None:
    """Return a statement that names a protected table; None when it is the shadow's own business by its first words."""
    try:
        verb, of_query = statement_kind(reader := Reader(text)), reader.word == "("
    except DpsqlError:
        return AskedStatement(text)
    if verb not in _QUERIES | _WRITING or (verb == "COPY" and not of_query):
        return None
    placed = locate_lone_query(text)
    # PostgreSQL looks at the query in COPY, and in a view, when it runs that; of a cursor's it describes nothing.
    unseen = placed is not None and placed[0] in (Wrap.COPY, Wrap.VIEW, Wrap.DECLARE)
    return AskedStatement(text, (text[placed[1] : placed[2]],) if placed and unseen else ())


def analyze(
    text: str, policy: Policy, read: ReadQuery, lists: Sequence[TemporaryTable] = ()
) -> AnalyzedStatement | None:
    """Return the questions about protected tables; None when the statement is the shadow's own business.

    `lists` are the session's temporary tables.

    Raises:
        TooComplex: it is not known yet, because that took too long.
        InternalError: it is not known because the shadow is not there.
    """
    protected = policy.protected
    try:
        statement = None if len(text) > _LONGEST else _statement(text, protected, policy, read)
        if statement is not None:
            return _understood(statement, policy, lists)
    except (TooComplex, InternalError):
        raise  # what this moment refuses, or who else asks, says nothing of the statement: nobody may remember it
    except DpsqlError as error:
        return AnalyzedStatement(None, Kind.ROWS, Refusal.of(error))
    # A text that only has the name of a protected table in it may do so: the shadow's tripwire stands behind.
    return _not_understood(text) if _is_query(text) and reads(text, bare_names(protected)) else None


def _statement(text: str, protected: Collection[str], policy: Policy, read: ReadQuery) -> Statement | None:
    return parse(text, read) or parse_writing(text, protected, partial(_kind, policy), read)


def _kind(policy: Policy, tree: exp.Query) -> Kind:
    tree = tree.copy()
    nodes = expand_views(tree, policy)
    simplify(nodes)
    return find(tree, policy, nodes).kind


def _is_query(text: str) -> bool:
    reader = Reader(text)
    try:
        verb, of_query = statement_kind(reader), reader.word == "("
    except DpsqlError:
        return True
    return verb in _QUERIES and (verb != "COPY" or of_query)


def _understood(statement: Statement, policy: Policy, lists: Sequence[TemporaryTable]) -> AnalyzedStatement | None:
    every, preview = [], preview_of(statement, policy)
    told_tables = dict[str, str]()
    written = [every_node(query.tree, exp.Expr) for query in statement.queries]
    read = {table.name for nodes in written for table in nodes if isinstance(table, exp.Table)}
    for query, nodes in zip(statement.queries, written, strict=True):
        try:
            told = put_known_rows(nodes, policy)
            told_tables |= told
            expanded = expand_views(query.tree, policy, () if told else nodes)
            simplify(expanded)
            every.append(find(query.tree, policy, expanded, lists))
        except DpsqlError as error:
            for query_read in statement.queries:
                take_apart(every_node(query_read.tree, exp.Expr))
            return AnalyzedStatement(None, Kind.ROWS, Refusal.of(error))
    kinds = {scopes.kind for scopes in every}
    if kinds == {Kind.PUBLIC}:
        return AnalyzedStatement(statement, Kind.PUBLIC, told_tables=told_tables) if told_tables else None
    if kinds == {Kind.ROWS}:
        return _rows(statement, policy.protected & read or policy.protected, preview)
    if statement.wrap not in (Wrap.EXPLAIN, Wrap.WRITE, Wrap.PARTS) and _needs_no_rows(statement):
        return AnalyzedStatement(statement, Kind.ROWS)
    return AnalyzedStatement(statement, Kind.ANSWER, found_scopes=tuple(every), told_tables=told_tables)


def _needs_no_rows(statement: Statement) -> bool:
    made_empty = statement.wrap is Wrap.CREATE and "no" in (token.word for token in tokens(statement.around[1]))
    return made_empty or is_empty(statement.queries[0].tree)


def _not_understood(text: str) -> AnalyzedStatement:
    return AnalyzedStatement(None, Kind.ROWS, Refusal.of(not_understood(text)))


def _rows(statement: Statement, private: Collection[str], preview: TablePreview | None) -> AnalyzedStatement:
    """Return the answer to a query for rows of `private`: none, or an empty one to a tool that asks for the columns alone."""
    (query,) = statement.queries
    empty = is_empty(query.tree)
    if statement.wrap is Wrap.VIEW or (statement.wrap is not Wrap.EXPLAIN and (empty or is_column_probe(query))):
        return AnalyzedStatement(statement, Kind.ROWS, preview=None if empty else preview)
    refused = rows_refused(private, query.text, single_row=limit_of(query.tree) == 1)
    return AnalyzedStatement(statement, Kind.ROWS, Refusal.of(refused), preview=preview)


def known_text(statement: Statement) -> str:
    """Return a statement over rows that are known."""
    return statement.text([render(query.tree) for query in statement.queries])


def row_refusal_notices(analyzed: AnalyzedStatement) -> Iterator[str]:
    """Yield what a client has to be told of an answer without rows that it might take for one that found none."""
    if analyzed.statement is None or all(is_empty(query.tree) for query in analyzed.statement.queries):
        return
    if analyzed.statement.wrap is Wrap.VIEW:
        yield "rows are protected: this view shows its columns, and no statement may read it; write its query in WITH instead"
    else:
        yield "rows are protected: these are the columns alone, and no row; ask for count(*), sum(x), avg(x) … GROUP BY"


def column_probe(statement: Statement) -> str:
    """Return the statement with no rows; a view of rows stays what it is, which the shadow lets nobody read."""
    if statement.wrap is Wrap.VIEW and not is_empty(statement.queries[0].tree):
        return statement.text([query.text for query in statement.queries])
    return over_no_rows(statement)


def over_no_rows(statement: Statement) -> str:
    """Return a statement whose queries have their columns and no rows."""
    return statement.text([without_rows(query.tree) for query in statement.queries])


def without_rows(tree: exp.Query) -> str:
    """Return a query for the same columns and no rows, of which nothing is read."""
    return f'SELECT * FROM ({render(tree)}) AS "_dpsql" LIMIT 0'
