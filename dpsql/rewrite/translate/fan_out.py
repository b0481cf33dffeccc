"""Joins that make several rows of one: what a unit may have is weighed after the join, but engines would never end.

JOIN zones ON zones.borough = paid   →  as it is: several zones a row
CROSS JOIN zones                     →  refused, and so is a join with many constants by comparisons alone
"""

from dpsql.errors import Unsupported
from dpsql.rewrite.analysis.joined import equated
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.relation import Relation, Source

_MOST_COMPARED = 1_000
"""Rows of constants that each private row may be compared with, one by one."""


def require_equations(relation: Relation) -> None:
    """Refuse a joined public table, or many constants, unless a column is equal to something of the rows before it.

    Raises:
        Unsupported: each private row would be compared with each of the table's.
    """
    for index, source in enumerate(relation.sources):
        if not source.table.public or source.only_tested or index == 0 or equated(relation, index):
            continue
        match source.table:
            case AwaitedTable():
                pass
            case ConstantTable(rows=rows):
                _check_few(len(rows))
            case _:
                raise _without_equation(source)


def _check_few(rows: int) -> None:
    if rows > _MOST_COMPARED:
        raise Unsupported(
            f"{rows:,} rows of constants are joined without an equation, the limit is {_MOST_COMPARED:,}",
            because="join-without-equation",
            hint="Write ON … = …, or join fewer rows.",
        )


def _without_equation(source: Source) -> Unsupported:
    name, key = source.table.name, source.table.key or next(iter(source.table.columns))
    return Unsupported(
        f'the join with "{name}" must be on its key, or on another of its columns',
        because="join-on-key",
        hint=f"Write … JOIN {name} ON … = {name}.{key}.",
    )
