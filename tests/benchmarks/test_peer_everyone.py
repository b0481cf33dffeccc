"""The comparison of all systems: what is asked, what libraries read from it, and the section of the page."""

import json
import sys
from pathlib import Path

import duckdb
import pytest

from benchmarks.peers import everyone, inside
from benchmarks.peers.asked import Answer, Run
from benchmarks.peers.everyone import SETS, Asked, declared_as, made, page_with, section, why
from benchmarks.peers.questions import Question
from benchmarks.peers.records import write_tables

sys.path.insert(0, str(Path(inside.__file__).parent))
from aggregate import Aggregate  # type: ignore[import-not-found]

_CELL = {
    "set": "trips",
    "budget": "pure",
    "what": "count",
    "keys": "all",
    "errors": {
        "dpsql, auto": [0.02, "", 9],
        "dpsql, 20": [0.01, "", 9],
        "OpenDP": [0.001, "beaten", 9],
        "Tumult": "no",
    },
}


def _kept(path: Path, *cells: object) -> Path:
    file = path / "kept.json"
    file.write_text(json.dumps({"versions": {"dpsql": "1", "OpenDP": "2"}, "cells": list(cells)}))
    return file


@pytest.mark.parametrize("of", SETS, ids=lambda of: of.name)
def test_records_keep_to_their_declaration(of: Asked, tmp_path: Path) -> None:
    """Within bounds and domains; and each question can be asked of them, and read by libraries."""
    tables = made(of)
    (said,) = declared_as(of, of.most).values()
    write_tables(tmp_path / "records.duckdb", tables)
    with duckdb.connect(tmp_path / "records.duckdb", read_only=True) as file:
        for name, column in said["columns"].items():
            wrong = ""
            if "values" in column:
                wrong = f"{name} NOT IN ({', '.join(map(repr, column['values']))})"
            elif "bounds" in column and column["type"] != "timestamp":
                wrong = f"{name} NOT BETWEEN {column['bounds'][0]} AND {column['bounds'][1]}"
            if wrong:
                assert file.execute(f"SELECT count(*) FROM {of.table} WHERE {wrong}").fetchone() == (0,)
        for asked in of.questions(said):
            rows = file.execute(asked.sql).fetchall()
            read = Aggregate.of_sql(asked.sql)
            assert read.by == asked.keys
            assert {row[:-1] for row in rows} <= set(read.groups(said))
            assert (read.first is None) == (asked.name != "top 3")


def test_each_statistic_is_asked_by_none_one_and_two_keys() -> None:
    """And rankings by one and by two: twenty questions a table."""
    (said,) = declared_as(SETS[0], 20).values()
    asked = [(one.name, len(one.keys)) for one in SETS[0].questions(said)]
    assert len(asked) == len(set(asked)) == 20


def test_a_ranking_errs_by_what_is_missing() -> None:
    """Of the true first three; what order they have tells nothing."""
    asked = Question("top 3", "k", "person", "", ("k",))
    exact = Run(0.0, ["k", "v"], [("a", 9), ("b", 8), (3, 7)])
    answers = Answer((Run(0.0, ["k", "v"], [("b", 9), ("c", 8), (3.0, 7)]),))
    assert everyone._errors(asked, exact, answers) == [pytest.approx(1 / 3)]


def test_what_is_nearer_stands_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In bold, and once more below; what has no answer is called so."""
    monkeypatch.setattr(everyone, "_WHY", {("OpenDP", ""): "pays for nothing"})
    said = "\n".join(section(_kept(tmp_path, _CELL)))
    assert "| count | all | 2 % | 1 % | **0.1 %** | none |" in said
    assert "| OpenDP, ε alone | 1 of 1 | 0.1 times | 1 | 0 |" in said
    assert "- OpenDP: pays for nothing. So it is in trips, count of all, ε alone." in said


def test_whoever_is_nearer_has_a_reason() -> None:
    """Of all that was found; and the page has the section once, with all others."""
    kept = json.loads(everyone._KEPT.read_text(encoding="utf-8"))
    for cell in kept["cells"]:
        for name, of in cell["errors"].items():
            if isinstance(of, list) and of[1] == "beaten":
                assert why(name, cell["what"])
    page = (Path(everyone.__file__).parent.parent.parent / "docs" / "peers.md").read_text(encoding="utf-8")
    assert page_with(page) == page
    assert (
        page.count(everyone._TITLE) == page.count("\n## Beside OpenDP") == page.count("\n## Where dpsql chooses") == 1
    )
