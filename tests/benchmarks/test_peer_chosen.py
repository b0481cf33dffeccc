"""The section of the page on peers where dpsql chooses how many rows count."""

import json
from pathlib import Path

from benchmarks.peers.chosen import chosen, page_with, section
from benchmarks.peers.declared import declared

_FOUND = {
    "taken": "2026-01-01",
    "parts": [
        {
            "rows": 1000,
            "engine": "DuckDB",
            "systems": ["dpsql, auto", "dpsql, auto, snapshot", "Peer"],
            "cells": {
                "q01 count": {"exact": 1.2, "dpsql, auto": 20, "dpsql, auto, snapshot": 10, "Peer": 15},
                "q02 sum": {"exact": 1.2, "dpsql, auto": 20, "dpsql, auto, snapshot": 10, "Peer": "wrong"},
            },
            "memory": {"dpsql, auto": 400, "dpsql, auto, snapshot": 420, "Peer": 300},
        }
    ],
}


def test_a_peer_that_is_faster_is_in_bold(tmp_path: Path) -> None:
    """Over the same records, where it answers right."""
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(_FOUND))
    said = list(section(kept))
    assert "| q01 count | 1 | 20 | 10 | **15** |" in said
    assert "| q02 sum | 1 | 20 | 10 | wrong |" in said
    assert "| memory at most, MB | | 400 | 420 | 300 |" in said
    page = page_with("# Page\n\nText.\n\n## Where dpsql chooses how many rows count\n\nold\n", kept)
    assert page.startswith("# Page\n\nText.\n\n## Where dpsql chooses how many rows count\n\n`auto`")
    assert page_with(page, kept) == page


def test_no_number_of_rows_is_declared_but_one() -> None:
    """A register's single row is a fact of the table, and no choice."""
    numbers = {name: table["max_rows"] for name, table in chosen(1000).items()}
    assert numbers == {"taxi": "auto", "customer": 1, "orders": "auto", "prostate": 1}
    assert {table["max_rows"] for table in declared(1000).values()} == {1, 20}
