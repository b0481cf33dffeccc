"""The declared tables beside the engine's: what is missing there, and what has a type that can't be read safely."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from dpsql.engines.base import Engine, NoEngine
from dpsql.engines.kinds import engine_labels, fits_column, identifies, unique_as_declared
from dpsql.errors import ConfigError, EngineAway, EngineNotReady
from dpsql.policy.model import Column, Policy, SqlType, Table, UniqueKey, is_unique
from dpsql.question import Cancellation
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.columns import quoted

_PATIENCE = 30.0


class DescribedTables(Protocol):
    """What has to be known of tables to compare them with what is declared: an `Engine` knows it."""

    @property
    def dialect(self) -> Dialect:
        """Return the SQL whose types they have."""

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with their types; empty if there is no such table."""

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return the keys that are unique."""


def check_tables(policy: Policy, engine: Engine) -> None:
    """See that the engine has every declared table and column, with a type that can be read as the declared one.

    Raises:
        ConfigError: with a line for each mistake: file, table, column, and both types.
    """
    mistakes = misfits_of(policy, engine)
    if mistakes:
        raise ConfigError("\n".join(mistakes.values()), hint="Correct the schema files, or the tables.")
    for table in policy.tables.values():
        _see_that_it_is_readable(table, engine)


def misfits_of(policy: Policy, engine: DescribedTables) -> dict[str, str]:
    """Return the tables that do not fit what is declared of them, each with a line for each mistake."""
    lines = {name: "\n".join(_mistakes(table, policy.tables, engine)) for name, table in policy.tables.items()}
    return {name: text for name, text in lines.items() if text}


def _see_that_it_is_readable(table: Table, engine: Engine) -> None:
    """Have a question about all declared columns made ready, and not run."""
    columns = ", ".join(quoted(name) for name in table.columns)
    probe = f"SELECT {columns} FROM {engine.named(table.name)} WHERE 1 = 0"  # noqa: S608
    try:
        with engine.ready([probe], timeout=_PATIENCE, cancellation=Cancellation()):
            pass
    except EngineNotReady:
        raise ConfigError(
            f'{table.file}: the engine does not let dpsql read table "{table.name}"', hint="Its reason stands above."
        ) from None
    except EngineAway:
        raise NoEngine("the engine can't be asked", hint="Its reason stands above.") from None


def _mistakes(table: Table, tables: Mapping[str, Table], engine: DescribedTables) -> Iterator[str]:
    types = engine.columns(table.name)
    if not types:
        yield f'{table.file}: the engine has no table "{table.name}"'
        return
    units = {name for bound in table.units.values() for name in bound.columns}
    for column in table.columns.values():
        kind = types.get(column.name)
        named = f'{table.file}: column "{column.name}" of table "{table.name}"'
        if kind is None:
            yield f"{named}: the engine has no such column"
        elif not fits_column(column, kind, engine.dialect):
            declared = f"{column.declared} with values 0 and 1" if column.in_numbers else column.declared
            yield f"{named} is declared {declared}, the engine has {kind}{_advice(column, kind, engine.dialect)}"
        elif column.name in units and not identifies(column.type, kind, engine.dialect):
            why = "which takes different texts for one" if column.type.is_text else "which rounds"
            yield f"{named} identifies a privacy unit, but the engine has {kind}, {why}"
        else:
            yield from (f"{named} has no {label!r} in the engine's enumeration" for label in _unknown(column, kind))
    yield from _not_enforced(table, tables, engine)


def _unknown(column: Column, kind: str) -> list[str]:
    """Return the declared values that no row can have, since the engine's enumeration lacks them: spelt wrong, mostly."""
    labels = engine_labels(kind)
    return [] if labels is None else [str(value) for value in column.values or () if str(value) not in labels]


def _not_enforced(table: Table, tables: Mapping[str, Table], engine: DescribedTables) -> Iterator[str]:
    """Yield a line for each unit through a reference to what may be several rows: a row would be several units'."""
    for kind, bound in table.units.items():
        target = bound.through
        if target is not None and not is_unique(target.columns, _unique(tables[target.table], engine)):
            key = target.text
            yield (
                f'{table.file}: the unit "{kind}" of table "{table.name}" goes through {key}, which no constraint of the '
                f"engine keeps unique; declare PRIMARY KEY or UNIQUE there"
            )


def _unique(table: Table, engine: DescribedTables) -> frozenset[UniqueKey]:
    return unique_as_declared(table, engine.unique_keys(table.name), engine.columns)


def _advice(column: Column, kind: str, dialect: Dialect) -> str:
    declared = column.type
    if declared is SqlType.JSON:
        return f"; {dialect.stored_types.json}"
    if declared.is_number and not declared.is_integer and kind == "numeric":
        return " without a length, which may be beyond double precision; declare it numeric"
    if declared is SqlType.BOOLEAN and "int" in kind.lower():
        return "; if those are 0 and 1, declare `values: [0, 1]` for it"
    return ""
