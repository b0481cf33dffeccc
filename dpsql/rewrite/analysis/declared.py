"""Facts about columns by declaration alone: bounds, domains, and the rows of public tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpsql.errors import InternalError
from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.ir.facts import Env, Facts


@dataclass(frozen=True, slots=True)
class Declared:
    """What is public about columns."""

    public: Mapping[tuple[str, str], Facts]
    """The facts about every column of every public table, read from its rows."""

    def env(self, columns: Sequence[Ref]) -> Env:
        """Return what is known about these columns."""
        return {ref: self.one(ref) for ref in columns}

    def one(self, ref: Ref) -> Facts:
        """Return what is known about one column."""
        column, nullable = ref.column, ref.column.nullable or ref.optional
        known = self.public.get((ref.table, ref.name))
        if known is not None:
            return replace(known, nullable=known.nullable or ref.optional)
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
