"""PostgreSQL's own words for a query, in fewer of them: what it writes out of caution is what people leave out.

FROM ((trips t JOIN zones z ON ((t.zone = z.id))) LEFT JOIN days d ON (true))
→  FROM trips t JOIN zones z ON t.zone = z.id LEFT JOIN days d ON true
GROUP BY (date_trunc('day'::text, t.day))  →  GROUP BY date_trunc('day'::text, t.day)
(NOT (a IS DISTINCT FROM b))               →  a IS NOT DISTINCT FROM b
(a = ANY (ARRAY[1, 2]))                    →  a IN (1, 2)
SELECT (SELECT …) AS x … ORDER BY (SELECT …)  →  SELECT (SELECT …) AS x … ORDER BY 1
SELECT (t.a > 2) FROM t                    →  SELECT t.a > 2 AS "?column?" FROM t

Claim: each is the same to PostgreSQL. Joins bind to the left, and what stands alone in its place needs no brackets.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.question import Argument
from dpsql.rewrite.syntax.named.columns import UNNAMED, fold, from_items, output_name
from dpsql.rewrite.syntax.named.recursion import names_itself
from dpsql.rewrite.syntax.read.dialect import JOINED_AS, render
from dpsql.rewrite.syntax.read.trees import every, holds, nodes

_OPERATORS = (
    exp.Binary, exp.Unary, exp.In, exp.AtTimeZone, exp.Bracket, exp.Distinct, exp.Any, exp.All,
)  # fmt: skip
"""Nodes that bind their operands: brackets around an operand may decide what belongs to it."""


def in_plain_words(tree: exp.Query) -> None:
    """Change a query that PostgreSQL has written, in place."""
    for node in [*nodes(tree)][::-1]:
        change = _CHANGES.get(type(node))
        if change is not None:
            change(node)


def _without_brackets(node: exp.Expr) -> None:
    inside, parent = node.this, node.parent
    if isinstance(inside, exp.Query) or isinstance(parent, (exp.Any, exp.All)):
        return
    alone = isinstance(parent, exp.Paren) or not isinstance(parent, _OPERATORS)
    if alone or isinstance(inside, (exp.Paren, exp.Column, exp.Literal)):
        node.replace(inside)
    elif isinstance(parent, exp.Connector):
        first = node is parent.this and type(inside) is type(parent)
        if first or not isinstance(inside, (exp.Connector, exp.Not)):
            node.replace(inside)


def _joins_in_line(node: exp.Expr) -> None:
    """Take the brackets off the first element of FROM, whose joins come first anyhow."""
    item = node.this
    while isinstance(item, exp.Subquery) and not item.args.get("alias"):
        inside, outer = item.this, item.args.get("joins") or []
        named = isinstance(inside, exp.Subquery) and (inside.args.get("joins") or inside.args.get("alias"))
        if not isinstance(inside, exp.Table) and not named:
            return
        inside.set("joins", [*(inside.args.get("joins") or []), *outer])
        node.set("this", inside)
        item = inside


def _joins_behind(node: exp.Expr) -> None:
    """Put the joins of FROM's first element where those of the others are."""
    from_ = node.args.get("from_")
    if from_ is None:
        return
    _joins_in_line(from_)
    if isinstance(from_.this, exp.Table) and isinstance(from_.this.this, exp.Values):
        table, values = from_.this, from_.this.this
        values.set("alias", table.args.get("alias"))
        values.set("joins", table.args.get("joins"))
        from_.set("this", values)
    inner = from_.this.args.get("joins")
    if inner:
        from_.this.set("joins", None)
        node.set("joins", [*inner, *(node.args.get("joins") or [])])


def _select(node: exp.Expr) -> None:
    _joins_behind(node)
    outputs = [
        output
        if isinstance(output, (exp.Alias, exp.Column, exp.Star))
        else exp.Alias(this=output, alias=exp.to_identifier(UNNAMED, quoted=True))
        for output in node.expressions
    ]
    node.set("expressions", outputs)
    _by_places(node)


def _by_places(node: exp.Expr) -> None:
    """Write what is an output with a query in it by its place where it is grouped, or ordered, by: it stands there once."""
    parts = [part for key in ("group", "order") if node.args.get(key) for part in node.args[key].expressions]
    parts = [part.this if isinstance(part, exp.Ordered) else part for part in parts]
    queried = [part for part in parts if holds(part, exp.Query)]
    if not queried:
        return
    places = {render(output.unalias()): place for place, output in reversed([*enumerate(node.expressions, start=1)])}
    for query in queried:
        place = places.get(render(query))
        if place is not None:
            query.replace(exp.Literal.number(place))


def _column(node: exp.Expr) -> None:
    """Read `public.median(x) FILTER (…)` as the call of a function that has a schema."""
    schema, call = node.args.get("table"), node.this
    if schema is None or isinstance(call, (exp.Identifier, exp.Star)):
        return
    holder = call
    while isinstance(holder.this, exp.Expr) and not isinstance(holder, exp.Anonymous):
        holder = holder.this
    named = exp.Dot(this=schema, expression=holder.copy())
    if holder is call:
        node.replace(named)
    else:
        holder.replace(named)
        node.replace(call)


def _not(node: exp.Expr) -> None:
    inside = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    if isinstance(inside, exp.NullSafeNEQ):
        node.replace(exp.NullSafeEQ(this=inside.this, expression=inside.expression))


def _listed(node: exp.Expr) -> None:
    """Write a test for one of several constants unchanged: of one constant, or of columns, PostgreSQL makes no array."""
    array = _array_of(node.expression, "any" if isinstance(node, exp.EQ) else "all")
    if array is not None and len(array.expressions) > 1 and not holds(array, exp.Column, exp.Query):
        inside = exp.In(this=node.this, expressions=array.expressions)
        node.replace(inside if isinstance(node, exp.EQ) else exp.Not(this=inside))


def _array_of(node: exp.Expr, word: str) -> exp.Array | None:
    """Return the array of ANY (…) or ALL (…); the parser knows one as a word, and the other as a function."""
    called = isinstance(node, exp.Anonymous) and node.name.lower() == word
    inside = node.expressions[0] if called else node.this if isinstance(node, (exp.Any, exp.All)) else None
    inside = inside.unnest() if isinstance(inside, exp.Paren) else inside
    if isinstance(inside, exp.Cast) and isinstance(inside.this, exp.Array) and inside.to.expressions:
        # A cast of an array is one of its elements: x::text = ANY ((ARRAY['a'::varchar])::text[])
        (type_,) = inside.to.expressions
        casts = [exp.Cast(this=member.copy(), to=type_.copy()) for member in inside.this.expressions]
        return exp.Array(expressions=casts)
    return inside if isinstance(inside, exp.Array) else None


_CHANGES: Mapping[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Paren: _without_brackets,
    exp.Select: _select,
    exp.Column: _column,
    exp.Not: _not,
    exp.EQ: _listed,
    exp.NEQ: _listed,
}


# Common table expressions of subqueries, where they are read.
#
# (WITH x AS (SELECT t.fare FROM trips t WHERE t.zone = z.id) SELECT count(*) FROM x)
# →  (SELECT count(*) FROM (SELECT t.fare FROM trips t WHERE t.zone = z.id) AS x)
#
# Claim: the rows are the same. A CTE that is read once is computed once, there or where it was named, and one that
# nobody reads is not computed. In PostgreSQL's words no name stands for two things where one is seen within the other.


def with_ctes_inside(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place; each of its CTEs has a name of its own."""
    for written in reversed(every(tree, exp.With)):
        query = written.parent
        if query is None or query is tree or not isinstance(query, exp.Query):
            continue
        for cte in reversed(list(written.expressions)):  # what reads others before these
            if _is_inside(cte, query):
                written.set("expressions", [other for other in written.expressions if other is not cte])
        if not written.expressions:
            query.set("with_", None)


def _is_inside(cte: exp.CTE, query: exp.Query) -> bool:
    """Put a CTE where it is read, and return whether that is done: where it is read once, or never."""
    name = fold(cte.args["alias"].this)
    reads = [table for table in every(query, exp.Table) if not table.args.get("db") and fold(table.this) == name]
    if len(reads) > 1 or names_itself(cte) or cte.args.get("materialized") is not None:
        return False
    for table in reads:
        alias = table.args.get("alias")
        given = [] if alias is None else list(alias.args.get("columns") or ())
        columns = [*given, *(cte.args["alias"].args.get("columns") or ())[len(given) :]]
        called = cte.args["alias"].this if alias is None or alias.this is None else alias.this
        named = exp.TableAlias(this=called.copy(), columns=[column.copy() for column in columns])
        others = {key: table.args.get(key) for key in ("joins", "laterals") if table.args.get(key)}
        table.replace(exp.Subquery(this=cte.this.copy(), alias=named, **others))
    return True


# Joins in brackets, which PostgreSQL writes of joins behind a comma, in one line with those before them.
#
# FROM days d, (trips t JOIN zones z ON t.zone = z.id) WHERE …
# →  FROM days d CROSS JOIN trips t JOIN zones z ON t.zone = z.id WHERE …
# FROM people p JOIN (trips t LEFT JOIN zones z ON t.id = z.id) ON p.id = t.rider
# →  FROM people p CROSS JOIN trips t LEFT JOIN zones z ON t.id = z.id WHERE p.id = t.rider
#
# Claim: the rows are the same. The conditions in brackets are of what is joined there alone, so that each row before is
# joined with all rows in brackets either way; and no join behind them makes rows that the condition in WHERE would leave out.

_MAKING = frozenset({"RIGHT", "FULL"})
"""Joins that make rows of what is joined."""


def with_joins_in_line(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    for select in every(tree, exp.Select):
        joins = select.args.get("joins") or []
        if any(_is_bracketed(join.this) for join in joins):
            select.set("joins", _in_line(select, joins))


def _is_bracketed(item: exp.Expr) -> bool:
    """Return whether an element of FROM is joins in brackets, without a name of their own."""
    return (
        isinstance(item, exp.Subquery)
        and isinstance(item.this, (exp.Table, exp.Subquery, exp.Lateral))
        and not item.args.get("alias")
    )


def _in_line(select: exp.Select, joins: list[exp.Join]) -> list[exp.Join]:
    """Return joins in one line, as far as they can be; what the brackets were joined on moves to WHERE."""
    in_line, makes = list[exp.Join](), any(join.side in _MAKING for join in joins)
    for join in joins:
        first, inside = _opened(join.this)
        fixed = makes or join.side or join.method or join.args.get("using")
        if (
            not inside
            or fixed
            or any(inner.side in _MAKING or inner.method for inner in inside)
            or any(inner.args.get("using") for inner in inside)
        ):
            in_line.append(join)
            continue
        first.set("joins", None)
        in_line += [exp.Join(this=first, kind="CROSS"), *_in_line(select, inside)]
        if join.args.get("on") is not None:
            select.where(join.args["on"], copy=False)
    return in_line


def _opened(item: exp.Expr) -> tuple[exp.Expr, list[exp.Join]]:
    """Return the first element in an element's brackets, and the joins in these."""
    joins = list[exp.Join]()
    while _is_bracketed(item):
        item = item.this
        joins = [*(item.args.get("joins") or []), *joins]
    return item, joins


# One name for each CTE of a statement: two CTEs of one name become two names, and so does a temporary table.
#
# WITH a AS (…) SELECT … FROM (WITH a AS (SELECT … FROM a) SELECT … FROM a) x
# →  WITH a AS (…) SELECT … FROM (WITH a_1 AS (SELECT … FROM a) SELECT … FROM a_1 a) x
# SELECT … FROM kept, (WITH kept AS (…) SELECT … FROM kept) x
# →  SELECT … FROM kept, (WITH kept_1 AS (…) SELECT … FROM kept_1 kept) x
#
# A table has its schema before its name in PostgreSQL's words, and CTEs and temporary tables have none; columns have the
# names of what they are of.

_Readers = list[exp.Table]
Visible = Mapping[str, _Readers]
"""Where CTEs are read, by the names that they have."""


def with_own_names(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    if not holds(tree, exp.CTE):
        return
    seen = _Found()
    seen.walk(tree, {})
    taken = {fold(cte.args["alias"].this) for cte, _ in seen.ctes} | seen.tables
    given = set(seen.tables)
    for cte, readers in seen.ctes:
        name = new = fold(cte.args["alias"].this)
        if name in given:
            new = next(free for n in itertools.count(1) if (free := f"{name}_{n}") not in taken)
            taken.add(new)
            cte.args["alias"].set("this", exp.to_identifier(new, quoted=True))
            for table in readers:
                _read_as(table, new)
        given.add(new)


def _read_as(table: exp.Table, name: str) -> None:
    """Have a table read by another name, and its columns by the one that they have."""
    if table.args.get("alias") is None:
        table.set("alias", exp.TableAlias(this=table.this))
    table.set("this", exp.to_identifier(name, quoted=True))


@dataclass(slots=True)
class _Found:
    ctes: list[tuple[exp.Expr, _Readers]] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)
    """Tables that are read by a name without a schema, and are no CTEs: a client's temporary tables."""

    def walk(self, node: exp.Expr, visible: Visible) -> None:
        """Look through a node, that sees these CTEs."""
        with_ = node.args.get("with_")
        if with_ is not None:
            visible = self._with(with_, visible)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("db"):
            name = fold(node.this)
            if name in visible:
                visible[name].append(node)
            else:
                self.tables.add(name)
        for key, value in node.args.items():
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr) and key != "with_":
                    self.walk(child, visible)

    def _with(self, with_: exp.Expr, visible: Visible) -> Visible:
        if with_.args.get("recursive"):  # each sees itself, and those behind it, too
            visible = {**visible, **dict(map(self._named, with_.expressions))}
            for cte in with_.expressions:
                self.walk(cte.this, visible)
            return visible
        for cte in with_.expressions:
            self.walk(cte.this, visible)
            visible = {**visible, **dict([self._named(cte)])}
        return visible

    def _named(self, cte: exp.Expr) -> tuple[str, _Readers]:
        """Return the name that a CTE has, and the list of where it is read."""
        readers: _Readers = []
        self.ctes.append((cte, readers))
        return fold(cte.args["alias"].this), readers


# NOT within what it negates: what is said in two ways to PostgreSQL is one to planning.
#
# NOT (a < b)              →  a >= b
# NOT (a >= 1 AND a <= 2)  →  a < 1 OR a > 2
# NOT (a > 2) … GROUP BY a > 2   as it is: its column is read nowhere but within the key
#
# Claim: each is true, false or NULL where the other is; of two values of a type exactly one of a < b and a >= b is true.

_OTHERS: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.LT: exp.GTE, exp.LTE: exp.GT, exp.NEQ: exp.EQ, exp.GTE: exp.LT, exp.GT: exp.LTE,
    exp.And: exp.Or, exp.Or: exp.And,
}  # fmt: skip


def with_negations_within(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    keys = {render(key) for group in every(tree, exp.Group) for key in nodes(group) if isinstance(key, tuple(_OTHERS))}
    for node in every(tree, exp.Not):  # what is around others first
        is_key = bool(keys) and render(node.this.unnest()) in keys
        if not is_key and (changed := _negated(node.this)) is not None:
            node.replace(changed)


def _negated(node: exp.Expr) -> exp.Expr | None:
    """Return the negation of a comparison, or of several; None of anything else."""
    inside = node.unnest() if isinstance(node, exp.Paren) else node
    other = _OTHERS.get(type(inside))
    if other is None or not all(map(_is_value, (inside.this, inside.expression))):
        return None
    if not isinstance(inside, exp.Connector):
        return exp.Paren(this=other(this=inside.this, expression=inside.expression))
    parts = [_negated(part) or exp.Not(this=part) for part in (inside.this, inside.expression)]
    return exp.Paren(this=other(this=parts[0], expression=parts[1]))


def _is_value(node: exp.Expr) -> bool:
    """Return whether a side is one value, and neither a row nor some of several."""
    rows = isinstance(node, (exp.Tuple, exp.Any, exp.All))
    return not rows and not (isinstance(node, exp.Anonymous) and node.name.lower() in {"row", "all", "any"})


# Derived tables and CTEs that only pass a table's columns on, as the table that they are.
#
# FROM (SELECT trips.fare, trips.tip FROM public.trips) t(a) WHERE t.a > 5   →  FROM public.trips AS t WHERE t.fare > 5
# WITH c AS (SELECT zones.zone_id FROM public.zones) … FROM c WHERE c.zone_id = 1
# →  WITH c AS (…) … FROM public.zones AS c WHERE c.zone_id = 1
# FROM (SELECT trips.fare FROM public.trips WHERE trips.zone = z.id) t  →  FROM public.trips AS t WHERE t.zone = z.id
#
# Claim: the rows are the same, and so are the columns that are named of them. In PostgreSQL's words no name stands for two
# things where one is seen within the other, so that every column with the name of a table is of that.

_NAMED = frozenset({"this", "db", "catalog", "alias"})
"""The parts that a table may have in FROM."""
_PASSING = frozenset({"expressions", "from_"})
"""The parts of a query that passes columns on; a condition beside them moves where its columns are also those of the
query around it."""


def with_tables_in_place(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place; each of its CTEs has a name of its own."""
    ctes = {fold(cte.args["alias"].this): cte for cte in every(tree, exp.CTE) if not names_itself(cte)}
    for select in reversed(every(tree, exp.Select)):  # what is within others first
        if not any(join.args.get("using") for join in select.args.get("joins") or ()):
            for item in list(from_items(select)):
                _put_in_place(select, item, ctes)


def _put_in_place(select: exp.Select, item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> None:
    query, named = _passed(item, ctes)
    alias = item.args.get("alias")
    if query is None or not isinstance(alias, exp.TableAlias) or not _is_passing(query, moving=_is_inner(select)):
        return
    given = [fold(identifier) for identifier in alias.args.get("columns") or ()]
    names = [output_name(output) for output in query.expressions]
    for new in (named, given):  # the alias in FROM gives names after the CTE has
        names = [*new, *names[len(new) :]]
    name = fold(alias.this)
    columns = {as_: fold(output.unalias().this) for as_, output in zip(names, query.expressions, strict=False)}
    ours = [column for column in every(select, exp.Column) if fold(column.args.get("table")) == name]
    group = select.args.get("group")
    if (
        group is not None
        and len({*columns.values()}) < len(columns)
        and holds(group, exp.Rollup, exp.Cube, exp.GroupingSets)
    ):
        return  # of two keys that are one column each has sets without the other
    if len(columns) < len(query.expressions) or any(fold(column.this) not in columns for column in ours):
        return  # names that are two columns', or the row as a whole
    for column in ours:
        _own_name(column, columns[fold(column.this)])
    table, where = query.args["from_"].this.copy(), query.args.get("where")
    if where is not None:
        inner, moved = _name(table), where.this.copy()
        for column in [reader for reader in every(moved, exp.Column) if fold(reader.args.get("table")) == inner]:
            column.set("table", alias.this.copy())
        select.where(moved, copy=False)
    table.set("alias", exp.TableAlias(this=alias.this))
    for key in ("joins", "laterals"):
        table.set(key, item.args.get(key))
    item.replace(table)


def _passed(item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> tuple[exp.Expr | None, list[str]]:
    """Return the query whose rows an element of FROM has, and the names that its columns were given there."""
    if isinstance(item, exp.Subquery):
        return item.this, []
    if not isinstance(item, exp.Table) or item.args.get("db") or fold(item.this) not in ctes:
        return None, []
    if item.args.get("alias") is None:
        item.set("alias", exp.TableAlias(this=item.this.copy()))
    cte = ctes[fold(item.this)]
    return cte.this, [fold(identifier) for identifier in cte.args["alias"].args.get("columns") or ()]


def _is_inner(select: exp.Select) -> bool:
    """Return whether a condition on the rows of an element of FROM may as well stand in WHERE: no join makes them NULL."""
    return not any(join.side or join.args.get("method") for join in every(select, exp.Join))


def _name(table: exp.Expr) -> str:
    alias = table.args.get("alias")
    return fold(table.this if alias is None else alias.this)


def _is_passing(query: exp.Expr, *, moving: bool) -> bool:
    """Return whether a query is of one table, and has nothing but columns of that, or a condition that may move."""
    parts = {key for key, value in query.args.items() if value}
    if not isinstance(query, exp.Select) or parts - {"where"} != _PASSING:
        return False
    table, where = query.args["from_"].this, query.args.get("where")
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return False
    name, alias = _name(table), table.args.get("alias")
    around = where is not None and any(fold(column.args.get("table")) != name for column in every(where, exp.Column))
    if where is not None and not (moving and around and not every(where, exp.Query)):
        return False
    plain = {key for key, value in table.args.items() if value} <= _NAMED
    columns = [output.unalias() for output in query.expressions]
    return (
        plain
        and not (alias is not None and alias.args.get("columns"))
        and all(isinstance(column, exp.Column) and not holds(column, exp.Star) for column in columns)
        and all(fold(column.args.get("table")) == name for column in columns)
    )


def _own_name(column: exp.Column, name: str) -> None:
    """Give a column the name that it has in its table; an output keeps its own."""
    before, holder = fold(column.this), column.parent
    if before == name:
        return
    if isinstance(holder, exp.Select) and column.arg_key == "expressions":
        column.replace(exp.Alias(this=column.copy(), alias=exp.to_identifier(before, quoted=True)))
        column = next(output for output in holder.expressions if output.alias == before).this
    column.set("this", exp.to_identifier(name, quoted=True))


# USING as the equations that it is, and the names that it gives to a join's columns as the columns that these are.
#
# SELECT j.zone_id FROM trips JOIN zones USING (zone_id) AS j
# →  SELECT trips.zone_id FROM trips JOIN zones ON trips.zone_id = zones.zone_id
# SELECT j.zone_id FROM trips FULL JOIN zones USING (zone_id) AS j
# →  SELECT coalesce(trips.zone_id, zones.zone_id) AS zone_id FROM trips FULL JOIN zones USING (zone_id)
#
# Claim: such a column is the left side's, but the right side's of a RIGHT JOIN, and of a FULL JOIN the one that is not NULL.
# In PostgreSQL's words every other column has its table, so that nothing else asks what USING has made one.


def in_equations(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place; USING of more than two tables, and of FULL JOIN, stays."""
    for join in every(tree, exp.Join):
        holder = join.parent
        if not join.args.get("using") or holder is None or holder.args["joins"][0] is not join:
            continue
        select = holder if isinstance(holder, exp.Select) else holder.find_ancestor(exp.Select)
        first = holder.args["from_"].this if isinstance(holder, exp.Select) else holder
        sides = first.alias_or_name, join.this.alias_or_name
        of_brackets = None if isinstance(holder, exp.Select) else holder.parent
        named = isinstance(of_brackets, exp.Subquery) and of_brackets.args.get("alias")  # whose columns USING decides
        within = first is not holder and first.args.get("joins")
        if named or within or select is None or not all(sides):
            continue
        if join.args.get(JOINED_AS) is not None:
            _put_columns(select, join, sides)
        several = any(other.args.get("using") for other in holder.args["joins"][1:])
        if join.side != "FULL" and join.args.get(JOINED_AS) is None and not several:
            pairs = ([_of(side, column) for side in sides] for column in join.args["using"])
            join.set("on", exp.and_(*(exp.EQ(this=a, expression=b) for a, b in pairs), copy=False))
            join.set("using", None)


def _of(side: str, column: exp.Expr) -> exp.Column:
    return exp.column(column.copy(), table=exp.to_identifier(side, quoted=True))


def _put_columns(select: exp.Select, join: exp.Join, sides: tuple[str, str]) -> None:
    name, shared = fold(join.args[JOINED_AS]), {fold(column) for column in join.args["using"]}
    ours = [column for column in every(select, exp.Column) if fold(column.args.get("table")) == name]
    if any(isinstance(column.this, exp.Star) or fold(column.this) not in shared for column in ours):
        return
    for column in ours:
        both = [_of(side, column.this) for side in sides]
        made: exp.Expr = both[1] if join.side == "RIGHT" else both[0]
        if join.side == "FULL":
            made = exp.Anonymous(this="coalesce", expressions=both)
            if isinstance(column.parent, exp.Select):
                made = exp.Alias(this=made, alias=column.this.copy())
        column.replace(made)
    join.set(JOINED_AS, None)


# The parameters of LIMIT and OFFSET that decide what a statement asks: 0, 1 and NULL are read as if they were written.
#
# SELECT count(*) FROM (SELECT fare FROM trips OFFSET $1) AS t, of 0  →  … OFFSET 0
#
# Others stay parameters: on private rows no number but these is ever answered. Which there are is read off the text, since
# bound statements are remembered by them.

Counts = Mapping[int, str | None]
"""The values that decide, by the numbers of their parameters."""

_PLACE = re.compile(r"(?i)\b(?:limit|offset)\s+\$(\d{1,5})(?!\d)")
_NUMBERS = frozenset(
    {exp.DataType.Type.SMALLINT, exp.DataType.Type.INT, exp.DataType.Type.BIGINT, exp.DataType.Type.DECIMAL}
)
_OF_NUMBERS = frozenset({"smallint", "integer", "bigint", "numeric", "text", "unknown"})
"""The types of parameters whose text is the number that it is cast to."""
_DECISIVE = frozenset({"0", "1", None})


def counts_of(text: str, arguments: Sequence[Argument]) -> Counts:
    """Return the values that decide what a statement asks."""
    if not any(argument.text in _DECISIVE for argument in arguments):
        return {}
    places = {int(place[1]) for place in _PLACE.finditer(text)}
    values = {
        number: argument.text
        for number, argument in enumerate(arguments, 1)
        if number in places and (argument.type in _OF_NUMBERS or argument.text is None)
    }
    return {number: value for number, value in values.items() if value in _DECISIVE}


def with_counts(tree: exp.Query, counts: Counts) -> None:
    """Put these values into LIMIT and OFFSET; the tree changes."""
    clauses = [*every(tree, exp.Limit), *every(tree, exp.Offset)] if counts else []
    for clause in clauses:
        count = clause.expression
        # A cast between numbers changes none of these; of "char" or of bits it would make others of them.
        while isinstance(count, exp.Paren) or (isinstance(count, exp.Cast) and count.to.this in _NUMBERS):
            count = count.this
        if isinstance(count, exp.Parameter) and int(count.name) in counts:
            value = counts[int(count.name)]
            clause.set("expression", exp.Null() if value is None else exp.Literal.number(value))
