"""`python -m benchmarks.peers.aggregates`: dpsql beside OpenDP with Polars, which has no SQL: four aggregates by three keys.

Both pay the same ε, know the same bounds and keys, and count at most 20 trips of a passenger; errors are against the truth,
in which all trips count. What is found is kept beside this file, and stands at the end of the page on peers.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import duckdb
import typer

from benchmarks.peers.asked import Ours, Peer, System, Task, timed
from benchmarks.peers.declared import EPSILON, configure, declared
from benchmarks.peers.measured import OURS
from benchmarks.peers.questions import Question
from benchmarks.peers.records import write_duckdb
from benchmarks.peers.scores import errors, ratio

_KEPT = Path(__file__).with_name("aggregates.json")
_ROWS, _RUNS, _SECONDS = 100_000, 40, 12.0
_PEER = "OpenDP with Polars"
_KEYS = {"all": "", "by payment": "payment_type", "by zone": "pickup_zone"}
_VALUES = {"count": "COUNT(*)", "sum": "SUM(fare)", "mean": "AVG(fare)", "median": "MEDIAN(fare)"}


def aggregates() -> Iterator[Question]:
    """Yield the questions."""
    for what, value in _VALUES.items():
        for where, key in _KEYS.items():
            select, group = (f"{key}, ", f" GROUP BY {key}") if key else ("", "")
            sql = f"SELECT {select}{value} AS v FROM taxi{group}"  # noqa: S608 # our own names
            yield Question(what, where, "passenger", sql, (key,) if key else ())


def measure(peers: Path) -> Mapping[str, object]:
    """Return the median errors, and how much larger those of the peer are with 90 %."""
    with tempfile.TemporaryDirectory() as directory:
        file, tables = Path(directory) / "records.duckdb", declared(_ROWS)
        write_duckdb(file, _ROWS)
        config = configure(Path(directory) / "dpsql", {"kind": "duckdb", "database": str(file)}, tables)
        systems: dict[str, System] = {
            OURS: Ours(config, ["passenger"]),
            _PEER: Peer(peers / "opendp" / "bin" / "python", "ask_opendp.py", {"duckdb": str(file), "tables": tables}),
        }
        task, cells = Task(EPSILON, 0.0, _RUNS, _SECONDS, 600.0), []
        with duckdb.connect(file, read_only=True) as truth:
            for asked in aggregates():
                exact = timed(truth, asked.sql)
                answers = {name: system.ask(asked, task) for name, system in systems.items()}
                refused = {name: answer.refused for name, answer in answers.items() if answer.refused}
                if refused:
                    sys.exit(f"{asked.sql}: {refused}")
                off = {name: errors(asked, exact, answer.runs, "v") for name, answer in answers.items()}
                compared = ratio(off[_PEER], off[OURS])
                cells.append([asked.name, asked.about, *map(_middle, off.values()), compared.least, compared.most])
                typer.echo(cells[-1], err=True)
        for system in systems.values():
            system.close()
    return {"versions": [version("dpsql"), "0.16.0"], "rows": _ROWS, "cells": cells}


def _middle(sample: list[float]) -> float:
    return sorted(sample)[len(sample) // 2]


def section() -> Iterator[str]:
    """Yield the lines of the page about what was found."""
    if not _KEPT.exists():
        return
    found = json.loads(_KEPT.read_text(encoding="utf-8"))
    yield "## Beside OpenDP with Polars"
    yield ""
    yield f"Medians of relative errors to the truth, of {found['rows']:,} trips at ε = {EPSILON:g}; 20 of a passenger count;"
    yield "`python -m benchmarks.peers.aggregates` writes them. OpenDP has no SQL: its questions are built in Python."
    yield "The ratio is that of OpenDP's error to dpsql's, with 90 %; 100 % and more tells nothing."
    yield "Its medians are chosen among 601 values, a quarter of a dollar apart."
    yield ""
    yield f"| fares | | dpsql {found['versions'][0]} | OpenDP {found['versions'][1]} | ratio |"
    yield "|---|---|---|---|---|"
    for what, where, ours, theirs, least, most in found["cells"]:
        yield f"| {what} | {where} | {100 * ours:.3g} % | {100 * theirs:.3g} % | {least:.2g} to {most:.2g} |"


def page_with(page: str) -> str:
    """Return a page that ends with the section."""
    before, _, _ = page.partition("\n## Beside OpenDP")
    return before.rstrip("\n") + "\n\n" + "\n".join(section()) + "\n"


if __name__ == "__main__":
    _KEPT.write_text(json.dumps(measure(Path(".venv/peers")), indent=1) + "\n", encoding="utf-8")
    _PAGE = Path("docs/peers.md")
    _PAGE.write_text(page_with(_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
