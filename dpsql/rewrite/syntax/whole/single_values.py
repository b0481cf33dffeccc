"""The queries in a query, or in what is written around one, that stand for one value each.

SELECT count(*) / (SELECT n FROM answer)        VALUES ((SELECT count(*) …))        UPDATE kept SET n = (SELECT count(*) …)
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpsql.lexer.tokens import tokens
from dpsql.rewrite.syntax.named.columns import outer_columns
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.released_rows import Released
from dpsql.rewrite.syntax.whole.single_row import several_rows

_TESTS = frozenset({"all", "any", "array", "exists", "some"})
"""The readers of a list of values, where it is written with more parentheses than are needed."""
_PLACES: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.From: frozenset({"this"}), exp.Join: frozenset({"this"}), exp.Lateral: frozenset({"this"}),
    exp.In: frozenset({"query"}), exp.Exists: frozenset({"this"}), exp.Any: frozenset({"this"}),
    exp.All: frozenset({"this"}), exp.CTE: frozenset({"this"}), exp.Subquery: frozenset({"this"}),
}  # fmt: skip
"""Where a query in a query is no single value."""
_BEFORE_TABLES = _TESTS | {
    "as",
    "except",
    "from",
    "in",
    "intersect",
    "join",
    "lateral",
    "materialized",
    "union",
    "using",
}
"""Words before a parenthesis that a table, or a list, stands in."""


def values_of_several_rows(query: exp.Expr, released: Released) -> Iterator[exp.Subquery]:
    """Yield the queries in a query that stand for one value each, and may have more than one row."""
    for subquery in every(query, exp.Subquery):
        if _is_value(subquery) and several_rows(subquery, released):
            yield subquery


def has_values(query: exp.Expr) -> bool:
    """Return whether there is a query in a query that stands for one value."""
    return any(_is_value(subquery) for subquery in every(query, exp.Subquery))


def _is_value(node: exp.Subquery) -> bool:
    parent = node.parent
    match parent:
        case None | exp.SetOperation():
            return False
        case exp.Select():
            return node.arg_key == "expressions"
        case exp.Anonymous():
            return str(parent.this).lower() not in _TESTS
        case _:
            return node.arg_key not in _PLACES.get(type(parent), ())


def is_written_value(before: str, behind: str) -> bool:
    """Return whether a query stands for one value between these texts, as far as words tell."""
    words = [token.word for token in tokens(before)]
    if not words or words[-1] != "(":
        return False
    while words and words[-1] == "(":
        words.pop()
    if words and words[-1] == ",":  # another table, if it is given a name; another value else
        rest = [token.word for token in tokens(behind)][1:2]
        return not rest or rest[0] in (",", ")", "from", "where", "returning", ";")
    return not words or words[-1] not in _BEFORE_TABLES


def depends_on_nothing(query: exp.Subquery, asked: exp.Query) -> bool:
    """Return whether a query in one that is `asked` has the same rows wherever it stands: a session may try it by itself."""
    ctes = {fold(cte.args["alias"].this) for cte in every(asked, exp.CTE)}
    read = {fold(table.this) for table in every(query, exp.Table) if not table.args.get("db")}
    return not ctes & read and not outer_columns(query)
