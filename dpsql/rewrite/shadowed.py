"""Functions of one column with few possible values: the shadow evaluates them value by value.

The engine sees only the resulting map, so that every engine has PostgreSQL's own semantics.
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import Value
from dpsql.rewrite.constant import safe_for_shadow
from dpsql.rewrite.context import Handler, Translator, refused
from dpsql.rewrite.expr import Apply, Const, Expr
from dpsql.rewrite.literal import parse_value
from dpsql.rewrite.names import position
from dpsql.rewrite.oracle import TYPES

MAX_VALUES = 10_000


def through_shadow(t: Translator, node: exp.Expr) -> Expr:
    """Evaluate a function of one column with few values on the shadow, value by value; the engine sees the result."""
    columns = list(node.find_all(exp.Column))
    inner = {t.names.find(column) for column in columns}
    if len(inner) != 1 or not safe_for_shadow(node):
        raise refused(node)
    (argument,) = inner
    domain = t.known(argument).values
    if domain is None:
        raise Unsupported(
            f"{node.sql('postgres')[:80]} needs a column whose possible values are declared",
            hint="The owner of the data can declare `values: […]` for the column.",
            position=position(node),
        )
    copy = exp.Paren(this=node.copy())
    for column in list(copy.find_all(exp.Column)):
        column.replace(exp.column("x"))
    return mapped(t, argument, domain, copy)


def mapped(t: Translator, argument: Expr, domain: tuple[Value, ...], node: exp.Expr) -> Expr:
    """Return the map from each value of `domain` to what the shadow makes of it; `node` is in terms of a column `x`."""
    if len(domain) > MAX_VALUES:
        raise Unsupported(
            f"{node.sql('postgres')[:80]} is over {len(domain):,} possible values, the limit is {MAX_VALUES:,}"
        )
    texts, type_name = t.constants.oracle.over(t.constants.bound(node), domain, argument.type)
    type_ = TYPES.get(type_name)
    if type_ is None:
        raise refused(node)
    results = tuple(None if text is None else parse_value(text, type_) for text in texts)
    return Apply("map", (argument, *(Const(v, argument.type) for v in domain)), type_, results)


SHADOWED: Mapping[type[exp.Expr], Handler] = dict.fromkeys(
    (exp.RegexpLike, exp.RegexpILike, exp.Substring, exp.Trim, exp.StrPosition, exp.DPipe, exp.Escape), through_shadow
)
