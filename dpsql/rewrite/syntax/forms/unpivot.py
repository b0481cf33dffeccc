"""Rows that LATERAL makes of a row's own values, as constants that are joined, and the value that belongs to each of them.

FROM rides r CROSS JOIN LATERAL (VALUES ('fare', r.fare), ('tip', r.tip)) AS x (k, v) … x.k, x.v
→  FROM rides r CROSS JOIN (VALUES ('fare', 0), ('tip', 1)) AS x (k, place) …
   x.k, CASE WHEN x.place = 0 THEN r.fare ELSE r.tip END
FROM rides r CROSS JOIN LATERAL (SELECT r.fare * 2 AS twice) AS x … x.twice  →  FROM rides r … (r.fare * 2)

Claim: these are the same rows, for each row has as many beside it as there are constants. How much of a unit counts is
decided where rows are joined with constants (`relations`).
"""

from collections.abc import Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.named.columns import Ctes, columns_read_of, fold, fresh, output_name
from dpsql.rewrite.syntax.read.trees import holds

_Row = Sequence[exp.Expr]


def join_constants_instead(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the joins of one SELECT over private rows that make rows of values beside them."""
    joins = list[exp.Join](select.args.get("joins") or ())
    for n, join in enumerate(joins):
        if any(str(later.args.get("side") or "").upper() in {"RIGHT", "FULL"} for later in joins[n + 1 :]):
            continue  # which has rows without a row of these, where a constant would be a value
        rows = _rows(join.this)
        if not any(holds(value, exp.Column) for row in rows for value in row) or not reads_rows(select, ctes, policy):
            continue
        on, inner = join.args.get("on"), str(join.args.get("side") or "") == ""
        # LEFT JOIN LATERAL (…) ON true is CROSS JOIN, since there always is a row. With another condition it is not; of an
        # inner join the condition says the same in WHERE.
        free = on is None or (isinstance(on, exp.Boolean) and bool(on.this))
        if (
            any(holds(value, exp.Query) for row in rows for value in row)
            or join.args.get("using")
            or not (free or inner)
        ):
            continue
        if on is not None and not free:
            select.where(on, copy=False)
        join.set("on", None)
        _change(select, join, rows)


def _rows(item: exp.Expr) -> Sequence[_Row]:
    """Return the rows that an element of FROM makes of values; none if it is anything else."""
    inner = item.this if isinstance(item, (exp.Lateral, exp.Table)) else item
    while isinstance(inner, exp.Subquery):
        inner = inner.this
    match inner:
        case exp.Values() if {key for key, value in inner.args.items() if value} <= {"expressions", "alias"}:
            return [output.expressions for output in inner.expressions]
        case exp.Select() if {key for key, value in inner.args.items() if value} == {"expressions"}:
            return [[output.unalias() for output in inner.expressions]]
        case exp.Anonymous() if inner.name.lower() == "unnest" and not item.args.get("ordinality"):
            # unnest(ARRAY[r.fare, r.tip], ARRAY['fare', 'tip'])  →  (r.fare, 'fare'), (r.tip, 'tip'). PostgreSQL fills up the
            # shorter of two arrays with NULL, which is not followed.
            arrays = [output.expressions if isinstance(output, exp.Array) else [] for output in inner.expressions]
            return list(zip(*arrays, strict=True)) if len({len(array) for array in arrays}) == 1 else ()
        case _:
            return ()


def _names(item: exp.Expr, width: int) -> list[str]:
    """Return the names of the columns of what stands in FROM."""
    alias, inner = item.args["alias"], item.this
    while isinstance(inner, exp.Subquery):
        inner = inner.this
    given = [fold(identifier) for identifier in alias.args.get("columns") or ()]
    outputs = [output_name(output) for output in inner.expressions] if isinstance(inner, exp.Select) else []
    return (given + (outputs or [f"column{n + 1}" for n in range(width)])[len(given) :])[:width]


def _change(select: exp.Select, join: exp.Join, rows: Sequence[_Row]) -> None:
    item = join.this
    names, table = _names(item, len(rows[0])), fold(item.args["alias"].this)
    place = exp.column(fresh("place", {*names}), table, quoted=True)
    values = {
        name: _one_of(place, [row[n] for row in rows])
        for n, name in enumerate(names)
        if len(rows) == 1 or any(holds(row[n], exp.Column) for row in rows)
    }
    for column in list(columns_read_of(select, table)):
        value = values.get(fold(column.this))
        if value is not None:
            # SELECT x.v  →  SELECT CASE … END AS v: without its alias the output would lose its name.
            named = isinstance(column.parent, exp.Select)
            column.replace(exp.alias_(value.copy(), fold(column.this), quoted=True) if named else value.copy())
    if len(rows) == 1:
        join.pop()
        return
    # What differs by the row's own values is told by the place; the rest are constants, which may be grouped by as they are:
    # ('fare', r.fare), ('tip', r.tip)  →  ('fare', 0), ('tip', 1)
    kept = [n for n, name in enumerate(names) if name not in values]
    listed = [[*(row[n].copy() for n in kept), exp.Literal.number(i)] for i, row in enumerate(rows)]
    columns = [*(exp.to_identifier(names[n], quoted=True) for n in kept), place.this.copy()]
    alias = exp.TableAlias(this=item.args["alias"].this.copy(), columns=columns)
    join.set("this", exp.Values(expressions=[exp.Tuple(expressions=row) for row in listed], alias=alias))
    join.set("side", None)
    join.set("kind", "CROSS")


def _one_of(place: exp.Expr, values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the value that belongs to the row of constants with that place."""
    *before, last = [exp.Paren(this=value.copy()) for value in values]
    if not before:
        return last
    number = (exp.Literal.number(i) for i, _ in enumerate(before))
    tests = [exp.EQ(this=place.copy(), expression=part) for part in number]
    return exp.Case(
        ifs=[exp.If(this=test, true=value) for test, value in zip(tests, before, strict=True)], default=last
    )
