"""Joins that make several rows of one: what a unit may have is weighed after the join, but engines would never end.

JOIN zones ON zones.borough = paid   →  as it is: several zones a row
CROSS JOIN zones                     →  as it is, where the policy's table is known to have few rows; else it is refused

Claim: a unit moves what is measured no further than in a join that has an equation: `owners` counts no row of the table as
found once, so that what a unit may have is weighed after the join, however many rows it came to.
"""

from dpsql.errors import Unsupported
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.joined import equated
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.relation import Relation, Source, ref

_MOST_COMPARED = 1_000
"""Rows of constants that each private row may be compared with, one by one."""


def require_equations(relation: Relation, declared: Declared) -> None:
    """Refuse a joined public table, or many constants, unless a column is equal to something of the rows before it.

    Of a public table, only as many rows as its key has values are known before anything is asked.

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
                known = _rows_of(source, index, declared)
                if known is None or known > _MOST_COMPARED:
                    raise _without_equation(source)


def _rows_of(source: Source, index: int, declared: Declared) -> int | None:
    if source.table.key is None:
        return None
    values = declared.one(ref(index, source.table, source.table.key)).values
    return None if values is None else len(values)


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
