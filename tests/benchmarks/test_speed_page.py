"""The page of ratios that `make bench` writes: what is above its aim, and what is kept of another run."""

from dataclasses import replace
from pathlib import Path

import duckdb

from benchmarks.added import Added
from benchmarks.peers.measured import DUCKDB, POSTGRES
from benchmarks.speed.asked import ALONE, BOUNDED, SNAPSHOT, asked
from benchmarks.speed.clients import Rate
from benchmarks.speed.kept import read, written
from benchmarks.speed.measured import Cell, Part
from benchmarks.speed.page import Found, page
from benchmarks.speed.records import SPARSE, TEXT, Records
from benchmarks.speed.through import AUTO, DECLARED, Default, Through
from benchmarks.starting import Started


def _part(engine: str) -> Part:
    cells = {
        "f1": Cell(12.3, {ALONE: 2.0, BOUNDED: 5.25, SNAPSHOT: 0.25}),
        "f3": Cell(123.4, {BOUNDED: 3.0}),
        "q01": Cell(1.5, {ALONE: 3.0, BOUNDED: 120.0}),
        "q02": Cell(2.5, {ALONE: 4.0}),
    }
    return Part(f"5 trips, {engine}", engine, 5, cells, (0.5, 1.5), 2, "The snapshot takes 1 MiB.", "2024-05-16")


_FOUND = Found(
    {part.title: part for part in map(_part, (DUCKDB, POSTGRES))},
    {"5 units": replace(_part(DUCKDB), title="5 units")},
    [Added("a count", 12.3, 10.2, 2.14, 4.0)],
    [Rate(64, 2, 24.4, 3100.0, (0.1, 2.5), "2024-05-17", [8.94, 2, 0.5], [0.9, 0.2, 0.3])],
    [Started("`dpsql serve`", 1.234, 1.5, 0.25, "2024-05-18")],
    {
        "5 trips, DuckDB": Default(
            "5 trips, DuckDB",
            DUCKDB,
            [
                Through("a count", 24.4, {AUTO: 3.6, DECLARED: 2.5}, 3.5),
                Through("all", 36, {AUTO: 2.4, DECLARED: 12.3}, 2.5),
            ],
            (0.1, 0.9),
            "2024-05-18",
        )
    },
)
_PAGE = page(_FOUND)


def test_a_ratio_above_its_aim_is_said() -> None:
    """In bold, with the aim of its engine; what is not asked in some way has no ratio."""
    assert "| f1 COUNT, SUM, AVG | 12 | 2.00 | **5.25** (≤ 2.8) | 0.25 |" in _PAGE
    assert "| f1 COUNT, SUM, AVG | 12 | **2.00** (≤ 1.3) | **5.25** (≤ 5) | **0.25** (≤ 0.2) |" in _PAGE
    assert "| f3 … by zone | 123 |  | 3.00 |  |" in _PAGE


def test_the_default_setting_stands_first() -> None:
    """With the aims of the default, in bold where they are missed."""
    assert _PAGE.index("## In the default setting") < _PAGE.index("## In short")
    assert "| a count | 24 | **3.60** (≤ 3.5) | 2.50 |" in _PAGE
    assert "| all | 36 | 2.40 | 12 |" in _PAGE
    assert "**5 trips, DuckDB**, taken on 2024-05-18, load 0.1 to 0.9:" in _PAGE


def test_the_summary_has_the_median_of_the_questions_and_the_load() -> None:
    """Of the 22, not of the forms beside."""
    assert "| **5 trips, DuckDB**, median of the 22 questions | 3.50 | 120 |  | 0.5 to 1.5 |" in _PAGE
    assert "| COUNT, SUM, AVG by zone |  | 3.00 |  | |" in _PAGE


def test_growth_questions_and_sessions_are_told() -> None:
    """Ratios with the machine's load; what is added in milliseconds."""
    assert "| a count | 12.3 | 10.2 | 2.1 | 4.0 |" in _PAGE
    assert "| 5 units | COUNT, SUM, AVG by zone | 123 | 3.00 |  | 1.5 | 2024-05-16 |" in _PAGE
    assert "| 2 | 64 | 24 | 8.9 + 2.0 + 0.5 | 3,100 | 0.9 + 0.2 + 0.3 | 0.1 to 2.5 | 2024-05-17 |" in _PAGE
    assert "| `dpsql serve` | 1.23 | 1.50 | 0.2 | 2024-05-18 |" in _PAGE


def test_what_was_measured_before_is_kept(tmp_path: Path) -> None:
    """To the last figure; nothing was where no file is."""
    file = tmp_path / "kept.json"
    assert read(file) == read(None) == Found({}, {}, [], [])
    file.write_text(written(_FOUND))
    assert read(file) == _FOUND


def test_the_forms_and_the_questions_have_names_of_their_own() -> None:
    """Which are what they are chosen by."""
    names = [question.name for question in asked()]
    assert len(set(names)) == len(names) == 28


def test_units_and_groups_are_as_many_as_are_asked_for(tmp_path: Path) -> None:
    """With identifiers of their kind, which is what is declared."""
    for kind, type_ in ((SPARSE, "bigint"), (TEXT, "text")):
        records = Records(1_000, 10, kind, (3,))
        records.write(tmp_path / f"{kind}.duckdb")
        with duckdb.connect(tmp_path / f"{kind}.duckdb") as connection:
            counted = "count(*), count(DISTINCT passenger_id), count(DISTINCT cell_3), min(typeof(passenger_id))"
            row = connection.execute(f"SELECT {counted} FROM taxi").fetchone()
        assert row == (1_000, 10, 3, {"bigint": "BIGINT", "text": "VARCHAR"}[type_])
        assert records.declared["taxi"]["columns"]["passenger_id"] == {"type": type_}
        assert records.declared["taxi"]["columns"]["cell_3"]["values"] == [0, 1, 2]
