"""Outer joins that keep public rows, in words that are followed.

FROM trips RIGHT JOIN zones ON c                    →  FROM zones LEFT JOIN trips ON c
FROM zones LEFT JOIN trips ON c WHERE fare > 5      →  FROM zones JOIN trips ON c WHERE fare > 5
riders JOIN (SELECT r.rider, count(*) FROM trips LEFT JOIN riders r ON c GROUP BY r.rider) s ON s.rider = riders.rider
→  riders JOIN (SELECT r.rider, count(*) FROM trips JOIN riders r ON c GROUP BY r.rider) s ON s.rider = riders.rider

Claim: each has the rows that it had. The first is a definition; a row without a partner is NULL in all that is the partner's,
of which no comparison holds; in the third all such rows are in groups that are NULL in what is compared. FULL JOIN of private
rows is in `full_joins`.
"""

from collections.abc import Collection

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import Offered, reads_rows
from dpsql.rewrite.syntax.named.columns import Ctes, item_name
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every, holds

_NEVER_OF_NULL = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike)
_STRICT = (exp.Column, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Cast, exp.Boolean, exp.DataType)
"""Expressions that are NULL if a column in them is, and the others that may stand there."""
_OF_GROUPS = frozenset({"expressions", "from_", "joins", "where", "group", "having", "kind"})


def lead_with_private_rows(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the outer joins of a SELECT to such as are followed; what can't be changed stays."""
    joins, from_ = select.args.get("joins") or [], select.args.get("from_")
    if from_ is None or from_.this.args.get("joins") or not joins or any(join.args.get("using") for join in joins):
        return
    first, side = joins[0], _side(joins[0])
    ours, theirs = (_is_private(item, ctes, policy) for item in (from_.this, first.this))
    if len(joins) == 1 and side == "RIGHT" and ours and not theirs:
        left, right = from_.this, first.this
        from_.set("this", right.copy())
        first.set("this", left.copy())
        first.set("side", "LEFT")
        ours, theirs, side = theirs, ours, "LEFT"
    if len(joins) == 1 and side == "LEFT" and theirs and not ours and _are_needed(select, first.this):
        first.set("side", None)
        first.set("kind", None)


def require_partners(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change LEFT JOIN to JOIN in subqueries of groups that are joined by a column of the partner."""
    for join in select.args.get("joins") or []:
        query = join.this.this if isinstance(join.this, exp.Subquery) else None
        if _side(join) in {"", "LEFT"} and isinstance(query, exp.Select) and _is_private(join.this, ctes, policy):
            theirs = _compared_keys(query, join)
            inside = query.args.get("joins") or [] if theirs else []
            if all(_side(inner) in {"", "LEFT"} for inner in inside):
                for inner in inside:
                    if item_name(inner.this) in theirs:
                        inner.set("side", None)
                        inner.set("kind", None)


def _compared_keys(query: exp.Select, join: exp.Join) -> Collection[str]:
    """Return the tables of whose columns a subquery has groups, and its join compares them."""
    on, alias = join.args.get("on"), join.this.args.get("alias")
    plain = query.args.get("group") is not None and not any(
        value and key not in _OF_GROUPS for key, value in query.args.items()
    )
    if not plain or on is None or alias is None or alias.args.get("columns") or holds(query, exp.Window):
        return ()
    keys = {render(key) for key in query.args["group"].expressions}
    outputs = {output_name(output): output.unalias() for output in query.expressions}
    compared = [side for part in conjuncts_of(on) if isinstance(part, exp.EQ) for side in part.iter_expressions()]
    own = [
        side for side in compared if isinstance(side, exp.Column) and fold(side.args.get("table")) == fold(alias.this)
    ]
    values = [value for side in own if isinstance(value := outputs.get(fold(side.this)), exp.Column)]
    return {fold(value.args.get("table")) for value in values if render(value) in keys}


def _side(join: exp.Join) -> str:
    return str(join.args.get("side") or "").upper()


def _is_private(item: exp.Expr, ctes: Ctes, policy: Policy) -> bool:
    return reads_rows(exp.Select(from_=exp.From(this=item.copy())), ctes, policy)


def _are_needed(select: exp.Select, item: exp.Expr) -> bool:
    """Return whether WHERE keeps no row that has none of an element of FROM."""
    where = select.args.get("where")
    theirs = Offered.of(exp.Select(from_=exp.From(this=item.copy())))
    return where is not None and any(_never_of_null(part, theirs) for part in conjuncts_of(where.this))


def _never_of_null(part: exp.Expr, theirs: Offered) -> bool:
    """Return whether a condition is not true where all columns of a table are NULL: it compares something of its."""
    sides = list[exp.Expr]()
    while isinstance(part, (exp.Paren, exp.Or)):
        sides += [part.expression] if isinstance(part, exp.Or) else []
        part = part.this
    if sides:
        return all(_never_of_null(side, theirs) for side in (part, *sides))
    if isinstance(part, exp.Is):
        given = bool(part.args.get("negate")) and isinstance(part.expression, exp.Null)
        return given and _is_strict(part.this) and _reads(part.this, theirs)
    compared = list(part.iter_expressions()) if isinstance(part, _NEVER_OF_NULL) else []
    if any(isinstance(operand, exp.All) or str(operand.this).upper() == "ALL" for operand in compared):
        return False  # of no values at all it is true, for any value that is compared with them
    return any(_is_strict(operand) and _reads(operand, theirs) for operand in compared)


def _is_strict(node: exp.Expr) -> bool:
    """Return whether an expression is NULL where any column in it is."""
    if not isinstance(node, _STRICT):
        return False
    return isinstance(node, (exp.Column, exp.Literal, exp.DataType)) or all(map(_is_strict, node.iter_expressions()))


def _reads(node: exp.Expr, theirs: Offered) -> bool:
    return any(map(theirs.has, every(node, exp.Column)))
