"""What may change a statement in DuckDB is what is named, and nothing else, whatever a version of it brings along."""

from pathlib import Path

import duckdb
import pytest

from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.opening import ALLOWED_OPTIMIZERS, CAREFULLY, other_optimizers
from dpsql.question import Cancellation

_ON = """
SELECT name FROM duckdb_optimizers()
WHERE name NOT IN (SELECT unnest(string_split(current_setting('disabled_optimizers'), ','))) ORDER BY 1
"""


@pytest.fixture
def engine(tmp_path: Path) -> DuckDb:
    """Give an engine over a file."""
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    return DuckDb(tmp_path / "records.duckdb")


def test_only_what_is_allowed_is_on(engine: DuckDb) -> None:
    """Each of them is one that this version has."""
    assert [name for (name,) in engine.for_owner(_ON, timeout=30)] == sorted(ALLOWED_OPTIMIZERS)
    engine.close()


def test_what_nobody_has_allowed_is_off() -> None:
    """As what a later version brings: it is in DuckDB's own list, and not in ours."""
    with duckdb.connect() as connection:
        every = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
        assert set(other_optimizers(connection, ()).split(",")) == every
        assert set(other_optimizers(connection, ALLOWED_OPTIMIZERS).split(",")) == every - ALLOWED_OPTIMIZERS.keys()


def test_sides_are_not_exchanged_where_duckdb_has_failed(engine: DuckDb) -> None:
    """It was a mistake of its own, which it makes where a RIGHT JOIN comes of that."""
    with engine.ready([_ON], timeout=30, cancellation=Cancellation()) as prepared:
        engine._connection.close()
        assert (
            [name for (name,) in prepared.rows(_ON)]
            == sorted(CAREFULLY)
            == sorted({*ALLOWED_OPTIMIZERS} - {"build_side_probe_side"})
        )
    engine.close()
