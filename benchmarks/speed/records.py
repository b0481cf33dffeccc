"""The records of the 22 questions, with as many units as wanted and identifiers of each kind, and columns to group by."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.declared import Declared, declared
from benchmarks.peers.records import KEYS, write_duckdb

KINDS = DENSE, SPARSE, TEXT = "dense", "sparse", "text"
_IDENTIFIERS: Mapping[str, tuple[str, str]] = {
    DENSE: ("integer", "CAST({} AS INTEGER)"),
    SPARSE: ("bigint", "CAST(hash({}) >> 1 AS BIGINT)"),
    TEXT: ("text", "md5(CAST({} AS VARCHAR))"),
}
"""By kind its type, and what is made of somebody's number."""
_SEED, _SKEW = 2014, 0.75


@dataclass(frozen=True, slots=True)
class Records:
    """How many rows there are, and whose."""

    rows: int
    units: int | None = None
    """None: those of the 22 questions, of whom there are 0.4 for each row."""
    kind: str = DENSE
    groups: tuple[int, ...] = ()
    """Into how many groups columns of their own divide the rows."""

    @property
    def declared(self) -> Declared:
        """Return what dpsql is told of the tables."""
        found = declared(self.rows)
        columns = found["taxi"]["columns"]
        columns["passenger_id"] = {"type": _IDENTIFIERS[self.kind][0]}
        columns.update({f"cell_{n}": {"type": "integer", "values": list(range(n))} for n in self.groups})
        return found

    def write(self, path: Path) -> None:
        """Write the tables to a new DuckDB file, with the keys that PostgreSQL is given."""
        write_duckdb(path, self.rows)
        with duckdb.connect(path) as connection:
            if self != Records(self.rows):
                self._change(connection)
            for table, key in KEYS.items():
                connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({key})")

    def _change(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Give the trips to others, and the columns to group by."""
        number, drawn = ("passenger_id", "") if self.units is None else ("u", " POSITIONAL JOIN drawn")
        identifier = _IDENTIFIERS[self.kind][1].format(number)
        cells = "".join(f", CAST(hash(trip_id) % {n} AS INTEGER) AS cell_{n}" for n in self.groups)
        columns = f"taxi.* REPLACE ({identifier} AS passenger_id){cells}"
        if self.units is not None:
            connection.register("drawn", {"u": _drawn(self.rows, self.units)})
        connection.execute(f"CREATE TABLE other AS SELECT {columns} FROM taxi{drawn}")  # noqa: S608 # our own names
        connection.execute("DROP TABLE taxi; ALTER TABLE other RENAME TO taxi")


def _drawn(rows: int, units: int) -> NDArray[np.int64]:
    """Return whose each row is: some have several times as many as others."""
    draw = np.random.default_rng(_SEED)
    ends = np.cumsum(draw.lognormal(0.0, _SKEW, units))
    places: NDArray[np.int64] = np.searchsorted(ends, draw.random(rows) * ends[-1])
    return np.minimum(places, units - 1) + 1
