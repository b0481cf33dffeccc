"""EXISTS, IN and their kin in WHERE: rows stay by whether others are there, of public tables or of the same unit.

customer NOT IN (SELECT buyer FROM orders WHERE total > 5)
→  not exists: source orders with orders.total > 5 AND customers.customer = orders.buyer
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from dpsql.errors import DpsqlError, Unsupported
from dpsql.rewrite.ir.expr import TRUE, Expr, factored, refs
from dpsql.rewrite.ir.relation import Relation, filtered, renumbered, tested
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.existence import Existence, existences
from dpsql.rewrite.translate.values.comparisons import checked, compare
from dpsql.rewrite.translate.values.context import Translator
from dpsql.rewrite.translate.values.scope_names import Names

Inside = Callable[[exp.Select], tuple[Relation, Names]]
"""Returns what stands in a query's FROM."""
_CLAUSES = ("group", "having", "limit", "offset", "with_", "windows", "qualify", "laterals", "sample")
_NAMES: Mapping[str, str] = {"group": "GROUP BY", "with_": "WITH"}
_JOINED = "Write unit IN (SELECT unit … GROUP BY unit HAVING …), or JOIN (SELECT unit, … GROUP BY unit) AS g ON …"
_INSTEAD: Mapping[str, str] = {"group": _JOINED, "having": _JOINED}


def nothing_in_from() -> Unsupported:
    """Return the error for a query of private rows that names no table."""
    return Unsupported("nothing stands in FROM", because="from-missing", hint="Name the protected table there.")


def where_of(relation: Relation, t: Translator, where: exp.Expr, inside: Inside, behind: int = 0) -> Relation:
    """Return the rows that satisfy a WHERE; `behind` so many other sources stands the relation itself."""
    plain, tests = existences(where)
    followed: list[tuple[Existence, Relation, Expr]] = []
    at = behind + len(relation.sources)
    for test in tests:  # each once: one in another, followed twice, would be followed four times, and so on
        rows = _followed(t, test, inside, at)
        if rows is None:
            plain.append(test.node)
        else:
            followed.append((test, *rows))
            at += len(rows[0].sources)
    if not followed:
        return filtered(relation, _shared_first(relation, t, checked(t, where)))
    for node in plain:
        relation = filtered(relation, checked(t, node))
    for existence in followed:
        relation = _tested(relation, *existence)
    return relation


def _shared_first(relation: Relation, t: Translator, condition: Expr) -> Expr:
    """Return a condition of joined rows with what all sides of an OR share in front, where joins are looked for."""
    if len(relation.sources) == 1:
        return condition
    shared = factored(condition)
    t.facts_of(shared)  # as it now is
    return shared


def _tested(relation: Relation, test: Existence, inside: Relation, condition: Expr) -> Relation:
    rows = tested(relation, inside, condition, negated=test.negated)
    if rows is None:
        raise _refused("LEFT JOIN and NOT EXISTS can't stand in a test for rows of another table")
    return rows


def _followed(t: Translator, test: Existence, inside: Inside, behind: int) -> tuple[Relation, Expr] | None:
    """Return the rows that are looked for, and what they have to satisfy; None where the shadow can answer by itself."""
    select = test.query
    if any(id(node) in t.inner for node in test.node.walk()):
        return None  # it is about released values
    public = t.public(select) is not None
    if public and (select.args.get("from_") is None or aggregates_of(select) or select.args.get("group")):
        return None
    try:
        read = _read(t, test, inside, behind, public=public)
    except DpsqlError as failed:
        if test.left is not None and (public or failed.because == nothing_in_from().because):
            return None  # the shadow may know better
        raise
    if read is None or test.left is None:
        return None if read is None else (read[0], TRUE)
    return read[0], _equal(t, t.expression(test.left), read[1], test)


def _read(t: Translator, test: Existence, inside: Inside, behind: int, *, public: bool) -> tuple[Relation, Expr] | None:
    """Return the rows that are looked for, and their value; None for public rows that are the same for all rows outside."""
    select = test.query
    for clause in _CLAUSES:
        if select.args.get(clause):
            name = _NAMES.get(clause, clause.rstrip("_").upper())
            raise _refused(f"{name} in a test for rows is not supported", _INSTEAD.get(clause))
    relation, names = inside(select)
    relation, names = renumbered(relation, behind), names.behind(behind, t.names)
    within = replace(t, names=names)
    where = select.args.get("where")
    if where is not None:
        relation = where_of(relation, within, where.this, inside, behind)
    if test.left is None:
        return relation, TRUE
    if len(select.expressions) != 1:
        raise _refused("a subquery of IN has one column")
    value = within.expression(select.expressions[0].unalias())
    read = refs(relation.where, value, *(source.on for source in relation.sources))
    return None if public and all(ref.source >= behind for ref in read) else (relation, value)


def _equal(t: Translator, left: Expr, right: Expr, test: Existence) -> Expr:
    """Return the condition of IN that a row has the value on the left; among values that may be NULL, NOT IN is another."""
    if test.negated and (t.facts_of(left).nullable or t.facts_of(right).nullable):
        raise Unsupported(
            "NOT IN among values that may be NULL is not supported",
            because="existence-form",
            hint="Write NOT EXISTS (SELECT … FROM … WHERE …) for it.",
        )
    condition = compare(t, "eq", left, right, test.node)
    t.facts_of(condition)  # refuses what could overflow on some row
    return condition


def _refused(message: str, hint: str | None = None) -> Unsupported:
    return Unsupported(
        message,
        because="existence-form",
        hint=hint or "Write EXISTS or NOT EXISTS (SELECT … FROM … WHERE …), for each table by itself.",
    )
