"""From the nodes of one scope to its relation: what is scanned and joined, and which rows stay.

SELECT avg(f) FROM (SELECT fare AS f FROM trips WHERE tip > 0) AS t JOIN zones ON zone = zones.id
→  sources trips, zones ON trips.zone = zones.id; where trips.tip > 0; columns f = trips.fare, id = zones.id
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy, Role, SqlType, Table, TableName
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.join_order import with_joins_moved
from dpsql.rewrite.analysis.whose.meanings import Unique
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref, both, refs
from dpsql.rewrite.ir.facts import Facts
from dpsql.rewrite.ir.relation import Join, Relation, filtered, inner_joined, left_joined, renumbered, scan
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.named.recursion import names_itself
from dpsql.rewrite.syntax.named.units import output_columns
from dpsql.rewrite.syntax.whole.scopes import declared
from dpsql.rewrite.translate.public.constants import Constants
from dpsql.rewrite.translate.public.public_queries import (
    constants_of,
    function_named,
    inlined,
    is_plain,
    not_beside,
    recursion_beside,
)
from dpsql.rewrite.translate.rows.existence import nothing_in_from, where_of
from dpsql.rewrite.translate.rows.fan_out import fanned_out
from dpsql.rewrite.translate.rows.granted import bound_tree, require_column, require_table
from dpsql.rewrite.translate.rows.inner_answers import with_inner_answers
from dpsql.rewrite.translate.rows.join_sides import is_right, join_side, protected_left, require_left, require_plain
from dpsql.rewrite.translate.rows.per_unit import Around, is_grouped, per_unit
from dpsql.rewrite.translate.rows.unions import united
from dpsql.rewrite.translate.rows.windows import windowed, windows_of
from dpsql.rewrite.translate.values.comparisons import checked, compare
from dpsql.rewrite.translate.values.context import Translator
from dpsql.rewrite.translate.values.json_paths import not_as_a_whole, passed_on
from dpsql.rewrite.translate.values.scope_names import Names, renamed
from dpsql.rewrite.translate.values.translator import translator


@dataclass(frozen=True, slots=True)
class Tracker:
    """Follows private rows through a query by the policy, the role, constants, and facts about columns."""

    policy: Policy
    role: Role
    constants: Constants
    declared: Declared
    unique: Unique
    answers: Mapping[int, AwaitedTable] = field(default_factory=dict)
    """The answers to inner queries, by their nodes."""
    wide: bool = False
    """Whether numbers of a unit are within the bounds for the most rows that may be chosen."""
    _facts: dict[Expr, Facts] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Facts about expressions: they are asked again and again."""

    def scope(self, select: exp.Select, ctes: Mapping[str, exp.CTE]) -> tuple[Relation, Translator]:
        """Return the rows that a SELECT aggregates, and the translator of its expressions."""
        relation, t = self._of_select(select, ctes)
        return fanned_out(relation, self.declared), t

    def _of_select(self, select: exp.Select, ctes: Mapping[str, exp.CTE]) -> tuple[Relation, Translator]:
        """Return the rows of a SELECT, before it is known how many of a public table each of them meets."""
        relation, names = self._from(select, ctes)
        t = translator(names, self.constants, self.facts_of, partial(self._public, ctes))
        relation, t = with_inner_answers(relation, select, self.answers, t)
        where = select.args.get("where")
        if where is not None:
            relation = where_of(relation, t, where.this, partial(self._from, ctes=ctes))
        if (moved := with_joins_moved(relation)) is not None:
            relation, change = moved
            inner = {node: change(expr) for node, expr in t.inner.items()}
            t = replace(t, names=t.names.changed(change), inner=inner)
        return relation, t

    def facts_of(self, expr: Expr) -> Facts:
        """Return the facts about an expression by the declarations alone; rows without a unit are not there."""
        expr_facts = self._facts.get(expr)
        if expr_facts is None:
            env = self.declared.env(refs(expr))
            own_env = {
                ref: replace(ref_facts, nullable=False) if self._names_unit(ref) else ref_facts
                for ref, ref_facts in env.items()
            }
            expr_facts = self._facts[expr] = facts(expr, own_env)
        return expr_facts

    def _names_unit(self, ref: Expr) -> bool:
        table = self.policy.tables.get(ref.table) if isinstance(ref, Ref) and not ref.optional else None
        unit = None if table is None else table.units.get(self.role.protects)
        return isinstance(ref, Ref) and unit is not None and ref.name in unit.naming

    def _public(self, ctes: Mapping[str, exp.CTE], query: exp.Expr) -> exp.Expr | None:
        """Return a query with its CTEs in their places; None if it reads anything but public tables."""
        return inlined(query, ctes, self.policy)

    def _from(self, select: exp.Select, ctes: Mapping[str, exp.CTE]) -> tuple[Relation, Names]:
        from_ = select.args.get("from_")
        if from_ is None:
            raise nothing_in_from()
        first = from_.this
        joins = [*(first.args.get("joins") or ()), *(select.args.get("joins") or ())]
        relation, alias = self._item(first, ctes)
        names = self._names({alias: relation.columns})
        before = next((i for i, join in enumerate(joins) if not self._is_public(join.this, ctes)), 0)
        if before and not relation.private:
            relation, names = self._publics_first((relation, alias), joins[: before + 1], ctes)
            joins = joins[before + 1 :]
        elif joins and (is_right(joins[0]) or (relation.protected.public and join_side(joins[0]) is Join.INNER)):
            relation, names = self._turned_round((relation, alias), joins[0], ctes)
            joins = joins[1:]
        for join in joins:
            relation, names = self._join(relation, names, join, ctes)
        return relation, names

    def _is_public(self, item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> bool:
        return id(item) in self.answers or inlined(item, ctes, self.policy) is not None

    def _publics_first(
        self, first: tuple[Relation, str], joins: Sequence[exp.Join], ctes: Mapping[str, exp.CTE]
    ) -> tuple[Relation, Names]:
        """Follow inner joins of which only the last is with private rows, which come first.

        FROM a JOIN b ON … JOIN protected ON …  →  FROM protected JOIN a JOIN b WHERE … AND …
        """
        *publics, (relation, last) = [first, *(self._item(join.this, ctes) for join in joins)]
        tables = {last: relation.columns}
        for public, alias in publics:
            public = renumbered(public, len(relation.sources))  # noqa: PLW2901  # where it stands
            relation, tables[alias] = inner_joined(relation, public, TRUE), public.columns
        names = self._names({first[1]: tables[first[1]]})
        for join, alias in zip(joins, [*(alias for _, alias in publics[1:]), last], strict=True):
            if join_side(join) is not Join.INNER:
                raise protected_left()
            both_sides = self._names({**names.tables, alias: tables[alias]})
            t = translator(both_sides, self.constants, self.facts_of, partial(self._public, ctes))
            relation, names = filtered(relation, _condition(t, join, names, tables[alias])), both_sides
        return relation, names

    def _turned_round(
        self, first: tuple[Relation, str], join: exp.Join, ctes: Mapping[str, exp.CTE]
    ) -> tuple[Relation, Names]:
        """Follow a join from its right side.

        FROM public JOIN protected ON …  →  FROM protected JOIN public ON …
        FROM public RIGHT JOIN protected ON …  →  FROM protected LEFT JOIN public ON …
        """
        right, alias = self._item(join.this, ctes)
        if right.protected.public:
            join_side(join)  # which refuses RIGHT JOIN
        relation, names = self._attach(right, self._names({alias: right.columns}), first, join, ctes)
        return relation, self._names({name: names.tables[name] for name in (first[1], alias)})

    def _item(self, item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> tuple[Relation, str]:
        """Return one element of FROM with its alias."""
        alias = item.args.get("alias")
        name = fold(alias.this) if isinstance(alias, exp.TableAlias) and alias.this else ""
        name = name or (fold(item.this) if isinstance(item, exp.Table) else "")
        if id(item) in self.answers:
            return scan(self.answers[id(item)]), name
        public = None if is_plain(item, ctes, self.policy) else inlined(item, ctes, self.policy)
        if public is not None:
            return scan(constants_of(public, self.constants)), name or function_named(item)
        if isinstance(item, exp.Subquery):
            relation = self._query(item.this, ctes)
        elif isinstance(item, exp.Table):
            relation = self._table(item, ctes)
        else:
            raise not_beside(item)
        return renamed(relation, alias), name

    def _table(self, item: exp.Table, ctes: Mapping[str, exp.CTE]) -> Relation:
        name = fold(item.this)
        if not item.args.get("db") and name in ctes:
            if names_itself(ctes[name]) is not False:
                raise recursion_beside(item)
            inner = {k: v for k, v in ctes.items() if k != name}
            return self._query(ctes[name].this, inner)
        table = declared(item, self.policy)
        if table is None:
            raise not_beside(item)
        require_table(self.role, table, item)
        return self._rows(table)

    def _rows(self, table: Table) -> Relation:
        """Return the rows of a table that the role may read: no other are in anything that is made of it."""
        relation, condition = scan(table), self.role.where.get(table.name)
        if condition is None:
            return relation
        called = TableName.of(table.name).name
        t = translator(Names({called: relation.columns}), self.constants, self.facts_of, lambda _: None)
        return filtered(relation, checked(t, bound_tree(condition)))

    def _names(self, tables: Mapping[str, Mapping[str, Expr]]) -> Names:
        return Names(tables, require=partial(require_column, self.role))

    def _query(self, query: exp.Expr, ctes: Mapping[str, exp.CTE]) -> Relation:
        """Return a pass-through query as a relation; one that reads it knows all conditions of what each row meets."""
        while isinstance(query, exp.Subquery):
            query = query.this
        own = query.args.get("with_")
        visible = {**ctes, **{fold(c.args["alias"].this): c for c in (own.expressions if own else ())}}
        around = Around(self.policy, self.role.protects, self.declared, self.unique, self.wide)
        if isinstance(query, exp.Union) and not query.args.get("distinct"):
            parts = (query.this, query.expression)
            widths = [len(list(output_columns(part, visible, self.policy))) for part in parts]
            return united([fanned_out(self._query(part, visible), self.declared) for part in parts], widths, around)
        if not isinstance(query, exp.Select):
            raise Unsupported(
                "private rows can only pass through SELECT … FROM … WHERE …",
                because="rows-pass-through",
                hint="Aggregate each query by itself, and put the answers together.",
            )
        relation, t = self._of_select(query, visible)
        if is_grouped(query):
            return per_unit(fanned_out(relation, self.declared), t, query, around)
        if windows_of(query):
            return windowed(fanned_out(relation, self.declared), t, query, around)
        return replace(relation, columns=_outputs(query, t))

    def _join(
        self, relation: Relation, names: Names, join: exp.Join, ctes: Mapping[str, exp.CTE]
    ) -> tuple[Relation, Names]:
        return self._attach(relation, names, self._item(join.this, ctes), join, ctes)

    def _attach(
        self,
        relation: Relation,
        names: Names,
        other: tuple[Relation, str],
        join: exp.Join,
        ctes: Mapping[str, exp.CTE],
    ) -> tuple[Relation, Names]:
        """Return the relation joined with another one, and what names then mean."""
        right, alias = other
        side = Join.LEFT if is_right(join) else join_side(join)
        if side is Join.LEFT:
            require_left(relation, right)
            require_plain(right)
        right = renumbered(right, len(relation.sources), optional=side is Join.LEFT)
        both_sides = self._names({**names.tables, alias: right.columns})
        t = translator(both_sides, self.constants, self.facts_of, partial(self._public, ctes))
        on = _condition(t, join, names, right.columns)
        return (left_joined if side is Join.LEFT else inner_joined)(relation, right, on), both_sides


def _condition(t: Translator, join: exp.Join, left: Names, right: Mapping[str, Expr]) -> Expr:
    """Return the condition of a join; USING takes the one column of each side that has a name."""
    on, using = join.args.get("on"), join.args.get("using")
    if not using:
        return TRUE if on is None else checked(t, on)
    pairs = {fold(c if isinstance(c, exp.Identifier) else c.this): c for c in using}
    before = left.all()
    named = {name: (t.names.named(before[name]), t.names.named(right[name])) for name in pairs}
    for name, (own, _) in named.items():
        if own.type is SqlType.JSON:
            raise not_as_a_whole(own, exp.column(name))
    return both(*(compare(t, "eq", *named[name], node) for name, node in pairs.items()))


def _outputs(query: exp.Select, t: Translator) -> Mapping[str, Expr]:
    """Return the output columns of a pass-through SELECT; one that can't be translated is left out until it is used."""
    columns: dict[str, Expr] = {}
    for output in query.expressions:
        if isinstance(output, exp.Star):
            columns |= t.names.all()
        else:
            columns[output_name(output)] = passed_on(t, output.unalias())
    return columns
