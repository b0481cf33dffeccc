"""What the elements of one FROM are called, and which columns each of them offers: a name is looked for among these.

FROM rides AS r, (VALUES (1)) AS v (d), generate_series(1, 3) AS n  →  r: rider, fare, …   v: d   n: n
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.columns import from_items
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.view_nodes import ViewRead

Ctes = Mapping[str, exp.CTE]
FoundColumns = dict[int, tuple[str, ...] | None]
"""The columns of CTEs, by their `id`."""
_SYSTEM = frozenset({"tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"})
"""The columns that every table of PostgreSQL's has besides."""
_MOST_COLUMNS = 1_664
"""PostgreSQL's own limit."""
_OF_ONE_COLUMN = frozenset(
    {"generate_series", "generate_subscripts", "regexp_split_to_table", "string_to_table", "unnest"}
)
"""Functions whose rows are single values."""


@dataclass(frozen=True, slots=True)
class OfferedTable:
    """An element of FROM: its name, and its columns in order."""

    name: str
    columns: tuple[str, ...] | None
    """None where it is not known which there are."""
    stored: bool = False
    """Whether it is a table, or a view."""
    aliased: bool = False
    quoted: bool = True
    """Whether its name was written in quotes."""

    def may_have(self, column: str) -> bool:
        """Return whether it has a column of that name, as far as is known."""
        return self.columns is None or column in self.columns or (self.stored and column in _SYSTEM)

    def has(self, column: str) -> bool:
        """Return whether it is known to have a column of that name, which it was given or declared with."""
        return self.columns is not None and column in self.columns


def sources(
    select: exp.Select, ctes: Ctes, policy: Policy, known: FoundColumns | None = None
) -> tuple[OfferedTable, ...]:
    """Return what stands in FROM, in order; `known` is what was found out of CTEs, which may be read very often."""
    known = {} if known is None else known
    return tuple(one for item in from_items(select) for one in sources_of(item, ctes, policy, known))


def sources_of(item: exp.Expr, ctes: Ctes, policy: Policy, known: FoundColumns) -> tuple[OfferedTable, ...]:
    """Return what an element of FROM is: several where it is a join in brackets without a name."""
    alias = item.args.get("alias")
    named = alias.this if isinstance(alias, exp.TableAlias) else None
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table):
        inside = sources(exp.Select(from_=exp.From(this=item.this.copy())), ctes, policy, known)
        return inside if named is None else (OfferedTable(fold(named), None),)
    found = _columns(item, ctes, policy, known)
    new = tuple(map(fold, alias.args.get("columns") or ())) if isinstance(alias, exp.TableAlias) else ()
    if found is not None:
        found = (*new, *found[len(new) :])
    name = fold(named) or _own_name(item)
    own = item.this if named is None else named
    quoted = bool(own.args.get("quoted")) if isinstance(own, exp.Identifier) else True
    if isinstance(item, ViewRead):
        return (OfferedTable(name, found, stored=True, aliased=name != item.view, quoted=quoted),)
    return (OfferedTable(name, found, _is_stored(item, ctes), aliased=named is not None, quoted=quoted),)


def _own_name(item: exp.Expr) -> str:
    return "" if not isinstance(item, exp.Table) else fold(item.this) or str(getattr(item.this, "name", "")).lower()


def _is_stored(item: exp.Expr, ctes: Ctes) -> bool:
    named = isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier)
    return named and bool(item.args.get("db") or fold(item.this) not in ctes)


def _columns(item: exp.Expr, ctes: Ctes, policy: Policy, known: FoundColumns) -> tuple[str, ...] | None:
    match item:
        case exp.Table(this=exp.Identifier()):
            return _of_table(item, ctes, policy, known)
        case exp.Table(this=exp.Anonymous() as call) | exp.Lateral(this=exp.Anonymous() as call):
            return _of_function(item, call)
        case exp.Lateral(this=exp.Subquery() | exp.Query()) | exp.Subquery():
            return _of_query(item.this, ctes, policy, known)
        case exp.Values():
            return _of_values(item)
        case _:
            return None


def _of_table(item: exp.Table, ctes: Ctes, policy: Policy, known: FoundColumns) -> tuple[str, ...] | None:
    name = fold(item.this)
    if name in ctes and not item.args.get("db"):
        cte = ctes[name]
        if id(cte) not in known:
            known[id(cte)] = _of_query(cte.this, {k: v for k, v in ctes.items() if k != name}, policy, known)
        found = known[id(cte)]
        new = tuple(map(fold, cte.args["alias"].args.get("columns") or ()))
        return None if found is None else (*new, *found[len(new) :])
    table = policy.tables.get(name)
    return None if table is None or fold(item.args.get("db")) not in {"", "public"} else tuple(table.columns)


def _of_function(item: exp.Expr, call: exp.Expr) -> tuple[str, ...] | None:
    """Return the one column of a function's rows: it has the name of these."""
    name = str(call.this).lower()
    if name not in _OF_ONE_COLUMN or any(one.args.get(key) for one in (item, call) for key in ("ordinality", "offset")):
        return None
    if name == "unnest" and len(call.expressions) > 1:
        return None
    alias = item.args.get("alias")
    return (fold(alias.this) if isinstance(alias, exp.TableAlias) else name,)


def _of_values(item: exp.Values) -> tuple[str, ...]:
    row = item.expressions[0]
    return tuple(f"column{i + 1}" for i in range(len(row.expressions) if isinstance(row, exp.Tuple) else 1))


def _of_query(query: exp.Expr, ctes: Ctes, policy: Policy, known: FoundColumns) -> tuple[str, ...] | None:
    while isinstance(query, (exp.SetOperation, exp.Subquery)):
        query = query.this
    if isinstance(query, exp.Values):
        return _of_values(query)
    if not isinstance(query, exp.Select):
        return None
    own = query.args.get("with_")
    visible = {**ctes, **{fold(c.args["alias"].this): c for c in (own.expressions if own else ())}}
    found: list[str] = []
    for output in query.expressions:
        if isinstance(output, exp.Star) or (isinstance(output, exp.Column) and isinstance(output.this, exp.Star)):
            shown = _shown(query, fold(output.args.get("table")), visible, policy, known)
            if shown is None:
                return None
            found += shown
        else:
            found.append(output_name(output))
    return tuple(found)


def _shown(select: exp.Select, table: str, ctes: Ctes, policy: Policy, known: FoundColumns) -> Sequence[str] | None:
    """Return what `*` shows; None where that, or its order, can't be told."""
    joins = [*(select.args.get("joins") or ()), *(select.args["from_"].this.args.get("joins") or ())]
    if any(join.args.get("using") or join.args.get("method") for join in joins) and not table:
        return None
    shown: list[str] = []
    for item in from_items(select):
        for one in sources_of(item, ctes, policy, known):
            if table in {"", one.name}:
                if one.columns is None or len(shown) + len(one.columns) > _MOST_COLUMNS:
                    return None  # before what else stands there is looked at: CTEs that double would never end
                shown += one.columns
    return shown
