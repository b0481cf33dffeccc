"""The sections of the page on peers about aggregates of trips, and of laboratory results of patients."""

import json
from pathlib import Path

from benchmarks.peers.aggregates import page_with, section
from benchmarks.peers.declared import declared_labs
from benchmarks.peers.records import make_labs

_LABS = {
    "systems": ["dpsql, auto", "Peer, 20", "Peer, 200"],
    "versions": {"dpsql": "1", "Peer": "2"},
    "rows": 1000,
    "cells": [
        ["count", "all", [0.0069, ""], [0.33, "doubtful"], [0.001, "beaten"]],
        ["median", "all", [20, ""], "no", "no"],
    ],
}


def test_each_error_stands_beside_those_of_other_systems(tmp_path: Path) -> None:
    """In bold where a peer is certainly more exact, and what is refused is called so."""
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps({"labs": _LABS}))
    said = list(section(kept))
    assert "| values | | dpsql, auto | Peer, 20 | Peer, 200 |" in said
    assert "| count | all | 0.69 % | 33 % **?** | **0.1 %** |" in said
    assert "| median | all | over 1,000 % | refused | refused |" in said


def test_sections_are_written_anew_and_nothing_else() -> None:
    """The page ends with them."""
    page = page_with("# Page\n\nText.\n\n## Beside OpenDP with Polars\n\nold\n")
    assert page.startswith("# Page\n\nText.\n\n## Beside OpenDP with Polars\n\nMedians")
    assert page_with(page) == page


def test_laboratory_results_keep_to_their_declaration() -> None:
    """Within bounds and domains, and nobody has more than the peers are told at most."""
    ((name, columns),) = make_labs().items()
    said = declared_labs(200)[name]["columns"]
    assert set(columns) == set(said)
    for column in ("test", "ward"):
        assert set(columns[column].tolist()) == set(said[column]["values"])
    for column in ("value", "cost"):
        low, high = said[column]["bounds"]
        assert ((columns[column] >= low) & (columns[column] <= high)).all()
    patients = columns["patient_id"].tolist()
    assert max(map(patients.count, set(patients[:2000]))) <= 200
