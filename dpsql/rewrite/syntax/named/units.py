"""Columns that are a privacy unit, or name one row of it, as far as names show: whether a SELECT groups by one.

The choice here is only how a statement is read. `translate` decides whether it is the unit that the role protects.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from sqlglot import exp

from dpsql.policy.model import Policy, Table
from dpsql.rewrite.syntax.named.columns import fold, from_items, item_name, output_name

_Columns = Sequence[tuple[str, Callable[[], bool]]]
"""Names, each with what says whether it is a unit: of a chain of queries that is looked up for the one that is wanted."""


def groups_by_unit(select: exp.Select, keys: Sequence[exp.Expr], ctes: Mapping[str, exp.CTE], policy: Policy) -> bool:
    """Return whether one of the keys is a column that says whose a row is, or several do together."""
    if any(_is_unit(key, select, ctes, policy) for key in keys):
        return True
    columns = [key for key in keys if isinstance(key, exp.Column)]
    return any(_name_rows(columns, item, ctes, policy) for item in from_items(select))


def _name_rows(columns: Sequence[exp.Column], item: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> bool:
    """Return whether columns have all of a key of several of a protected table's."""
    if not isinstance(item, exp.Table) or (fold(item.this) in ctes and not item.args.get("db")):
        return False
    table = policy.tables.get(fold(item.this))
    alias = item.args.get("alias")
    if table is None or not table.units or (isinstance(alias, exp.TableAlias) and alias.args.get("columns")):
        return False
    named = {fold(column.this) for column in columns if fold(column.args.get("table")) == item_name(item)}
    joint = [unit.columns for unit in table.units.values() if unit.further]
    return any(named.issuperset(key) for key in (*joint, table.joint_key) if key)


def _is_unit(node: exp.Expr, select: exp.Select, ctes: Mapping[str, exp.CTE], policy: Policy) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Column):
        return False
    table, name = fold(node.args.get("table")), fold(node.this)
    return any(
        name == column and is_unit()
        for item in from_items(select)
        if table == item_name(item)
        for column, is_unit in _columns_of_item(item, ctes, policy)
    )


def _columns_of_item(item: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> _Columns:
    """Return the columns of an element of FROM in order."""
    columns = _own(item, ctes, policy)
    alias = item.args.get("alias")
    new = [fold(column) for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
    return _renamed(columns, new)


def _renamed(columns: _Columns, new: Sequence[str]) -> _Columns:
    # AS t (a) names the first column alone; the others keep their names.
    return [*((name, is_unit) for name, (_, is_unit) in zip(new, columns, strict=False)), *columns[len(new) :]]


def _own(item: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> _Columns:
    match item:
        case exp.Table():
            name = fold(item.this)
            if name in ctes and not item.args.get("db"):
                # Without itself, or a query of WITH RECURSIVE would be looked through without end.
                columns = list(_columns(ctes[name].this, {k: v for k, v in ctes.items() if k != name}, policy))
                return _renamed(
                    columns, [fold(column) for column in ctes[name].args["alias"].args.get("columns") or ()]
                )
            return _columns_of_table(policy.tables[name]) if name in policy.tables else []
        case exp.Subquery():
            return list(_columns(item.this, ctes, policy))
        case exp.Values():
            return list(_columns(item, ctes, policy))
        case _:
            return []


def _columns_of_table(table: Table) -> _Columns:
    units = {name for unit in table.units.values() for name in unit.naming} | ({table.key} if table.units else set())
    return [(column, partial(bool, column in units)) for column in table.columns]


def output_columns(query: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> Iterator[tuple[str, bool]]:
    """Yield the columns of a query in order, each with whether it is a unit."""
    return ((name, is_unit()) for name, is_unit in _columns(query, ctes, policy))


def _columns(query: exp.Expr, ctes: Mapping[str, exp.CTE], policy: Policy) -> Iterator[tuple[str, Callable[[], bool]]]:
    while isinstance(query, (exp.SetOperation, exp.Subquery)):
        query = query.this
    if isinstance(query, exp.Values):
        # `bool()` is False: no constant is a unit.
        row = query.expressions[0]
        yield from ((f"column{i + 1}", bool) for i in range(len(row.expressions) if isinstance(row, exp.Tuple) else 1))
    if not isinstance(query, exp.Select):
        return
    own = query.args.get("with_")
    visible = {**ctes, **{fold(c.args["alias"].this): c for c in (own.expressions if own else ())}}
    for output in query.expressions:
        if isinstance(output, exp.Star) or (isinstance(output, exp.Column) and isinstance(output.this, exp.Star)):
            table = fold(output.args.get("table"))
            for item in from_items(query):
                if table in {"", item_name(item)}:
                    yield from _columns_of_item(item, visible, policy)
        else:
            yield output_name(output), partial(_is_unit, output.unalias(), query, visible, policy)
