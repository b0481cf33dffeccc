"""To what each column of a statement belongs, as far as the policy says it: a tool of tests, whose word PostgreSQL checks."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from dpsql.policy.model import Policy


@dataclass(frozen=True, slots=True)
class Source:
    """What stands in FROM: its name there, its columns if they are known, and which table of the policy it is."""

    node: exp.Expr
    name: str
    columns: frozenset[str] | None
    table: str | None = None


def word(node: object) -> str:
    """Return an identifier as PostgreSQL compares it."""
    if isinstance(node, exp.Identifier):
        return str(node.this) if node.args.get("quoted") else str(node.this).lower()
    return str(node or "").lower()


class Names:
    """A statement's tree, and whose its names are before anything is changed."""

    def __init__(self, tree: exp.Expr, policy: Policy) -> None:
        """Resolve all columns."""
        self.tree, self.policy = tree, policy
        self._made = {word(cte.args["alias"].this): cte for cte in tree.find_all(exp.CTE)}
        self._sources: dict[int, list[Source]] = {}
        self.columns = [
            (column, self._owner(column))
            for column in tree.find_all(exp.Column)
            if not isinstance(column.this, exp.Star)
        ]
        self.stars = [
            (column, self._owner(column))
            for column in tree.find_all(exp.Column)
            if isinstance(column.this, exp.Star) and column.table
        ]

    @property
    def selects(self) -> list[exp.Select]:
        """Return all queries."""
        return list(self.tree.find_all(exp.Select))

    def sources(self, select: exp.Select) -> list[Source]:
        """Return what stands in the FROM of a query."""
        if id(select) not in self._sources:
            self._sources[id(select)] = [self._source(item) for item in items(select)]
        return self._sources[id(select)]

    def tables(self) -> Iterator[Source]:
        """Yield all places where a table of the policy is read."""
        for select in self.selects:
            yield from (source for source in self.sources(select) if source.table is not None)

    def of(self, source: Source) -> list[exp.Column]:
        """Return the columns that are one source's."""
        return [column for column, owner in (*self.columns, *self.stars) if owner is source]

    def _source(self, item: exp.Expr) -> Source:
        alias = item.args.get("alias")
        name = word(alias.this) if isinstance(alias, exp.TableAlias) and alias.this else word(item.this)
        listed = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            table = word(item.this)
            if table in self._made and not item.db:
                cte = self._made[table]
                columns = _listed(cte.args["alias"].args.get("columns")) or self._outputs(cte.this)
                return Source(item, name, _renamed(columns, listed))
            declared = self.policy.tables.get(table)
            if declared is not None:
                return Source(item, name, _renamed(frozenset(declared.columns), listed), None if listed else table)
            return Source(item, name, _listed(listed))
        if isinstance(item, exp.Subquery):
            return Source(item, name, _listed(listed) or self._outputs(item.this))
        if isinstance(item, exp.Lateral):
            inside = item.this.this if isinstance(item.this, exp.Subquery) else None
            return Source(item, name, _listed(listed) or (self._outputs(inside) if inside is not None else None))
        return Source(item, name, _listed(listed) or (frozenset({name}) if name else None))

    def _outputs(self, query: exp.Expr) -> frozenset[str] | None:
        while isinstance(query, (exp.SetOperation, exp.Subquery)):
            query = query.this
        if not isinstance(query, exp.Select):
            return None
        names: set[str] = set()
        for output in query.expressions:
            if isinstance(output, exp.Star) or (isinstance(output, exp.Column) and isinstance(output.this, exp.Star)):
                for source in self.sources(query):
                    if isinstance(output, exp.Column) and source.name != output.table:
                        continue
                    if source.columns is None:
                        return None
                    names |= source.columns
            else:
                names.add(
                    word(output.args.get("alias")) if isinstance(output, exp.Alias) else output.output_name.lower()
                )
        return frozenset(names)

    def _owner(self, column: exp.Column) -> Source | None:
        """Return whose a column is, if that is certain."""
        select = column.parent_select
        while isinstance(select, exp.Select):
            there = self.sources(select)
            if column.table:
                named = [source for source in there if source.name == word(column.args["table"])]
            else:
                if any(source.columns is None for source in there):
                    return None
                named = [source for source in there if source.columns and word(column.this) in source.columns]
            if named:
                return named[0] if len(named) == 1 else None
            select = _around(select)
        return None


def items(select: exp.Select) -> list[exp.Expr]:
    """Return what stands in FROM, in order."""
    from_ = select.args.get("from_")
    return [*([from_.this] if from_ is not None else []), *(join.this for join in select.args.get("joins") or ())]


def _around(select: exp.Select) -> exp.Select | None:
    """Return the query whose columns are seen from inside of another."""
    node: exp.Expr | None = select
    hidden = False
    while node is not None and node.parent is not None:
        parent = node.parent
        if isinstance(parent, (exp.From, exp.Join, exp.CTE)) and not isinstance(node, exp.Lateral):
            hidden = True
        if isinstance(parent, exp.Select):
            if not hidden:
                return parent
            hidden = False
        node = parent
    return None


def _listed(names: list[exp.Expr] | None) -> frozenset[str] | None:
    return frozenset(word(name.this if isinstance(name, exp.ColumnDef) else name) for name in names) if names else None


def _renamed(columns: frozenset[str] | None, listed: list[exp.Expr] | None) -> frozenset[str] | None:
    return (
        None
        if listed and columns is None
        else _listed(listed)
        if listed and len(listed) == len(columns or ())
        else columns
    )
