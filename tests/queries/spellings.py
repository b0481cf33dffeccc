"""The columns of a statement in other spellings that PostgreSQL reads alike: x, rides.x, public.rides.x.

Tools write each column with all that it has: SELECT "public"."trips"."payment_type", count(*) FROM "public"."trips" …
Only columns of tables without an alias have these spellings, and what is named in ORDER BY may be an output.
"""

from collections.abc import Iterator

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.read.parse import parse

SPELLINGS = ("{table}", '"{table}"', "public.{table}", '"public"."{table}"', "taxi.public.{table}")


def spelled(sql: str, policy: Policy, spelling: str) -> str:
    """Return a statement with a table's name before every bare column that is one of it for certain."""
    statement = parse(sql.rstrip().removesuffix(";"), parse_query)
    if statement is None:
        return sql
    places = {place: table for query in statement.queries for place, table in _places(query.tree, policy, query.offset)}
    for place, table in sorted(places.items(), reverse=True):
        sql = sql[:place] + spelling.format(table=table) + "." + sql[place:]
    return sql


def _places(tree: exp.Query, policy: Policy, offset: int) -> Iterator[tuple[int, str]]:
    """Yield where such columns stand, each with the table."""
    made = {cte.alias for cte in tree.find_all(exp.CTE)}
    for select in tree.find_all(exp.Select):
        tables = _tables(select, policy, made)
        for column in select.find_all(exp.Column) if tables else ():
            start = column.this.meta.get("start")
            having = [name for name in tables or () if column.name in policy.tables[name].columns]
            if start is None or column.table or column.parent_select is not select or len(having) != 1:
                continue
            if not _may_be_output(column, select):
                yield offset + start, having[0]


def _tables(select: exp.Select, policy: Policy, made: set[str]) -> list[str] | None:
    """Return the tables in FROM; None where there is anything else, or columns are merged."""
    from_, joins = select.args.get("from_"), select.args.get("joins") or []
    items = [*([from_.this] if from_ is not None else []), *(join.this for join in joins)]
    if any(join.args.get("using") or join.args.get("method") for join in joins):
        return None
    plain = all(
        isinstance(item, exp.Table) and not item.args.get("alias") and not item.args.get("joins") for item in items
    )
    names = [item.name for item in items]
    return names if plain and all(n in policy.tables and n not in made for n in names) else None


def _may_be_output(column: exp.Column, select: exp.Select) -> bool:
    outputs = {output.alias for output in select.expressions if isinstance(output, exp.Alias)}
    return column.name in outputs and any(
        column is inside
        for key in ("order", "group", "distinct")
        if select.args.get(key) is not None
        for inside in select.args[key].find_all(exp.Column)
    )
