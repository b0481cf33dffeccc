"""EXISTS of a unit's rows that compare with the row beside them, where its truth is a value: by the largest, or the smallest.

SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider AND s.fare > r.fare)) FROM rides r
→  … FILTER (WHERE coalesce((SELECT max(s.fare) FROM rides s WHERE s.rider = r.rider) > r.fare, false))

Claim: some value is above another if the largest is, and below it if the smallest is; NULL is neither, and no row has no
largest. So EXISTS is true where the comparison is, and false everywhere else. The rules are those of the subquery, which
stands for one value. In a condition that rows must meet EXISTS is followed by itself.
"""

from collections.abc import Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import Offered, reads_rows
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.columns import Ctes
from dpsql.rewrite.syntax.named.existence import conjuncts_of, existences
from dpsql.rewrite.syntax.named.units import groups_by_unit
from dpsql.rewrite.syntax.read.trees import every

_EXTREME: dict[type[exp.Expr], Sequence[str]] = {
    exp.GT: ["max"],
    exp.GTE: ["max"],
    exp.LT: ["min"],
    exp.LTE: ["min"],
    exp.NEQ: ["min", "max"],
}
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.NEQ: exp.NEQ,
}  # fmt: skip
_CLAUSES = frozenset({"expressions", "from_", "joins", "where"})


def compare_extremes(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the EXISTS of one SELECT that are values."""
    tests = every(select, exp.Exists)
    if not tests:
        return
    where = select.args.get("where")
    followed = (
        {id(node) for test in existences(where.this)[1] for node in every(test.node, exp.Exists)} if where else set()
    )
    for test in tests:
        inner = test.this
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        if id(test) in followed or not isinstance(inner, exp.Select) or not reads_rows(inner, ctes, policy):
            continue
        if (made := _compared(inner, ctes, policy)) is not None:
            test.replace(made)


def _compared(inner: exp.Select, ctes: Ctes, policy: Policy) -> exp.Expr | None:
    """Return the comparison instead of EXISTS, if one of its conditions compares a row's value with one from outside."""
    where, ours = inner.args.get("where"), Offered.of(inner)
    if where is None or any(value and key not in _CLAUSES for key, value in inner.args.items()) or aggregates_of(inner):
        return None  # an aggregate without GROUP BY has a row in any case
    parts = list(conjuncts_of(where.this))
    pairs = [pair for part in parts if (pair := ours.pair(part)) is not None]
    compared = [part for part in parts if ours.pair(part) is None and ours.outer(part)]
    if len(compared) != 1 or not groups_by_unit(inner, [inside for inside, _ in pairs], ctes, policy):
        return None
    (part,) = compared
    sides = _sides(part, ours)
    if sides is None:
        return None
    kind, inside, outside = sides
    rest = [each.copy() for each in parts if each is not part]
    truths = [
        kind(this=_value(inner, rest, name, inside), expression=exp.Paren(this=outside.copy()))
        for name in _EXTREME[kind]
    ]
    return exp.Anonymous(this="coalesce", expressions=[exp.Paren(this=exp.or_(*truths)), exp.false()])


def _sides(part: exp.Expr, ours: Offered) -> tuple[type[exp.Expr], exp.Expr, exp.Expr] | None:
    """Return how something of the inner rows compares with something from outside."""
    kind = type(part)
    if kind not in _EXTREME or every(part, exp.Query):
        return None
    for kind_, side, other in ((kind, part.this, part.expression), (_TURNED[kind], part.expression, part.this)):
        inside, outside = every(side, exp.Column), every(other, exp.Column)
        if inside and outside and not ours.outer(side) and not any(map(ours.has, outside)):
            return kind_, side, other
    return None


def _value(inner: exp.Select, conditions: Sequence[exp.Expr], name: str, of: exp.Expr) -> exp.Expr:
    query = inner.copy()
    query.set("expressions", [exp.alias_(exp.Anonymous(this=name, expressions=[of.copy()]), name, quoted=True)])
    query.set("where", exp.Where(this=exp.and_(*(condition.copy() for condition in conditions))))
    return exp.Subquery(this=query)
