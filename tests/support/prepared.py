"""DuckDB in memory with what a snapshot keeps beside the columns, made anew whenever a table is filled."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dpsql.engines.snapshot.kept_columns import fill, to_keep
from dpsql.policy.model import Policy
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.emit.kept_columns import NOTHING, KeptColumns
from tests.support.memory import Memory
from tests.support.records import ZONES, Row


class Prepared(Memory):
    """A `Memory` whose statements read tables as a snapshot's."""

    def __init__(
        self,
        policy: Policy,
        *,
        missed: int = 0,
        sharing: int = 1,
        public: Mapping[str, Sequence[Row]] = {"zones": ZONES},
    ) -> None:
        """Make the tables; by mistake, units with up to `missed` rows more than allowed are not marked.

        Or several, `sharing` of them, have one number.
        """
        self._keeps = {table.name: to_keep(table, policy) for table in policy.tables.values()}
        self._missed, self._sharing = missed, sharing
        super().__init__(policy, public=public)
        for name in policy.tables:
            self._prepare(name)

    def named(self, table: str) -> str:
        """Return the prepared table's name."""
        return super().named(f"{table} prepared")

    def kept(self, table: str) -> KeptColumns:
        """Return what is kept."""
        return self._keeps.get(table, NOTHING)

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        """Let a small table hold just these rows, in this order."""
        super().fill(table, rows)
        self._prepare(table)

    def load(self, table: str, rows: Iterable[Row], directory: Path) -> None:
        """Let a large table hold just these rows."""
        super().load(table, rows, directory)
        self._prepare(table)

    def _prepare(self, table: str) -> None:
        kept = self.kept(table)
        heavy = {unit: replace(mark, rows=mark.rows + self._missed) for unit, mark in kept.heavy.items()}
        self.execute(f"DROP TABLE IF EXISTS {self.named(table)}")
        declared = self._policy.tables[table]
        fill(self._connection, declared, replace(kept, heavy=heavy), super().named(table), self.named(table))
        for name in kept.units.values() if self._sharing > 1 else ():
            self.execute(f"UPDATE {self.named(table)} SET {quote_name(name)} = {quote_name(name)} // {self._sharing}")


def reads_kept(text: str, table: str, engine: Memory) -> set[str]:
    """Return which of the columns that are kept of a table a statement reads."""
    return {name for name in engine.kept(table).names if quote_name(name) in text}
