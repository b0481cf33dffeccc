"""The declared tables beside the engine's: what is missing there, and what has another type."""

from collections.abc import Iterator

from dpsql.cli.catalogue import Catalogue
from dpsql.policy.load.scalars import column_type
from dpsql.policy.model import Column, Policy, SqlType, Table


def differences(policy: Policy, catalogue: Catalogue) -> tuple[str, ...]:
    """Return a line for every declaration that the engine's tables do not bear out."""
    return tuple(line for table in policy.tables.values() for line in _table_differences(table, catalogue))


def _table_differences(table: Table, catalogue: Catalogue) -> Iterator[str]:
    found = catalogue.get(table.name)
    if found is None:
        yield f'{table.file}: the engine has no table "{table.name}"'
        return
    for column in table.columns.values():
        kind = found.get(column.name)
        if kind is None:
            yield f'{table.file}: the engine\'s table "{table.name}" has no column "{column.name}"'
        elif not _fits(column, kind):
            yield f'{table.file}: column "{column.name}" is declared {column.declared}, the engine has {kind}'


def _fits(column: Column, kind: str) -> bool:
    """Say whether values of the engine's type can be read as the declared one: integers may be declared wider."""
    try:
        actual = column_type(kind)[0]
    except ValueError:
        return False
    widths = (SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT)
    if actual in widths and column.type in widths:
        return widths.index(actual) <= widths.index(column.type)
    return actual is column.type
