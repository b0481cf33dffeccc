"""The expression that a name stands for inside one SELECT: PostgreSQL's rules, over the names that FROM offers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.rewrite.ir.expr import Expr, Ref, refs, with_refs
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.named.identifiers import fold


def every_column(ref: Ref) -> None:
    """Let any column be named."""
    del ref


@dataclass(frozen=True, slots=True)
class Names:
    """The tables of a FROM clause by alias, each with its columns in order."""

    tables: Mapping[str, Mapping[str, Expr]]
    around: "Names | None" = None
    """The names of the query around this one, for those that nothing here has."""
    require: Callable[[Ref], None] = every_column
    """Checks that the role may name a column of a table."""

    def behind(self, sources: int, around: "Names") -> "Names":
        """Return what the names mean where so many other sources stand before theirs, which `around` offers."""

        def change(ref: Ref) -> Ref:
            return replace(ref, source=ref.source + sources)

        return replace(self.changed(lambda expr: with_refs(expr, change)), around=around)

    def changed(self, change: Callable[[Expr], Expr]) -> "Names":
        """Return what the names mean where each expression has become another."""
        tables = {alias: {n: change(e) for n, e in place.items()} for alias, place in self.tables.items()}
        return replace(self, tables=tables)

    def find(self, column: exp.Column) -> Expr:
        """Return what `column` stands for.

        Raises:
            Unsupported: nothing here has that name.
        """
        name, table = fold(column.this), fold(column.args.get("table"))
        place = self.tables.get(table)
        if place is None and self.around is not None:
            return self.around.find(column)
        if place is None or name not in place:
            raise Unsupported(
                f'"{column.sql()}" is not a column of a protected table here',
                because="column-not-found",
                hint="\\d and dpsql.columns show what there is.",
            )
        return self.named(place[name])

    def row(self, whole: exp.Column) -> tuple[Expr, ...]:
        """Return the columns of a row as a whole, `t.*`; the role may name all of them.

        Raises:
            DpsqlError: it may not, or nothing here has that name.
        """
        place = self.tables.get(fold(whole.args.get("table")))
        if place is None:
            raise Unsupported(f'"{whole.sql()}" is not a row of a protected table here', because="column-not-found")
        return tuple(map(self.named, place.values()))

    def named(self, expr: Expr) -> Expr:
        """Return what a name stands for, if the role may name all that it is made of.

        Raises:
            AccessDenied: it is made of a column that they may not.
        """
        for ref in refs(expr):
            self.require(ref)
        return expr

    def all(self) -> Mapping[str, Expr]:
        """Return what `*` stands for."""
        return {name: expr for place in self.tables.values() for name, expr in place.items()}


def renamed(relation: Relation, alias: exp.Expr | None) -> Relation:
    """Return the relation with the column names of `AS t (a, b)`."""
    new = [fold(column) for column in (alias.args.get("columns") or ())] if isinstance(alias, exp.TableAlias) else []
    if not new:
        return relation
    old = list(relation.columns.items())
    names = [*new, *(name for name, _ in old[len(new) :])]
    return replace(relation, columns={name: e for name, (_, e) in zip(names, old, strict=False)})
