"""Facts about columns by declaration alone: bounds, domains, and the rows of public tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpsql.errors import InternalError
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.analysis.joined import PublicRows
from dpsql.rewrite.ir.expr import Env, Facts, Ref

_MOST = 4096
"""Columns that are remembered: those of policies stay, and those that statements make come and go."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The public facts about columns."""

    public: Mapping[tuple[str, str], Facts]
    """The facts about every column of every public table, read from its rows."""
    rows: PublicRows = field(default_factory=dict, compare=False, repr=False)
    """These rows, where they are known."""
    _found: dict[tuple[int, str, str, bool], tuple[Column, Facts]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Columns and their facts, by a column's `id`; the column is kept beside, so that no other one gets them."""

    def env(self, columns: Sequence[Ref]) -> Env:
        """Return the facts about these columns."""
        return {ref: self.facts_of(ref) for ref in columns}

    def facts_of(self, ref: Ref) -> Facts:
        """Return the facts about one column."""
        key = id(ref.column), ref.table, ref.name, ref.optional
        entry = self._found.get(key)
        if entry is None:
            if len(self._found) >= _MOST:
                self._found.clear()
            entry = self._found[key] = ref.column, self._one(ref)
        return entry[1]

    def _one(self, ref: Ref) -> Facts:
        column, nullable = ref.column, ref.column.nullable or ref.optional
        public_facts = self.public.get((ref.table, ref.name))
        if public_facts is not None:
            return replace(public_facts, nullable=public_facts.nullable or ref.optional)
        if column.references is not None and column.references.public:
            target = self.public.get((column.references.table, column.references.column))
            if target is None:
                raise InternalError
            return replace(target, nullable=nullable)
        if column.values is not None:
            return Facts.of_values(column.values, nullable=nullable)
        if column.type is SqlType.BOOLEAN:
            return Facts.of_values((False, True), nullable=nullable)
        return Facts(nullable, column.bounds)
