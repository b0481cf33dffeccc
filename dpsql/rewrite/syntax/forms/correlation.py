"""The ties of a subquery to the row beside it: equations of something of its own and something of the row's.

(SELECT avg(fare) FROM trips s WHERE s.rider = t.rider AND s.late)  →  s.rider = t.rider, and s.late by itself
"""

from dataclasses import dataclass

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.columns import Ctes, fold, tables_in_from
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.syntax.read.trees import every


@dataclass(frozen=True, slots=True)
class CorrelatedQuery:
    """A subquery: what of its own equals what of the row, its other conditions, and whether it reads private rows."""

    pairs: tuple[tuple[exp.Expr, exp.Expr], ...]
    own: tuple[exp.Expr, ...]
    private: bool

    def where(self) -> exp.Where | None:
        """Return what it says by itself, as its WHERE."""
        return exp.Where(this=exp.and_(*(part.copy() for part in self.own), copy=False)) if self.own else None


@dataclass(frozen=True, slots=True)
class OfferedTables:
    """The tables that a SELECT's FROM offers."""

    tables: frozenset[str]

    @classmethod
    def of(cls, select: exp.Select) -> "OfferedTables":
        """Build for a SELECT."""
        return cls(tables_in_from(select))

    def has(self, column: exp.Column) -> bool:
        """Return whether a column is one of theirs."""
        return fold(column.args.get("table")) in self.tables

    def outer(self, node: exp.Expr) -> bool:
        """Return whether anything in it belongs to a query around."""
        return any(not self.has(column) for column in every(node, exp.Column))

    def pair(self, part: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
        """Return both sides of an equation of something inside and something outside."""
        if not isinstance(part, exp.EQ) or every(part, exp.Query):
            return None
        # s.rider = t.rider is one either way round. s.fare + t.tip = 3 has both on one side, and ties nothing that could be
        # grouped by.
        for side, other in ((part.this, part.expression), (part.expression, part.this)):
            inside, outside = every(side, exp.Column), every(other, exp.Column)
            if inside and outside and not self.outer(side) and not any(map(self.has, outside)):
                return side, other
        return None


def split_correlation(inner: exp.Select, select: exp.Select, ctes: Ctes, policy: Policy) -> CorrelatedQuery | None:
    """Return what ties a subquery to the row, and what it says by itself; None where that can't be told apart."""
    names = OfferedTables.of(inner)
    where, pairs, own = inner.args.get("where"), [], []
    for part in conjuncts_of(where.this) if where is not None else ():
        pair = names.pair(part)
        if pair is not None:
            pairs.append(pair)
        # Such as s.day < t.day: which rows of the subquery belong to a row is no equation then, and no GROUP BY can prepare
        # them.
        elif names.outer(part) or part.find(exp.Query):
            return None
        else:
            own.append(part)
    rest = [*inner.expressions, inner.args.get("having"), inner.args.get("group"), *(inner.args.get("joins") or ())]
    if any(names.outer(clause) or every(clause, exp.Query) for clause in rest if clause is not None):
        return None
    ours = OfferedTables.of(select)
    if any(ours.outer(outside) for _, outside in pairs):
        return None
    return CorrelatedQuery(tuple(pairs), tuple(own), reads_rows(inner, ctes, policy))


def reads_rows(inner: exp.Expr, ctes: Ctes, policy: Policy) -> bool:
    """Return whether there is anything protected in a subquery, by any name."""
    pending: list[exp.Expr] = [inner]
    # A query of WITH RECURSIVE reads itself: each name is followed once.
    seen: set[str] = set()
    while pending:
        for table in every(pending.pop(), exp.Table):
            name = fold(table.this)
            if not table.args.get("db") and name in ctes:
                if name not in seen:
                    seen.add(name)
                    pending.append(ctes[name].this)
            elif policy.protects(name):
                return True
    return False
