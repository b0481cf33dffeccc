"""The statements that an audit asks of a table: of each kind that a policy has columns for."""

from collections.abc import Iterator

from dpsql.policy.model import Policy, Table
from dpsql.rewrite.emit.columns import quoted

_FEW = 24
"""Different values of a column that an audit groups by at most."""
_NUMBERS = 2
"""How many columns of numbers are asked about."""


def questions_of(policy: Policy, kind: str) -> Iterator[str]:
    """Yield statements about all tables with rows of a unit kind."""
    for table in policy.tables.values():
        if kind in table.units:
            yield from _about(table, kind, policy)


def _about(table: Table, kind: str, policy: Policy) -> Iterator[str]:
    name = policy.asked_as(table.name)
    yield f"SELECT count(*) FROM {name}"  # noqa: S608
    units = table.units[kind].columns
    if table.units[kind].through is None:
        yield f"SELECT count(DISTINCT {quoted(units[0])}) FROM {name}"  # noqa: S608
    others = [column for column in table.columns.values() if column.name not in units and column.references is None]
    numbers = [column for column in others if column.type.is_number and column.bounds is not None]
    for column in numbers[:_NUMBERS]:
        x = quoted(column.name)
        yield f"SELECT sum({x}), count({x}) FROM {name}"  # noqa: S608
        yield f"SELECT avg({x}), variance({x}) FROM {name}"  # noqa: S608
        yield f"SELECT median({x}) FROM {name}"  # noqa: S608
    groups = (column for column in others if column.values is not None and len(column.values) <= _FEW)
    for column in groups:
        summed = f", sum({quoted(numbers[0].name)})" if numbers else ""
        key = quoted(column.name)
        yield f"SELECT {key}, count(*){summed} FROM {name} GROUP BY 1 ORDER BY 1"  # noqa: S608
        break
