"""The value of an expression for a row that LEFT JOIN has found no partner for: all columns of the joined table are NULL.

coalesce(t.fare, 0)                        →  0
CASE WHEN t.paid = 'card' THEN 1 ELSE 0 END →  0
t.fare * 2                                 →  NULL
z.size * t.fare, t.fare IS NOT DISTINCT FROM z.size  →  not known
"""

from enum import Enum
from fractions import Fraction

from sqlglot import exp

from dpsql.rewrite.syntax.forms.correlation import Offered
from dpsql.rewrite.syntax.named.aggregate_names import function_name

Known = Fraction | str | bool | None
"""A value that follows; None is NULL."""

_STRICT = (
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Cast, exp.Distinct, exp.Not),
    *(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ, exp.Like, exp.ILike),
)
"""What is NULL where a part of it is."""


_STRICT_FUNCTIONS = frozenset(
    """abs btrim ceil ceiling date_part date_trunc exp extract floor initcap left length ln lower ltrim mod power replace
    right round rtrim sign split_part sqrt substr substring timezone to_char trunc upper""".split()
)
"""PostgreSQL's that are NULL where an argument is: `proisstrict` in its catalogue."""


class Unknown(Enum):
    """What does not follow."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


def value_of_missing(node: exp.Expr, missing: Offered) -> Known | Unknown:
    """Return what an expression is where the columns of some tables are NULL."""
    match node:
        case exp.Paren():
            return value_of_missing(node.this, missing)
        case exp.Column():
            return None if missing.has(node) else UNKNOWN
        case exp.Literal():
            return str(node.this) if node.is_string else Fraction(str(node.this))
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Anonymous() if function_name(node) == "coalesce":
            given = (value_of_missing(part, missing) for part in node.expressions)
            return next((value for value in given if value is not None), None)
        case exp.Anonymous() if function_name(node) in _STRICT_FUNCTIONS:
            return None if any(value_of_missing(part, missing) is None for part in node.expressions) else UNKNOWN
        case exp.Case() if node.this is None:
            return _of_case(node, missing)
        case exp.Is() if isinstance(node.expression, exp.Null):
            value = value_of_missing(node.this, missing)
            return value if value is UNKNOWN else value is None
        case exp.And() | exp.Or():
            values = [value_of_missing(side, missing) for side in (node.this, node.expression)]
            deciding = isinstance(node, exp.Or)
            return (
                deciding
                if deciding in values
                else UNKNOWN
                if UNKNOWN in values
                else None
                if None in values
                else not deciding
            )
        case exp.Between() | exp.In() if not node.args.get("query"):
            return None if value_of_missing(node.this, missing) is None else UNKNOWN
        case _ if isinstance(node, _STRICT):
            return _of_strict(node, missing)
        case _:
            return UNKNOWN


def _of_case(node: exp.Case, missing: Offered) -> Known | Unknown:
    for branch in node.args["ifs"]:
        holds = value_of_missing(branch.this, missing)
        if holds is UNKNOWN:
            return UNKNOWN
        if holds is True:
            return value_of_missing(branch.args["true"], missing)
    default = node.args.get("default")
    return None if default is None else value_of_missing(default, missing)


def _of_strict(node: exp.Expr, missing: Offered) -> Known | Unknown:
    parts = [part for part in (node.this, node.args.get("expression"), *node.expressions) if isinstance(part, exp.Expr)]
    values = [value_of_missing(part, missing) for part in parts]
    if None in values:
        return None
    number = isinstance(node, exp.Cast) and isinstance(values[0], Fraction)
    return values[0] if number and not node.args["to"].expressions else UNKNOWN
