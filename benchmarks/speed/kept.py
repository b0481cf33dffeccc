"""What was measured, as JSON: a page can be put together from several runs."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.added import Added
from benchmarks.speed.clients import Rate
from benchmarks.speed.measured import Cell, Part
from benchmarks.speed.page import Found
from benchmarks.speed.through import Default, Through
from benchmarks.starting import Started


def written(found: Found) -> str:
    """Return it as a text."""
    return json.dumps(asdict(found), indent=1)


def read(file: Path | None) -> Found:
    """Return what a file holds; nothing if there is none."""
    if file is None or not file.exists():
        return Found({}, {}, [], [])
    document = json.loads(file.read_text(encoding="utf-8"))
    rates = [Rate(**{**rate, "load": tuple(rate["load"])}) for rate in document["rates"]]
    added = [Added(**one) for one in document["added"]]
    begun = [Started(**one) for one in document.get("started", [])]
    defaults = {title: _default(one) for title, one in document.get("defaults", {}).items()}
    return Found(_parts(document["parts"]), _parts(document["growth"]), added, rates, begun, defaults)


def _default(found: Mapping[str, Any]) -> Default:
    return Default(**{**found, "questions": [Through(**q) for q in found["questions"]], "load": tuple(found["load"])})


def _parts(found: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Part]:
    return {title: _part(part) for title, part in found.items()}


def _part(found: Mapping[str, Any]) -> Part:
    cells = {name: Cell(**cell) for name, cell in found["cells"].items()}
    return Part(**{**found, "cells": cells, "load": tuple(found["load"])})
