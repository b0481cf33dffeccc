"""UNION, INTERSECT and EXCEPT of rows that say whose they are, in words that keep whose they are.

SELECT rider FROM a UNION SELECT rider FROM b
→  SELECT DISTINCT rider FROM (SELECT rider FROM a UNION ALL SELECT rider FROM b)
SELECT rider FROM a INTERSECT SELECT rider FROM b
→  SELECT a.rider FROM (SELECT DISTINCT rider FROM a) AS a JOIN (SELECT DISTINCT rider FROM b) AS b ON a.rider = b.rider
SELECT rider FROM a EXCEPT SELECT rider FROM b
→  the same with LEFT JOIN, WHERE b.rider IS NULL
SELECT paid FROM a UNION SELECT zone FROM zones
→  SELECT DISTINCT paid FROM a UNION SELECT zone FROM zones: each part is an answer

A row that is in both parts would be nobody's own if it did not name its unit: so one column has to be the unit. Nothing is
decided here: `translate` follows whose the rows are as in any statement that is written like that.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of
from dpsql.rewrite.syntax.named.units import output_columns
from dpsql.rewrite.syntax.read.trees import every

_PLAIN = frozenset({"with_", "expressions", "from_", "joins", "where"})
_FIRST, _SECOND = "first part", "second part"


def put_lists_below(select: exp.Select, ctes: Mapping[str, exp.CTE], policy: Policy) -> None:
    """Put such operations in `x IN (…)` below a query of their own: x IN (SELECT rider FROM (… UNION …))."""
    where = select.args.get("where")
    for among in every(where, exp.In) if where is not None else ():
        query = among.args.get("query")
        while isinstance(query, exp.Subquery):
            query = query.this
        # A list in a subquery is that subquery's: it comes when its own SELECT does.
        if isinstance(query, exp.SetOperation) and among.parent_select is select:
            columns = list(output_columns(query, ctes, policy))
            if len(columns) == 1 and columns[0][1]:
                below = _select([exp.column(columns[0][0], "list", quoted=True)], _subquery(query.copy(), "list"))
                among.set("query", exp.Subquery(this=below))


def make_distinct(node: exp.SetOperation, ctes: Mapping[str, exp.CTE], policy: Policy) -> None:
    """Let parts be SELECT DISTINCT that are lists of private values: what they say is the same, as often as they say it."""
    # UNION, INTERSECT and EXCEPT ask of a row only whether it is there, so that DISTINCT within a part changes nothing. It
    # makes the part a list of groups, which can be released, where it was rows of people, which can't.
    if not node.args.get("distinct"):
        return
    for part in (node.this, node.expression):
        inner = part
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        said = {key for key, value in inner.args.items() if value}
        plain = isinstance(inner, exp.Select) and "expressions" in said and said <= _PLAIN
        if not plain or aggregates_of(inner) or any(unit for _, unit in output_columns(inner, ctes, policy)):
            continue
        if reads_rows(inner, ctes, policy):
            inner.set("distinct", exp.Distinct())


def rows_of_units(node: exp.SetOperation, ctes: Mapping[str, exp.CTE], policy: Policy) -> exp.Select | None:
    """Return what stands for an operation without repetition on rows of which a column is the unit; it takes the parts."""
    parts = [list(output_columns(part, ctes, policy)) for part in (node.this, node.expression)]
    names = [name for name, _ in parts[0]]
    owned = any(a and b for (_, a), (_, b) in zip(*parts, strict=False))
    if (
        not node.args.get("distinct")
        or not owned
        or len({len(part) for part in parts}) > 1
        or len({*names}) < len(names)
    ):
        return None
    # SELECT DISTINCT "union".rider FROM (SELECT rider FROM a UNION ALL SELECT rider FROM b) AS "union"
    if isinstance(node, exp.Union):
        every = exp.Union(this=node.this, expression=node.expression, distinct=False)
        return _with(node, _distinct(names, every, "union"))
    # A second column may be NULL in both parts, which INTERSECT and EXCEPT take for equal, and an equation does not. A unit
    # that is NULL is nobody, whose rows count on neither way.
    if len(names) > 1 or not isinstance(node, (exp.Intersect, exp.Except)):
        return None
    (name,), ((other, _),) = names, parts[1]
    first, second = exp.column(name, _FIRST, quoted=True), exp.column(other, _SECOND, quoted=True)
    beside = exp.Join(
        this=_subquery(_distinct([other], node.expression, "rows"), _SECOND),
        on=exp.EQ(this=first.copy(), expression=second),
    )
    made = _select([first], _subquery(_distinct([name], node.this, "rows"), _FIRST))
    made.set("joins", [beside])
    # Of the rows of the first part that found no row of the second, all of whose columns are then NULL.
    if isinstance(node, exp.Except):
        beside.set("side", "LEFT")
        made.set("where", exp.Where(this=exp.Is(this=second.copy(), expression=exp.Null())))
    return _with(node, made)


def _distinct(names: Sequence[str], query: exp.Expr, alias: str) -> exp.Select:
    made = _select([exp.column(name, alias, quoted=True) for name in names], _subquery(query, alias))
    made.set("distinct", exp.Distinct())
    return made


def _select(columns: Sequence[exp.Expr], source: exp.Expr) -> exp.Select:
    return exp.Select(expressions=list(columns), from_=exp.From(this=source))


def _subquery(query: exp.Expr, alias: str) -> exp.Subquery:
    while isinstance(query, exp.Subquery):
        query = query.this
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def _with(node: exp.SetOperation, made: exp.Select) -> exp.Select:
    made.set("with_", node.args.get("with_"))
    return made
