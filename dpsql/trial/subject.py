"""The facts that a trial has of the engine that it stands for: taken when the engine was opened, and no more.

A trial never asks the records' engine: it works while that can't be reached.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import sqlglot

from dpsql.engines.base import Engine
from dpsql.policy.model import Policy
from dpsql.rewrite.analysis.declared_facts import PublicRows
from dpsql.rewrite.emit.kept_columns import KeptColumns
from dpsql.trial.heavy_apart import KeptUnits
from dpsql.trial.records import MadeUpRecords, made_up_records
from dpsql.trial.second_reading import UnitTables


@dataclass(frozen=True, slots=True)
class TrialSubject:
    """An engine's names, types and what it keeps; the public rows; and databases that are made up for its policy."""

    policy: Policy
    public: PublicRows
    types: Mapping[str, Mapping[str, str]]
    """By table the engine's types of the declared columns."""
    named: Callable[[str], str] = field(repr=False)
    kept: Callable[[str], KeptColumns] = field(repr=False)
    records: Sequence[MadeUpRecords] = field(repr=False)
    language: str = ""
    """The parser's name for the engine's SQL."""

    @classmethod
    def of(cls, policy: Policy, public: PublicRows, engine: Engine, language: str = "") -> Self:
        """Take the facts of an engine that has just been opened, and whose SQL the parser knows by this name."""
        types, unique, names, kept = {}, {}, {}, {}
        for name, table in policy.tables.items():
            stored_types = engine.columns(name)
            types[name] = {column: stored_types[column] for column in table.columns}
            unique[name] = engine.unique_keys(name)
            names[name], kept[name] = engine.named(name), engine.kept(name)
        records = made_up_records(policy, public, unique)
        return cls(policy, public, types, names.__getitem__, kept.__getitem__, records, language)

    def unit_tables(self, kind: str) -> UnitTables:
        """Return whose rows the engine's tables have, for a kind of units, and what it keeps of heavy ones."""
        owners: dict[str, str | None] = {}
        kept: dict[str, KeptUnits] = {}
        unique: dict[str, list[str]] = {}
        for name, table in self.policy.tables.items():
            bound = table.units.get(kind)
            if table.public:
                owners[own := self._read(self.named(name))] = None
                # A join by such a column finds one public row at most, and makes no two rows of one. Seen on the rows
                # themselves, that were read when the engine was opened; of texts it would depend on how the engine
                # compares them.
                rows_of = {c.name: self.public[name][c.name] for c in table.columns.values() if c.type.is_integer}
                unique[own] = [column for column, values in rows_of.items() if len(set(values)) == len(values)]
            elif bound is not None and bound.through is None:
                owners[self._read(self.named(name))] = bound.column
                if (rows := self.kept(name).heavy_rows.get(bound.column)) is not None:
                    in_full = self._read(rows.in_full)
                    owners[in_full], kept[in_full] = bound.column, KeptUnits(rows, bound.column)
        return UnitTables(owners, kept, unique)

    def _read(self, named: str) -> str:
        """Return a table's name as the parser writes it."""
        read = sqlglot.parse_one(f"SELECT 1 FROM {named}", dialect=self.language)  # noqa: S608  # a name of the engine's
        return str(read.args["from_"].this.sql())
