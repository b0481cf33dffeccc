"""DuckDB in memory with the heavy units' rows beside its tables, kept in any of the ways, anew whenever a table is filled."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path

import duckdb

from dpsql.engines.duckdb.heavy_rows import heavy_rows_of, keep_heavy_rows, row_keepers
from dpsql.engines.duckdb.opening import KEPT
from dpsql.policy.model import Policy
from dpsql.rewrite.emit.kept import KeptColumns
from tests.support.memory import Memory
from tests.support.records import ZONES, Row


class Way(Enum):
    """What a statement finds by the name of what is kept."""

    ROWS = "the rows"
    UNITS = "a view by the units, whose rows are too many"
    NOTHING = "a view that finds the units"


class Beside(Memory):
    """A `Memory` whose statements read heavy units' rows beside the tables."""

    def __init__(
        self,
        policy: Policy,
        way: Way = Way.ROWS,
        *,
        missed: int = 0,
        public: Mapping[str, Sequence[Row]] = {"zones": ZONES},
    ) -> None:
        """Make the tables; by mistake, units with up to `missed` rows more than allowed are not among the heavy ones."""
        self._way, self._missed = way, missed
        super().__init__(policy, public=public)
        self._kept, self._policy = heavy_rows_of(policy), policy
        for name in self._kept:
            self.fill(name, ())

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        """Let a small table hold just these rows, in this order."""
        super().fill(table, rows)
        self._keep(table)

    def load(self, table: str, rows: Iterable[Row], directory: Path) -> None:
        """Let a large table hold just these rows."""
        super().load(table, rows, directory)
        self._keep(table)

    def _keep(self, table: str) -> None:
        if table not in self._kept:
            return
        self.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {KEPT} (COMPRESS)")
        for name, kind in self.execute(
            f"SELECT table_name, table_type FROM information_schema.tables WHERE table_catalog = '{KEPT}' "
            f"AND starts_with(table_name, '{table} by ')"
        ):
            self.execute(f'DROP {"VIEW" if kind == "VIEW" else "TABLE"} {KEPT}.main."{name}"')
        few = {
            unit: replace(rows, rows=rows.rows + self._missed) for unit, rows in self._kept[table].heavy_rows.items()
        }
        keep = {table: KeptColumns(heavy_rows=few)}
        if self._way is Way.UNITS:
            for one in row_keepers(self._policy, self.named, keep):
                one.show(self._connection)
                one.keep(self._connection, -1)
        else:
            keep_heavy_rows(self._connection, self._policy, self.named, keep, read=self._way is Way.ROWS)


def found_by_name(engine: duckdb.DuckDBPyConnection, table: str, unit: str) -> str:
    """Return whether what is kept is a table or a view."""
    found = engine.execute(
        "SELECT table_type FROM information_schema.tables WHERE table_catalog = ? AND table_name = ?",
        [KEPT, f"{table} by {unit}"],
    ).fetchall()
    return str(found[0][0])
