"""USING as the equations that it is, and the names that it gives to a join's columns as the columns that these are.

SELECT j.zone_id FROM trips JOIN zones USING (zone_id) AS j
→  SELECT trips.zone_id FROM trips JOIN zones ON trips.zone_id = zones.zone_id
SELECT j.zone_id FROM trips FULL JOIN zones USING (zone_id) AS j
→  SELECT coalesce(trips.zone_id, zones.zone_id) AS zone_id FROM trips FULL JOIN zones USING (zone_id)

Claim: such a column is the left side's, but the right side's of a RIGHT JOIN, and of a FULL JOIN the one that is not NULL. In
PostgreSQL's words every other column has its table, so that nothing else asks what USING has made one.
"""

from sqlglot import exp

from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.generator import JOINED_AS
from dpsql.rewrite.syntax.read.trees import every


def in_equations(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place; USING of more than two tables, and of FULL JOIN, stays."""
    for join in every(tree, exp.Join):
        holder = join.parent
        if not join.args.get("using") or holder is None or holder.args["joins"][0] is not join:
            continue
        select = holder if isinstance(holder, exp.Select) else holder.find_ancestor(exp.Select)
        first = holder.args["from_"].this if isinstance(holder, exp.Select) else holder
        sides = first.alias_or_name, join.this.alias_or_name
        of_brackets = None if isinstance(holder, exp.Select) else holder.parent
        named = isinstance(of_brackets, exp.Subquery) and of_brackets.args.get("alias")  # whose columns USING decides
        within = first is not holder and first.args.get("joins")
        if named or within or select is None or not all(sides):
            continue
        if join.args.get(JOINED_AS) is not None:
            _put_columns(select, join, sides)
        several = any(other.args.get("using") for other in holder.args["joins"][1:])
        if join.side != "FULL" and join.args.get(JOINED_AS) is None and not several:
            pairs = ([_of(side, column) for side in sides] for column in join.args["using"])
            join.set("on", exp.and_(*(exp.EQ(this=a, expression=b) for a, b in pairs), copy=False))
            join.set("using", None)


def _of(side: str, column: exp.Expr) -> exp.Column:
    return exp.column(column.copy(), table=exp.to_identifier(side, quoted=True))


def _put_columns(select: exp.Select, join: exp.Join, sides: tuple[str, str]) -> None:
    name, shared = fold(join.args[JOINED_AS]), {fold(column) for column in join.args["using"]}
    ours = [column for column in every(select, exp.Column) if fold(column.args.get("table")) == name]
    if any(isinstance(column.this, exp.Star) or fold(column.this) not in shared for column in ours):
        return
    for column in ours:
        both = [_of(side, column.this) for side in sides]
        made: exp.Expr = both[1] if join.side == "RIGHT" else both[0]
        if join.side == "FULL":
            made = exp.Anonymous(this="coalesce", expressions=both)
            if isinstance(column.parent, exp.Select):
                made = exp.Alias(this=made, alias=column.this.copy())
        column.replace(made)
    join.set(JOINED_AS, None)
