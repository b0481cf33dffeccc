"""DuckDB in memory with the heavy units' rows beside its tables, kept in any of the ways, anew whenever a table is filled."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path

import duckdb

from dpsql.engines.duckdb.heavy_rows import RowsOfUnits, heavy_rows_of, keep_heavy_rows, row_keepers
from dpsql.engines.duckdb.opening import KEPT
from dpsql.policy.model import Policy
from dpsql.rewrite.emit.kept_columns import KeptColumns
from tests.support.memory import Memory
from tests.support.records import ZONES, Row


class Way(Enum):
    """What a statement finds by the name of what is kept."""

    ALL = "all rows, where most are heavy; else the heavy ones"
    ROWS = "the heavy rows"
    SOME = "those of the units with most; the others' are in the records"
    UNITS = "the units, whose rows are too many"
    NOTHING = "nothing: the units are found each time"


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
        self._kept, self._declared = heavy_rows_of(policy), policy
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
        few = {
            unit: replace(rows, rows=rows.rows + self._missed) for unit, rows in self._kept[table].heavy_rows.items()
        }
        keep = {table: KeptColumns(heavy_rows=few)}
        keep_heavy_rows(self._connection, self._declared, self.named, keep, read=False)
        for keeper in row_keepers(self._declared, self.named, keep) if self._way is not Way.NOTHING else ():
            counts = [
                (int(str(n)), int(str(units)))
                for n, units in self.execute(f"SELECT n, units FROM {keeper.kept.numbers}")
            ]
            keeper.keep(self._connection, self._room(keeper, sorted(counts, reverse=True)))

    def _room(self, keeper: RowsOfUnits, counts: Sequence[tuple[int, int]]) -> int:
        """Return how many bytes lead to the way."""
        heavy = [(n, units) for n, units in counts if n > keeper.kept.rows]
        units, rows = (keeper.unit_width * sum(u for _, u in heavy), keeper.width * sum(n * u for n, u in heavy))
        match self._way:
            case Way.UNITS:
                return units
            case Way.SOME:
                return units + keeper.width * heavy[0][0] * heavy[0][1] if heavy else units
            case Way.ROWS:
                return units + rows
            case _:
                return 10**9


def rows_kept(engine: duckdb.DuckDBPyConnection, table: str, unit: str) -> int | None:
    """Return how many rows are kept in memory; None if nothing is."""
    name = f"{table} by {unit}: rows"
    cursor = engine.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE database_name = ? AND table_name = ?", [KEPT, name]
    )
    if cursor.fetchall() == [(0,)]:
        return None
    return int(engine.execute(f'SELECT count(*) FROM {KEPT}.main."{name}"').fetchall()[0][0])
