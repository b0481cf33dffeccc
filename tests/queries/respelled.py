"""A statement in other words that PostgreSQL reads alike: other names, CTEs and subqueries, orders, casts, brackets.

Each is a function that changes a tree, by its name. What comes out may mean another thing now and then, or nothing at all,
so that whoever uses it asks PostgreSQL first.
"""

from collections.abc import Callable, Mapping
from itertools import count

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpsql.policy.model import Policy
from tests.queries.bound_names import Names, Source, items, word

_MIRRORED = {exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE}


def respelled(sql: str, spelling: str, policy: Policy) -> str | None:
    """Return a statement in other words; None where they would be the same."""
    try:
        tree = sqlglot.parse_one(sql.rstrip().removesuffix(";"), read="postgres")
        if not isinstance(tree, exp.Query):
            return None
        plain = tree.sql(dialect="postgres")
        if spelling == "written again":
            return None if plain == sql else plain
        if spelling == "quoted":
            return tree.sql(dialect="postgres", identify=True)
        RESPELLINGS[spelling](Names(tree, policy))
        text = tree.sql(dialect="postgres")
    except SqlglotError:
        return None
    return None if text == plain else text


def _ident(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=not name.replace("_", "a").isalnum() or name != name.lower())


def _may_be_output(column: exp.Column) -> bool:
    """Return whether a bare name stands where the name of an output is looked for first, or too."""
    return column.find_ancestor(exp.Order, exp.Group, exp.Select) is not column.find_ancestor(exp.Select)


def _unqualify(column: exp.Column) -> None:
    for part in ("table", "db", "catalog"):
        column.set(part, None)


def _requalify(column: exp.Column, name: str) -> None:
    _unqualify(column)
    column.set("table", _ident(name))


def bare(names: Names) -> None:
    """Take the table's name away wherever there is one column of that name."""
    for column, owner in names.columns:
        if owner is None or not column.table or _may_be_output(column):
            continue
        select = column.parent_select
        there = [*names.sources(select)] if isinstance(select, exp.Select) else []
        others = [source for source in there if source is not owner]
        if all(other.columns is not None and word(column.this) not in other.columns for other in others):
            _unqualify(column)


def qualified(names: Names) -> None:
    """Put the name of what a column is of before every bare one."""
    for column, owner in names.columns:
        if owner is not None and owner.name and not column.table and not _is_output(column):
            _requalify(column, owner.name)


def _is_output(column: exp.Column) -> bool:
    select = column.parent_select
    if column.table or not _may_be_output(column) or not isinstance(select, exp.Select):
        return False
    return any(
        isinstance(output, exp.Alias) and word(output.args["alias"]) == word(column.this)
        for output in select.expressions
    )


def with_schema(names: Names) -> None:
    """Name every table without an alias by its schema, and its columns so, too."""
    for source in [*names.tables()]:
        if source.node.args.get("alias") or source.node.args.get("db"):
            continue
        for column in names.of(source):
            if not _is_output(column):
                _requalify(column, source.name)
                column.set("db", _ident("public"))
        source.node.set("db", _ident("public"))


def _rename(names: Names, source: Source, name: str) -> None:
    for column in names.of(source):
        if not _is_output(column):
            _requalify(column, name)
    source.node.set("alias", exp.TableAlias(this=_ident(name)))


def aliased(names: Names) -> None:
    """Give every table another alias, and name its columns by that."""
    for number, source in enumerate([*names.tables()], 1):
        _rename(names, source, f"a{number}")


def colliding(names: Names) -> None:
    """Call every table as one of its columns is called that the statement reads."""
    taken: set[str] = set()
    for source in [*names.tables()]:
        read = sorted(
            {word(column.this) for column in names.of(source) if not isinstance(column.this, exp.Star)} - taken
        )
        if read:
            taken.add(read[0])
            _rename(names, source, read[0])


def bare_and_colliding(names: Names) -> None:
    """Call every table as one of its columns is called, and leave its columns bare where they were."""
    taken: set[str] = set()
    for source in [*names.tables()]:
        read = sorted({word(each.this) for each in names.of(source) if not isinstance(each.this, exp.Star)} - taken)
        if read:
            taken.add(read[0])
            for column in names.of(source):
                if column.table:
                    _requalify(column, read[0])
            source.node.set("alias", exp.TableAlias(this=_ident(read[0])))


def _outermost(names: Names) -> exp.Select | None:
    return names.tree if isinstance(names.tree, exp.Select) else None


def _name_outputs(names: Names, called: Callable[[int, exp.Expr], str]) -> None:
    select = _outermost(names)
    if select is None or any(output.is_star for output in select.expressions):
        return
    new: dict[str, str] = {}
    outputs = []
    for number, item in enumerate(select.expressions):
        name = called(number, item)
        if isinstance(item, exp.Alias):
            new[word(item.args["alias"])] = name
        outputs.append(exp.alias_(item.this if isinstance(item, exp.Alias) else item, _ident(name)))
    for part in ("order", "group"):
        clause = select.args.get(part)
        for column in [*clause.find_all(exp.Column)] if clause is not None else ():
            if not column.table and word(column.this) in new and (part == "order" or not _is_column(names, column)):
                column.set("this", _ident(new[word(column.this)]))
    select.set("expressions", outputs)


def _is_column(names: Names, column: exp.Column) -> bool:
    return any(each is column and owner is not None for each, owner in names.columns)


def outputs(names: Names) -> None:
    """Give every output another name."""
    _name_outputs(names, lambda number, _: f"o{number}")


def colliding_outputs(names: Names) -> None:
    """Give every output the name of a column of a table that it is not."""
    free = [c for source in names.tables() for c in sorted(source.columns or ())] or ["o"]
    used = {word(column.this) for column, _ in names.columns}
    free = [*dict.fromkeys((*(c for c in free if c in used), *free))]

    def called(number: int, expr: exp.Expr) -> str:
        itself = word(expr.this) if isinstance(expr, exp.Column) else ""
        others = [c for c in free if c != itself] or ["o"]
        return others[number % len(others)] if number < len(others) else f"o{number}"

    _name_outputs(names, called)


def _with(tree: exp.Query, name: str, query: str) -> None:
    """Put a CTE before those that there are."""
    tree.with_(name, as_=query, dialect="postgres", copy=False)
    clause = tree.args["with_"]
    clause.set("expressions", [clause.expressions[-1], *clause.expressions[:-1]])


def _in_ctes(names: Names, called: Callable[[str], str]) -> None:
    tree = names.tree
    clause = tree.args.get("with_")
    if (clause is not None and clause.args.get("recursive")) or any(
        column.args.get("db") for column, _ in names.columns
    ):
        return
    plain = [source for source in names.tables() if not source.node.args.get("db")]
    assert isinstance(tree, exp.Query)
    for table in dict.fromkeys(source.table for source in plain):
        assert table is not None
        for source in plain:
            if source.table == table and called(table) != table:
                if not source.node.args.get("alias"):
                    source.node.set("alias", exp.TableAlias(this=_ident(source.name)))
                source.node.set("this", _ident(called(table)))
        _with(tree, called(table), f"SELECT * FROM {table}")


def ctes(names: Names) -> None:
    """Read every table by a CTE."""
    _in_ctes(names, lambda table: f"c_{table}")


def ctes_of_the_same_name(names: Names) -> None:
    """Read every table by a CTE that is called like it."""
    _in_ctes(names, lambda table: table)


def derived(names: Names) -> None:
    """Put a subquery in the place of every table."""
    for source in [*names.tables()]:
        if any(column.args.get("db") for column in names.of(source)):
            continue
        _replace(source, exp.select("*").from_(source.node.copy().transform(_without_alias)), source.name)


def _without_alias(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Table):
        node.set("alias", None)
    return node


def _replace(source: Source, query: exp.Select, name: str, columns: list[str] | None = None) -> None:
    joins, laterals = source.node.args.get("joins"), source.node.args.get("laterals")
    alias = exp.TableAlias(this=_ident(name), columns=[_ident(column) for column in columns] if columns else None)
    made = exp.Subquery(this=query, alias=alias)
    if joins:
        made.set("joins", joins)
    if laterals:
        made.set("laterals", laterals)
    source.node.replace(made)


def column_lists(names: Names) -> None:
    """Put a subquery in the place of every table that gives its columns other names in a list."""
    for number, source in enumerate([*names.tables()]):
        mine = names.of(source)
        selects = [select for select in names.selects if source in names.sources(select)]
        stars = any(output.is_star for select in selects for output in select.expressions)
        if not mine or stars or any(isinstance(each.this, exp.Star) or each.args.get("db") for each in mine):
            continue
        read = [*dict.fromkeys(word(each.this) for each in mine)]
        new = {name: f"x{number}_{place}" for place, name in enumerate(read)}
        for column in mine:
            old = word(column.this)
            column.set("this", _ident(new[old]))
            select = column.parent
            if isinstance(select, exp.Select) and any(column is output for output in select.expressions):
                column.replace(exp.alias_(column.copy(), _ident(old)))
        table = exp.to_table(source.table or "", dialect="postgres")
        _replace(
            source, exp.select(*(exp.column(_ident(name)) for name in read)).from_(table), source.name, [*new.values()]
        )


def inlined(names: Names) -> None:
    """Put every CTE where it is read."""
    tree = names.tree
    clause = tree.args.get("with_")
    if clause is None or clause.args.get("recursive"):
        return
    tree.set("with_", None)
    made = {word(cte.args["alias"].this): cte for cte in clause.expressions}
    for _ in made:
        for table in [*tree.find_all(exp.Table)]:
            cte = made.get(word(table.this))
            if cte is None or table.args.get("db"):
                continue
            alias = table.args.get("alias") or exp.TableAlias(this=cte.args["alias"].this.copy())
            if not alias.args.get("columns") and cte.args["alias"].args.get("columns"):
                alias = alias.copy()
                alias.set("columns", [identifier.copy() for identifier in cte.args["alias"].args["columns"]])
            table.replace(exp.Subquery(this=cte.this.copy(), alias=alias.copy(), joins=table.args.get("joins")))


def _movable(select: exp.Select) -> bool:
    """Return whether what stands in FROM may stand in any order."""
    joins = select.args.get("joins") or []
    starred = any(isinstance(output, exp.Star) for output in select.expressions)
    plain = all(
        not join.args.get("side") and not join.args.get("using") and not join.args.get("method")
        and (join.args.get("kind") or "INNER") in {"INNER", "CROSS"}
        for join in joins
    )  # fmt: skip
    lateral = any(isinstance(item, exp.Lateral) or item.args.get("joins") for item in items(select))
    calls = any(isinstance(item, (exp.Unnest, exp.GenerateSeries)) for item in items(select))
    return bool(joins) and plain and not starred and not lateral and not calls


def commas(names: Names) -> None:
    """Name what is joined in the opposite order, with commas, and say the conditions in WHERE."""
    for select in names.selects:
        if not _movable(select):
            continue
        order = [item.copy() for item in reversed(items(select))]
        conditions = [join.args["on"].copy() for join in select.args["joins"] if join.args.get("on") is not None]
        select.set("from_", exp.From(this=order[0]))
        select.set("joins", [exp.Join(this=item) for item in order[1:]])
        for condition in conditions:
            select.where(condition, copy=False, dialect="postgres")


def backwards(names: Names) -> None:
    """Turn a join of two round."""
    for select in names.selects:
        if _movable(select) and len(items(select)) == 2:
            first, second = items(select)
            first_copy, other = first.copy(), second.copy()
            first.replace(other)
            second.replace(first_copy)


def conditions(names: Names) -> None:
    """Turn what stands on the two sides of AND, OR and of comparisons round."""
    for node in [*names.tree.find_all(exp.And, exp.Or)]:
        left, right = node.this, node.expression
        node.set("this", right)
        node.set("expression", left)
    for comparison in [*names.tree.find_all(*_MIRRORED)]:
        sides = (comparison.this, comparison.expression)
        if not any(isinstance(side, (exp.Any, exp.All, exp.Tuple)) for side in sides):
            comparison.replace(_MIRRORED[type(comparison)](this=sides[1].copy(), expression=sides[0].copy()))


def casts(names: Names) -> None:
    """Cast every column of a table to the type that it has."""
    for column, owner in names.columns:
        if owner is None or owner.table is None or _is_output(column):
            continue
        declared = names.policy.tables[owner.table].columns.get(word(column.this))
        if declared is not None:
            cast = exp.cast(column.copy(), exp.DataType.build(declared.declared, dialect="postgres", udt=True))
            parent = column.parent
            named = isinstance(parent, exp.Select) and any(column is output for output in parent.expressions)
            column.replace(exp.alias_(cast, _ident(word(column.this))) if named else cast)


def brackets(names: Names) -> None:
    """Put every column of a table in brackets."""
    for column, owner in names.columns:
        if owner is not None and not _is_output(column):
            column.replace(exp.Paren(this=column.copy()))


def whole_in_brackets(names: Names) -> None:
    """Ask for all columns of the statement as a subquery, in its order."""
    inner = names.tree.copy()
    numbers = count(1)
    name = next(n for n in (f"q{i}" for i in numbers) if n not in names.tree.sql())
    outer = exp.select("*").from_(exp.Subquery(this=inner, alias=exp.TableAlias(this=_ident(name))))
    tree = names.tree
    for key in [*tree.args]:
        tree.set(key, None)
    if isinstance(tree, exp.Select):
        for key, value in outer.args.items():
            tree.set(key, value)


RESPELLINGS: Mapping[str, Callable[[Names], None]] = {
    "written again": lambda _: None,
    "quoted": lambda _: None,
    "bare": bare,
    "qualified": qualified,
    "with schema": with_schema,
    "aliased": aliased,
    "colliding": colliding,
    "bare and colliding": bare_and_colliding,
    "outputs": outputs,
    "colliding outputs": colliding_outputs,
    "CTEs": ctes,
    "CTEs of the same name": ctes_of_the_same_name,
    "derived": derived,
    "column lists": column_lists,
    "inlined": inlined,
    "commas": commas,
    "backwards": backwards,
    "conditions": conditions,
    "casts": casts,
    "brackets": brackets,
    "whole in brackets": whole_in_brackets,
}
"""What changes a statement's words, by its name."""
