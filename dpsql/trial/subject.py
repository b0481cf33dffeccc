"""What a trial knows of the engine that it stands for: facts that were taken when the engine was opened, and no more.

A trial never asks the records' engine: it works while that can't be reached.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import sqlglot

from dpsql.engines.base import Engine
from dpsql.policy.model import Policy
from dpsql.rewrite.analysis.joined import PublicRows
from dpsql.rewrite.emit.kept import KeptColumns
from dpsql.trial.records import MadeUpRecords, made_up_records


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
    """What the parser calls the engine's SQL."""

    @classmethod
    def of(cls, policy: Policy, public: PublicRows, engine: Engine, language: str = "") -> Self:
        """Take the facts of an engine that has just been opened, and whose SQL the parser knows by this name."""
        types, unique, names, kept = {}, {}, {}, {}
        for name, table in policy.tables.items():
            found = engine.columns(name)
            types[name] = {column: found[column] for column in table.columns}
            unique[name] = engine.unique_keys(name)
            names[name], kept[name] = engine.named(name), engine.kept(name)
        records = made_up_records(policy, public, unique)
        return cls(policy, public, types, names.__getitem__, kept.__getitem__, records, language)

    def owned_tables(self, kind: str) -> Mapping[str, str | None]:
        """Return the engine's names of tables, plainly written, with the column that names units of a kind; None: public.

        Tables whose rows are somebody's through other tables are not among them.
        """
        found: dict[str, str | None] = {}
        for name, table in self.policy.tables.items():
            read = f"SELECT 1 FROM {self.named(name)}"  # noqa: S608  # a name of the engine's
            written = sqlglot.parse_one(read, dialect=self.language).args["from_"].this.sql()
            bound = table.units.get(kind)
            if table.public:
                found[written] = None
            elif bound is not None and bound.through is None:
                found[written] = bound.column
        return found
