"""Which expression a name stands for inside one SELECT: PostgreSQL's rules, over what FROM offers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.rewrite.ir.expr import Expr, Ref, with_refs
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.named.identifiers import fold


@dataclass(frozen=True, slots=True)
class Names:
    """The tables of a FROM clause by alias, each with its columns in order."""

    tables: Mapping[str, Mapping[str, Expr]]
    merged: Mapping[str, Expr] = field(default_factory=dict)
    """What USING made one column of: the left side's, for a bare name."""
    around: "Names | None" = None
    """What the query around this one offers: for names that nothing here has."""

    def behind(self, sources: int, around: "Names") -> "Names":
        """Return what the names mean where so many other sources stand before theirs, which `around` offers."""

        def change(one: Ref) -> Ref:
            return replace(one, source=one.source + sources)

        return replace(self.changed(lambda expr: with_refs(expr, change)), around=around)

    def changed(self, change: Callable[[Expr], Expr]) -> "Names":
        """Return what the names mean where each expression has become another."""
        tables = {alias: {n: change(e) for n, e in place.items()} for alias, place in self.tables.items()}
        return replace(self, tables=tables, merged={name: change(e) for name, e in self.merged.items()})

    def find(self, column: exp.Column) -> Expr:
        """Return what `column` stands for.

        Raises:
            Unsupported: nothing here has that name, or more than one does.
        """
        name, table = fold(column.this), fold(column.args.get("table"))
        if not table and name in self.merged:
            return self.merged[name]
        places = [self.tables.get(table, {})] if table else list(self.tables.values())
        found = [place[name] for place in places if name in place]
        if not found and self.around is not None and table not in self.tables:
            return self.around.find(column)
        if len(found) != 1:
            what = "is not a column of a protected table here" if not found else "is ambiguous"
            hint = "\\d and dpsql.columns show what there is." if not found else "Write the table's name before it."
            raise Unsupported(f'"{column.sql()}" {what}', because="column-not-found", hint=hint)
        return found[0]

    def all(self, table: str = "") -> list[tuple[str, Expr]]:
        """Return what `*` or `table.*` stands for."""
        pairs = [pair for alias, place in self.tables.items() if table in ("", alias) for pair in place.items()]
        if table:
            return pairs
        return [*self.merged.items(), *(pair for pair in pairs if pair[0] not in self.merged)]


def renamed(relation: Relation, alias: exp.Expr | None) -> Relation:
    """Return the relation with the column names of `AS t (a, b)`."""
    new = [fold(column) for column in (alias.args.get("columns") or ())] if isinstance(alias, exp.TableAlias) else []
    if not new:
        return relation
    old = list(relation.columns.items())
    names = [*new, *(name for name, _ in old[len(new) :])]
    return replace(relation, columns={name: e for name, (_, e) in zip(names, old, strict=False)})
